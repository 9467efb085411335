"""The rows of a pass that several texts share: whose guesses get them.

All guesses compete. The likeliest come first, whichever text they belong to, and as many get a row
as pay by what a pass costs. Knows probabilities, costs and what came of earlier passes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from redraft_lookup.cost import CostCurve

__all__ = ["RowAllocator"]

SHARE = 0.6  # of the best rate that the curve allows: what texts reach together, to begin with
PRIOR_PASSES = 8.0  # that the figure above is worth


@dataclass(slots=True)
class RowAllocator:
    """T(rows), and the tokens per second that the texts have made together so far."""

    curve: CostCurve
    _tokens: float = 0.0
    _seconds: float = 0.0

    @property
    def rate(self) -> float:
        """Tokens per second on the whole, by the curve; from a guess to what was seen."""
        rows = self.curve.best_rows
        seconds = PRIOR_PASSES * self.curve.seconds(rows)
        return (PRIOR_PASSES * SHARE * rows + self._tokens) / (seconds + self._seconds)

    def allot(self, chances: Mapping[int, Sequence[float]], max_rows: int) -> dict[int, int]:
        """For each text how many of its guesses to submit.

        chances: for each text the falling probabilities of its guesses. A text's last token has a
        row in any case. The rows are at most `max_rows` in all.
        """
        every = np.sort(np.concatenate([np.asarray(one, np.float64) for one in chances.values()]))
        every = every[::-1]
        n_texts = len(chances)
        k = self.curve.best_draft(every, self.rate, n_others=n_texts - 1)
        left = min(k, max_rows - n_texts)
        allotted = dict.fromkeys(chances, 0)
        if left < 1:
            return allotted
        least = every[left - 1]
        for key, own in chances.items():
            allotted[key] = sum(chance > least for chance in own)
        left -= sum(allotted.values())
        for key, own in chances.items():
            n_equal = min(left, sum(chance == least for chance in own))
            allotted[key] += n_equal
            left -= n_equal
        return allotted

    def update(self, rows: int, n_tokens: int) -> None:
        """A pass of `rows` rows brought so many tokens."""
        self._tokens += n_tokens
        self._seconds += self.curve.seconds(min(rows, self.curve.max_rows))
