"""Sampling: the right distribution, whatever is drafted."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from tests.redraft_lookup.fakes import FixedDrafter, Markov, run, written

from redraft_lookup.draft import Draft
from redraft_lookup.sampling import BadLogitsError, Greedy, Sampler, _invert

LOGITS = np.log(np.array([0.05, 0.4, 0.1, 0.25, 0.2], np.float32))


@pytest.mark.parametrize(
    ("logits", "token"),
    [
        pytest.param([0, 3, 2], 1, id="the most likely"),
        pytest.param([3, 0, 3], 0, id="the lowest id among equals"),
        pytest.param([-np.inf, -5, -np.inf], 1, id="the only possible one"),
    ],
)
def test_greedy_takes(logits: list[float], token: int):
    assert Greedy().choose(np.array(logits, np.float32), 0) == token


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        pytest.param({}, [1, 3, 4, 2, 0], id="no cut: all of them"),
        pytest.param({"top_k": 2}, [1, 3], id="the best two"),
        pytest.param({"top_k": 1}, [1], id="top-k 1 is greedy"),
        pytest.param({"top_k": 9}, [1, 3, 4, 2, 0], id="a large k"),
        pytest.param({"top_p": 0.6}, [1, 3], id="until 0.6 is passed"),
        pytest.param({"top_p": 0.01}, [1], id="the best one always stays"),
        pytest.param({"top_p": 0.999}, [1, 3, 4, 2, 0], id="the last one crosses the threshold"),
        pytest.param({"min_p": 0.4}, [1, 3, 4], id="at least 0.4 of the best"),
        pytest.param({"top_k": 3, "top_p": 0.7}, [1, 3], id="top-p of what top-k left"),
        pytest.param({"temperature": 0.5, "top_p": 0.7}, [1, 3], id="a low temperature cuts more"),
    ],
)
def test_the_distribution_is_cut(options: dict, kept: list[int]):
    sampler = Sampler(**{"temperature": 1.0, "seed": 0, **options})
    found = list_shares(sampler, LOGITS)
    expected = by_hand(LOGITS, **{"temperature": 1.0, **options})
    assert sorted(expected) == sorted(kept)
    assert found == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("seed", range(40))
def test_cuts_of_long_rows_keep_what_sorting_would(seed: int):
    random = np.random.default_rng(seed)
    logits = (random.choice([0.5, 3.0, 9.0]) * random.standard_normal(700)).astype(np.float32)
    logits[random.integers(700, size=90)] = -np.inf
    options = {
        "temperature": float(random.choice([0.3, 1.0, 2.5])),
        "top_k": int(random.choice([0, 1, 40, 650])),
        "top_p": float(random.choice([1.0, 0.99, 0.9, 0.2])),
        "min_p": float(random.choice([0.0, 0.001, 0.3])),
    }
    found = list_shares(Sampler(seed=0, **options), logits)
    expected = {i: share for i, share in by_hand(logits, **options).items() if share}
    # Rounding decides about a token that is next to a threshold: few have so little a share.
    tokens = found.keys() | expected.keys()
    assert max(abs(found.get(i, 0) - expected.get(i, 0)) for i in tokens) < 1e-3
    assert len(found.keys() ^ expected.keys()) <= 1


def test_a_draw_from_many_tokens_finds_each_by_its_share():
    weights = np.random.default_rng(5).random(3000).astype(np.float32)
    weights[::7] = 0
    ends = np.cumsum(weights, dtype=np.float64) / weights.sum(dtype=np.float64)
    for token in np.flatnonzero(weights > 0.01):
        assert _invert(weights, ends[token] - 0.004 / 1500) == token
    assert _invert(weights, 1.0) == np.flatnonzero(weights)[-1]
    assert _invert(weights, 0.0) == np.flatnonzero(weights)[0]


def test_a_token_that_is_impossible_is_never_drawn():
    logits = np.array([-np.inf, 0, -np.inf, 0, -np.inf], np.float32)
    drawn = {Sampler(temperature=1, seed=seed).choose(logits, 0) for seed in range(50)}
    assert drawn == {1, 3}


@pytest.mark.parametrize(
    "wrong",
    [
        {"temperature": 0.0}, {"temperature": -1.0}, {"temperature": float("nan")}, {"top_k": -1},
        {"top_p": 0.0}, {"top_p": 1.1}, {"min_p": -0.1}, {"min_p": 1.5},
    ],
    ids=str,
)  # fmt: skip
def test_parameters_that_make_no_sense_are_refused(wrong: dict):
    with pytest.raises(ValueError, match="must be"):
        Sampler(**{"temperature": 1.0, "seed": 0, **wrong})


@pytest.mark.parametrize("chooser", [Greedy(), Sampler(temperature=1, seed=1)], ids=["greedy", "s"])
@pytest.mark.parametrize(
    "row",
    [
        pytest.param([np.nan] * 3, id="nothing but NaN"),
        pytest.param([1, np.nan, 2], id="one NaN"),
        pytest.param([-np.inf] * 3, id="nothing possible"),
        pytest.param([1, np.inf, 2], id="an infinite logit"),
    ],
)
def test_rows_that_name_no_token_are_an_error(chooser, row: list[float]):
    with pytest.raises(BadLogitsError, match="position 7"):
        chooser.choose(np.array(row, np.float32), 7)


def test_a_draw_depends_on_seed_and_position():
    flat = np.zeros(50, np.float32)
    draws = {
        (seed, position): Sampler(temperature=1, seed=seed).choose(flat, position)
        for seed, position in product(range(8), range(8))
    }
    assert draws[3, 4] == Sampler(temperature=1, seed=3).choose(flat, 4)
    assert len(set(draws.values())) > 25


# Two tokens of a vocabulary of five. The draft is right now and then, and a tree, so that both
# acceptance and the draw after a rejection are counted.
PROMPT = [1, 2]
DRAFTS = {
    "a chain": Draft.chain([1, 2], "guess"),
    "a likely and an unlikely branch": Draft.tree([[4, 3], [2], [1, 1]], "guess"),
    "every first token": Draft.tree([[token] for token in range(5)], "guess"),
}
N_DRAWS = 4000
CRITICAL = {24: 51.18, 15: 37.70}  # chi-square, p = 0.001, by degrees of freedom


@pytest.mark.parametrize("draft", DRAFTS.values(), ids=DRAFTS)
@pytest.mark.parametrize(
    ("options", "n_outcomes"),
    [
        pytest.param({"temperature": 2.5}, 25, id="uncut"),
        pytest.param({"temperature": 3.0, "top_k": 4, "top_p": 0.999, "min_p": 0.01}, 16, id="cut"),
    ],
)
def test_drafts_leave_the_distribution_as_it_is(draft: Draft, options: dict, n_outcomes: int):
    target = Markov(PROMPT, n_vocab=5, seed=11)
    target.logits = lambda text: np.roll(LOGITS * 3, sum(text))  # type: ignore[method-assign]
    expected = {
        (first, second): p_first * p_second
        for first, p_first in by_hand(target.logits(PROMPT), **options).items()
        for second, p_second in by_hand(target.logits([*PROMPT, first]), **options).items()
    }
    assert len(expected) == n_outcomes
    drawn = Counter(draw_two(target, draft, Sampler(seed=n, **options)) for n in range(N_DRAWS))
    assert set(drawn) <= set(expected)
    chi_square = sum(
        (drawn[outcome] - N_DRAWS * p) ** 2 / (N_DRAWS * p) for outcome, p in expected.items()
    )
    assert min(expected.values()) * N_DRAWS >= 5  # where the test's approximation holds
    assert chi_square < CRITICAL[n_outcomes - 1]


def test_the_chi_square_test_would_notice_greedy_acceptance():
    """Taking a draft token whenever it is possible at all is the classic mistake."""
    options = {"temperature": 2.5}
    p = by_hand(LOGITS * 3, **options)
    drawn = Counter(
        2 if n % 10 == 0 else Sampler(seed=n, **options).choose(LOGITS * 3, 0)
        for n in range(N_DRAWS)
    )
    assert sum((drawn[t] - N_DRAWS * p[t]) ** 2 / (N_DRAWS * p[t]) for t in p) > CRITICAL[24]


def draw_two(target: Markov, draft: Draft, sampler: Sampler) -> tuple[int, int]:
    target.cache = PROMPT[:-1]
    steps = run(target, PROMPT, FixedDrafter(draft), max_tokens=2, chooser=sampler, end_ids=())
    first, second = written(steps)
    return first, second


def list_shares(sampler: Sampler, logits: np.ndarray) -> dict[int, float]:
    """The share of each token that may be drawn."""
    ids, weights = sampler.weigh(logits)
    ids = np.arange(len(logits)) if ids is None else ids
    return {int(i): w / weights.sum() for i, w in zip(ids, weights, strict=True) if w}


def by_hand(
    logits: np.ndarray, temperature: float, top_k: int = 0, top_p: float = 1.0, min_p: float = 0.0
) -> dict[int, float]:
    """softmax(logits / temperature) with its cuts, the long way."""
    weights = {i: float(np.exp(np.float64(value) / temperature)) for i, value in enumerate(logits)}
    ranked = sorted(weights, key=lambda i: -weights[i])[: top_k or None]
    total = sum(weights[i] for i in ranked)
    kept: dict[int, float] = {}
    for i in ranked:
        if sum(kept.values()) / total < top_p and weights[i] >= min_p * weights[ranked[0]]:
            kept[i] = weights[i]
    return {i: weight / sum(kept.values()) for i, weight in kept.items()}
