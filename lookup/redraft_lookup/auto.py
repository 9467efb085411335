"""Several drafters for one text: lookup before the draft model, or whatever pays where it pays.

`Auto` decides by two figures, both in plain passes (T(1)): what drafts of each kind have brought on
this route, and how much time it may still lose without falling behind plain decoding. Knows no
clock: time is the calibrated cost curve.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from redraft_lookup.cost import CostCurve
from redraft_lookup.draft import EMPTY, Draft, Drafter, Observation

__all__ = ["Auto", "Candidate", "GainTracker", "LookupThenModel", "Route"]

Route: TypeAlias = Literal["edit", "codemod", "question", "chat"]

MAX_LOSS = 0.03  # of the passes of plain decoding: never below 1 / 1.03 = 0.97 of its speed
HEAD_START: Mapping[Route, float] = {"edit": 32.0, "codemod": 32.0, "question": 4.0, "chat": 0.0}
PRIOR_GAIN: Mapping[Route, float] = {"edit": 3.0, "codemod": 3.0, "question": 1.5, "chat": 1.1}
PRIOR_COST = 4.0
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


@dataclass(slots=True)
class GainRecord:
    """Tokens from passes with a draft, and what those passes cost in plain passes."""

    tokens: float = 0.0
    cost: float = 0.0


@dataclass(slots=True)
class GainTracker:
    """How drafts have paid, by route and candidate. Shared by all texts of a program's run."""

    _records: dict[tuple[Route, str], GainRecord] = field(default_factory=dict)

    def gain(self, route: Route, name: str) -> float:
        """Speed of passes with this candidate's drafts over plain decoding; a guess at first."""
        record = self._records.get((route, name), GainRecord())
        return (PRIOR_GAIN[route] * PRIOR_COST + record.tokens) / (PRIOR_COST + record.cost)

    def learn(self, route: Route, name: str, tokens: int, cost: float) -> None:
        """A pass of `cost` plain passes with a draft by `name` committed `tokens`."""
        record = self._records.setdefault((route, name), GainRecord())
        kept = MEMORY / (MEMORY + cost)
        record.tokens = kept * record.tokens + tokens
        record.cost = kept * record.cost + cost

    def fade(self, route: Route) -> None:
        """Trust what was seen a little less: texts change."""
        for (where, _), record in self._records.items():
            if where == route:
                record.tokens *= FADE
                record.cost *= FADE


class Auto:
    """In each step the candidate that pays most on this route, or none.

    A draft is submitted only if the text would stay within `MAX_LOSS` of plain decoding were all of
    it wrong, apart from a head start where copying is expected. So on chat, which gets none,
    decoding never falls below 0.97 of plain speed by the cost curve, whatever the candidates do.
    Candidates of equal gain are asked in the order given. Raises ValueError for an unknown route.
    """

    def __init__(
        self,
        candidates: Sequence[Candidate],
        *,
        route: Route,
        curve: CostCurve,
        experience: GainTracker,
    ) -> None:
        if route not in HEAD_START:
            raise ValueError(f"no route {route!r}: it is one of {', '.join(HEAD_START)}")
        self._candidates = tuple(candidates)
        self._route = route
        self._curve = curve
        self._experience = experience
        self._credit = HEAD_START[route]  # plain passes that may be lost
        self._used: Candidate | None = None
        self.wants_predictions = any(one.drafter.wants_predictions for one in candidates)

    def propose(self, budget: int) -> Draft:
        self._used = None
        for gain, candidate in self._by_gain():
            if gain <= 1:
                break
            size = self._affordable(candidate, budget)
            draft = candidate.drafter.propose(size) if size else EMPTY
            if draft:
                self._used = candidate
                return draft
        return EMPTY

    def observe(self, observation: Observation) -> None:
        n_tokens, used = len(observation.tokens), self._used
        cost = self._cost(used, len(observation.draft))
        self._credit += (1 + MAX_LOSS) * n_tokens - cost
        self._experience.fade(self._route)
        if used and observation.draft:
            self._experience.learn(self._route, used.name, n_tokens, cost)
        self._used = None
        for candidate in self._candidates:
            candidate.drafter.observe(observation)

    def _by_gain(self) -> list[tuple[float, Candidate]]:
        rated = [(self._experience.gain(self._route, one.name), one) for one in self._candidates]
        return sorted(rated, key=lambda pair: -pair[0])

    def _affordable(self, candidate: Candidate, budget: int) -> int:
        """The longest draft that the credit covers even when it brings one token only."""
        lengths = range(min(budget, self._curve.max_rows - 1) + 1)
        most = self._credit + 1 + MAX_LOSS
        return max(0, bisect_right(lengths, most, key=lambda k: self._cost(candidate, k)) - 1)

    def _cost(self, candidate: Candidate | None, n_guesses: int) -> float:
        """Of a pass, in plain passes."""
        guess_s = candidate.guess_s if candidate else 0.0
        seconds = self._curve.seconds(1 + n_guesses) + guess_s * n_guesses
        return seconds / self._curve.seconds(1)
