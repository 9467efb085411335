from dataclasses import replace

import pytest
from tests.redraft.edit_requests import whole_file

from redraft import syntax
from redraft.postprocess.narrow import narrow
from redraft.prompting.target_view import view_target
from redraft.records import EditRequest, Span

TEXT = """import os

def load(path):
    return open(path).read()

class Shelf:
    def take(self):
        return 1

    def dump(self):
        return 2

class Box:
    def take(self):
        return 3
"""


def cut(request, code):
    """Return what `narrow` leaves for the target's place; a sentence where it leaves nothing."""
    narrowed = narrow(request, view_target(request), code.strip("\n").split("\n"))
    return narrowed if isinstance(narrowed, str) else "\n".join(narrowed.lines)


TAKE = "def take(self):\n    return 9"


def method(name="Shelf.take"):
    target = syntax.target_named(TEXT, "python", name)
    return EditRequest(
        path="a.py", text=TEXT, target=target.span, instruction="Go", language="python"
    )


def test_a_reply_that_repeats_nothing_stays():
    assert cut(method(), TAKE) == TAKE


@pytest.mark.parametrize(
    ("code", "imports", "outer"),
    [
        pytest.param(f"import re\n{TAKE}", ("import re",), (), id="an import"),
        pytest.param(
            f"{TAKE}\n\ndef helper():\n    pass",
            (),
            (("def helper():", "    pass"),),
            id="a helper",
        ),
        pytest.param(f"LIMIT = 9\n\n{TAKE}", (), (("LIMIT = 9",),), id="a constant"),
        pytest.param(
            f"LIMITS = {{\n    'a': 1,\n}}\n\n{TAKE}",
            (),
            (("LIMITS = {", "    'a': 1,", "}"),),
            id="a constant of several lines",
        ),
        pytest.param(
            f"import os\n\n\ndef load(path):\n    return open(path).read()\n\n{TAKE}",
            (),
            (),
            id="nothing new",
        ),
    ],
)
def test_what_the_target_needs_is_told_apart(code, imports, outer):
    request = method()
    narrowed = narrow(request, view_target(request), code.split("\n"))
    assert "\n".join(narrowed.lines) == TAKE
    assert narrowed.imports == imports
    assert narrowed.outer == outer


def test_a_new_method_stays_beside_the_target():
    code = f"{TAKE}\n\ndef more(self):\n    return 1"
    assert cut(method(), code) == code


def test_a_change_of_another_method_is_left_out_and_noted():
    request = method()
    code = "def take(self):\n    return 9\n\ndef dump(self):\n    return 8"
    narrowed = narrow(request, view_target(request), code.split("\n"))
    assert "\n".join(narrowed.lines) == TAKE
    assert "dump" in narrowed.notes[0]


@pytest.mark.parametrize(
    ("instruction", "code"),
    [
        pytest.param("Go", "def grab(self):\n    return 1", id="its body is kept"),
        pytest.param("Go", "def grab(self):\n    return 9", id="most of its tokens are"),
        pytest.param(
            "Rename take to grab",
            "def grab(shelf, n):\n    shelf.n -= n",
            id="the instruction says it",
        ),
    ],
)
def test_the_target_may_get_another_name(instruction, code):
    assert cut(replace(method(), instruction=instruction), code) == code


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(TEXT.replace("return 1", "return 9"), id="the whole file"),
        pytest.param(
            "class Shelf:\n    def take(self):\n        return 9\n\n    # ... existing code ...",
            id="its class",
        ),
        pytest.param(
            "    def take(self):\n        return 9\n\n    def dump(self):\n        return 2",
            id="its neighbour as well",
        ),
        pytest.param(
            "import os\n\n\n    def take(self):\n        return 9", id="the file's imports as well"
        ),
    ],
)
def test_a_reply_that_repeats_the_file_is_cut_down_to_the_target(code):
    assert cut(method(), code) == "    def take(self):\n        return 9"


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(
            "class Shelf:\n    def dump(self):\n        return 9", id="only its neighbour"
        ),
        pytest.param(
            "class Shelf:\n    def take(self): return 1\n\n    def take(self): return 2\n\n"
            "    def take(self): return 3",
            id="two new versions",
        ),
        pytest.param(
            "def open_all(paths):\n    for path in paths:\n        open(path)", id="something else"
        ),
        pytest.param("I cannot make this change", id="prose"),
    ],
)
def test_a_reply_without_one_clear_target_is_none(code):
    request = method()
    assert isinstance(narrow(request, view_target(request), code.split("\n")), str)


def test_of_a_copy_and_a_new_version_the_new_one_counts():
    code = f"def take(self):\n    return 1\n\n{TAKE}"
    assert cut(method(), code) == TAKE


def test_overloads_are_no_repetition():
    text = "class A {\n  int f(int a) { return a; }\n  int f(long a) { return 0; }\n}\n"
    span = next(t.span for t in syntax.targets(text, "java") if t.name == "A.f")
    asked = EditRequest(path="A.java", text=text, target=span, instruction="Go", language="java")
    assert cut(asked, "  int f(int a) { return 1; }") == "  int f(int a) { return 1; }"


