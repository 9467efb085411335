"""From a row of logits to a token: greedy, or sampled so that drafts cannot change the outcome.

Rejection sampling keeps the target's distribution p when a draft token x proposed with
certainty is accepted with probability p(x) and, when rejected, replaced by a draw from p without
x (Leviathan et al. 2023, "Fast Inference from Transformers via Speculative Decoding", with a point
mass as the draft distribution). Drawing y ~ p and accepting the draft where y == x is that rule in
one step. Because the random number is a function of seed and position alone, the sampled text does
not depend on what was drafted either.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

__all__ = ["BadLogitsError", "Chooser", "Greedy", "Sampler"]

Logits = npt.NDArray[np.float32]


class BadLogitsError(ArithmeticError):
    """The model returned logits that name no token (NaN, or nothing above minus infinity)."""


class Chooser(Protocol):
    """Picks the token that follows."""

    def choose(self, logits: Logits, position: int) -> int:
        """The token for `position` (0-based in the text). logits: (n_vocab,).

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
        uniform = np.random.Generator(np.random.Philox(key=self.seed, counter=position)).random()
        index = int(np.searchsorted(np.cumsum(probabilities), uniform, side="right"))
        return int(ids[min(index, len(ids) - 1)])

    def distribution(
        self, logits: Logits, position: int = 0
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """The ids that survive the cuts, most likely first, and their probabilities (sum 1)."""
        order = self._top(logits)
        scaled = logits[order].astype(np.float64)
        if not np.isfinite(scaled[0]) or np.isnan(logits).any():
            raise BadLogitsError(f"no usable logits for position {position}")
        weights = np.exp((scaled - scaled[0]) / self.temperature)
        weights /= weights.sum()
        before = np.cumsum(weights) - weights
        keep = (before < self.top_p) & (weights >= self.min_p * weights[0])
        return order[keep], weights[keep] / weights[keep].sum()

    def _top(self, logits: Logits) -> npt.NDArray[np.int64]:
        k = self.top_k
        if 0 < k < len(logits):
            pool = np.argpartition(-logits, k - 1)[:k]
        else:
            pool = np.arange(len(logits))
        return pool[np.argsort(-logits[pool], kind="stable")]
