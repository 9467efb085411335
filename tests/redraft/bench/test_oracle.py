"""The oracle by hand-counted cases, and against a slow search under random texts."""

import random

import pytest

from redraft.bench.edits import copied_spans, decode_with_oracle
from redraft_lookup import CostCurve

FLAT = CostCurve.of({1: 1.0, 4: 2.0, 8: 8.0})  # best: 4 rows, 2 rows a second


@pytest.mark.parametrize(
    ("answer", "source", "spans"),
    [
        pytest.param("", "abc", [], id="nothing"),
        pytest.param("abc", "", [1, 1, 1], id="nothing to copy from"),
        pytest.param("abc", "abc", [3], id="all of it"),
        pytest.param("axc", "abc", [1, 1, 1], id="single tokens are no spans"),
        pytest.param("abxcd", "abcd", [2, 1, 2], id="around a change"),
        pytest.param("cdab", "abcd", [2, 2], id="in another order"),
        pytest.param("abcab", "ab.abc", [3, 2], id="the longest place, not the first"),
        pytest.param("ab", "a", [1, 1], id="a source of one token"),
    ],
)
def test_an_answer_is_cut_into_the_spans_that_stand_in_the_source(answer, source, spans):
    assert list(copied_spans(answer.encode(), source.encode())) == spans


@pytest.mark.parametrize(
    ("answer", "source", "passes", "seconds", "copied"),
    [
        pytest.param("abcd", "abcd", 1, 2.0, 4, id="one pass of the best length"),
        pytest.param("abcdefghi", "abcdefghi", 3, 5.0, 9, id="several, and a short last one"),
        pytest.param("abxyz", "ab", 4, 1 + 1 / 3 + 3, 2, id="a pass for each other token"),
        pytest.param("", "ab", 0, 0.0, 0, id="an empty answer costs nothing"),
    ],
)
def test_the_oracle_pays(answer, source, passes, seconds, copied):
    best = decode_with_oracle(answer.encode(), source.encode(), FLAT)
    assert (best.passes, best.copied) == (passes, copied)
    assert best.seconds == pytest.approx(seconds)
    assert best.copied_share == pytest.approx(copied / len(answer) if answer else 0)


@pytest.mark.parametrize("seed", range(40))
def test_no_span_could_have_been_longer(seed: int):
    chance = random.Random(seed)
    answer, source = (bytes(chance.choices(b"abc", k=chance.randrange(40))) for _ in range(2))
    start = 0
    for length in copied_spans(answer, source):
        assert length == 1 or answer[start : start + length] in source
        longer = answer[start : start + length + 1]
        assert len(longer) <= length or longer not in source
        start += length
    assert start == len(answer)
