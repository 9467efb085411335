"""`redraft edit --save-reply` and `--reply`: what a model wrote, kept and used without it."""

import json
from pathlib import Path

import pytest
from tests.redraft.scripted_model import ScriptedModel

from redraft.cli import options

TEXT = "import os\n\n\ndef f(a):\n    check(a)\n    return a\n"
NO_REPLIES = json.dumps(
    {
        "format": "redraft reply 1",
        "request": {"text": "", "target": [0, 0], "instruction": "x"},
        "replies": [],
    }
).encode()
REPLY = "def f(b):\n    check(b)\n    return b\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text(TEXT)
    return tmp_path


@pytest.fixture
def no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> None:
        raise AssertionError("a model was opened")

    monkeypatch.setattr(options, "open_model", fail)


def test_a_saved_reply_makes_the_same_edit_without_a_model(here, run_cli, monkeypatch):
    args = ("edit", "a.py::f", "call it b")
    model = ScriptedModel(replies=[REPLY])
    first = run_cli(*args, "--save-reply", "r.json", "--json", model=model)
    saved = json.loads((here / "r.json").read_text())
    assert saved["format"] == "redraft reply 1"
    assert saved["request"]["text"] == TEXT
    assert saved["request"]["target"] == [TEXT.index("def"), len(TEXT) - 1]
    assert saved["request"]["instruction"] == "call it b"
    assert saved["prompt"] == {"kind": "edit", "stop": list(model.prompts[0].stop)}
    assert saved["replies"] == [{"text": REPLY, "finish": "stop"}]
    assert saved["outcome"]["diff"] == json.loads(first.out)["diff"]
    monkeypatch.setattr(options, "open_model", None)
    again = run_cli("edit", "a.py::f", "--reply", "r.json", "--json")
    assert json.loads(again.out)["edits"] == json.loads(first.out)["edits"]


def test_both_tries_are_kept_and_decide_together(here: Path, run_cli, monkeypatch):
    lossy = "def f(b):\n    return b\n"
    model = ScriptedModel(replies=[lossy, "I left out a check.", REPLY])
    args = ("edit", "a.py::f", "call it b", "--json")
    first = json.loads(run_cli(*args, "--save-reply", "r.json", model=model).out)
    saved = json.loads((here / "r.json").read_text())
    assert [reply["text"] for reply in saved["replies"]] == [lossy, REPLY]
    monkeypatch.setattr(options, "open_model", None)
    again = json.loads(run_cli(*args, "--reply", "r.json").out)
    assert again["diff"] == first["diff"] != ""


@pytest.mark.parametrize(
    "text",
    [REPLY, f"```python\n{REPLY}```\n", f"Sure!\n\n```python\n{REPLY}```\n\nI renamed it.\n"],
)
@pytest.mark.usefixtures("no_model")
def test_plain_text_is_a_reply_as_written(here: Path, run_cli, text: str):
    (here / "reply.txt").write_text(text)
    ran = run_cli("edit", "a.py::f", "call it b", "--reply", "reply.txt", "--write")
    assert (ran.code, ran.err) == (0, "")
    assert (here / "a.py").read_text() == f"import os\n\n\n{REPLY}"


@pytest.mark.usefixtures("no_model")
def test_a_reply_to_another_text_is_an_error(here: Path, run_cli):
    (here / "reply.txt").write_text(REPLY)
    args = ("edit", "a.py::f", "call it b")
    assert run_cli(*args, "--reply", "reply.txt", "--save-reply", "r.json").code == 0
    other = run_cli("edit", "a.py:1-1", "call it b", "--reply", "r.json")
    assert other.code == 2
    assert "r.json was made for another target: lines 4 to 6 of a.py" in other.err
    (here / "a.py").write_text(TEXT + "\n")
    ran = run_cli(*args, "--reply", "r.json", "--write")
    assert ran.code == 2
    assert "r.json was made for another text of a.py" in ran.err
    assert (here / "a.py").read_text() == TEXT + "\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot read the reply r.json"),
        (b"\xff", "cannot read the reply r.json"),
        (b'{"format": "redraft reply 1"}', "r.json is no complete saved reply"),
        (NO_REPLIES, "r.json holds no reply"),
    ],
)
@pytest.mark.usefixtures("no_model")
def test_a_file_that_is_no_reply_is_an_error(here: Path, run_cli, content, message: str):
    if content is not None:
        (here / "r.json").write_bytes(content)
    ran = run_cli("edit", "a.py::f", "call it b", "--reply", "r.json")
    assert ran.code == 2
    assert message in ran.err


@pytest.mark.usefixtures("no_model")
def test_without_an_instruction_nothing_is_done(here: Path, run_cli):
    (here / "reply.txt").write_text(REPLY)
    for flags in ([], ["--reply", "reply.txt"]):
        ran = run_cli("edit", "a.py::f", *flags)
        assert ran.code == 2
        assert "arguments are required: instruction" in ran.err
