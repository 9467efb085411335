"""The cost of a verification pass, and the draft length that follows from it.

A pass over k rows takes T(k) seconds. T is measured, never assumed: on a CPU it is a bumpy slope,
on Apple GPUs a staircase of tiles. Knows no clock: its caller measures.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

__all__ = ["CostCurve"]


@dataclass(frozen=True, slots=True)
class CostCurve:
    """T(k) at one context depth: seconds per pass for the measured row counts, ascending.

    Between measured counts the cost is interpolated linearly. Since a pass may be padded, T(k) is
    the cheapest way to get at least k rows through: `seconds` is non-decreasing. Raises ValueError
    where 1 row is missing, row counts do not ascend or times are not positive.
    """

    rows: tuple[int, ...]
    measured: tuple[float, ...]
    _seconds: npt.NDArray[np.float64] = field(init=False, repr=False, compare=False)
    _padded: npt.NDArray[np.int64] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.rows or self.rows[0] != 1 or len(self.rows) != len(self.measured):
            raise ValueError("a cost curve starts at 1 row and has one time for each row count")
        positive = all(0 < seconds < float("inf") for seconds in self.measured)
        if list(self.rows) != sorted(set(self.rows)) or not positive:
            raise ValueError("row counts must ascend and times be positive")
        counts = np.arange(1, self.rows[-1] + 1)
        interpolated = np.interp(counts, self.rows, self.measured)
        cheapest = np.empty_like(interpolated)
        padded = np.empty_like(counts)
        cheapest[-1], padded[-1] = interpolated[-1], counts[-1]
        # From the largest count down: where 3 rows take 2.0 s and 4 rows 1.6 s, 3 rows are padded
        # to 4.
        for i in range(len(counts) - 2, -1, -1):
            is_cheaper = interpolated[i] <= cheapest[i + 1]
            cheapest[i] = interpolated[i] if is_cheaper else cheapest[i + 1]
            padded[i] = counts[i] if is_cheaper else padded[i + 1]
        object.__setattr__(self, "_seconds", cheapest)
        object.__setattr__(self, "_padded", padded)

    @staticmethod
    def of(times: Mapping[int, float]) -> "CostCurve":
        """Return the curve through {rows: seconds}."""
        rows = tuple(sorted(times))
        return CostCurve(rows, tuple(times[k] for k in rows))

    @property
    def max_rows(self) -> int:
        """The largest row count that was measured: no pass should be larger."""
        return self.rows[-1]

    @property
    def best_rows(self) -> int:
        """The row count with the most rows a second: what a sure copy should use."""
        counts = np.arange(1, self.max_rows + 1)
        return int(np.argmax(counts / self._seconds)) + 1

    def seconds(self, rows: int) -> float:
        """Return T(rows) for 1 <= rows <= max_rows."""
        return float(self._seconds[rows - 1])

    def padded(self, rows: int) -> int:
        """Return the row count to submit when `rows` are needed: the cheapest that holds them."""
        return int(self._padded[rows - 1])

    def best_draft(
        self, survival: npt.NDArray[np.float64], rate: float, *, n_others: int = 0
    ) -> int:
        """Return how many of the guessed tokens to submit.

        survival: (n,) probability that the first j + 1 guesses are all right, non-increasing. rate:
        tokens per second that decoding makes on the whole. n_others: rows of other texts in the
        same pass. A pass of 1 + k rows brings 1 + sum(survival[:k]) tokens and costs T(1 + k),
        during which `rate` * T(1 + k) tokens would have come anyway; the k with the largest
        difference maximises the long-run rate (the renewal-reward argument; see Ross,
        "Introduction to Probability Models", chapter 7).

        Maximising the tokens per second of each pass on its own would not: what counts is tokens
        over seconds, each summed over all passes, so a second costs the same in every pass. For
        T(1, 4, 16, 32) = 1.0, 1.6, 3.6, 6.1 and guesses that are right 9 times in 10, the k with
        the largest difference is 15 at a rate of 1.4 (8.1 - 1.4 * 3.6 = 3.1) and 3 at a rate of 3
        (3.4 - 3 * 1.6 = -1.4): the faster decoding is elsewhere, the less an unlikely row pays.
        """
        n = max(0, min(len(survival), self.max_rows - 1 - n_others))
        n_tokens = np.concatenate(([1.0], 1.0 + np.cumsum(survival[:n])))
        costs = self._seconds[n_others : n_others + n + 1]  # of n_others + 1 rows, and so on
        return int(np.argmax(n_tokens[: len(costs)] - rate * costs)) if len(costs) else 0
