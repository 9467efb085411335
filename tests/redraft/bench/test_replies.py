"""`redraft bench replies`: a set of replies judged without a model."""

import json
from pathlib import Path

import pytest

TEXT = "def f(a):\n    check(a)\n    return a\n\n\ndef g():\n    pass\n"
GOOD = "def f(b):\n    check(b)\n    return b"
LOSSY = "def f(b):\n    return b"
EDITED = TEXT.replace("a):\n    check(a)\n    return a", "b):\n    check(b)\n    return b")


def case(**values: object) -> dict[str, object]:
    return {
        "id": "1",
        "kind": "plain",
        "path": "a.py",
        "text": TEXT,
        "spec": "::f",
        "instruction": "call it b",
        "reply": GOOD,
        "want": [EDITED],
        "route": "edit",
        "raw": False,
    } | values


def write(folder: Path, *cases: dict[str, object]) -> Path:
    path = folder / "set.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in cases))
    return path


def test_verdicts_are_counted_by_kind(tmp_path: Path, run_cli) -> None:
    path = write(
        tmp_path,
        case(),
        case(id="2", kind="loss", reply=LOSSY, want="REFUSE"),
        case(id="3", kind="loss", reply=LOSSY, want=[LOSSY]),
        case(id="4", want=[TEXT]),
        case(id="5", kind="gone", spec="::h", want=["REFUSE"]),
    )
    ran = run_cli("bench", "replies", path, "--json", tmp_path / "out.json")
    assert ran.code == 2
    assert ran.out.splitlines()[-1].split() == ["|", "all", "|", "3", "|", "1", "|", "1", "|"]
    assert "redraft: 3 good refused: the reply leaves out `check(a)`" in ran.err
    said = json.loads((tmp_path / "out.json").read_text())
    assert sorted(said) == ["conditions", "failed", "kinds", "summary"]
    assert said["summary"] == {"passed": 3, "wrong_accepted": 1, "good_refused": 1}
    assert said["kinds"] == {
        "gone": {"passed": 1, "wrong_accepted": 0, "good_refused": 0},
        "loss": {"passed": 1, "wrong_accepted": 0, "good_refused": 1},
        "plain": {"passed": 1, "wrong_accepted": 1, "good_refused": 0},
    }
    assert [(each["id"], each["verdict"], each["got"]) for each in said["failed"]] == [
        ("3", "good_refused", None),
        ("4", "wrong_accepted", EDITED),
    ]


@pytest.mark.parametrize(
    "spec",
    [
        "::f",
        ":L1-L3",
        ":2",
        [0, TEXT.index("\n\n")],
        "=" + TEXT[: TEXT.index("\n\n")],
    ],
)
def test_targets_are_named_in_several_ways(tmp_path: Path, run_cli, spec: object) -> None:
    assert run_cli("bench", "replies", write(tmp_path, case(spec=spec))).code == 0


def test_the_whole_file_is_a_target(tmp_path: Path, run_cli) -> None:
    assert run_cli("bench", "replies", write(tmp_path, case(spec="", reply=EDITED))).code == 0


@pytest.mark.parametrize(("raw", "code"), [(False, 0), (True, 0)])
def test_a_reply_ends_at_the_stop_string(tmp_path: Path, run_cli, raw: bool, code: int) -> None:
    reply = f"{GOOD}\n```\n\nI renamed it."
    assert run_cli("bench", "replies", write(tmp_path, case(reply=reply, raw=raw))).code == code


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "set.jsonl:1: not a reply to judge"),
        ("{}", "set.jsonl:1: not a reply to judge: KeyError('id')"),
        (json.dumps(case(text=3)), "text must be a text"),
        (json.dumps(case(route="x")), "route must be one of"),
        (json.dumps(case(spec="=nothing")), "set.jsonl:1: not a reply to judge"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, run_cli, line: str, message: str) -> None:
    (tmp_path / "set.jsonl").write_text(line + "\n")
    ran = run_cli("bench", "replies", tmp_path / "set.jsonl")
    assert ran.code == 2
    assert message in ran.err
