"""The probability that a run of right guesses breaks at its next token, by its age.

Runs are not memoryless: just after an edit every tenth token breaks, after a hundred copied tokens
one in some hundreds. The hazard (in the sense of survival analysis) is learnt online for each power
of two of the age, from priors measured on real edits. Knows counts only: nothing of where guesses
come from or what they cost.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

__all__ = ["COPY_RUNS", "LOOKUP_RUNS", "Hazard", "Odds", "make_copy_odds", "make_lookup_odds"]

# Breaks per token at ages 0, 1, 2-3, 4-7, ... 256 and more. Copy runs: 140 edits of whole files
# (commits in 14 languages, about 330,000 tokens); lookup runs: the same edits and 20 answers of a
# 1.5B model, where copying had stopped. The age of a lookup run counts the tokens that matched.
COPY_RUNS = (0.19, 0.1, 0.11, 0.08, 0.045, 0.015, 0.005, 0.003, 0.002, 0.0015)
LOOKUP_RUNS = (0.4, 0.4, 0.4, 0.2, 0.11, 0.035, 0.01, 0.01, 0.01, 0.01)

MAX_AGE = 1024  # older runs are as old as this
# The bucket of an age is its number of bits: 0, 1, 2-3, 4-7, ...
BUCKETS = np.minimum([age.bit_length() for age in range(MAX_AGE)], len(COPY_RUNS) - 1)
PRIOR_BREAKS = 8.0  # that a prior is worth


class Odds:
    """A probability learnt online: the mean of a Beta(`right`, `wrong`) distribution."""

    __slots__ = ("right", "wrong")

    def __init__(self, right: float, wrong: float) -> None:
        self.right = right
        self.wrong = wrong

    @property
    def mean(self) -> float:
        return self.right / (self.right + self.wrong)

    def update(self, *, right: bool) -> None:
        """Count one more case."""
        self.right += right
        self.wrong += not right


class Hazard:
    """Break probabilities by age, starting from `priors` for the ages of each power of two."""

    def __init__(self, priors: Sequence[float]) -> None:
        # A bucket's hazard is n_breaks / n_tokens. A small prior needs many tokens for its breaks:
        # 8 breaks at 0.19 are 42 tokens, 8 at 0.0015 are 5,333.
        self._n_breaks = np.full(len(priors), PRIOR_BREAKS)
        self._n_tokens = PRIOR_BREAKS / np.asarray(priors)

    def survival_probabilities(self, age: int, n: int) -> npt.NDArray[np.float64]:
        """Return (n,) probabilities that a run survives each of its next tokens.

        The first is that of a run of `age`, each further one that of a run one token older, given
        that it survived so far; their running product is the chance of the whole run.
        """
        by_bucket = 1.0 - self._n_breaks / self._n_tokens
        ages = np.minimum(np.arange(age, age + n), MAX_AGE - 1)
        return np.asarray(by_bucket[BUCKETS[ages]])

    def record_survival(self, age: int, n: int) -> None:
        """Count that a run of `age` went on for `n` tokens."""
        ages = np.minimum(np.arange(age, age + n), MAX_AGE - 1)
        self._n_tokens += np.bincount(BUCKETS[ages], minlength=len(self._n_tokens))

    def record_break(self, age: int) -> None:
        """Count that a run ended at `age`."""
        bucket = BUCKETS[min(age, MAX_AGE - 1)]
        self._n_breaks[bucket] += 1
        self._n_tokens[bucket] += 1


def make_copy_odds() -> list[Odds]:
    """Return the odds that a guess to which the aligner gives 0, 0.1, ... 1 is right.

    They begin with what became of such guesses in the edits above: the aligner's 0.5 came true in
    45 of 100 cases, its 1.0 in 80.
    """
    shares = (0.1, 0.25, 0.35, 0.42, 0.45, 0.45, 0.45, 0.47, 0.62, 0.73, 0.8)
    return [Odds(20 * share, 20 * (1 - share)) for share in shares]


def make_lookup_odds() -> list[Odds]:
    """Return the odds that what followed a match of 0, 1, 2, ... 32 tokens follows again."""
    shares = (0.1, 0.2, 0.4, 0.54, 0.7, 0.72, 0.8, 0.8, *[0.87] * 16, *[0.92] * 8, 0.98)
    return [Odds(8 * share, 8 * (1 - share)) for share in shares]
