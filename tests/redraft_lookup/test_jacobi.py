import pytest
from tests.redraft_lookup.fakes import Markov, run, written

from redraft_lookup.draft import EMPTY, Draft, Observation
from redraft_lookup.jacobi import JacobiDrafter


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
def test_nothing_to_guess_is_refused(prompt: list[int], window: int):
    with pytest.raises(ValueError, match=r"the prompt is empty|at least 1"):
        JacobiDrafter(prompt, window=window)