@pytest.mark.parametrize(("n_before", "n_after"), [(0, 0), (1, 0), (0, 1), (2, 3), (4, 8)], ids=str)
def test_lines_around_a_selection_that_the_reply_repeats_are_cut(n_before, n_after):
    lines = TEXT.split("\n")
    start, stop = TEXT.index("    return open"), TEXT.index("\nclass Shelf")
    selection = EditRequest(
        path="a.py", text=TEXT, target=Span(start, stop), instruction="Go", language="python"
    )
    reply = [*lines[3 - n_before : 3], "    return path.read()", *lines[4 : 5 + n_after]]
    assert cut(selection, "\n".join(reply)).strip() == "return path.read()"


TESTS = """def check(total):
    assert total([1]) == 1
    assert total([]) == 0

check(total)"""
TOTAL = "def total(items):\n    return sum(items) + 1\n"
FIXED = TOTAL.replace(" + 1", "")


def fix(text=TOTAL, told="These are the tests:", language="python"):
    instruction = f"{told}\n```python\n{TESTS}\n```\n\nFix bugs in total."
    return whole_file(text, instruction, language=language)


@pytest.mark.parametrize(
    "quoted",
    [
        pytest.param(TESTS, id="all"),
        pytest.param("check(total)", id="the last line"),
        pytest.param(TESTS.replace("([1])", "([2])"), id="a line of it changed"),
    ],
)
def test_tests_that_the_instruction_shows_are_no_part_of_the_fixed_code(quoted):
    assert cut(fix(), f"{FIXED}\n{quoted}\n").strip() == FIXED.strip()


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        pytest.param(fix(told="Add these tests:"), f"{FIXED}\n{TESTS}", id="asked for"),
        pytest.param(fix(TOTAL + TESTS), f"{FIXED}\n{TESTS}", id="there before"),
        pytest.param(fix(), f"{TESTS}\n\n{FIXED}", id="followed by the target"),
        pytest.param(fix(), f"{FIXED}\ncheck(total)\nprint(1)\nx = 2", id="mostly new"),
        pytest.param(fix(), f"{FIXED}\ndef more():\n    check(total)", id="in something new"),
        pytest.param(fix(language=None), f"{FIXED}\n{TESTS}", id="no grammar"),
    ],
)
def test_what_may_be_meant_stays(asked, code):
    assert cut(asked, code) == code.strip()


def test_no_definition_of_the_target_gets_lost_with_what_is_quoted():
    text = f"{TOTAL}\n\ndef check(f):\n    return f\n"
    code = f"{FIXED}\n\n{TESTS}\n"
    assert "def check" in cut(fix(text), code)


@pytest.mark.parametrize(
    ("path", "text", "name", "reply", "expected"),
    [
        pytest.param(
            "A.cs",
            "namespace X {\n  class S {\n    int Take() { return 1; }\n  }\n}\n",
            "X.S.Take",
            "class S {\n  int Take() { return 2; }\n}",
            "  int Take() { return 2; }",
            id="C#: its class without the namespace",
        ),
        pytest.param(
            "a.php",
            "<?php\nclass S {\n    function take() {\n        return 1;\n    }\n}\n",
            "S.take",
            "<?php\nclass S {\n    function take() {\n        return 2;\n    }\n}",
            "    function take() {\n        return 2;\n    }",
            id="PHP: its file",
        ),
        pytest.param(
            "a.rs",
            "impl S {\n    fn a(&self) -> u8 {\n        1\n    }\n\n    fn b(&self) {}\n}\n",
            "S.a",
            "impl S {\n    fn a(&self) -> u8 {\n        2\n    }\n\n    // ... rest unchanged ...\n}",
            "    fn a(&self) -> u8 {\n        2\n    }",
            id="Rust: its impl",
        ),
        pytest.param(
            "a.ts",
            "export class S {\n  take() {\n    return 1;\n  }\n\n  dump() {}\n}\n",
            "S.take",
            "  take() {\n    return 2;\n  }\n\n  dump() {}",
            "  take() {\n    return 2;\n  }",
            id="TypeScript: the next method",
        ),
    ],
)
def test_other_languages_are_cut_down_as_well(path, text, name, reply, expected):
    language = syntax.language_of(path, text)
    span = syntax.target_named(text, language, name).span
    asked = EditRequest(path=path, text=text, target=span, instruction="Go", language=language)
    assert cut(asked, reply) == expected


def test_surroundings_that_the_parser_cannot_read_are_cut():
    text = (
        "/**\n * A shelf.\n */\nclass Shelf {\n  /** One. */\n  fun take(): Int {\n    return 1\n  }\n\n"
        "  val size = 2\n}\n"
    )
    span = syntax.target_named(text, "kotlin", "Shelf.take").span
    asked = EditRequest(path="a.kt", text=text, target=span, instruction="Go", language="kotlin")
    lines = text.replace("return 1", "return 9").split("\n")
    expected = "  /** One. */\n  fun take(): Int {\n    return 9\n  }"
    assert cut(asked, "\n".join(lines[1:10])) == expected


def test_a_constructor_is_not_taken_for_its_class():
    text = "struct Box {\n    int n;\n    Box(int n) : n(n) {}\n};\n"
    (span,) = (t.span for t in syntax.targets(text, "cpp") if t.name == "Box.Box")
    asked = EditRequest(path="a.cpp", text=text, target=span, instruction="Go", language="cpp")
    assert cut(asked, text.replace("n(n)", "n(n + 1)")).strip() == "Box(int n) : n(n + 1) {}"
