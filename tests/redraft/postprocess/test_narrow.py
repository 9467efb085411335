import pytest
from tests.redraft.edit_requests import whole_file

from redraft import syntax
from redraft.postprocess.narrow import narrow
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

TAKE = "def take(self):\n    return 9"


def method(name="Shelf.take"):
    target = syntax.target_named(TEXT, "python", name)
    return EditRequest(
        path="a.py", text=TEXT, target=target.span, instruction="Go", language="python"
    )


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(TAKE, id="the target"),
        pytest.param(TAKE + "\n\ndef helper():\n    pass", id="and a new function"),
        pytest.param(TAKE.replace("take", "grab"), id="under a new name"),
        pytest.param("import re\n" + TAKE, id="below an import"),
        pytest.param("not code at all {", id="something else"),
    ],
)
def test_a_reply_that_repeats_nothing_stays(code):
    assert narrow(method(), code) == code


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
    assert narrow(method(), code) == "    def take(self):\n        return 9"


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(
            "class Shelf:\n    def dump(self):\n        return 9", id="only its neighbour"
        ),
        pytest.param(
            "class Shelf:\n    def take(self): pass\n    def take(self): pass",
            id="the target twice",
        ),
    ],
)
def test_a_reply_without_one_clear_target_has_none(code):
    assert narrow(method(), code) is None


def test_overloads_are_no_repetition():
    text = "class A {\n  int f(int a) { return a; }\n  int f(long a) { return 0; }\n}\n"
    span = next(t.span for t in syntax.targets(text, "java") if t.name == "A.f")
    asked = EditRequest(path="A.java", text=text, target=span, instruction="Go", language="java")
    assert narrow(asked, "  int f(int a) { return 1; }") == "  int f(int a) { return 1; }"


def test_a_selection_without_a_name_is_never_narrowed():
    asked = EditRequest(
        path="a.py", text=TEXT, target=Span(0, 60), instruction="Go", language="python"
    )
    assert narrow(asked, TEXT) == TEXT


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
    assert narrow(fix(), f"{FIXED}\n{quoted}\n").strip() == FIXED.strip()


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        pytest.param(fix(told="Add these tests:"), f"{FIXED}\n{TESTS}", id="asked for"),
        pytest.param(fix(TOTAL + TESTS), f"{FIXED}\n{TESTS}", id="there before"),
        pytest.param(fix(), f"{TESTS}\n\n{FIXED}", id="followed by the target"),
        pytest.param(fix(), TESTS, id="nothing else"),
        pytest.param(fix(), f"{FIXED}\ncheck(total)\nprint(1)\nx = 2", id="mostly new"),
        pytest.param(fix(), f"{FIXED}\ndef more():\n    check(total)", id="in something new"),
        pytest.param(fix(language=None), f"{FIXED}\n{TESTS}", id="no grammar"),
    ],
)
def test_what_may_be_meant_stays(asked, code):
    assert narrow(asked, code) == code


def test_no_definition_of_the_target_gets_lost_with_what_is_quoted():
    text = f"{TOTAL}\n\ndef check(f):\n    return f\n"
    code = f"{FIXED}\n\n{TESTS}\n"
    assert "def check" in narrow(fix(text), code)
