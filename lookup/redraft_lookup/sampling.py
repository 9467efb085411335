"""From a row of logits to a token: greedy, or sampled so that drafts cannot change the outcome.

Rejection sampling keeps the target's distribution p when a draft token x proposed with
certainty is accepted with probability p(x) and, when rejected, replaced by a draw from p without
x (Leviathan et al. 2023, "Fast Inference from Transformers via Speculative Decoding", with a point
mass as the draft distribution). Drawing y ~ p and accepting the draft where y == x is that rule in
one step. Because the random number is a function of seed and position alone, the sampled text does
not depend on what was drafted either. Knows one row of logits at a time: nothing of drafts.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

__all__ = ["BadLogitsError", "Chooser", "Greedy", "Sampler", "top_two"]

Logits = npt.NDArray[np.float32]

_BLOCK = 512  # weights added up at once


class BadLogitsError(ArithmeticError):
    """The model returned logits that name no token (NaN, or nothing above minus infinity)."""


class Chooser(Protocol):
    """Picks the token that follows."""

    def choose(self, logits: Logits, position: int) -> int:
        """Return the token for `position` (0-based in the text). logits: (n_vocab,).

        Raises BadLogitsError where the row holds no usable number.
        """


class Greedy:
    """The most likely token; the lowest id among equals."""

    def choose(self, logits: Logits, position: int) -> int:
        token = int(np.argmax(logits))
        if not np.isfinite(logits[token]):
            raise BadLogitsError(f"no usable logits for position {position}")
        return token


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampler:
    """Draws from softmax(logits / temperature) cut by top-k, then top-p, then min-p.

    temperature > 0. top_k 0, top_p 1 and min_p 0 cut nothing. min_p is relative to the most likely
    token. The order of the cuts is llama.cpp's default chain.
    """

    temperature: float
    seed: int
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0

    def __post_init__(self) -> None:
        if not self.temperature > 0:
            raise ValueError(f"temperature must be above 0, not {self.temperature}: use Greedy")
        if self.top_k < 0 or not 0 < self.top_p <= 1 or not 0 <= self.min_p <= 1:
            raise ValueError("top_k must be >= 0, 0 < top_p <= 1 and 0 <= min_p <= 1")

    def choose(self, logits: Logits, position: int) -> int:
        ids, weights = self.weigh(logits, position)
        # Philox is counter-based: the number for position 7 is the same whether or not those for
        # positions 0 to 6 were drawn.
        uniform = np.random.Generator(np.random.Philox(key=self.seed, counter=position)).random()
        index = _invert(weights, uniform)
        return index if ids is None else int(ids[index])

    def weigh(
        self, logits: Logits, position: int = 0
    ) -> tuple[npt.NDArray[np.int64] | None, npt.NDArray[np.float32]]:
        """Return the ids that survive the cuts, in no order, and how likely each is.

        logits: (n_vocab,). Returns (m,) and (m,), 1 <= m <= n_vocab, with None for all ids in their
        order; the likeliest token weighs 1.
        Raises BadLogitsError where the row holds no usable number.
        """
        peak = logits.max()  # NaN where there is one
        if not np.isfinite(peak):
            raise BadLogitsError(f"no usable logits for position {position}")
        ids = None
        if 0 < self.top_k < len(logits):
            ids = np.argpartition(-logits, self.top_k - 1)[: self.top_k]
            logits = logits[ids]
        weights = logits - peak
        weights /= np.float32(self.temperature)
        np.exp(weights, out=weights)
        if self.top_p < 1:
            kept = self._find_nucleus(weights)
            ids, weights = kept if ids is None else ids[kept], weights[kept]
        if self.min_p > 0:
            kept = np.flatnonzero(weights >= self.min_p)
            ids, weights = kept if ids is None else ids[kept], weights[kept]
        return ids, weights

    def _find_nucleus(self, weights: npt.NDArray[np.float32]) -> npt.NDArray[np.int64]:
        """Return the places of the fewest likely tokens whose share reaches top_p."""
        total = weights.sum(dtype=np.float64)
        # All tokens below this weight together have less than 1 - top_p: none of them is needed, so
        # that only the few above it are sorted.
        places = np.flatnonzero(weights >= (1 - self.top_p) * total / len(weights))
        ranked = places[np.argsort(-weights[places], kind="stable")]
        shares = np.cumsum(weights[ranked], dtype=np.float64) / total
        # The token that crosses the threshold stays: what counts is the sum before it.
        return ranked[: 1 + int(np.searchsorted(shares, self.top_p))]


def _invert(weights: npt.NDArray[np.float32], share: float) -> int:
    """Return the place where the sum of (n,) weights, in any order, passes `share` of all, 0 to 1.

    The sums of blocks come first: of 150,000 weights, adding up each takes ten times as long.
    """
    starts = np.arange(0, len(weights), _BLOCK)
    sums = np.cumsum(np.add.reduceat(weights, starts, dtype=np.float64))
    aim = share * sums[-1]
    block = _find_passed(sums, aim)
    start = starts[block]
    before = sums[block - 1] if block else 0.0
    inside = before + np.cumsum(weights[start : start + _BLOCK], dtype=np.float64)
    return int(start) + _find_passed(inside, aim)


def _find_passed(sums: npt.NDArray[np.float64], aim: float) -> int:
    """Return the first place above `aim`; where rounding leaves none, the last that grows."""
    return int(min(np.searchsorted(sums, aim, "right"), np.searchsorted(sums, sums[-1])))


def top_two(row: Logits) -> tuple[int, int]:
    """Return the ids of the largest and second largest of (n_vocab,) logits, the same one of one.

    Two scans around the best are several times as fast as a partition of 150,000 logits.
    """
    best = int(np.argmax(row))
    below, above = row[:best], row[best + 1 :]
    rest = [int(np.argmax(below))] if len(below) else []
    rest += [best + 1 + int(np.argmax(above))] if len(above) else []
    return best, max(rest, key=row.__getitem__, default=best)
