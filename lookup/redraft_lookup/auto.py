"""Several drafters for one text: lookup before the draft model, or whichever pays.

`Auto` decides by two figures: what the drafts of each candidate have brought in texts of this kind,
and how much time it may still lose without falling behind plain decoding. Time is counted in plain
passes, T(1), of the calibrated cost curve. Knows no clock, and no kinds of text but the `Prior`
that its caller brings.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from redraft_lookup.cost import CostCurve
from redraft_lookup.draft import EMPTY, Draft, Drafter, Observation

__all__ = ["Auto", "Candidate", "GainTracker", "LookupThenModel", "Prior"]

MAX_LOSS = 0.03  # of the passes of plain decoding: never below 1 / 1.03 = 0.97 of its speed
PRIOR_COST = 4.0  # plain passes' worth of drafts that a prior gain counts for
MEMORY = 20.0  # plain passes' worth of drafts: after some three failures the past is forgotten
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A drafter that `Auto` may use. guess_s: seconds that making one guess takes (draft model)."""

    name: str
    drafter: Drafter
    guess_s: float = 0.0


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

    def gain(self, prior: Prior, name: str) -> float:
        """Return how many tokens a plain pass's time brings with drafts by `name`.

        That is the speed over plain decoding. It starts at `prior.gain` and moves to what was
        recorded.
        """
        record = self._records.get((prior.kind, name), _GainRecord())
        return (prior.gain * PRIOR_COST + record.tokens) / (PRIOR_COST + record.cost)

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
    """

    def __init__(
        self,
        candidates: Sequence[Candidate],
        *,
        prior: Prior,
        curve: CostCurve,
        gains: GainTracker,
    ) -> None:
        self._candidates = tuple(candidates)
        self._prior = prior
        self._curve = curve
        self._gains = gains
        self._credit = prior.head_start  # plain passes that may be lost
        self._used: Candidate | None = None  # whose draft the current pass verifies
        self.wants_predictions = any(
            candidate.drafter.wants_predictions for candidate in candidates
        )

    def propose(self, budget: int) -> Draft:
        self._used = None
        rated = [
            (self._gains.gain(self._prior, candidate.name), candidate)
            for candidate in self._candidates
        ]
        # A draft may be as long as the credit covers even if it brings one token only.
        lengths = range(min(budget, self._curve.max_rows - 1) + 1)
        max_cost = self._credit + 1 + MAX_LOSS
        # A stable sort: candidates of equal gain stay in the order given.
        for gain, candidate in sorted(rated, key=lambda pair: -pair[0]):
            if gain <= 1:
                break
            # The cost rises with the length, so the lengths are sorted by it.
            cost_of = partial(self._pass_cost, candidate)
            size = bisect_right(lengths, max_cost, key=cost_of) - 1
            draft = candidate.drafter.propose(size) if size > 0 else EMPTY
            if draft:
                self._used = candidate
                return draft
        return EMPTY

    def observe(self, observation: Observation) -> None:
        n_tokens, used = len(observation.tokens), self._used
        cost = self._pass_cost(used, len(observation.draft))
        # Plain decoding would have paid one pass for each of these tokens. What was saved may be
        # lost later: a pass that cost 3.6 and brought 10 tokens earns 10.3 - 3.6 = 6.7.
        self._credit += (1 + MAX_LOSS) * n_tokens - cost
        self._gains.fade(self._prior)
        if used and observation.draft:
            self._gains.record(self._prior, used.name, n_tokens, cost)
        self._used = None
        for candidate in self._candidates:
            candidate.drafter.observe(observation)

    def _pass_cost(self, candidate: Candidate | None, n_guesses: int) -> float:
        """Return the cost of a pass with its guesses, in plain passes."""
        guess_s = candidate.guess_s if candidate else 0.0
        seconds = self._curve.seconds(1 + n_guesses) + guess_s * n_guesses
        return seconds / self._curve.seconds(1)
