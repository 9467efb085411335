"""The longest match of a text's end, against a slow scan of all of it."""

import random

import pytest

from redraft_lookup.prompt_lookup import KEY, MAX_CHAIN, MAX_LENGTH, Match, SuffixIndex


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
def test_longest(tokens: list[int], expected: Match | None):
    assert SuffixIndex(tokens).longest() == expected


@pytest.mark.parametrize("seed", range(30))
def test_it_is_that_of_a_slow_scan_while_chains_are_short(seed: int):
    chance = random.Random(seed)
    alphabet = range(chance.choice([3, 8, 40, 50_000]))
    tokens: list[int] = []
    index = SuffixIndex()
    n_exact = 0
    for _ in range(150):
        if tokens and chance.random() < 0.3:
            start = chance.randrange(len(tokens))
            new = tokens[start : start + chance.randrange(12)]
        else:
            new = chance.choices(alphabet, k=chance.randrange(4))
        tokens += new
        index.extend(new)
        match = index.longest()
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
        match = SuffixIndex([*old, *newer, 200, *old]).longest()
        assert match
        assert match.length == length


def test_a_match_is_no_longer_than_what_proves_something():
    match = SuffixIndex([5] * 200).longest()
    assert match == Match(199, MAX_LENGTH)


@pytest.mark.parametrize("seed", range(5))
def test_how_the_text_came_makes_no_difference(seed: int):
    chance = random.Random(seed)
    tokens = chance.choices(range(20), k=3000)
    whole, grown = SuffixIndex(tokens), SuffixIndex()
    at = 0
    while at < len(tokens):
        n = chance.randrange(1, 700)
        grown.extend(tokens[at : at + n])
        at += n
    assert grown.longest() == whole.longest()
    assert grown.tokens == whole.tokens
