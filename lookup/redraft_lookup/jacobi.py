"""Jacobi decoding: guess a window of tokens, and let every pass improve all guesses at once.

Greedy decoding solves x[i] = argmax p(. | x[:i]) for all i; a pass over a guessed window is one
step of a fixed-point iteration on that system, and what the pass confirms is final. After Santilli
et al. 2023, "Accelerating Transformer Inference for Translation via Parallel Decoding",
algorithm 2.
"""

from collections.abc import Sequence

from redraft_lookup.draft import Draft, Observation

__all__ = ["JacobiDrafter"]


class JacobiDrafter:
    """Drafts a window of `window` >= 1 guesses: what the model said to the guesses before.

    The first guesses repeat the last token of `prompt`. Raises ValueError for a window below 1 and
    for an empty prompt.
    """

    wants_predictions = True

    def __init__(self, prompt: Sequence[int], *, window: int = 15) -> None:
        if window < 1:
            raise ValueError(f"the window must be at least 1 token, not {window}")
        if not prompt:
            raise ValueError("the prompt is empty: there is nothing to guess from")
        self._guesses = [prompt[-1]] * window

    def propose(self, budget: int) -> Draft:
        return Draft.chain(self._guesses[:budget], "guess")

    def observe(self, observation: Observation) -> None:
        """Move the window behind what was committed, and take the predictions for new guesses.

        The prediction after j guesses is the new guess j. Where a pass was shorter than the window,
        the old guesses stay.
        """
        window, improved = len(self._guesses), observation.predictions
        guesses = [*improved, *self._guesses[len(improved) :]][len(observation.tokens) :]
        last = [*self._guesses, *observation.tokens, *guesses][-1]
        self._guesses = [*guesses, *[last] * window][:window]
