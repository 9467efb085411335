import os
import random
import subprocess

import pytest

from redraft.text.diff import apply_replacements, minimal_replacements, unified_diff
from redraft.text.lines import split_lines


def edits(old, new):
    return [(edit.span.of(old), edit.new_text) for edit in minimal_replacements(old, new)]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param("", "", [], id="nothing"),
        pytest.param("a\nb\n", "a\nb\n", [], id="the same"),
        pytest.param("", "a\n", [("", "a\n")], id="all new"),
        pytest.param("a\n", "", [("a\n", "")], id="all gone"),
        pytest.param("x = 1\n", "x = 1  \n", [("", "  ")], id="only trailing blanks"),
        pytest.param("a\nb", "a\nb\nc", [("", "\nc")], id="a line after an open end"),
        pytest.param("a\nb\n", "a\nb", [("\n", "")], id="the final line ending"),
        pytest.param(
            "a\nb\nc\nd\ne\n",
            "a\nB\nc\nD\ne\n",
            [("b", "B"), ("d", "D")],
            id="lines apart are edits apart",
        ),
        pytest.param(
            "foo(1)\nfoo(2)\n",
            "bar(1)\nbar(2)\n",
            [("foo", "bar"), ("foo", "bar")],
            id="the same word in neighbouring lines",
        ),
        pytest.param("price * n\n", "unit_price * n\n", [("", "unit_")], id="a longer word"),
        pytest.param(
            "return a + b\n",
            "raise ValueError(a)\n",
            [("return a + b", "raise ValueError(a)")],
            id="a new statement is one edit, not letter soup",
        ),
        pytest.param(
            "def f():\n    x\n\ndef h():\n    z\n",
            "def f():\n    x\n\ndef g():\n    y\n\ndef h():\n    z\n",
            [("", "def g():\n    y\n\n")],
            id="a new function is one edit at a line's start",
        ),
        pytest.param("a\r\nb\r\n", "a\nb\r\n", [("\r\n", "\n")], id="a CRLF stays whole"),
        pytest.param("a\rb\rc", "a\rB\rc", [("b", "B")], id="CR-only lines"),
        pytest.param("a\rb", "a\r\nb", [("\r", "\r\n")], id="no LF goes behind a CR"),
        pytest.param("e\u0301 x", "e\u0300 x", [("e\u0301", "e\u0300")], id="a letter with marks"),
        pytest.param(
            "\U0001f469\u200d\U0001f4bb",
            "\U0001f469\u200d\U0001f52c",
            [("\U0001f469\u200d\U0001f4bb", "\U0001f469\u200d\U0001f52c")],
            id="a joined emoji",
        ),
        pytest.param("价格数量合计", "价格总量合计", [("数", "总")], id="a CJK sign in a sentence"),
        pytest.param("a\u2028b\n", "a\u2028c\n", [("b", "c")], id="U+2028 is no line ending"),
    ],
)
def test_the_smallest_readable_edits(old, new, expected):
    assert edits(old, new) == expected


def test_spans_start_at_the_offset():
    (edit,) = minimal_replacements("ab c\n", "ab d\n", offset=100)
    assert (edit.span.start, edit.span.stop) == (103, 104)


ODD = ["\r", "\n", "\r\n", "a", "b", " ", "(", "e\u0301", "\u200d", "😀", "\u2028", "foo", "\t"]


def mutated(rng, pieces):
    pieces = list(pieces)
    for _ in range(rng.randrange(6)):
        at = rng.randrange(len(pieces) + 1)
        pieces[at : at + rng.randrange(3)] = rng.choices(ODD, k=rng.randrange(3))
    return pieces


def assert_law(old, new):
    found = minimal_replacements(old, new)
    assert apply_replacements(old, found) == new
    end = -1
    for edit in found:
        assert edit.span.start > end, "edits touch"
        assert len(edit.span) or edit.new_text, "an edit that does nothing"
        for at in (edit.span.start, edit.span.stop):
            assert old[max(at - 1, 0) : at + 1] != "\r\n", "an edit inside a CRLF"
        end = edit.span.stop
    return found


@pytest.mark.parametrize("seed", range(300))
def test_applying_the_edits_gives_the_new_text(seed):
    rng = random.Random(seed)
    pieces = rng.choices(ODD, k=rng.randrange(40))
    assert_law("".join(pieces), "".join(mutated(rng, pieces)))


