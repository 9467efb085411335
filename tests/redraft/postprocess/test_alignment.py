import random

import pytest

from redraft.postprocess.alignment import align, is_significant


def aligned(shown, reply):
    return align(shown.split("|"), reply.split("|"))


@pytest.mark.parametrize(
    ("shown", "reply", "kept"),
    [
        pytest.param("a|b|c", "a|b|c", [0, 1, 2], id="a copy"),
        pytest.param("  a|  b", "a|\tb  ", [0, 1], id="whatever white space it has"),
        pytest.param("a|b|c", "a|x|c", [0, None, 2], id="a changed line"),
        pytest.param("a|c", "a|b|c", [0, None, 1], id="an added line"),
        pytest.param("a|b|c", "a|c", [0, 2], id="a line left out"),
        pytest.param("a|b", "b|a", [1, None], id="two that changed places"),
        pytest.param(
            "a {|b|}|c {|d|}", "x {|y|}|z {|w|}", [None] * 5 + [5], id="brackets prove nothing"
        ),
    ],
)
def test_kept_lines_are_paired_in_order(shown, reply, kept):
    assert list(aligned(shown, reply).kept) == kept


def test_hunks_are_what_differs():
    found = aligned("a|b|c|d", "a|x|y|c").hunks
    spans = [(hunk.shown, hunk.shown_stop, hunk.reply, hunk.reply_stop) for hunk in found]
    assert spans == [(1, 2, 1, 3), (3, 4, 4, 4)]


def test_a_line_that_moved_is_not_left_out():
    assert aligned("a|b||c|d", "b|c|a").left_out == (4,)


def test_trailing_spaces_are_text_where_they_are_a_line_break():
    assert align(["a  "], ["a"]).kept == (0,)
    assert align(["a  "], ["a"], keeps_trailing=True).kept == (None,)


def test_pairs_ascend_and_are_equal_lines():
    random_ = random.Random(4)
    for _ in range(300):
        shown, reply = (random_.choices(["a", "b", "c", "}", "", "  d"], k=12) for _ in "xy")
        kept = [
            (at, source) for at, source in enumerate(align(shown, reply).kept) if source is not None
        ]
        assert kept == sorted(kept, key=lambda pair: pair[1])
        assert len({source for _, source in kept}) == len(kept)
        assert all(reply[at].strip() == shown[source].strip() for at, source in kept)


@pytest.mark.parametrize("line", ["x = 1", "return x", "# why", "def f():"])
def test_a_line_that_says_something_is_significant(line):
    assert is_significant(line)


@pytest.mark.parametrize("line", ["", "  }", "else:", "end", "try {", "return"])
def test_brackets_and_words_found_everywhere_are_not(line):
    assert not is_significant(line)
