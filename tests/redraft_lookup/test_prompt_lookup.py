"""What followed when the end of a text stood there before, against slow scans of all of it."""

import random

import pytest

from redraft_lookup.draft import EMPTY, Observation
from redraft_lookup.prompt_lookup import (
    KEY,
    MAX_CHAIN,
    MAX_LENGTH,
    Match,
    NgramDrafter,
    SuffixIndex,
)


def scan(tokens: list[int]) -> Match | None:
    """The longest suffix that also stands earlier, the latest place among equals."""
    best: Match | None = None
    for place in range(KEY, len(tokens)):
        length = 0
        while length < min(place, MAX_LENGTH) and tokens[place - 1 - length] == tokens[-1 - length]:
            length += 1
        if length >= KEY and (best is None or length >= best.length):
            best = Match(place, length)
    return best


def n_places(tokens: list[int]) -> int:
    """How often the last two tokens stand earlier."""
    return sum(tokens[i - 2 : i] == tokens[-2:] for i in range(KEY, len(tokens)))


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        pytest.param([], None, id="an empty text"),
        pytest.param([1], None, id="one token"),
        pytest.param([1, 2], None, id="two tokens"),
        pytest.param([1, 2, 3, 4], None, id="nothing repeats"),
        pytest.param([5, 1, 2, 6, 1], None, id="one token is no match"),
        pytest.param([1, 2, 3, 1, 2], Match(2, 2), id="two tokens are"),
        pytest.param([1, 2, 3, 1, 2, 4, 1, 2], Match(5, 2), id="the latest among equals"),
        pytest.param(
            [9, 1, 2, 3, 1, 2, 4, 9, 1, 2], Match(3, 3), id="the longest before the latest"
        ),
        pytest.param([7, 7, 7], Match(2, 2), id="a match may overlap the end"),
        pytest.param([0, 0, 1, 0, 0], Match(2, 2), id="token 0 is a token"),
    ],
)
def test_the_longest_match(tokens: list[int], expected: Match | None):
    assert SuffixIndex(tokens).longest_match() == expected


@pytest.mark.parametrize("seed", range(30))
def test_it_is_that_of_a_slow_scan_while_chains_are_short(seed: int):
    rng = random.Random(seed)
    alphabet = range(rng.choice([3, 8, 40, 50_000]))
    tokens: list[int] = []
    index = SuffixIndex()
    n_exact = 0
    for _ in range(150):
        if tokens and rng.random() < 0.3:
            start = rng.randrange(len(tokens))
            new = tokens[start : start + rng.randrange(12)]
        else:
            new = rng.choices(alphabet, k=rng.randrange(4))
        tokens += new
        index.extend(new)
        match = index.longest_match()
        if len(tokens) > KEY and n_places(tokens) <= MAX_CHAIN // 2:  # the rest: other keys
            n_exact += 1
            assert match == scan(tokens)
        if match:
            length = match.length
            assert KEY <= length <= MAX_LENGTH
            assert tokens[match.position - length : match.position] == tokens[-length:]
    assert n_exact > 10
    assert list(index.tokens) == tokens
    assert len(index) == len(tokens)


def test_places_beyond_the_chain_are_not_looked_at():
    """The limit of constant time: of a frequent pair only the latest places count."""
    old = [9, 8, 7, 1, 2]
    for n_newer, length in ((MAX_CHAIN - 1, 5), (MAX_CHAIN, 2)):
        newer = [token for i in range(n_newer) for token in (100 + i, 1, 2)]
        match = SuffixIndex([*old, *newer, 200, *old]).longest_match()
        assert match
        assert match.length == length


def test_a_match_is_no_longer_than_what_proves_something():
    match = SuffixIndex([5] * 200).longest_match()
    assert match == Match(199, MAX_LENGTH)


@pytest.mark.parametrize("seed", range(5))
def test_indexing_in_parts_makes_no_difference(seed: int):
    rng = random.Random(seed)
    tokens = rng.choices(range(20), k=3000)
    whole, grown = SuffixIndex(tokens), SuffixIndex()
    at = 0
    while at < len(tokens):
        n = rng.randrange(1, 700)
        grown.extend(tokens[at : at + n])
        at += n
    assert grown.longest_match() == whole.longest_match()
    assert grown.tokens == whole.tokens


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
    rng = random.Random(seed)
    text = rng.choices(range(4), k=5)
    drafter = NgramDrafter(text, min_ngram=2, max_ngram=4, n_draft=6)
    for _ in range(60):
        assert drafter.propose(5).tokens == scan_ngrams(text, range(4, 1, -1))[:5]
        more = rng.choices(range(4), k=rng.randrange(4))
        drafter.observe(Observation(tokens=tuple(more), draft=EMPTY, path=()))
        text += more


def scan_ngrams(text: list[int], lengths: range) -> tuple[int, ...]:
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
