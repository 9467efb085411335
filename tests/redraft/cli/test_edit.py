import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.redraft.scripted_model import ScriptedModel

from redraft.cli.output import format_stats
from redraft.records import DecodeOptions, Stats
from redraft.text.lines import LineIndex

SHOP = """\
import math


def total(price, qty):
    return price * qty


def area(radius):
    # the usual formula
    return math.pi * radius**2


class Cart:
    def total(self):
        return 0
"""

RENAMED = """\
def area(width):
    # the usual formula
    return math.pi * width**2
"""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "shop.py"
    path.write_bytes(SHOP.encode())
    return path


def reply(text: str) -> ScriptedModel:
    return ScriptedModel(replies=[text])


def test_it_prints_the_diff_and_leaves_the_file(shop: Path, run_cli) -> None:
    ran = run_cli("edit", "shop.py::area", "call it width", model=reply(RENAMED))
    assert ran.code == 0
    assert ran.out == (
        "--- a/shop.py\n+++ b/shop.py\n@@ -5,9 +5,9 @@\n     return price * qty\n \n \n"
        "-def area(radius):\n+def area(width):\n     # the usual formula\n"
        "-    return math.pi * radius**2\n+    return math.pi * width**2\n \n \n class Cart:\n"
    )
    assert ran.err == ""
    assert shop.read_text() == SHOP


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(lambda text: text.encode(), lambda text: text.encode(), id="utf-8"),
        pytest.param(
            lambda text: b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode(),
            lambda text: b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode(),
            id="CRLF and a byte order mark",
        ),
        pytest.param(
            lambda text: text.encode("utf-16"), lambda text: text.encode("utf-16"), id="utf-16"
        ),
    ],
)
def test_write_writes_the_edit_and_nothing_else(shop: Path, run_cli, before, after) -> None:
    shop.write_bytes(before(SHOP))
    shop.chmod(0o750)
    ran = run_cli(
        "edit", shop, "call it width", "--write", model=reply(SHOP.replace("radius", "width"))
    )
    assert (ran.code, ran.err) == (0, "")
    assert shop.read_bytes() == after(SHOP.replace("radius", "width"))
    assert shop.stat().st_mode & 0o777 == 0o750
    assert list(shop.parent.iterdir()) == [shop]


def test_json_is_one_object_with_the_keys_that_are_promised(shop: Path, run_cli) -> None:
    ran = run_cli("edit", "shop.py::area", "call it width", "--json", model=reply(RENAMED))
    record = json.loads(ran.out)
    assert ran.out.count("\n") == 1
    assert {key: record[key] for key in ("outcome", "reason", "path", "edits")} == {
        "outcome": "rewritten",
        "reason": None,
        "path": "shop.py",
        "edits": [_edit(8, 10, 16, "width"), _edit(10, 22, 28, "width")],
    }
    assert record["diff"].startswith("--- a/shop.py\n")
    assert sorted(record) == [
        *("callers", "diff", "edits", "lost", "outcome", "path", "reason", "stats"),
        "withheld_diff",
    ]
    assert sorted(record["stats"]) == [
        *("accepted", "calibration_s", "decode_s", "draft_s", "drafted", "near_tie_redecodes"),
        *("output_tokens", "passes", "prefill_s", "prompt_tokens", "reused_tokens", "tokens_per_s"),
    ]


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0.0, "0.0 tokens/s"),
        (0.004, "0.0 tokens/s"),
        (1.26, "1.3 s of calibration"),
    ],
)
def test_calibration_is_told_where_it_can_be_felt(seconds: float, expected: str):
    assert format_stats(Stats(calibration_s=seconds)).endswith(f", {expected}")


def _edit(line: int, start: int, end: int, text: str) -> dict[str, Any]:
    ends = {"start_line": line, "start_col": start, "end_line": line, "end_col": end}
    return ends | {"new_text": text}


def test_the_edits_in_json_give_the_new_text_whatever_the_characters(shop: Path, run_cli) -> None:
    text = "# 😀 \u2028 größe\f\r\nx = '😀' + größe\r\n\r\ny = größe\r\n"
    new = text.replace("größe", "g").replace("\r\n\r\n", "\r\n# new\r\n")
    shop.write_bytes(text.encode())
    ran = run_cli("edit", shop, "shorten", "--json", model=reply(new.replace("\r\n", "\n")))
    assert _applied(text, json.loads(ran.out)["edits"]) == new


