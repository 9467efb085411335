"""Which file a name means: whole trust in the hash, none in names, sizes or folders."""

import os

import pytest

from redraft.errors import ModelError
from redraft.models import Places, locate, remove, resolve, verify


def put(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    "where",
    [
        "models/tiny.gguf",
        "hub/models--someone--else/blobs/{sha256}",
        "ollama/sha256-{sha256}",
        "loose/owner/repo/any name.gguf",
    ],
    ids=["redraft's own folder", "Hugging Face cache", "Ollama blob", "LM Studio or llama.cpp"],
)
def test_a_file_with_the_right_hash_is_found_wherever_it_lies(places, model, body, tmp_path, where):
    path = put(tmp_path / where.format(sha256=model.sha256), body)
    assert locate(model, places) == path
    assert resolve("tiny", places, [model]) == path
    assert verify(model, places) == path


@pytest.mark.parametrize(
    "where",
    [
        "models/tiny.gguf",
        "hub/models--a--b/blobs/{sha256}",
        "ollama/sha256-{sha256}",
        "loose/t.gguf",
    ],
)
def test_one_wrong_byte_anywhere_is_another_file(places, model, body, tmp_path, where):
    put(tmp_path / where.format(sha256=model.sha256), body[:-1] + b"?")
    assert locate(model, places) is None


def test_a_file_of_another_size_is_not_even_read(places, model, body):
    put(places.own(model), body + b"?")
    assert locate(model, places) is None
    assert not places.cache.exists()  # no hash was made, so none was remembered


def test_a_directory_in_the_way_is_no_model(places, model):
    places.own(model).mkdir(parents=True)
    assert locate(model, places) is None


def test_a_file_only_the_hub_can_vouch_for_is_found_under_its_blob(places, model, unknown, body):
    repo = places.hub / "models--owner--tiny-gguf"
    blob = put(repo / "blobs" / model.sha256, body)
    link = repo / "snapshots" / "c0ffee" / "tiny.gguf"
    link.parent.mkdir(parents=True)
    link.symlink_to(blob)
    assert locate(unknown, places) == link
    assert verify(unknown, places) == link
    blob.write_bytes(body[:-1] + b"?")
    assert locate(unknown, places) is None


def test_a_second_look_does_not_read_the_file_again(places, model, body):
    path = put(places.own(model), body)
    assert locate(model, places) == path
    before = path.stat()
    with path.open("r+b") as file:  # the same size, inode and time: only reading would tell
        file.seek(100)
        file.write(b"????")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert locate(model, places) == path
    with pytest.raises(ModelError, match="is damaged"):
        verify(model, places)
    assert locate(model, places) is None


def test_a_changed_file_is_read_again(places, model, body):
    path = put(places.own(model), body)
    assert locate(model, places) == path
    path.write_bytes(body[:-1] + b"?")
    os.utime(path, ns=(1, 1))
    assert locate(model, places) is None


@pytest.mark.parametrize("memory", [b"", b"[]", b"{", b'{"x": 3}', b"\xff"])
def test_a_broken_memory_only_costs_time(places, model, body, memory):
    put(places.cache / "sha256.json", memory)
    path = put(places.own(model), body)
    assert locate(model, places) == path


def test_a_memory_that_cannot_be_written_only_costs_time(places, model, body):
    put(places.cache, b"a file where the folder should be")
    path = put(places.own(model), body)
    assert locate(model, places) == path


def test_a_path_to_a_gguf_file_needs_no_registry(places, tmp_path, monkeypatch):
    path = put(tmp_path / "own.gguf", b"GGUF and so on")
    assert resolve(str(path), places, []) == path
    monkeypatch.chdir(tmp_path)
    assert resolve("own.gguf", places, []).read_bytes() == b"GGUF and so on"
    monkeypatch.setenv("HOME", str(tmp_path))
    assert resolve("~/own.gguf", places, []) == path


