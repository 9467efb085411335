"""Drafts from the target model's own predictions: Jacobi decoding, and lookahead decoding on top.

Both keep a window of guesses that every pass improves. `JacobiDrafter` verifies the window alone,
`LookaheadDrafter` also the n-grams collected from it. Neither needs text to copy from. Knows
nothing of costs: the window has a fixed size.
"""

import random
from collections.abc import Sequence

from redraft_lookup.draft import ROOT, Draft, Observation

__all__ = ["JacobiDrafter", "LookaheadDrafter"]


class JacobiDrafter:
    """Drafts a window of `window` >= 1 guesses: the model's predictions for the guesses before.

    Greedy decoding solves x[i] = argmax p(. | x[:i]) for all i; a pass over a guessed window is one
    step of a fixed-point iteration on that system, and what the pass confirms is final. After
    Santilli et al. 2023, "Accelerating Transformer Inference for Translation via Parallel
    Decoding", algorithm 2.

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
        the old guesses stay. With the guesses 9 9 9 and the predictions 9 1 2 3, the pass commits
        9 1, and 2 3 3 is guessed next.
        """
        window, improved = len(self._guesses), observation.predictions
        guesses = [*improved, *self._guesses[len(improved) :]][len(observation.tokens) :]
        last = [*self._guesses, *observation.tokens, *guesses][-1]
        self._guesses = [*guesses, *[last] * window][:window]


class LookaheadDrafter:
    """Drafts a window of `window` columns and up to `n_verify` n-grams of `n_gram` tokens.

    After Fu et al. 2024, "Break the Sequential Dependency of LLM Inference Using Lookahead
    Decoding". A column holds `n_gram` - 1 tokens, guesses from ever later iterations. Column j
    begins j positions behind the last committed token; the first tokens of all columns form a
    chain, and a column's other tokens hang from its own first one. What the model predicts behind a
    column completes an n-gram, which goes into a pool. N-grams of the pool that begin with the last
    committed token are verified beside the window, in the same token tree.

    The pool also holds the n-grams of the prompt and of the text, the latest `n_verify` for each
    first token. A pass has up to `max_rows` rows and `max_leaves` branches. Raises ValueError for
    an empty prompt, for `window` < 1, `n_gram` < 2 or `n_verify` < 0.
    """

    wants_predictions = True

    def __init__(
        self, prompt: Sequence[int], *, window: int = 5, n_gram: int = 4, n_verify: int = 3
    ) -> None:
        if window < 1 or n_gram < 2 or n_verify < 0:
            raise ValueError(
                "need window >= 1, n_gram >= 2 and n_verify >= 0, "
                f"not {window}, {n_gram} and {n_verify}"
            )
        if not prompt:
            raise ValueError("the prompt is empty: there is nothing to guess from")
        self._n_gram = n_gram
        self._n_verify = n_verify
        self._pool: dict[int, dict[tuple[int, ...], None]] = {}  # oldest n-gram first
        self._prompt = prompt
        self._random = random.Random(0)  # noqa: S311 - guesses, and the same ones every time
        self._columns = [self._random_column() for _ in range(window)]
        self._end: list[int] = []  # the last tokens of the text, up to an n-gram of them
        self._extend(prompt)

    @property
    def max_leaves(self) -> int:
        """The most branches that the token tree may have."""
        n_columns = len(self._columns) if self._n_gram > 2 else 1
        return n_columns + self._n_verify

    @property
    def max_rows(self) -> int:
        """The most rows that a pass may have, the one of the last committed token included."""
        return (len(self._columns) + self._n_verify) * (self._n_gram - 1)

    def propose(self, budget: int) -> Draft:
        # Where the budget is short the earlier nodes stay: n-grams before the window.
        n_grams = reversed(self._pool.get(self._end[-1], {}))
        tree = Draft.tree([*n_grams, *self._paths()], "guess")
        return tree.prune(budget, budget, frozenset())

    def observe(self, observation: Observation) -> None:
        n_tokens = len(observation.tokens)
        if not n_tokens:
            return
        # The n-gram of column 0 begins with the last committed token, others with their own first.
        starts = [self._end[-1], *self._chain()]
        predictions = self._predict_columns(observation)
        for column, start, prediction in zip(self._columns, starts, predictions, strict=True):
            if prediction is None:
                column[:] = [*column[1:], self._random.choice(self._prompt)]
            else:
                self._remember((start, *column[1:], prediction))
                column[:] = [*column[1:], prediction]
        # Columns that the text has reached are dropped, and new ones begin at the window's end.
        self._columns = self._columns[n_tokens - 1 :]
        self._columns += (self._random_column() for _ in range(len(starts) - len(self._columns)))
        self._extend(observation.tokens)

    def _chain(self) -> list[int]:
        """Return the first tokens of all columns but the first, whose place the text has taken."""
        return [column[0] for column in self._columns[1:]]

    def _paths(self) -> list[list[int]]:
        """Return for each column the tokens from the root to its last one.

        Column 2 of (a b c), (d e f), (g h i) is reached along d and g: the path is d g h i.
        """
        chain = self._chain()
        return [chain[:j] + column[1:] for j, column in enumerate(self._columns)]

    def _predict_columns(self, observation: Observation) -> list[int | None]:
        """Return the model's prediction after each column, None where the pass did not hold it."""
        edges = observation.draft.edges()
        predictions: list[int | None] = []
        for path in self._paths():
            node: int | None = ROOT
            for token in path:
                node = None if node is None else edges.get((node, token))
            predictions.append(None if node is None else observation.predictions[node + 1])
        return predictions

    def _random_column(self) -> list[int]:
        """Return a column of tokens that follow each other somewhere in the prompt."""
        start = self._random.randrange(len(self._prompt))
        return [self._prompt[(start + i) % len(self._prompt)] for i in range(self._n_gram - 1)]

    def _extend(self, tokens: Sequence[int]) -> None:
        for token in tokens:
            self._end = [*self._end, token][-self._n_gram :]
            if len(self._end) == self._n_gram:
                self._remember(tuple(self._end))

    def _remember(self, n_gram: tuple[int, ...]) -> None:
        # A dict keeps the order of insertion: an n-gram met again moves to the end, as the latest.
        continuations = self._pool.setdefault(n_gram[0], {})
        continuations.pop(n_gram[1:], None)
        continuations[n_gram[1:]] = None
        if len(continuations) > self._n_verify:
            del continuations[next(iter(continuations))]
