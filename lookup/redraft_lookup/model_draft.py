"""Speculative decoding with a draft model: a small model guesses, the large one verifies.

After Leviathan et al. 2023, "Fast Inference from Transformers via Speculative Decoding". The small
model guesses greedily; the large one's choice, greedy or sampled, decides. Both must have the same
vocabulary, which whoever loads them checks: here a token is a number. The small model reads the
text only once a draft of its would pay, a part of it in each step. Knows no clock: what a guess and
a pass cost is in `ModelCosts`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from redraft_lookup.cost import CostCurve
from redraft_lookup.decoding import TargetModel
from redraft_lookup.draft import EMPTY, Draft, Observation, common_prefix_length

__all__ = ["GuessCost", "ModelCosts", "ModelDrafter", "RewindableTargetModel"]

PRIOR_RIGHT, PRIOR_WRONG = 3.0, 1.0
FADE = 0.97  # a pass: models agree in one part of a text and disagree in another


class RewindableTargetModel(TargetModel, Protocol):
    """A target that can also take back what earlier passes committed."""

    def rewind(self, n_tokens: int) -> None:
        """Forget the last `n_tokens` committed tokens."""


class GuessCost(Protocol):
    """The costs of the small model, in seconds; they may change while it is used."""

    @property
    def guess_s(self) -> float:
        """Seconds that one guess takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCosts:
    """The costs of a draft: passes of the large model by `curve`, and guesses of the small one."""

    curve: CostCurve
    small: GuessCost

    def best_length(self, acceptance: float, limit: int) -> int:
        """Return the draft length from 0 to `limit` with the most expected tokens a second.

        acceptance: the probability that one more guess is right, the same for each of them.
        Section 3.3 of the paper, with a measured cost of verification: a draft of k guesses brings
        sum(acceptance**j, j = 0..k) tokens for T(1 + k) + k * guess_s seconds.
        """
        return int(np.argmax(self._rates(acceptance, limit)))

    def best_gain(self, acceptance: float, limit: int) -> float:
        """Return the speed with drafts of the best length over that without, at least 1."""
        return float(np.max(self._rates(acceptance, limit))) * self.curve.seconds(1)

    def read_s(self, n_tokens: int) -> float:
        """Return the seconds in which the small model reads `n_tokens`.

        Its passes are taken to gain from more rows as those of the large one do.
        """
        rows = self.curve.max_rows
        share = self.curve.seconds(rows) / rows / self.curve.seconds(1)
        return n_tokens * self.small.guess_s * min(share, 1.0)

    def _rates(self, acceptance: float, limit: int) -> npt.NDArray[np.float64]:
        """Return (1 + limit,) expected tokens a second by draft length."""
        lengths = np.arange(min(limit, self.curve.max_rows - 1) + 1)
        verify = np.array([self.curve.seconds(1 + int(k)) for k in lengths])
        tokens = np.cumsum(acceptance**lengths)
        return np.asarray(tokens / (verify + self.small.guess_s * lengths))


