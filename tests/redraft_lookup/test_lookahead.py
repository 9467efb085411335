"""Windows of guesses that each pass improves: Jacobi iteration, and n-grams collected from it."""

import itertools

import pytest
from tests.redraft_lookup.fakes import FixedDrafter, Markov, run, written

from redraft_lookup.draft import EMPTY, ROOT, Draft, Observation
from redraft_lookup.lookahead import JacobiDrafter, LookaheadDrafter

SHAPES = pytest.mark.parametrize(
    ("window", "n_gram", "n_verify"), [(5, 4, 3), (1, 3, 0), (4, 2, 2), (15, 5, 15), (1, 2, 0)]
)


def leaves(draft: Draft) -> int:
    return len(set(range(len(draft))) - set(draft.parents))


def texts(draft: Draft) -> list[tuple[int, ...]]:
    """What each node stands for: its ancestors' tokens and its own."""
    ways: dict[int, tuple[int, ...]] = {ROOT: ()}
    for node, (token, parent) in enumerate(zip(draft.tokens, draft.parents, strict=True)):
        ways[node] = (*ways[parent], token)
    return [way for node, way in ways.items() if node != ROOT]


@SHAPES
def test_window_and_n_grams_share_one_tree(window: int, n_gram: int, n_verify: int):
    prompt = [1, 2, 3, 4, 5, 1, 2, 3, 1]
    drafter = LookaheadDrafter(prompt, window=window, n_gram=n_gram, n_verify=n_verify)
    steps = run(target := Markov(prompt, max_rows=1000), prompt, drafter, max_tokens=100)
    assert max(target.passes) <= drafter.max_rows
    assert len(written(steps)) == 100


@SHAPES
def test_a_tree_has_no_more_branches_than_stated(window: int, n_gram: int, n_verify: int):
    drafter = LookaheadDrafter([1, 2, 3, 4], window=window, n_gram=n_gram, n_verify=n_verify)
    seen: list[int] = []
    inner = drafter.propose
    drafter.propose = lambda budget: seen.append(leaves(draft := inner(budget))) or draft  # type: ignore[method-assign, func-returns-value]
    run(Markov([1, 2, 3, 4], max_rows=1000), [1, 2, 3, 4], drafter, max_tokens=100)
    assert max(seen) <= drafter.max_leaves
    assert max(seen) > drafter.max_leaves / 2 or drafter.max_rows == 1


def test_n_grams_of_the_prompt_are_verified_latest_first():
    drafter = LookaheadDrafter([7, 1, 2, 7, 3, 4, 7, 5, 6, 7], window=1, n_gram=3, n_verify=2)
    assert texts(drafter.propose(4)) == [(5,), (5, 6), (3,), (3, 4)]


def test_a_column_is_verified_as_an_n_gram_later():
    drafter = LookaheadDrafter([1], window=2, n_gram=3, n_verify=2)
    window = drafter.propose(100)
    assert texts(window) == [(1,), (1, 1)]  # column 0 is 1; column 1 is 1 1 behind the text's end
    drafter.observe(
        Observation(tokens=(5,), draft=window, path=(), predictions=(5, 2, 3))
    )  # 2 was said behind column 0: 1 1 2; 3 behind column 1: 1 1 3
    drafter.observe(Observation(tokens=(1,), draft=EMPTY, path=(), predictions=(1,)))
    assert texts(drafter.propose(4)) == [(5,), (5, 1), (1,), (1, 3)]


@pytest.mark.parametrize(
    ("committed", "window"),
    [
        pytest.param((7,), [(2,), (1,), (1, 3), (1, 1), (1, 1, 4)], id="by one token"),
        pytest.param((1, 7), [(3,), (1,), (1, 4), (1, 1), (1, 1, 1)], id="by two, with a column"),
        pytest.param((1, 1, 1, 7), [(1,), (1, 1), (1, 1, 1)], id="out of the window, all anew"),
    ],
)
def test_the_window_moves_with_the_text(committed: tuple, window: list[tuple]):
    drafter = LookaheadDrafter([1], window=3, n_gram=3, n_verify=0)
    draft = drafter.propose(100)
    assert texts(draft) == [(1,), (1, 1), (1, 1, 1)]  # 2, 3 and 4 are said behind the columns
    path = tuple(range(len(committed) - 1))
    drafter.observe(Observation(tokens=committed, draft=draft, path=path, predictions=(7, 2, 3, 4)))
    assert texts(drafter.propose(100)) == window


