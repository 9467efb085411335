"""Which file a name means: whole trust in the hash, none in names, sizes or folders."""

import os

import pytest

from redraft.errors import ModelError
from redraft.models import ModelFolders, locate, remove, resolve, verify


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
def test_a_file_with_the_right_hash_is_found_wherever_it_lies(
    folders, model, body, tmp_path, where
):
    path = put(tmp_path / where.format(sha256=model.sha256), body)
    assert locate(model, folders) == path
    assert resolve("tiny", folders, [model]) == path
    assert verify(model, folders) == path


@pytest.mark.parametrize(
    "where",
    [
        "models/tiny.gguf",
        "hub/models--a--b/blobs/{sha256}",
        "ollama/sha256-{sha256}",
        "loose/t.gguf",
    ],
)
def test_one_wrong_byte_anywhere_is_another_file(folders, model, body, tmp_path, where):
    put(tmp_path / where.format(sha256=model.sha256), body[:-1] + b"?")
    assert locate(model, folders) is None


def test_a_file_of_another_size_is_not_even_read(folders, model, body):
    put(folders.path_of(model), body + b"?")
    assert locate(model, folders) is None
    assert not folders.cache.exists()  # no hash was made, so none was remembered


def test_a_directory_in_the_way_is_no_model(folders, model):
    folders.path_of(model).mkdir(parents=True)
    assert locate(model, folders) is None


def test_a_file_only_the_hub_can_vouch_for_is_found_under_its_blob(folders, model, unknown, body):
    repo = folders.hub / "models--owner--tiny-gguf"
    blob = put(repo / "blobs" / model.sha256, body)
    link = repo / "snapshots" / "c0ffee" / "tiny.gguf"
    link.parent.mkdir(parents=True)
    link.symlink_to(blob)
    assert locate(unknown, folders) == link
    assert verify(unknown, folders) == link
    blob.write_bytes(body[:-1] + b"?")
    assert locate(unknown, folders) is None


def test_a_second_look_does_not_read_the_file_again(folders, model, body):
    path = put(folders.path_of(model), body)
    assert locate(model, folders) == path
    before = path.stat()
    with path.open("r+b") as file:  # the same size, inode and time: only reading would tell
        file.seek(100)
        file.write(b"????")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert locate(model, folders) == path
    with pytest.raises(ModelError, match="is damaged"):
        verify(model, folders)
    assert locate(model, folders) is None


def test_a_changed_file_is_read_again(folders, model, body):
    path = put(folders.path_of(model), body)
    assert locate(model, folders) == path
    path.write_bytes(body[:-1] + b"?")
    os.utime(path, ns=(1, 1))
    assert locate(model, folders) is None


@pytest.mark.parametrize("memory", [b"", b"[]", b"{", b'{"x": 3}', b"\xff"])
def test_a_broken_memory_only_costs_time(folders, model, body, memory):
    put(folders.cache / "sha256.json", memory)
    path = put(folders.path_of(model), body)
    assert locate(model, folders) == path


def test_a_memory_that_cannot_be_written_only_costs_time(folders, model, body):
    put(folders.cache, b"a file where the folder should be")
    path = put(folders.path_of(model), body)
    assert locate(model, folders) == path


def test_a_path_to_a_gguf_file_needs_no_registry(folders, tmp_path, monkeypatch):
    path = put(tmp_path / "own.gguf", b"GGUF and so on")
    assert resolve(str(path), folders, []) == path
    monkeypatch.chdir(tmp_path)
    assert resolve("own.gguf", folders, []).read_bytes() == b"GGUF and so on"
    monkeypatch.setenv("HOME", str(tmp_path))
    assert resolve("~/own.gguf", folders, []) == path


def test_a_name_wins_over_a_file_of_that_name(folders, model, body, tmp_path, monkeypatch):
    path = put(tmp_path / "tiny", b"GGUF")
    monkeypatch.chdir(tmp_path)
    own = put(folders.path_of(model), body)
    assert resolve("tiny", folders, [model]) == own
    assert resolve("./tiny", folders, [model]).read_bytes() == path.read_bytes()


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
def test_a_path_that_is_no_model_is_explained(folders, tmp_path, make, reason):
    path = tmp_path / "model.gguf"
    make(path)
    with pytest.raises(ModelError, match=reason) as caught:
        resolve(str(path), folders)
    assert str(path) in str(caught.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_explained(folders, tmp_path):
    path = put(tmp_path / "model.gguf", b"GGUF")
    path.chmod(0)
    with pytest.raises(ModelError, match="Permission denied"):
        resolve(str(path), folders)


def test_an_unknown_name_lists_the_known_ones(folders, model):
    with pytest.raises(ModelError, match="unknown model 'tinny': choose one of tiny, or"):
        resolve("tinny", folders, [model])


def test_a_model_that_is_not_here_says_how_to_get_it(folders, model):
    with pytest.raises(ModelError, match="not on this machine: run `redraft models fetch tiny`"):
        resolve("tiny", folders, [model])


def test_a_damaged_model_says_how_to_replace_it(folders, model, body):
    put(folders.path_of(model), body[:5_000])
    with pytest.raises(ModelError, match=r"is damaged: .* run `redraft models fetch tiny`"):
        resolve("tiny", folders, [model])


def test_a_copy_that_nothing_can_check_is_not_trusted(folders, unknown, body):
    put(folders.path_of(unknown), body)
    with pytest.raises(ModelError, match="no sha256 was recorded"):
        resolve("tiny", folders, [unknown])


def test_remove_deletes_what_redraft_fetched(folders, unknown, model, body):
    path = put(folders.path_of(unknown), body)
    put(folders.checksum_of(unknown), f"{model.sha256}  tiny.gguf\n".encode())
    assert remove(unknown, folders) == path
    assert list(folders.models.iterdir()) == []


def test_remove_leaves_the_files_of_other_programs(folders, model, body):
    path = put(folders.ollama / f"sha256-{model.sha256}", body)
    with pytest.raises(ModelError, match="belongs to another program"):
        remove(model, folders)
    assert path.exists()


def test_remove_says_that_there_is_nothing(folders, model):
    with pytest.raises(ModelError, match="there is nothing to remove"):
        remove(model, folders)


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
    assert str(getattr(ModelFolders.of_user(environ), field)) == value


def test_the_cache_of_llama_cpp_can_be_moved():
    assert "/l" in map(str, ModelFolders.of_user({"LLAMA_CACHE": "/l"}).gguf)
