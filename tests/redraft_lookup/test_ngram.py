import random

import pytest

from redraft_lookup.draft import EMPTY, Observation
from redraft_lookup.ngram import NgramDrafter


@pytest.mark.parametrize(
    ("text", "lengths", "n_draft", "drafted"),
    [
        pytest.param([], (3, 5), 8, (), id="nothing to look up"),
        pytest.param([1, 2, 3], (3, 5), 8, (), id="an n-gram does not match itself"),
        pytest.param([1, 2, 3, 4, 1, 2, 3], (3, 5), 8, (4, 1, 2, 3), id="what followed before"),
        pytest.param([1, 2, 3, 4, 1, 2, 3], (3, 5), 2, (4, 1), id="no more than the draft length"),
        pytest.param([1, 2, 4, 1, 2], (3, 5), 8, (), id="a match shorter than the minimum"),
        pytest.param([1, 2, 4, 1, 2], (2, 5), 2, (4, 1), id="a match as long as the minimum"),
        pytest.param(
            [1, 2, 3, 7, 1, 2, 3, 8, 1, 2, 3], (3, 3), 1, (8,), id="the latest of two matches"
        ),
        pytest.param(
            [9, 1, 2, 7, 1, 2, 8, 9, 1, 2], (2, 3), 1, (7,), id="a longer match before a later one"
        ),
        pytest.param([5, 5, 5, 5], (1, 2), 8, (5,), id="a run goes on by one"),
    ],
)
def test_a_lookup_drafts(text: list, lengths: tuple, n_draft: int, drafted: tuple):
    low, high = lengths
    drafter = NgramDrafter(text, min_ngram=low, max_ngram=high, n_draft=n_draft)
    assert drafter.propose(100).tokens == drafted


@pytest.mark.parametrize("seed", range(30))
def test_the_index_finds_what_a_scan_finds(seed: int):
    chance = random.Random(seed)
    text = chance.choices(range(4), k=5)
    drafter = NgramDrafter(text, min_ngram=2, max_ngram=4, n_draft=6)
    for _ in range(60):
        assert drafter.propose(5).tokens == scan(text, range(4, 1, -1))[:5]
        more = chance.choices(range(4), k=chance.randrange(4))
        drafter.observe(Observation(tokens=tuple(more), draft=EMPTY, path=()))
        text += more


def scan(text: list[int], lengths: range) -> tuple[int, ...]:
    """The slow way: every place, the latest first, for every length, the longest first."""
    for length in lengths:
        for start in range(len(text) - length - 1, -1, -1):
            if text[start : start + length] == text[-length:]:
                return tuple(text[start + length : start + length + 6])
    return ()


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({"min_ngram": 0}, id="an n-gram of nothing"),
        pytest.param({"min_ngram": 4, "max_ngram": 3}, id="a minimum above the maximum"),
        pytest.param({"n_draft": 0}, id="a draft of nothing"),
        pytest.param({"n_draft": -1}, id="a negative draft"),
    ],
)
def test_lengths_that_make_no_sense_are_refused(wrong: dict):
    with pytest.raises(ValueError, match="not"):
        NgramDrafter([1, 2, 3], **wrong)