def _applied(text: str, edits: list[dict[str, Any]]) -> str:
    index = LineIndex(text)
    for edit in reversed(edits):
        start, end = (
            index.offset(edit[f"{side}_line"] - 1, edit[f"{side}_col"] - 1, "utf-32")
            for side in ("start", "end")
        )
        text = text[:start] + edit["new_text"] + text[end:]
    return text


@pytest.mark.parametrize(
    ("flags", "answer", "code"),
    [
        pytest.param(["--check"], RENAMED, 1, id="--check: it would change"),
        pytest.param(["--check"], RENAMED.replace("width", "radius"), 0),
        pytest.param(["--check", "--json"], RENAMED, 1, id="--check with --json"),
        pytest.param([], RENAMED.replace("width", "radius"), 0),
    ],
)
def test_exit_codes(shop: Path, run_cli, flags: list[str], answer: str, code: int) -> None:
    assert run_cli("edit", "shop.py::area", "x", *flags, model=reply(answer)).code == code
    assert shop.read_text() == SHOP


def test_an_edit_that_changes_nothing_says_so_and_does_not_write(shop: Path, run_cli) -> None:
    before = shop.stat()
    ran = run_cli("edit", "shop.py", "nothing", "--write", model=reply(SHOP))
    assert (ran.code, ran.out, ran.err) == (
        0,
        "",
        "redraft: no changes; --another-version takes the model's second choice\n",
    )
    assert (shop.stat().st_ino, shop.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_another_version_is_the_models_second_choice(shop: Path, run_cli) -> None:
    model = ScriptedModel(
        replies=[f"{SHOP}````\n", SHOP.partition("math.pi")[2] + "````\n"],
        runners_up={"pi": ("tau", 0.5)},
    )
    first = run_cli("edit", "shop.py", "fix it", model=model)
    assert (first.code, first.out, len(model.prompts)) == (0, "", 1)
    model.prompts.clear()
    ran = run_cli("edit", "shop.py", "fix it", "--another-version", "--write", model=model)
    assert ran.code == 0
    assert shop.read_text() == SHOP.replace("math.pi", "math.tau")


def test_a_refusal_is_a_failure_that_names_its_reason(shop: Path, run_cli) -> None:
    long = reply(RENAMED)
    args = ("edit", "shop.py::area", "x", "--max-tokens", "5", "--write")
    ran = run_cli(*args, "--json", model=long)
    assert ran.code == 2
    assert (json.loads(ran.out)["outcome"], json.loads(ran.out)["reason"]) == (
        "refused",
        "token_limit",
    )
    assert ran.err.startswith("redraft: error: ")
    assert "5" in ran.err
    assert ran.err.count("\n") == 1
    assert shop.read_text() == SHOP


def test_stdin_is_edited_into_a_diff(shop: Path, run_cli) -> None:
    args = ("edit", "-", "call it width", "--stdin-path", "src/geometry.py::area")
    ran = run_cli(*args, model=reply(RENAMED), stdin=SHOP.encode())
    assert ran.code == 0
    assert ran.out.startswith("--- a/src/geometry.py\n")


def test_stdin_is_edited_into_the_whole_new_text_with_its_encoding(shop: Path, run_cli) -> None:
    data = SHOP.replace("\n", "\r\n").encode()
    args = ("edit", "-", "call it width", "--write", "--stdin-path", "x.py:8")
    assert run_cli(*args, model=reply(RENAMED), stdin=data).out.encode() == (
        data.replace(b"radius", b"width")
    )


def test_stdin_comes_out_as_it_was_when_nothing_changes_and_not_at_all_when_refused(
    run_cli,
) -> None:
    args = ("edit", "-", "x", "--write", "--lang", "python")
    assert run_cli(*args, model=reply(SHOP), stdin=SHOP.encode()).out == SHOP
    refused = run_cli(*args, "--max-tokens", "5", model=reply(SHOP), stdin=SHOP.encode())
    assert (refused.code, refused.out) == (2, "")


def test_a_truncated_prompt_is_noted(shop: Path, run_cli) -> None:
    filler = "".join(f"\n\ndef f{n}(x):\n    y = x\n    z = y\n    return z\n" for n in range(60))
    shop.write_text(SHOP + filler)
    model = ScriptedModel(replies=[RENAMED], n_ctx=1_300)
    ran = run_cli("edit", "shop.py::area", "call it width", model=model)
    assert ran.code == 0
    assert ran.err.startswith("redraft: note: ")


@pytest.mark.parametrize(
    ("name", "argument", "wanted"),
    [
        pytest.param("a:b.py", "a:b.py::area", "def area(width)", id="a colon"),
        pytest.param("a::b.py", "a::b.py::area", "def area(width)", id="two colons"),
        pytest.param("a.py:3", "a.py:3:8-10", "def area(width)", id="looks like a line"),
        pytest.param("C:\\src\\a.py", "C:\\src\\a.py:8-10", "def area(width)", id="a drive"),
        pytest.param("a b.py", "./a b.py::area", "def area(width)", id="a space"),
    ],
)
def test_files_with_colons_in_their_names_are_found(
    tmp_path: Path, monkeypatch, run_cli, name: str, argument: str, wanted: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(SHOP)
    args = ("edit", argument, "call it width", "--lang", "python", "--write")
    ran = run_cli(*args, model=reply(RENAMED))
    assert (ran.code, ran.err) == (0, "")
    assert wanted in (tmp_path / name).read_text()


def test_a_file_that_changes_while_the_model_works_is_left_alone(shop: Path, run_cli) -> None:
    @dataclass
    class Slow(ScriptedModel):
        def complete(self, *args, **kwargs):
            shop.write_text("# somebody else was here\n")
            return super().complete(*args, **kwargs)

    ran = run_cli("edit", "shop.py::area", "x", "--write", model=Slow(replies=[RENAMED]))
    assert ran.code == 2
    assert "changed since it was read" in ran.err
    assert shop.read_text() == "# somebody else was here\n"


@dataclass
class RecordingModel(ScriptedModel):
    options: DecodeOptions | None = None

    def complete(self, prompt, options, **kwargs):
        self.options = options
        return super().complete(prompt, options, **kwargs)


def test_flags_and_settings_reach_the_model(shop: Path, run_cli) -> None:
    (shop.parent / "redraft.toml").write_text("seed = 7\nstrategy = 'lookup'\ntimeout = 9")
    model = RecordingModel(replies=[RENAMED])
    flags = ("--strategy", "plain", "--max-tokens", "99", "--temperature", "0.5")
    assert run_cli("edit", "shop.py::area", "x", *flags, model=model).code == 0
    assert model.options == DecodeOptions(
        strategy="plain", max_tokens=99, temperature=0.5, seed=7, timeout_s=9
    )


def test_invalid_bytes_are_refused_in_the_instruction_and_replaced_in_a_path(
    shop: Path, run_cli
) -> None:
    ran = run_cli("edit", "shop.py::area", "r\udce9sum\udce9", model=UncalledModel())
    assert (ran.code, ran.out) == (2, "")
    assert "the instruction is not valid text" in ran.err
    odd = shop.with_name("sh\udce9p.py")
    shop.rename(odd)
    ran = run_cli("edit", f"{odd.name}::area", "x", "--write", model=reply(RENAMED))
    assert (ran.code, ran.err) == (0, "")
    assert "+++ b/sh\ufffdp.py" in ran.out
    assert "width" in odd.read_text()


@dataclass
class UncalledModel(ScriptedModel):
    def complete(self, *args, **kwargs):
        pytest.fail("the model was asked although the request was wrong")


ERRORS = [
    pytest.param(["nothing.py", "x"], "nothing.py does not exist", id="missing file"),
    pytest.param(["no/such.py::area", "x"], "there is no folder no", id="missing folder"),
    pytest.param(["a.py:3:4", "x"], "a.py does not exist", id="missing file with a position"),
    pytest.param([".", "x"], ". is a directory", id="directory"),
    pytest.param([".::area", "x"], ". is a directory", id="directory with a name"),
    pytest.param(["data.bin", "x"], "data.bin is binary", id="binary file"),
    pytest.param(["latin.py", "x"], "latin.py is not valid UTF-8 (line 2", id="latin-1 file"),
    pytest.param(["shop.py", " \n"], "the instruction is empty", id="empty instruction"),
    pytest.param(
        ["shop.py::aera", "x"], "did you mean area", id="unknown function, with a near one"
    ),
    pytest.param(
        ["shop.py::twice", "x"],
        "twice (line 18), twice (line 22)",
        id="ambiguous name, with its candidates",
    ),
    pytest.param(["shop.py:99", "x"], "there is no line 99: the file has 23", id="line too far"),
    pytest.param(["shop.py:1", "x"], "line 1 is in no function", id="no function there"),
    pytest.param(["notes.txt::a", "x"], "name it with --lang (python, ", id="no grammar"),
    pytest.param(["shop.py:0", "x"], "there is no line 0", id="line 0"),
    pytest.param(["shop.py:3-99", "x"], "there is no line 99", id="range too far"),
    pytest.param(["shop.py:9-3", "x"], "9-3 ends before it starts", id="lines reversed"),
    pytest.param(["shop.py:4:9-4:5", "x"], "ends before it starts", id="columns reversed"),
    pytest.param(["shop.py:4:1-4:99", "x"], "line 4 ends at column 23", id="column too far"),
    pytest.param(["shop.py:4:0-4:3", "x"], "there is no 4:0", id="column 0"),
    pytest.param(["shop.py:4:3-", "x"], "cannot read ':4:3-'", id="half a range"),
    pytest.param(["shop.py:4:3-5", "x"], "cannot read ':4:3-5'", id="half a column range"),
    pytest.param(["shop.py:abc", "x"], "cannot read ':abc'", id="neither name nor range"),
    pytest.param(["shop.py::", "x"], "cannot read '::'", id="no name"),
    pytest.param(["shop.py::area:3-4", "x"], "both a name and a range", id="name and range"),
    pytest.param(["shop.py:3-4::area", "x"], "both a name and a range", id="range and name"),
    pytest.param(["shop.py", "x", "--stdin-path", "y"], "goes with - only", id="--stdin-path"),
    pytest.param(["-", "x", "--write", "--json"], "only one of them", id="two outputs"),
    pytest.param(["shop.py", "x", "--lang", "klingon"], "klingon", id="unknown language"),
    pytest.param(["shop.py", "x", "--max-tokens", "0"], "--max-tokens must be", id="bad number"),
    pytest.param(["shop.py", "x", "--strategy", "fast"], "--strategy must be", id="strategy"),
    pytest.param(["shop.py", "x", "--timeout", "-1"], "--timeout must be", id="bad time"),
]


@pytest.mark.parametrize(("args", "message"), ERRORS)
def test_a_wrong_request_is_one_line_that_says_what_to_do(
    shop: Path, run_cli, args: list[str], message: str
) -> None:
    shop.write_text(SHOP + "\n\ndef twice():\n    pass\n\n\ndef twice():\n    pass\n")
    (shop.parent / "data.bin").write_bytes(b"\0\1\2")
    (shop.parent / "notes.txt").write_text("notes\n")
    (shop.parent / "latin.py").write_bytes("# ok\nx = 'é'\n".encode("latin-1"))
    before = {path.name: path.read_bytes() for path in shop.parent.iterdir()}
    ran = run_cli("edit", *args, model=UncalledModel())
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("redraft: error: ")
    assert message in ran.err
    assert ran.err.count("\n") == 1
    assert {path.name: path.read_bytes() for path in shop.parent.iterdir()} == before


@pytest.mark.parametrize(
    ("args", "message"),
    [
        pytest.param(["--model", "gpt-99"], "unknown model 'gpt-99': choose one of", id="name"),
        pytest.param(["--model", "no.gguf"], "no.gguf", id="missing model file"),
        pytest.param(["--model", "text.gguf"], "text.gguf", id="text named .gguf"),
        pytest.param(["--model", "empty.gguf"], "empty.gguf", id="empty file named .gguf"),
        pytest.param(["--model", "."], "directory", id="directory"),
    ],
)
def test_a_wrong_model_is_one_line_that_says_what_to_do(
    shop: Path, run_cli, args: list[str], message: str
) -> None:
    (shop.parent / "text.gguf").write_text("I am not a model\n" * 100)
    (shop.parent / "empty.gguf").write_bytes(b"")
    ran = run_cli("edit", "shop.py::area", "x", *args)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("redraft: error: ")
    assert message in ran.err
    assert ran.err.count("\n") == 1


@contextmanager
def as_nobody() -> Iterator[None]:
    """Root may read and write everything: be somebody else for a while."""
    if os.getuid() != 0:
        yield
        return
    os.setresuid(65534, 65534, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


@pytest.mark.skipif(not hasattr(os, "setresuid"), reason="needs Linux to drop root's rights")
@pytest.mark.parametrize(
    ("file_mode", "folder_mode", "flags", "message"),
    [
        pytest.param(0o000, 0o755, [], "cannot read", id="unreadable"),
        pytest.param(0o444, 0o755, ["--write"], "cannot write", id="read-only"),
        pytest.param(0o666, 0o555, ["--write"], "cannot write", id="read-only folder"),
    ],
)
def test_missing_permission_is_found_before_the_model_is_asked(
    run_cli, monkeypatch, file_mode: int, folder_mode: int, flags: list[str], message: str
) -> None:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "shop.py"
        path.write_text(SHOP)
        path.chmod(file_mode)
        path.parent.chmod(folder_mode)
        monkeypatch.setenv("XDG_CONFIG_HOME", name)
        with as_nobody():
            ran = run_cli("edit", path, "x", *flags, model=UncalledModel())
        path.parent.chmod(0o755)
    assert (ran.code, ran.out) == (2, "")
    assert f"redraft: error: {message} {path}" in ran.err
    assert ran.err.count("\n") == 1


def test_a_refusal_names_what_would_be_lost_and_allow_makes_the_edit(shop: Path, run_cli) -> None:
    lossy = RENAMED.replace("    # the usual formula\n", "")
    shop.write_text(SHOP.replace("def area(radius):\n", "def area(radius):\n    check(radius)\n"))
    refused = run_cli("edit", "shop.py::area", "call it width", model=reply(lossy))
    assert refused.code == 2
    assert "redraft: lost: check(radius)\n" in refused.err
    assert "--allow deletion" in refused.err
    record = json.loads(
        run_cli("edit", "shop.py::area", "call it width", "--json", model=reply(lossy)).out
    )
    assert (record["outcome"], record["reason"]) == ("refused", "deletion")
    assert record["lost"] == ["    check(radius)"]
    assert "-    check(radius)\n" in record["withheld_diff"]
    allowed = run_cli(
        *("edit", "shop.py::area", "call it width", "--allow", "deletion"), model=reply(lossy)
    )
    assert allowed.code == 0
    assert "-    check(radius)\n" in allowed.out


def test_an_edit_that_does_not_parse_can_be_allowed(shop: Path, run_cli) -> None:
    broken = RENAMED.replace("math.pi *", "math.pi * (")
    args = ("edit", "shop.py::area", "call it width")
    refused = run_cli(*args, model=reply(broken))
    assert refused.code == 2
    assert "redraft: --allow parse_broken makes the edit all the same\n" in refused.err
    allowed = run_cli(*args, "--allow", "deletion", "--allow", "parse_broken", model=reply(broken))
    assert (allowed.code, "+    return math.pi * ( width**2\n" in allowed.out) == (0, True)


def test_what_cannot_be_allowed_is_an_error(shop: Path, run_cli) -> None:
    ran = run_cli("edit", shop, "x", "--allow", "timeout", model=reply(""))
    assert ran.code == 2
    assert "invalid choice: 'timeout'" in ran.err


@pytest.mark.parametrize(
    ("flags", "config", "is_added"),
    [([], "", True), (["--no-imports"], "", False), ([], "imports = false\n", False)],
)
def test_imports_can_be_left_alone(
    shop: Path, run_cli, flags: list[str], config: str, is_added: bool
) -> None:
    (shop.parent / "redraft.toml").write_text(config)
    code = "import cmath\n\n" + RENAMED.replace("math.pi", "cmath.pi")
    ran = run_cli("edit", "shop.py::area", "use cmath", *flags, model=reply(code))
    assert ran.code == 0
    assert ("+import cmath\n" in ran.out) == is_added
    assert ("note: imports that the edit may need were left out" in ran.err) != is_added


def test_lines_that_use_the_old_form_are_named(shop: Path, run_cli) -> None:
    shop.write_text(SHOP + "\n\nprint(area(2))\n")
    code = RENAMED.replace("def area", "def surface")
    ran = run_cli("edit", "shop.py::area", "call it surface", "--json", model=reply(code))
    assert json.loads(ran.out)["callers"] == [
        {"line": 18, "text": "print(area(2))", "definition": "area", "path": ""}
    ]
    assert "redraft: note: 1 line still uses the old form of area: 18\n" in ran.err