def test_an_n_gram_seen_again_is_the_latest():
    drafter = LookaheadDrafter([7, 1, 2, 7, 3, 4, 7, 1, 2, 7], window=1, n_gram=3, n_verify=2)
    assert texts(drafter.propose(4)) == [(1,), (1, 2), (3,), (3, 4)]


def test_a_window_finds_n_grams_that_the_text_has_not_shown():
    def passes(window: int) -> int:
        drafter = LookaheadDrafter(prompt, window=window, n_gram=5, n_verify=15)
        target = Markov(prompt, n_vocab=200)
        text = written(run(target, prompt, drafter))
        assert len(set(itertools.pairwise(text))) == len(text) - 1  # never repeats
        return len(target.passes)

    prompt = [1, 2]
    assert passes(5) < passes(1) < 200


def test_a_pass_cut_short_does_no_harm():
    prompt = [1, 2, 3]
    for max_rows in (1, 2, 3, 10):
        steps = run(
            Markov(prompt, max_rows=max_rows), prompt, LookaheadDrafter(prompt), max_tokens=50
        )
        assert written(steps) == written(run(Markov(prompt), prompt, FixedDrafter(), max_tokens=50))


@pytest.mark.parametrize(
    ("prompt", "wrong"),
    [
        pytest.param([], {}, id="no prompt"),
        pytest.param([1], {"window": 0}, id="no window"),
        pytest.param([1], {"n_gram": 1}, id="an n-gram without a continuation"),
        pytest.param([1], {"n_verify": -1}, id="fewer than no n-grams"),
    ],
)
def test_shapes_that_make_no_sense_are_refused(prompt: list[int], wrong: dict):
    with pytest.raises(ValueError, match=r"the prompt is empty|need window"):
        LookaheadDrafter(prompt, **wrong)


@pytest.mark.parametrize(
    ("tokens", "n_drafted", "path", "predictions", "guesses"),
    [
        pytest.param((1,), 4, (), (1, 2, 3, 4, 5), (2, 3, 4, 5), id="no guess was right"),
        pytest.param((9, 1), 4, (0,), (9, 1, 2, 3, 4), (2, 3, 4, 4), id="one guess was right"),
        pytest.param(
            (9, 9, 9, 9, 1), 4, (0, 1, 2, 3), (9, 9, 9, 9, 1), (1, 1, 1, 1), id="all were right"
        ),
        pytest.param((1,), 2, (), (1, 2, 3), (2, 3, 9, 9), id="a short pass keeps old guesses"),
        pytest.param((1,), 0, (), (1,), (9, 9, 9, 9), id="a plain pass moves the window on"),
        pytest.param((), 2, (), (1, 2, 3), (1, 2, 3, 9), id="a near-tie commits nothing"),
    ],
)
def test_what_the_model_said_is_guessed_next(
    tokens: tuple, n_drafted: int, path: tuple, predictions: tuple, guesses: tuple
):
    drafter = JacobiDrafter([9], window=4)
    assert drafter.propose(100).tokens == (9, 9, 9, 9)
    draft = Draft.chain([9] * n_drafted, "guess") if n_drafted else EMPTY
    drafter.observe(Observation(tokens=tokens, draft=draft, path=path, predictions=predictions))
    assert drafter.propose(100) == Draft.chain(guesses, "guess")


def test_a_repeated_token_is_written_a_window_at_a_time():
    prompt = [1, 2]
    steps = run(Markov(prompt, n_vocab=3, seed=1), prompt, JacobiDrafter(prompt, window=9))
    assert len(set(written(steps)[5:])) == 1
    assert len(steps) <= 200 / 10 + 3


@pytest.mark.parametrize(
    ("prompt", "window"),
    [pytest.param([], 4, id="no prompt"), pytest.param([1], 0, id="no window")],
)
def test_a_window_of_nothing_is_refused(prompt: list[int], window: int):
    with pytest.raises(ValueError, match=r"the prompt is empty|at least 1"):
        JacobiDrafter(prompt, window=window)
