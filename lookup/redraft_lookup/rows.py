"""Choose the guesses that get rows in a pass: of one text (`best_chain`), or of several.

`RowAllocator` compares the guesses of several texts that share passes. Knows probabilities, costs
and how many tokens earlier passes brought; nothing of where guesses come from.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from redraft_lookup.cost import CostCurve
from redraft_lookup.draft import Draft, Origin, common_prefix_length
from redraft_lookup.hazard import Odds

__all__ = ["Guess", "RowAllocator", "RowPolicy", "best_chain"]

MIN_SURVIVAL = 0.02  # no row is so cheap that a guess of this probability is worth it
# What texts reach together, to begin with: this share of the best rate that the curve allows.
PRIOR_RATE_SHARE = 0.6
PRIOR_PASSES = 8.0  # that the figure above is worth


@dataclass(slots=True)
class Guess:
    """A chain of tokens and, for each length, the probability that all of it is right.

    tokens, origins: (k,). survival: (k,), non-increasing. first_odds: to be told whether the first
    token was right. n_matched: how many tokens a lookup matched, 0 where the guess is not from one.
    """

    tokens: Sequence[int]
    origins: Sequence[Origin]
    survival: npt.NDArray[np.float64]
    first_odds: Odds | None = None
    n_matched: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RowPolicy:
    """The price of a row: T(k), and `rate`, the tokens per second that decoding makes on the whole.

    Rows have to bring more tokens than come at that rate in the seconds that they add to the pass
    (`CostCurve.best_draft`). A rate of None leaves the decision to a `RowAllocator`, which compares
    the guesses of several texts: then all guesses that are not hopeless are submitted to it.
    """

    curve: CostCurve
    rate: float | None

    def count_rows(self, survival: npt.NDArray[np.float64]) -> int:
        """Return how many guesses to submit. survival: (n,) their probabilities, falling."""
        if self.rate is None:
            return int(np.count_nonzero(survival >= MIN_SURVIVAL))
        return self.curve.best_draft(survival, self.rate)


def best_chain(guesses: Sequence[Guess], policy: RowPolicy) -> Draft:
    """Return the likeliest of at least one guess, as many of its tokens as pay.

    It has a survival for each token where the policy leaves the decision to others. Where other
    guesses begin alike, their probabilities are added: positions to copy from exclude each other. A
    lookup is another witness of the same guess, so there the larger figure counts. Second choices
    get no rows: a token tree brought -2 to 2 % of time on 75 edits, by the curve of a CPU and by
    those published for Apple's chips, and each branch costs time of its own in the KV cache.
    """
    likeliest = max(guesses, key=lambda guess: guess.survival.sum())
    # Copying from position 7 gives `a + b` (0.6), from position 40 `a - 1` (0.3): `a` has 0.9.
    copied = np.zeros(len(likeliest.tokens))
    looked_up = np.zeros(len(likeliest.tokens))
    for guess in guesses:
        alike = slice(common_prefix_length(guess.tokens, likeliest.tokens))
        if guess.n_matched:
            np.maximum(looked_up[alike], guess.survival[alike], out=looked_up[alike])
        else:
            copied[alike] += guess.survival[alike]
    survival = np.maximum(copied, looked_up)
    k = policy.count_rows(survival)
    kept = survival[:k].tolist() if policy.rate is None else ()
    return Draft.chain(likeliest.tokens[:k], likeliest.origins[:k], kept)


@dataclass(slots=True)
class RowAllocator:
    """Deals out the rows of passes that several texts share.

    All guesses compete: the likeliest come first, whichever text they belong to, and as many get a
    row as pay by what a pass costs and by the rate that the texts have made together so far.
    """

    curve: CostCurve
    _tokens: float = 0.0
    _seconds: float = 0.0

    @property
    def rate(self) -> float:
        """Tokens per second on the whole, by the curve; from a prior to what was seen."""
        rows = self.curve.best_rows
        seconds = PRIOR_PASSES * self.curve.seconds(rows)
        return (PRIOR_PASSES * PRIOR_RATE_SHARE * rows + self._tokens) / (seconds + self._seconds)

    def allot(self, survival: Mapping[int, Sequence[float]], max_rows: int) -> dict[int, int]:
        """Return for each text how many of its guesses to submit.

        survival: for each of one or more texts the falling probabilities of its guesses. A text's
        last token has a row in any case. The rows are at most `max_rows` in all.
        """
        everyones = np.concatenate([np.asarray(own, np.float64) for own in survival.values()])
        ranked = np.sort(everyones)[::-1]
        n_texts = len(survival)
        n_paying = self.curve.best_draft(ranked, self.rate, n_others=n_texts - 1)
        n_guesses = min(n_paying, max_rows - n_texts)
        allotted = dict.fromkeys(survival, 0)
        if n_guesses < 1:
            return allotted
        # A text's figures fall, so its guesses above the cutoff are its first ones. Of those that
        # equal it, the first texts' come first.
        cutoff = ranked[n_guesses - 1]
        for text, own in survival.items():
            allotted[text] = sum(probability > cutoff for probability in own)
        n_left = n_guesses - sum(allotted.values())
        for text, own in survival.items():
            n_equal = min(n_left, sum(probability == cutoff for probability in own))
            allotted[text] += n_equal
            n_left -= n_equal
        return allotted

    def update(self, rows: int, n_tokens: int) -> None:
        """Count a pass of `rows` rows that brought `n_tokens`."""
        self._tokens += n_tokens
        self._seconds += self.curve.seconds(min(rows, self.curve.max_rows))
