"""Several drafters for one text: lookup before the draft model, or whichever pays.

`Auto` decides by two figures: what the drafts of each candidate have brought in texts of this kind,
and how much time it may still lose without falling behind plain decoding. Time is counted in plain
passes, T(1), of the calibrated cost curve. Knows no clock, and no kinds of text but the `Prior`
that its caller brings.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from redraft_lookup.cost import CostCurve
from redraft_lookup.draft import EMPTY, Draft, Drafter, Observation

__all__ = ["Auto", "Candidate", "GainTracker", "LookupThenModel", "PaidDrafter", "Prior"]

MAX_LOSS = 0.03  # of the passes of plain decoding: never below 1 / 1.03 = 0.97 of its speed
# Plain passes' worth of drafts that a prior gain counts for, and that are remembered. One wrong
# draft of 63 tokens costs 12 on a CPU. That must not end the drafting of an edit, but a dozen in a
# row must: with 4 and 20, edits took 9 % more passes than with copying alone, one of them 88 %.
PRIOR_COST = 16.0
MEMORY = 80.0
MODEL = "model"  # the name under which a paid drafter's gain is kept
FADE = 0.99  # a pass: what did not pay is tried again some 50 tokens later


class LookupThenModel:
    """Drafts with `lookup`, and with `model` where the lookup finds nothing."""

    def __init__(self, lookup: Drafter, model: Drafter) -> None:
        self._drafters = (lookup, model)
        self.wants_predictions = lookup.wants_predictions or model.wants_predictions

    def propose(self, budget: int) -> Draft:
        lookup, model = self._drafters
        return lookup.propose(budget) or model.propose(budget)

    def observe(self, observation: Observation) -> None:
        for drafter in self._drafters:
            drafter.observe(observation)


class PaidDrafter(Drafter, Protocol):
    """A drafter whose guesses take time, and which has to read the text before it can guess.

    Where it has not caught up with the text, `propose` reads a bounded part of it and returns no
    draft.
    """

    @property
    def guess_s(self) -> float:
        """Seconds that making one guess takes."""

    @property
    def unread_s(self) -> float:
        """Seconds that reading up to the text's end takes."""

    @property
    def expected_gain(self) -> float:
        """The speed that its drafts are expected to reach, over that of plain decoding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A drafter that `Auto` may use, and whose guesses take no time."""

    name: str
    drafter: Drafter


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior:
    """An expectation of what drafts bring in texts of one kind, before any were tried.

    kind: a name; texts of one kind share a `GainTracker`'s figures. gain: the speed of passes with
    a draft over plain decoding, above 0; drafts are tried where it is above 1. head_start: plain
    passes that drafts may lose at a text's start, at least 0. Rewriting a file deserves a long
    head start, because copying begins with its first token; free text deserves none, and is drafted
    once plain decoding has earned what a wrong draft costs.
    """

    kind: str
    gain: float
    head_start: float = 0.0

    def __post_init__(self) -> None:
        if not self.gain > 0 or not self.head_start >= 0:
            raise ValueError(
                "need gain > 0 and head_start >= 0, "
                f"not {self.gain} and {self.head_start} for {self.kind!r}"
            )


@dataclass(slots=True)
class _GainRecord:
    """Tokens from passes with a draft, and what those passes cost in plain passes."""

    tokens: float = 0.0
    cost: float = 0.0


@dataclass(slots=True)
class GainTracker:
    """The gain of each candidate's drafts, by kind of text. One serves all texts of a program."""

    _records: dict[tuple[str, str], _GainRecord] = field(default_factory=dict)

    def gain(self, prior: Prior, name: str, expected: float | None = None) -> float:
        """Return how many tokens a plain pass's time brings with drafts by `name`.

        That is the speed over plain decoding. It starts at `expected`, or else at `prior.gain`, and
        moves to what was recorded.
        """
        record = self._records.get((prior.kind, name), _GainRecord())
        gain = prior.gain if expected is None else expected
        return (gain * PRIOR_COST + record.tokens) / (PRIOR_COST + record.cost)

    def record(self, prior: Prior, name: str, n_tokens: int, cost: float) -> None:
        """Count a pass of `cost` plain passes with a draft by `name` that brought `n_tokens`."""
        record = self._records.setdefault((prior.kind, name), _GainRecord())
        # One long failure outweighs many short successes: a pass that cost 20 halves the past.
        kept_share = MEMORY / (MEMORY + cost)
        record.tokens = kept_share * record.tokens + n_tokens
        record.cost = kept_share * record.cost + cost

    def fade(self, prior: Prior) -> None:
        """Trust what was recorded for this kind of text a little less: texts change."""
        for (kind, _), record in self._records.items():
            if kind == prior.kind:
                record.tokens *= FADE
                record.cost *= FADE


