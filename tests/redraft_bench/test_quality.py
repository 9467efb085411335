"""Edits judged by their tests: a scripted model writes them, the sandbox and the counts are real."""

from dataclasses import replace

import pytest
from tests.redraft.scripted_model import ScriptedModel

from redraft.records import EditRequest, Span
from redraft_bench.quality.measure import PROMPTS, LeftOut, count_changed_lines, measure
from redraft_bench.quality.sandbox import Sandbox, SandboxLimits
from redraft_bench.quality.sets import CODE, Problem

BEFORE = "import math\n\n\ndef twice(x):\n    return x + 2\n"
AFTER = "import math\n\n\ndef twice(x):\n    return x * 2\n"
FUNCTION = Span(BEFORE.index("def"), len(BEFORE))

PROBLEM = Problem(
    id="twice",
    request=EditRequest(
        path="twice.py",
        text=BEFORE,
        target=FUNCTION,
        instruction="Multiply.",
        language="python",
    ),
    reference=AFTER,
    frame=f"{CODE}\nassert twice(3) == 6\n",
)


EDITED = "def twice(x):\n    return x * 2\n```"  # the product opens the reply with a fence


def fenced(code):
    return f"Here it is:\n\n```python\n{code}```\n\nDone.\n"


def records(problem, replies, prompts, **given):
    sandbox = Sandbox(SandboxLimits(wall_s=8.0))
    return list(measure(ScriptedModel(replies=replies), [problem], prompts, sandbox, **given))


@pytest.mark.parametrize(
    ("reply", "ending", "broken", "outside", "changed"),
    [
        pytest.param(AFTER, "passed", False, False, 2, id="right"),
        pytest.param(BEFORE.replace("2", "5"), "failed", False, False, 2, id="wrong"),
        pytest.param(BEFORE, "unchanged", False, False, None, id="as it was"),
        pytest.param(AFTER.replace("math", "os"), "passed", False, True, 4, id="more than asked"),
        pytest.param(AFTER.replace("(x):", "(x:"), "failed", True, False, 4, id="no Python"),
    ],
)
def test_a_naive_reply_is_taken_and_counted_as_it_is(reply, ending, broken, outside, changed):
    (record,) = records(PROBLEM, [fenced(reply)], ["naive"])
    assert (record.ending, record.parse_broken) == (ending, broken)
    assert (record.out_of_target, record.changed_lines) == (outside, changed)
    assert (record.reference_lines, record.n_replies) == (2, 1)


def test_a_naive_reply_without_code_is_a_refusal():
    (record,) = records(PROBLEM, ["I cannot."], ["naive"])
    assert (record.ending, record.detail) == ("refused", "no_code")


def test_the_product_edits_its_target_alone():
    (record,) = records(PROBLEM, [EDITED], ["product"])
    assert record.ending == "passed"
    assert not record.out_of_target


def test_both_ways_are_asked_on_the_same_problem():
    results = records(PROBLEM, [fenced(AFTER), EDITED], list(PROMPTS))
    assert [(record.prompt, record.ending) for record in results] == [
        ("naive", "passed"),
        ("product", "passed"),
    ]


def test_what_is_done_is_not_asked_again():
    results = records(PROBLEM, [fenced(AFTER)], ["naive"], done={("twice", "naive")})
    assert results == []


@pytest.mark.parametrize(
    ("problem", "why"),
    [
        pytest.param(
            replace(PROBLEM, reference=f"import no_such_package\n{AFTER}"),
            "its own answer does not pass here",
            id="a package is missing",
        ),
        pytest.param(replace(PROBLEM, frame=CODE), "its tests pass before", id="no tests"),
    ],
)
def test_a_problem_that_cannot_be_judged_is_left_out(problem, why):
    (left_out,) = records(problem, [], ["naive"])
    assert isinstance(left_out, LeftOut)
    assert why in left_out.why


@pytest.mark.parametrize(
    ("before", "after", "count"),
    [
        ("a\nb\n", "a\nb\n", 0),
        ("a\nb\n", "a\nb", 0),
        ("a\nb\n", "a \nb\n", 0),
        ("a\nb\n", "a\nc\n", 2),
        ("a\n", "a\nb\nc\n", 2),
        ("a\nb\n", "", 2),
    ],
)
def test_changed_lines_are_those_taken_out_and_put_in(before, after, count):
    assert count_changed_lines(before, after) == count
