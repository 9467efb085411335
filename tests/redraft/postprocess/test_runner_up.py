"""The other way that a reply nearly took."""

import pytest

from redraft.postprocess.runner_up import branch_at_runner_up
from redraft.records import Completion, Pass, RunnerUp, Stats

SURE = ("?", 50.0)


def completion(*passes, text=None):
    """Of (token, other, behind), or of tokens that are sure, a list for each pass."""
    made = []
    for one in passes:
        rows = [row if isinstance(row, tuple) else (row, *SURE) for row in one]
        runners_up = (
            RunnerUp(token=100 + i, piece=as_bytes(other), behind=behind)
            for i, (_, other, behind) in enumerate(rows)
        )
        made.append(
            Pass(
                tokens=tuple(range(len(rows))),
                pieces=tuple(as_bytes(token) for token, _, _ in rows),
                origins=("copied",) * len(rows),
                runners_up=tuple(runners_up),
                drafted=len(rows),
                seconds=1.0,
            )
        )
    written = b"".join(piece for one in made for piece in one.pieces).decode("utf-8", "replace")
    return Completion(
        text=written if text is None else text, finish="stop", stats=Stats(), passes=tuple(made)
    )


def as_bytes(text):
    return text if isinstance(text, bytes) else text.encode()


def begun(*passes, language="python", **options):
    done = completion(*passes, **options)
    found = branch_at_runner_up(done, done.text, language)
    return found and found.text


def test_the_reply_is_begun_up_to_the_least_certain_token_and_goes_on_with_the_other():
    first, second = ["a", (" <", " <=", 1.0), " b"], ["\n", "c", (" +", " -", 0.5), " d"]
    found = branch_at_runner_up(completion(first, second), "a < b\nc + d", "python")
    assert found.text == "a < b\nc -"
    assert [one.pieces for one in found.passes] == [(b"a", b" <", b" b"), (b"\n", b"c", b" -")]
    assert found.passes[-1].tokens == (0, 1, 102)
    assert found.passes[-1].origins == ("copied", "copied", None)
    assert len(found.passes[-1].runners_up) == 3
    assert found.n_tokens == 6


DOCSTRING = ['def f():\n    """Say', (" a", " b", 0.1), '."""\n']


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param([("a", "b", 0.1), " = 1"], id="the first token"),
        pytest.param(["a", (" =", "=", 0.1), " 1"], id="white space"),
        pytest.param(["a = 1", ("\n", "\n\n", 0.1), "b = 2"], id="an empty line"),
        pytest.param(["a = 1", ("\n", "  # one", 0.1), "b"], id="a remark begun"),
        pytest.param(["a = 1  # is", (" one", " two", 0.1), "\n"], id="in a remark"),
        pytest.param(DOCSTRING, id="in a docstring"),
        pytest.param(["a", (" =", b"\xe2\x82", 0.1), " 1"], id="half a character"),
        pytest.param(["a = '\u00e4", ("'", b"\x80", 0.1)], id="no character"),
        pytest.param(["a", (" =", " +=", 3.5), " 1"], id="far behind"),
        pytest.param(["a = 1"], id="sure"),
    ],
)
def test_no_other_way(reply):
    assert begun(reply) is None


def test_a_string_that_is_a_value_may_be_another():
    assert begun(["a = ", ("'x'", "'y'", 0.1)]) == "a = 'y'"


def test_without_a_grammar_remarks_are_told_by_their_beginning():
    assert begun(["a", (" b", " // c", 0.1), (" d", " e", 1.0)], language=None) == "a b e"


def test_tokens_behind_the_code_do_not_count():
    done = completion(["a", (" = 1", " = 2", 2.0), "\n\n", ("check(a)", "x", 0.1)])
    assert branch_at_runner_up(done, "a = 1\n", "python").text == "a = 2"


def test_tokens_behind_the_stop_string_do_not_count():
    assert begun(["a", (" b", " c", 2.0), "\n", ("```", "x", 0.1)], text="a b") == "a c"


def test_a_character_of_two_tokens_is_passed_over_whole():
    cut = ["a = '", (b"\xc3", "b", 0.1), (b"\xa4", "c", 0.1), ("'", "!'", 1.0)]
    assert begun(cut) == "a = '\u00e4!'"
