"""Which of the files that were put aside comes back, and which has to go."""

import pytest

from redraft.engine.state_cache import SavedState, StateCache, reusable


def state(*tokens: int, n_bytes: int = 10, chunk: int = 2) -> SavedState:
    ends = (*range(chunk, len(tokens), chunk), len(tokens))
    return SavedState(tokens=tokens, ends=ends, cells=bytes(n_bytes))


@pytest.mark.parametrize(
    ("wanted", "ends", "have", "have_ends", "expected"),
    [
        pytest.param([], [], [], [], 0, id="nothing at all"),
        pytest.param([1, 2], [2], [], [], 0, id="nothing there"),
        pytest.param([1, 2, 3], [2, 3], [1, 2, 3], [2, 3], 3, id="all of it"),
        pytest.param([1, 2, 3, 4], [2, 4], [1, 2, 3], [2, 3], 2, id="up to the last common border"),
        pytest.param(
            [1, 2, 9, 4], [2, 4], [1, 2, 3, 4], [2, 4], 2, id="the border before a change"
        ),
        pytest.param([1, 9], [2], [1, 2], [2], 0, id="a change in the first pass"),
        pytest.param(
            [1, 2, 3, 4], [3, 4], [1, 2, 3, 4], [2, 4], 0, id="passes cut elsewhere round otherwise"
        ),
        pytest.param([1, 2, 3], [2, 3], [1, 2, 3], [2], 2, id="decoded tokens have no border"),
        pytest.param([1, 2], [2], [1, 2, 3, 4], [2, 4], 2, id="a shorter text"),
    ],
)
def test_reusable(wanted, ends, have, have_ends, expected: int):
    assert reusable(wanted, ends, have, have_ends) == expected


def test_the_best_state_is_taken_out():
    store = StateCache(100)
    store.put(state(1, 2, 3, 4))
    store.put(state(1, 2, 9, 9))
    best = store.take_best([1, 2, 3, 4, 5], [2, 4, 5], above=0)
    assert best
    assert best.tokens == (1, 2, 3, 4)
    assert store.size == 10


@pytest.mark.parametrize(
    ("wanted", "above"),
    [
        pytest.param([7, 7], 0, id="none begins like the text"),
        pytest.param([1, 2, 3, 4], 4, id="what is at hand is as good"),
    ],
)
def test_a_state_that_brings_nothing_stays(wanted: list[int], above: int):
    store = StateCache(100)
    store.put(state(1, 2, 3, 4))
    assert store.take_best(wanted, [2, 4], above=above) is None
    assert store.size == 10


def test_the_least_recently_put_goes_first():
    store = StateCache(30)
    for first in (1, 2, 3, 1, 4):
        store.put(state(first, first))
    assert store.size == 30
    kept = [n for n in (1, 2, 3, 4) if store.take_best([n, n], [2], above=0)]
    assert kept == [1, 3, 4]


def test_a_state_beyond_the_budget_does_not_push_out_others():
    store = StateCache(30)
    store.put(state(1, 1))
    store.put(state(2, 2, n_bytes=31))
    assert store.size == 10
    assert store.take_best([1, 1], [2], above=0)