class Auto:
    """In each step the candidate that pays most in texts of this kind, or none.

    A draft is submitted only if the text would stay within `MAX_LOSS` of plain decoding were all of
    it wrong, apart from `prior.head_start`. So where that is 0, decoding never falls below 0.97 of
    plain speed by the cost curve, whatever the candidates do. Candidates of equal gain are tried in
    the order given.

    `model` drafts in steps in which no candidate has a draft. It reads nothing before that, and
    nothing until its drafts would have saved as much time as reading up to the text's end costs,
    had it read it: so reading in vain costs no more than was lost by not reading. The time of
    reading counts as lost, too, and may be lost only where that is within the bound above.
    """

    def __init__(
        self,
        candidates: Sequence[Candidate],
        *,
        prior: Prior,
        curve: CostCurve,
        gains: GainTracker,
        model: PaidDrafter | None = None,
    ) -> None:
        self._candidates = tuple(candidates)
        self._model = model
        self._prior = prior
        self._curve = curve
        self._gains = gains
        self._credit = prior.head_start  # plain passes that may be lost
        self._missed = 0.0  # plain passes that the model's drafts would have saved
        self._is_reading = False  # up to the text's end, a part in each step
        self._used: str | None = None  # whose draft the current pass verifies
        self._extra = 0.0  # plain passes that the model's reading and guesses took for it
        drafters = [candidate.drafter for candidate in candidates] + ([model] if model else [])
        self._drafters: Sequence[Drafter] = drafters
        self.wants_predictions = any(drafter.wants_predictions for drafter in drafters)

    def propose(self, budget: int) -> Draft:
        self._used, self._extra = None, 0.0
        rated = [
            (self._gains.gain(self._prior, candidate.name), candidate)
            for candidate in self._candidates
        ]
        reserved_s = self._model.unread_s if self._model and self._is_reading else 0.0
        size = self._longest_affordable(budget, reserved_s=reserved_s)
        # A stable sort: candidates of equal gain stay in the order given.
        for gain, candidate in sorted(rated, key=lambda pair: -pair[0]):
            if gain <= 1:
                break
            draft = candidate.drafter.propose(size) if size > 0 else EMPTY
            if draft:
                self._used = candidate.name
                return draft
        return self._propose_by_model(self._model, budget) if self._model else EMPTY

    def observe(self, observation: Observation) -> None:
        n_tokens, n_guesses = len(observation.tokens), len(observation.draft)
        cost = self._pass_cost(n_guesses) + self._extra
        # Plain decoding would have paid one pass for each of these tokens. What was saved may be
        # lost later: a pass that cost 3.6 and brought 10 tokens earns 10.3 - 3.6 = 6.7.
        self._credit += (1 + MAX_LOSS) * n_tokens - cost
        self._gains.fade(self._prior)
        if self._used and n_guesses:
            self._gains.record(self._prior, self._used, n_tokens, cost)
        self._used, self._extra = None, 0.0
        for drafter in self._drafters:
            drafter.observe(observation)

    def _propose_by_model(self, model: PaidDrafter, budget: int) -> Draft:
        """Return the model's draft; where it has yet to read, let it read a part if that pays."""
        gain = self._gains.gain(self._prior, MODEL, model.expected_gain)
        if gain <= 1:
            return EMPTY
        plain_s, unread_s = self._curve.seconds(1), model.unread_s
        # In each of these steps plain decoding takes one pass, and drafts would take 1 / gain.
        self._missed += 1 - 1 / gain
        size = self._longest_affordable(budget, reserved_s=unread_s, guess_s=model.guess_s)
        if size < 1 or not (self._is_reading or self._missed * plain_s >= unread_s):
            return EMPTY
        draft = model.propose(size)
        read_cost = max(0.0, unread_s - model.unread_s) / plain_s
        self._missed = max(0.0, self._missed - read_cost)
        self._is_reading = not draft and read_cost > 0
        self._extra = read_cost + model.guess_s * len(draft) / plain_s
        self._used = MODEL if draft else None
        return draft

    def _longest_affordable(self, budget: int, *, reserved_s: float, guess_s: float = 0.0) -> int:
        """Return how long a draft may be if it brings one token only, and `reserved_s` are lost."""
        plain_s = self._curve.seconds(1)
        lengths = range(min(budget, self._curve.max_rows - 1) + 1)
        max_cost = self._credit - reserved_s / plain_s + 1 + MAX_LOSS
        # The cost rises with the length, so the lengths are sorted by it.
        return (
            bisect_right(
                lengths, max_cost, key=lambda n: self._pass_cost(n) + n * guess_s / plain_s
            )
            - 1
        )

    def _pass_cost(self, n_guesses: int) -> float:
        """Return the cost of a pass with so many guesses, in plain passes."""
        return self._curve.seconds(1 + n_guesses) / self._curve.seconds(1)
