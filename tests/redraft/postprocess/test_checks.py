import pytest

from redraft.postprocess.checks import first_violation
from redraft.records import EditRequest, Span

BODY = "def f():\n" + "".join(f"    step({i})\n" for i in range(9))


def request(instruction, *, text=BODY, language="python"):
    return EditRequest(
        path="f.py",
        text=text + "g()\n",
        target=Span(0, len(text)),
        instruction=instruction,
        language=language,
    )


@pytest.mark.parametrize(
    ("instruction", "new", "reason"),
    [
        ("Add a docstring", 'def f():\n    """Do f."""\n', "deletion"),
        ("Add a docstring", "def f():\n    pass\n" * 2, None),
        ("Add a docstring", "", "deletion"),
        ("Remove all the steps", "def f():\n    pass\n", None),
        ("Simplify it to a loop", "def f():\n    for i in range(9): step(i)\n", None),
        ("Add a docstring", BODY + "    (\n", "parse_broken"),
        ("Greet", BODY + "    print 'hi'\n", "parse_broken"),  # the grammar knows Python 2 as well
        ("Handle empty input and the minimum", "def f():\n    pass\n", "deletion"),
    ],
)
def test_an_edit_that_loses_or_breaks_code_is_objected_to(instruction, new, reason):
    found = first_violation(request(instruction), new)
    assert (found and found[0]) == reason


def test_a_short_target_may_become_shorter():
    short = "def f():\n    a = 1\n    return a\n"
    assert first_violation(request("Tidy up", text=short), "f = 1\n") is None


def test_a_file_that_did_not_parse_may_stay_so():
    assert first_violation(request("Tidy up", text="def f(:\n  x\n"), "def f(:\n  y\n") is None


def test_without_a_grammar_nothing_is_parsed():
    assert first_violation(request("Tidy up", language=None), BODY + "(") is None