@pytest.mark.parametrize("seed", range(30))
def test_lines_that_did_not_change_are_not_touched(seed):
    rng = random.Random(seed)
    lines = [f"line {n}{rng.choice(ODD[:3])}" for n in range(60)]
    changed = sorted(rng.sample(range(60), 5))
    new = [line.replace("line", "new") if n in changed else line for n, line in enumerate(lines)]
    found = assert_law("".join(lines), "".join(new))
    assert len(found) == 5
    assert {edit.new_text for edit in found} == {"new"}


@pytest.mark.parametrize("seed", range(3))
def test_texts_too_long_to_compare_are_cut_at_lines_that_occur_once(seed):
    rng = random.Random(seed)
    lines = [rng.choice(["}\n", "\n", f"unique {n}\n"]) for n in range(3000)]
    new = list(lines)
    for at in rng.sample(range(3000), 10):
        new[at] = f"changed {at}\n"
    found = assert_law("".join(lines), "".join(new))
    assert sum(len(split_lines(edit.new_text)) for edit in found) <= 20


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(
            "".join(f"a{n}\n" for n in range(70_000)),
            "".join(f"b{n}\n" for n in range(1_000)),
            id="more different lines than there are private characters",
        ),
        pytest.param("a\n}\n" * 2000, "}\nb\na\n" * 1500, id="nothing occurs once"),
        pytest.param(
            "".join(f"f{n}(x);" for n in range(5000)),
            "".join(f"f{n}(x);" for n in range(5000) if n not in (7, 4000)),
            id="one very long line",
        ),
    ],
)
def test_huge_changes_end_and_apply(old, new):
    assert_law(old, new)


def git_applies(folder, name, old, new, patch):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(old.encode())
    subprocess.run(
        ["git", "apply", "--whitespace=nowarn", "-"],
        input=patch.encode(),
        cwd=folder,
        check=True,
        env={**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent)},
    )
    return path.read_bytes() == new.encode()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("a\nb\nc\n", "a\nB\nc\n", id="a changed line"),
        pytest.param("a\nb", "a\nb\n", id="a final line ending more"),
        pytest.param("a\nb\n", "a\nb", id="a final line ending less"),
        pytest.param("a\nb", "a\nc", id="none on either side"),
        pytest.param("a\r\nb\r\n", "a\r\nB\r\n", id="CRLF"),
        pytest.param("a\r\nb\r\n", "a\nb\r\n", id="a CRLF becomes LF"),
        pytest.param("a\rb\rc", "a\rB\rc", id="CR only is one line to git"),
        pytest.param("", "a\nb\n", id="an empty file is filled"),
        pytest.param("a\nb\n", "", id="a file is emptied"),
        pytest.param("".join(f"{n}\n" for n in range(99)), "0\n" * 50, id="several hunks"),
        pytest.param("μ\u2028😀\f\nb\n", "μ\u2028😀\f\nc\n", id="odd characters"),
    ],
)
def test_git_applies_the_unified_diff(tmp_path, old, new):
    assert git_applies(tmp_path, "f.py", old, new, unified_diff(old, new, "f.py"))


@pytest.mark.parametrize(
    "name", ["sub/f.py", "with space.py", 'qu"ote.py', "back\\slash", "tab\there", "μ😀.py", "a\nb"]
)
def test_git_finds_the_file_whatever_its_name(tmp_path, name):
    assert git_applies(tmp_path, name, "a\n", "b\n", unified_diff("a\n", "b\n", name))


def test_an_absolute_path_is_taken_from_the_root():
    assert unified_diff("a\n", "b\n", "/src/f.py").startswith("--- a/src/f.py\n+++ b/src/f.py\n")


def test_equal_texts_have_no_diff():
    assert unified_diff("a\n", "a\n", "f") == ""


@pytest.mark.parametrize("seed", range(25))
def test_git_applies_any_diff(tmp_path, seed):
    rng = random.Random(seed)
    pieces = rng.choices(ODD, k=30)
    old, new = "".join(pieces), "".join(mutated(rng, pieces)) + "z"
    assert git_applies(tmp_path, "f", old, new, unified_diff(old, new, "f"))