class ModelDrafter:
    """Drafts what `target`, the small model, would write: up to `n_draft` tokens.

    `reading` brings `prompt` but its last token into the target's cache; each item is a bounded
    part of the work, and tells how many tokens are there. None stands for a target that holds the
    prompt already. It is begun when the first draft would pay, and goes on by one part for each
    call of `propose`: until the small model has caught up with the text there are no drafts, and
    whoever decodes is never kept waiting for more than a part. With `costs` a draft is as long as
    pays at the acceptance seen so far, and absent where none pays. A guess from `end_ids` ends the
    draft and is not part of it. After each observation the target's cache holds committed text
    only. Raises ValueError for an empty prompt and for `n_draft` < 1.
    """

    wants_predictions = False

    def __init__(
        self,
        target: RewindableTargetModel,
        prompt: Sequence[int],
        *,
        reading: Iterator[int] | None = None,
        n_draft: int = 8,
        costs: ModelCosts | None = None,
        end_ids: frozenset[int] = frozenset(),
    ) -> None:
        if n_draft < 1:
            raise ValueError(f"n_draft must be at least 1, not {n_draft}")
        if not prompt:
            raise ValueError("the prompt is empty: there is nothing to go on from")
        self._target = target
        self._reading = reading  # None once the prompt is read
        self._n_prompt = len(prompt) - 1  # tokens that are to be read
        self._n_unread = self._n_prompt if reading is not None else 0
        self._n_draft = n_draft
        self._costs = costs
        self._end_ids = end_ids
        self._last = prompt[-1]
        self._behind = [prompt[-1]]  # committed, but not in the small model's cache
        self._ahead: list[int] = []  # in its cache, but not committed
        self._right, self._wrong = 0.0, 0.0

    @property
    def acceptance(self) -> float:
        """The probability that one more guess is right, by what happened lately."""
        right = PRIOR_RIGHT + self._right
        return right / (right + PRIOR_WRONG + self._wrong)

    @property
    def unread_s(self) -> float:
        """The seconds that reading up to the text's end takes; 0 without costs."""
        # The last token is the first row of the next draft, whose time counts as a guess.
        n_unread = self._n_unread + max(0, len(self._behind) - 1)
        return self._costs.read_s(n_unread) if self._costs else 0.0

    @property
    def guess_s(self) -> float:
        """The seconds that one guess takes; 0 without costs."""
        return self._costs.small.guess_s if self._costs else 0.0

    @property
    def expected_gain(self) -> float:
        """The expected speed with drafts over that without; without costs, with one free guess."""
        if self._costs:
            return self._costs.best_gain(self.acceptance, self._n_draft)
        return 1 + self.acceptance

    def propose(self, budget: int) -> Draft:
        length = min(budget, self._n_draft)
        if self._costs:
            length = self._costs.best_length(self.acceptance, length)
        if length < 1:
            return EMPTY
        guess = self._read_on()
        guesses: list[int] = []
        while guess is not None and guess not in self._end_ids:
            guesses.append(guess)
            if len(guesses) == length:
                break
            self._ahead.append(guess)
            guess = self._feed([guess])
        return Draft.chain(guesses, "model")

    def observe(self, observation: Observation) -> None:
        tokens, draft = observation.tokens, observation.draft
        # The guesses were 5 6 7, of which 5 and 6 are in the small model's cache; 5 9 is committed.
        # So 6 leaves that cache, and 9 is what the small model has yet to read. While the prompt is
        # being read all that is committed waits.
        n_right = common_prefix_length(self._ahead, tokens)
        if len(self._ahead) > n_right:
            self._target.rewind(len(self._ahead) - n_right)
        self._ahead = []
        self._behind += tokens[n_right:]
        self._last = tokens[-1] if tokens else self._last
        if not self._behind:
            # All committed tokens are in its cache (the text ended, or a near-tie was left open).
            # The next guess needs the logits of the last one once more.
            self._target.rewind(1)
            self._behind = [self._last]
        self._right *= FADE
        self._wrong *= FADE
        # A draft is a chain, so of its guesses at most one is known to be wrong; those behind it
        # were guessed after a wrong text.
        if draft and draft.origins[0] == "model":
            self._right += len(observation.path)
            self._wrong += len(observation.path) < len(draft)

    def _read_on(self) -> int | None:
        """Read one more part of the text; return the small model's next token if that was all."""
        if self._reading is not None:
            n_read = next(self._reading, None)
            if n_read is not None:
                self._n_unread = max(0, self._n_prompt - n_read)
                return None
            self._reading, self._n_unread = None, 0
        size = self._target.max_rows
        part, self._behind = self._behind[:size], self._behind[size:]
        guess = self._feed(part)
        return None if self._behind else guess

    def _feed(self, tokens: Sequence[int]) -> int:
        """Run one pass over `tokens` and keep them; return the small model's next token."""
        logits = self._target.forward(tokens[0], Draft.chain(tokens[1:], "model"))
        guess = int(np.argmax(logits[-1]))
        self._target.commit(range(len(tokens)))
        return guess
