import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from redraft.codemod.replies import ReplyCache
from redraft.edit import PromptRequest
from redraft.records import Completion, DecodeOptions, Piece, Prompt, Stats

PROMPT = Prompt(file=(Piece("file"),), request=(Piece("ask"),), source="s", stop=("\n```",))
REQUEST = PromptRequest(prompt=PROMPT, max_tokens=9)
REPLY = Completion(
    text="é\r\n", finish="stop", stats=Stats(output_tokens=3, decode_s=0.25), notes=("a note",)
)


def cache(folder: Path, model: str = "m", build: str = "b", **options) -> ReplyCache:
    return ReplyCache(folder, model, DecodeOptions(**options), build=build)


def test_a_reply_is_kept(tmp_path: Path):
    assert cache(tmp_path).get(REQUEST) is None
    cache(tmp_path).put(REQUEST, REPLY)
    assert cache(tmp_path).get(REQUEST) == REPLY
    assert cache(tmp_path, timeout_s=3.0).get(REQUEST) == REPLY
    assert cache(tmp_path).get(replace(REQUEST, prompt=replace(PROMPT, notes=("x",)))) == REPLY


@pytest.mark.parametrize(
    "prompt",
    [
        pytest.param(replace(PROMPT, file=(Piece("file2"),)), id="the file"),
        pytest.param(replace(PROMPT, request=(Piece("ask", control=True),)), id="the request"),
        pytest.param(replace(PROMPT, file=(Piece("fil"), Piece("e"))), id="the pieces"),
        pytest.param(replace(PROMPT, stop=("x",)), id="the stop string"),
    ],
)
def test_another_prompt_is_another_reply(tmp_path: Path, prompt: Prompt):
    cache(tmp_path).put(REQUEST, REPLY)
    assert cache(tmp_path).get(replace(REQUEST, prompt=prompt)) is None


def test_another_model_or_parameter_is_another_reply(tmp_path: Path):
    cache(tmp_path).put(REQUEST, REPLY)
    assert cache(tmp_path, "m2").get(REQUEST) is None
    assert cache(tmp_path, build="b2").get(REQUEST) is None
    assert cache(tmp_path, temperature=0.5).get(REQUEST) is None
    assert cache(tmp_path, exactness="invariant").get(REQUEST) is None
    assert cache(tmp_path).get(replace(REQUEST, max_tokens=8)) is None


@pytest.mark.parametrize("finish", ["timeout", "cancelled"])
def test_a_reply_cut_short_is_not_kept(tmp_path: Path, finish):
    cache(tmp_path).put(REQUEST, replace(REPLY, finish=finish))
    assert cache(tmp_path).get(REQUEST) is None


@pytest.mark.parametrize("damaged", [b"", b"{", b"[]", b"{}", b'{"stats": {"x": 1}}', b"\xff"])
def test_a_damaged_entry_is_as_good_as_none(tmp_path: Path, damaged: bytes):
    cache(tmp_path).put(REQUEST, REPLY)
    (entry,) = (path for path in tmp_path.rglob("*") if path.is_file())
    entry.write_bytes(damaged)
    assert cache(tmp_path).get(REQUEST) is None
    cache(tmp_path).put(REQUEST, REPLY)
    assert cache(tmp_path).get(REQUEST) == REPLY


DAY_S = 24 * 3600.0


@pytest.mark.parametrize(("age_days", "is_kept"), [(0, True), (29.9, True), (30.1, False)])
def test_a_reply_is_kept_for_30_days(tmp_path: Path, age_days: float, is_kept: bool):
    cache(tmp_path).put(REQUEST, REPLY)
    put_at = time.time() - age_days * DAY_S
    for path in tmp_path.rglob("*"):
        os.utime(path, (put_at, put_at))
    cache(tmp_path).prune()
    assert cache(tmp_path).get(REQUEST) == (REPLY if is_kept else None)


def test_a_reply_put_again_is_kept_for_another_30_days(tmp_path: Path):
    cache(tmp_path).put(REQUEST, REPLY)
    for path in tmp_path.rglob("*"):
        os.utime(path, (0, 0))
    cache(tmp_path).put(REQUEST, REPLY)
    cache(tmp_path).prune()
    assert cache(tmp_path).get(REQUEST) == REPLY


def test_a_folder_that_cannot_be_written_costs_only_time(tmp_path: Path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    cache(blocked).put(REQUEST, REPLY)
    assert cache(blocked).get(REQUEST) is None
    cache(blocked).prune()
