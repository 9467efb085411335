"""Where in the source the text being written stands: a hidden Markov model of an editor at work.

The writer copies the source token by token and now and then edits: it deletes, inserts, or puts
something in the place of something. Hidden states are positions in the source, in three kinds:

    COPY(j)        the next token is source[j]
    INSERT(j)      writing new text; copying will go on at or soon after j
    REPLACE(j)     the same, and every new token also stands for one of the source

The forward algorithm (Rabiner 1989, "A tutorial on hidden Markov models", III.A) keeps the
posterior over all of them. How rare a token is decides what a match proves: under copying it was
certain, under writing it was as likely as it is frequent.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

__all__ = ["Aligner"]

Vector = npt.NDArray[np.float64]

WINDOW = 2048  # source positions looked at, from BEHIND before the pointer on
BEHIND = 256

EDIT = 0.03  # a copied token is followed by an edit
DELETE, INSERT, REPLACE = 0.35, 0.3, 0.35  # of those
RESUME = 0.15  # a new token is followed by copying
NEAR, FAR = 0.6, 0.98  # decay of the skip length at a deletion or a resumption, token by token
FAR_SHARE = 0.15
JUMP = 1e-3  # of a resumption: to anywhere
NEAR_KERNEL = (1 - NEAR) * NEAR ** np.arange(20)
FAR_POWERS = FAR ** np.arange(WINDOW + 1, dtype=np.float64)
SLACK = 0.12  # of a replacement's resumption: to one of the two positions before the expected one


class Aligner:
    """The posterior over positions of `source`, after the tokens shown to `advance` and `emit`.

    It starts certain at `position`: source[position] comes next.
    """

    def __init__(self, source: Sequence[int], position: int = 0) -> None:
        self.source: npt.NDArray[np.int32] = np.asarray(source, np.int32)
        self._frequency = Counter(source)
        self._certain: int | None = position
        self._low = 0  # source position of the vectors' first element
        self._window = self.source[:0]
        self._copy = self._insert = self._replace = np.zeros(0)
        self._ahead: Vector | None = None  # what `_next` found, until something is written

    def restart(self, source: npt.NDArray[np.int32]) -> None:
        """Be certain of the start of `source`: the rest of the old one, in other words."""
        self.source = source
        self._certain = 0

    @property
    def certain(self) -> int | None:
        """The only position that copying can go on from, when no other has a share."""
        return self._certain

    def advance(self, n_tokens: int) -> None:
        """Take in the next `n_tokens` of the source, copied from the certain position."""
        if self._certain is None:
            raise ValueError("the position is not certain")
        self._certain += n_tokens

    def emit(self, token: int) -> None:
        """Take in one written token."""
        self._spread()
        copied = self._next() * (self._window == token)
        self._ahead = None
        fresh = (self._frequency[token] + 0.5) / (len(self.source) + 500)
        inserted = fresh * (self._copy * EDIT * INSERT + self._insert * (1 - RESUME))
        replaced = fresh * (self._copy * EDIT * REPLACE + self._replace * (1 - RESUME))
        total = copied.sum() + inserted.sum() + replaced.sum()
        self._copy = np.zeros_like(copied)
        self._copy[1:] = copied[:-1] / total
        self._insert = inserted / total
        self._replace = np.zeros_like(replaced)
        self._replace[1:] = replaced[:-1] / total
        self._replace[-1] += replaced[-1] / total  # behind the end there is only the end
        self._settle()

    def candidates(self, n: int) -> list[tuple[int, float]]:
        """The `n` likeliest positions to copy the next token from, with their probabilities."""
        if self._certain is not None:
            return [(self._certain, 1.0)] if self._certain < len(self.source) else []
        weights = self._next()
        top = np.argpartition(-weights, min(n, len(weights) - 1))[:n]
        top = top[np.argsort(-weights[top], kind="stable")]
        return [(self._low + int(j), float(weights[j])) for j in top if weights[j] > 0]

    def _next(self) -> Vector:
        """For each position of the window, how likely the next token is copied from there."""
        if self._ahead is None:
            self._ahead = self._landing() + self._copy * (1 - EDIT)
        return self._ahead

    def _landing(self) -> Vector:
        """The part of it that does not simply go on copying."""
        resuming = self._insert * RESUME
        replacing = self._replace * RESUME
        skips = resuming + replacing * (1 - 2 * SLACK)
        skips[:-1] += replacing[1:] * SLACK
        skips[:-2] += replacing[2:] * SLACK
        deleting = np.zeros_like(skips)
        deleting[1:] = self._copy[:-1] * EDIT * DELETE
        starts = skips + deleting
        jump = JUMP * starts.sum() / len(starts)
        landed: Vector = (1 - JUMP) * (
            (1 - FAR_SHARE) * _near(starts) + FAR_SHARE * _far(starts)
        ) + jump
        return landed

    def _spread(self) -> None:
        """From certainty to vectors over a window around the pointer."""
        if self._certain is None:
            return
        self._low = max(0, min(self._certain - BEHIND, len(self.source) - WINDOW))
        self._window = self.source[self._low : self._low + WINDOW]
        size = len(self._window) + 1  # one more: the end of the source
        self._window = np.append(self._window, -1)
        self._copy, self._insert, self._replace = np.zeros((3, size))
        self._copy[min(self._certain - self._low, size - 1)] = 1.0
        self._certain = self._ahead = None

    def _settle(self) -> None:
        """Back to certainty when one position holds nearly everything."""
        best = int(np.argmax(self._copy))
        if self._copy[best] > 0.999:
            self._certain = self._low + best


def _near(starts: Vector) -> Vector:
    """Sum over d >= 0 of (1 - NEAR) * NEAR**d * starts[j - d], for every j."""
    return np.convolve(starts, NEAR_KERNEL)[: len(starts)]


def _far(starts: Vector) -> Vector:
    """The same sum for FAR, whose kernel is too long to convolve with: a scaled running sum."""
    powers = FAR_POWERS[: len(starts)]
    return np.cumsum(starts / powers) * powers * (1 - FAR)
