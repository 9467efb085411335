"""Find the place in a source that a text has come to: a hidden Markov model of an editor at work.

The writer copies the source token by token and now and then edits: it deletes, inserts, or puts
something in the place of something. Hidden states are positions in the source, in three kinds:

    COPY(j)        the next token is source[j]
    INSERT(j)      writing new text; copying will go on at or soon after j
    REPLACE(j)     the same, and every new token also stands for one of the source

The forward algorithm (Rabiner 1989, "A tutorial on hidden Markov models", III.A) keeps the
posterior over all of them. How rare a token is decides what a match proves: under copying it was
certain, under writing it was as likely as it is frequent.

With the source `abcdefghijkl`, the writer puts X in the place of c:

    written   certain   likeliest positions to copy from
    ab        2 (c)
    abX       no        d 0.039, c 0.029, e 0.023, f 0.014: probably more new text
    abXd      no        e 0.913, f 0.005, ...: d stands once, so it proves much
    abXde     5 (f)

Knows token ids only: nothing of drafts, and nothing of what the edits were.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

__all__ = ["Aligner"]

Vector = npt.NDArray[np.float64]

WINDOW = 2048  # source positions considered, from BEHIND before the pointer on
BEHIND = 256
CERTAIN = 0.999  # the share of the posterior at which a position counts as certain

# Transition probabilities.
EDIT = 0.03  # a copied token is followed by an edit
DELETE, INSERT, REPLACE = 0.35, 0.3, 0.35  # of those
RESUME = 0.15  # a new token is followed by copying
SLACK = 0.12  # of a replacement's resumption: to one of the two positions before the expected one
JUMP = 1e-3  # of a resumption: to anywhere

# How many source tokens a deletion or a resumption skips: a mixture of two geometric distributions.
NEAR, FAR = 0.6, 0.98  # the decay from one token to the next
FAR_SHARE = 0.15
NEAR_KERNEL = (1 - NEAR) * NEAR ** np.arange(20)
FAR_POWERS = FAR ** np.arange(WINDOW + 1, dtype=np.float64)


class Aligner:
    """The posterior over positions of `source`, after the tokens shown to `advance` and `emit`.

    It starts certain at `position`: source[position] comes next. While it is certain, `advance`
    moves in constant time; `emit` costs time in proportion to `WINDOW`.
    """

    def __init__(self, source: Sequence[int], position: int = 0) -> None:
        self.source: npt.NDArray[np.int32] = np.asarray(source, np.int32)
        self._frequency = Counter(source)
        self._certain: int | None = position
        # While not certain: (w,) vectors over source[_window_start : _window_start + w].
        self._window_start = 0
        self._window = self.source[:0]
        self._copy = self._insert = self._replace = np.zeros(0)
        self._cached_next: Vector | None = None  # of `_next_probabilities`, until the next token

    def restart(self, source: npt.NDArray[np.int32]) -> None:
        """Be certain of the start of `source`: the rest of the old one, in other words."""
        self.source = source
        self._certain = 0

    @property
    def certain(self) -> int | None:
        """The only position that copying can go on from, or None where several compete."""
        return self._certain

    def advance(self, n_tokens: int) -> None:
        """Take in the next `n_tokens` of the source, copied from the certain position.

        Raises ValueError where no position is certain.
        """
        if self._certain is None:
            raise ValueError("the position is not certain")
        self._certain += n_tokens

    def emit(self, token: int) -> None:
        """Take in one written token: one step of the forward algorithm."""
        self._open_window()
        copied = self._next_probabilities() * (self._window == token)
        self._cached_next = None
        # New text uses the tokens of the source about as often as the source does. The 0.5 and 500
        # leave something for tokens that it never used.
        fresh = (self._frequency[token] + 0.5) / (len(self.source) + 500)
        inserted = fresh * (self._copy * EDIT * INSERT + self._insert * (1 - RESUME))
        replaced = fresh * (self._copy * EDIT * REPLACE + self._replace * (1 - RESUME))
        total = copied.sum() + inserted.sum() + replaced.sum()
        # Whatever copied or replaced source[j] stands at j + 1 now; an insertion stays at j.
        self._copy = np.zeros_like(copied)
        self._copy[1:] = copied[:-1] / total
        self._insert = inserted / total
        self._replace = np.zeros_like(replaced)
        self._replace[1:] = replaced[:-1] / total
        self._replace[-1] += replaced[-1] / total  # behind the end there is only the end
        best = int(np.argmax(self._copy))
        if self._copy[best] > CERTAIN:
            self._certain = self._window_start + best

    def candidates(self, n: int) -> list[tuple[int, float]]:
        """Return the `n` likeliest positions to copy the next token from, likeliest first.

        Each comes with its probability; they add up to less than 1 where new text may come next.
        """
        if self._certain is not None:
            return [(self._certain, 1.0)] if self._certain < len(self.source) else []
        weights = self._next_probabilities()
        top = np.argpartition(-weights, min(n, len(weights) - 1))[:n]
        top = top[np.argsort(-weights[top], kind="stable")]
        return [(self._window_start + int(j), float(weights[j])) for j in top if weights[j] > 0]

    def _next_probabilities(self) -> Vector:
        """Return for each position of the window how likely the next token is copied from it.

        Either copying simply goes on, or it resumes after a deletion or new text.
        """
        if self._cached_next is not None:
            return self._cached_next
        resuming = self._insert * RESUME
        replacing = self._replace * RESUME
        # New text may be a token or two longer than what it replaces: then copying resumes before
        # the position that one token for each token leads to.
        starts = resuming + replacing * (1 - 2 * SLACK)
        starts[:-1] += replacing[1:] * SLACK
        starts[:-2] += replacing[2:] * SLACK
        deleting = np.zeros_like(starts)
        deleting[1:] = self._copy[:-1] * EDIT * DELETE
        starts += deleting
        # The sum over d >= 0 of (1 - decay) * decay**d * starts[j - d]. The kernel of FAR is too
        # long to convolve with; as FAR**d = FAR**j / FAR**(j - d), a running sum will do.
        near = np.convolve(starts, NEAR_KERNEL)[: len(starts)]
        powers = FAR_POWERS[: len(starts)]
        far = np.cumsum(starts / powers) * powers * (1 - FAR)
        jumping = JUMP * starts.sum() / len(starts)
        landing = (1 - JUMP) * ((1 - FAR_SHARE) * near + FAR_SHARE * far) + jumping
        self._cached_next = landing + self._copy * (1 - EDIT)
        return self._cached_next

    def _open_window(self) -> None:
        """Spread a certain position out to vectors over a window around it."""
        if self._certain is None:
            return
        self._window_start = max(0, min(self._certain - BEHIND, len(self.source) - WINDOW))
        window = self.source[self._window_start : self._window_start + WINDOW]
        self._window = np.append(window, -1)  # one more: the end of the source
        size = len(self._window)
        self._copy, self._insert, self._replace = np.zeros((3, size))
        self._copy[min(self._certain - self._window_start, size - 1)] = 1.0
        self._certain = self._cached_next = None
