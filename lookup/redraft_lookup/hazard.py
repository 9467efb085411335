"""How likely a run of right guesses breaks at its next token, by its age.

Runs are not memoryless: just after an edit every tenth token breaks, after a hundred copied tokens
one in some hundreds. The hazard is learnt online for each power of two of the age, from priors
measured on real edits.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

__all__ = ["COPY_RUNS", "LOOKUP_RUNS", "Hazard", "Odds", "first_of_copy", "first_of_lookup"]

# Breaks per token at ages 0, 1, 2-3, 4-7, ... 256 and more. Copy runs: 140 edits of whole files
# (commits in 14 languages, about 330,000 tokens); lookup runs: the same edits and 20 answers of a
# 1.5B model, where copying had stopped. The age of a lookup run counts the tokens that matched.
COPY_RUNS = (0.19, 0.1, 0.11, 0.08, 0.045, 0.015, 0.005, 0.003, 0.002, 0.0015)
LOOKUP_RUNS = (0.4, 0.4, 0.4, 0.2, 0.11, 0.035, 0.01, 0.01, 0.01, 0.01)

AGES = 1024  # older runs are as old as this
BUCKETS = np.minimum([age.bit_length() for age in range(AGES)], len(COPY_RUNS) - 1)
STRENGTH = 8.0  # breaks that a prior is worth


class Odds:
    """A probability learnt online: the mean of a Beta distribution."""

    __slots__ = ("no", "yes")

    def __init__(self, yes: float, no: float) -> None:
        self.yes = yes
        self.no = no

    @property
    def mean(self) -> float:
        return self.yes / (self.yes + self.no)

    def update(self, *, right: bool) -> None:
        self.yes += right
        self.no += not right


class Hazard:
    """Break probabilities by age, starting from `priors` for the ages of each power of two."""

    def __init__(self, priors: Sequence[float]) -> None:
        self._yes = np.full(len(priors), STRENGTH)
        self._all = STRENGTH / np.asarray(priors)

    def going_on(self, age: int, n: int) -> npt.NDArray[np.float64]:
        """(n,) probabilities that a run of `age` survives its next token, and each one after."""
        survives = 1.0 - self._yes / self._all
        ages = np.minimum(np.arange(age, age + n), AGES - 1)
        return np.asarray(survives[BUCKETS[ages]])

    def survived(self, age: int, n: int) -> None:
        """A run of `age` went on for `n` tokens."""
        ages = np.minimum(np.arange(age, age + n), AGES - 1)
        self._all += np.bincount(BUCKETS[ages], minlength=len(self._all))

    def broke(self, age: int) -> None:
        """A run ended at `age`."""
        bucket = BUCKETS[min(age, AGES - 1)]
        self._yes[bucket] += 1
        self._all[bucket] += 1


def first_of_copy() -> list[Odds]:
    """That a guess the aligner gives 0, 0.1, ... 1 is right: what became of such guesses."""
    seen = (0.1, 0.25, 0.35, 0.42, 0.45, 0.45, 0.45, 0.47, 0.62, 0.73, 0.8)
    return [Odds(20 * p, 20 * (1 - p)) for p in seen]


def first_of_lookup() -> list[Odds]:
    """That what followed a match of 0, 1, 2, ... 32 tokens follows again."""
    seen = (0.1, 0.2, 0.4, 0.54, 0.7, 0.72, 0.8, 0.8, *[0.87] * 16, *[0.92] * 8, 0.98)
    return [Odds(8 * p, 8 * (1 - p)) for p in seen]