def test_a_name_wins_over_a_file_of_that_name(places, model, body, tmp_path, monkeypatch):
    path = put(tmp_path / "tiny", b"GGUF")
    monkeypatch.chdir(tmp_path)
    own = put(places.own(model), body)
    assert resolve("tiny", places, [model]) == own
    assert resolve("./tiny", places, [model]).read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda path: path.write_text("hello, I am text"), r"is not a GGUF model: it starts with"),
        (lambda path: path.write_bytes(b""), "is not a GGUF model: it is empty"),
        (lambda path: path.write_bytes(b"GG"), "it starts with b'GG'"),
        (lambda path: path.mkdir(), "Is a directory"),
        (lambda path: None, "No such file or directory"),
        (lambda path: path.symlink_to(path), "Too many levels of symbolic links"),
    ],
    ids=["a text file", "an empty file", "two bytes", "a directory", "missing", "a link to itself"],
)
def test_a_path_that_is_no_model_is_explained(places, tmp_path, make, reason):
    path = tmp_path / "model.gguf"
    make(path)
    with pytest.raises(ModelError, match=reason) as caught:
        resolve(str(path), places)
    assert str(path) in str(caught.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_explained(places, tmp_path):
    path = put(tmp_path / "model.gguf", b"GGUF")
    path.chmod(0)
    with pytest.raises(ModelError, match="Permission denied"):
        resolve(str(path), places)


def test_an_unknown_name_lists_the_known_ones(places, model):
    with pytest.raises(ModelError, match="unknown model 'tinny': choose one of tiny, or"):
        resolve("tinny", places, [model])


def test_a_model_that_is_not_here_says_how_to_get_it(places, model):
    with pytest.raises(ModelError, match="not on this machine: run `redraft models fetch tiny`"):
        resolve("tiny", places, [model])


def test_a_damaged_model_says_how_to_replace_it(places, model, body):
    put(places.own(model), body[:5_000])
    with pytest.raises(ModelError, match=r"is damaged: .* run `redraft models fetch tiny`"):
        resolve("tiny", places, [model])


def test_a_copy_that_nothing_can_check_is_not_trusted(places, unknown, body):
    put(places.own(unknown), body)
    with pytest.raises(ModelError, match="no sha256 was recorded"):
        resolve("tiny", places, [unknown])


def test_remove_deletes_what_redraft_fetched(places, unknown, model, body):
    path = put(places.own(unknown), body)
    put(places.digest(unknown), f"{model.sha256}  tiny.gguf\n".encode())
    assert remove(unknown, places) == path
    assert list(places.models.iterdir()) == []


def test_remove_leaves_the_files_of_other_programs(places, model, body):
    path = put(places.ollama / f"sha256-{model.sha256}", body)
    with pytest.raises(ModelError, match="belongs to another program"):
        remove(model, places)
    assert path.exists()


def test_remove_says_that_there_is_nothing(places, model):
    with pytest.raises(ModelError, match="there is nothing to remove"):
        remove(model, places)


@pytest.mark.parametrize(
    ("environ", "field", "value"),
    [
        ({"REDRAFT_MODELS_DIR": "/big/disk"}, "models", "/big/disk"),
        ({"XDG_CACHE_HOME": "/c"}, "hub", "/c/huggingface/hub"),
        ({"XDG_CACHE_HOME": "/c", "HF_HOME": "/hf"}, "hub", "/hf/hub"),
        ({"HF_HOME": "/hf", "HF_HUB_CACHE": "/hc"}, "hub", "/hc"),
        ({"OLLAMA_MODELS": "/o"}, "ollama", "/o/blobs"),
    ],
)
def test_each_program_says_where_its_files_are(environ, field, value):
    assert str(getattr(Places.of_user(environ), field)) == value


def test_the_cache_of_llama_cpp_can_be_moved():
    assert "/l" in map(str, Places.of_user({"LLAMA_CACHE": "/l"}).loose)
