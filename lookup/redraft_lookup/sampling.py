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
        ids, probabilities = self.distribution(logits, position)
        # Philox is counter-based: the number for position 7 is the same whether or not those for
        # positions 0 to 6 were drawn.
        uniform = np.random.Generator(np.random.Philox(key=self.seed, counter=position)).random()
        index = int(np.searchsorted(np.cumsum(probabilities), uniform, side="right"))
        return int(ids[min(index, len(ids) - 1)])

    def distribution(
        self, logits: Logits, position: int = 0
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """Return the ids that survive the cuts, most likely first, and their probabilities.

        logits: (n_vocab,). Returns (m,) and (m,), 1 <= m <= n_vocab; the probabilities add up to 1.
        Raises BadLogitsError where the row holds no usable number.
        """
        if 0 < self.top_k < len(logits):
            # A partition is linear in the vocabulary; only the k survivors are sorted.
            top = np.argpartition(-logits, self.top_k - 1)[: self.top_k]
        else:
            top = np.arange(len(logits))
        order = top[np.argsort(-logits[top], kind="stable")]
        scaled = logits[order].astype(np.float64)
        if not np.isfinite(scaled[0]) or np.isnan(logits).any():
            raise BadLogitsError(f"no usable logits for position {position}")
        weights = np.exp((scaled - scaled[0]) / self.temperature)
        weights /= weights.sum()
        # top-p keeps the token that crosses the threshold: what counts is the sum before it.
        before = np.cumsum(weights) - weights
        keep = (before < self.top_p) & (weights >= self.min_p * weights[0])
        return order[keep], weights[keep] / weights[keep].sum()


def top_two(row: Logits) -> tuple[int, int]:
    """Return the ids of the largest and second largest of (n_vocab,) logits, the same one of one.

    Two scans around the best are several times as fast as a partition of 150,000 logits.
    """
    best = int(np.argmax(row))
    below, above = row[:best], row[best + 1 :]
    rest = [int(np.argmax(below))] if len(below) else []
    rest += [best + 1 + int(np.argmax(above))] if len(above) else []
    return best, max(rest, key=row.__getitem__, default=best)
