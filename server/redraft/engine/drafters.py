"""Which drafter guesses for a request: the names of `redraft.records.Strategy` made real.

Knows the drafters and what they need (a cost curve, a vocabulary, a second model); nothing of
prompts, limits or clocks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from redraft.engine.calibration import Measurement
from redraft.engine.draft_model import DraftModel
from redraft.engine.llama import LlamaModel
from redraft.errors import ModelError
from redraft.records import Route, Strategy
from redraft_lookup import (
    Auto,
    Candidate,
    CopyDrafter,
    CostCurve,
    Drafter,
    GainTracker,
    JacobiDrafter,
    LookaheadDrafter,
    LookupThenModel,
    ModelCosts,
    ModelDrafter,
    NgramDrafter,
    PlainDrafter,
    Prior,
)

__all__ = [
    "PRIORS",
    "UNSIZED",
    "DrafterFactory",
    "DraftingRequest",
    "build_cost_curve",
    "choose_row_counts",
]

UNSIZED: Final = ("plain", "lookup", "jacobi", "lookahead")  # drafts not sized by their cost
# What `auto` expects of drafts. A codemod's edits are edits; questions quote the file now and then.
PRIORS: Final[Mapping[Route, Prior]] = {
    "edit": Prior(kind="edit", gain=3.0, head_start=32.0),
    "codemod": Prior(kind="codemod", gain=3.0, head_start=32.0),
    "question": Prior(kind="question", gain=1.5, head_start=4.0),
    "chat": Prior(kind="chat", gain=1.1),
}
BRANCHES = 3  # alternatives that a copy draft may hold: more brought nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftingRequest:
    """What a drafter is made for. tokens: the whole prompt. source: ids that may be copied."""

    tokens: Sequence[int]
    source: Sequence[int]
    curve: CostCurve | None  # None for strategies that do not size their drafts
    route: Route
    max_tokens: int  # of the reply
    is_shared: bool = False  # whether other texts are in the passes


@dataclass(slots=True)
class DrafterFactory:
    """Makes drafters for one model; `draft_model` is the draft model, where there is one."""

    model: LlamaModel
    draft_model: DraftModel | None = None
    _gains: GainTracker = field(default_factory=GainTracker)

    def make(self, name: Strategy, task: DraftingRequest) -> Drafter:
        """The drafter called `name`. Raises ModelError where it needs a draft model."""
        tokens = task.tokens
        if name == "plain" or not self.model.can_roll_back:
            return PlainDrafter()
        if name == "lookup":
            return NgramDrafter(tokens)
        if name == "jacobi":
            return JacobiDrafter(tokens)
        if name == "lookahead":
            return LookaheadDrafter(tokens)
        if task.curve is None:
            raise ValueError(f"strategy {name} needs a cost curve")
        if name == "draft":
            return self._model(task, task.curve)
        copy = CopyDrafter(
            tokens,
            task.source,
            curve=task.curve,
            vocabulary=Bytes(self.model),
            shared=task.is_shared,
            branches=1 if task.is_shared else BRANCHES,
        )
        if name == "copy":
            return copy
        if name == "lookup+draft":
            return LookupThenModel(copy, self._model(task, task.curve))
        return self._auto(copy, task, task.curve)

    def _model(self, task: DraftingRequest, curve: CostCurve) -> ModelDrafter:
        if self.draft_model is None:
            raise ModelError("this strategy needs a draft model: name one with --draft-model")
        target = self.draft_model.at(task.tokens[:-1], n_more=task.max_tokens)
        costs = ModelCosts(curve=curve, guess_s=self.draft_model.seconds)
        return ModelDrafter(
            target,
            task.tokens,
            n_draft=curve.max_rows - 1,
            costs=costs,
            end_ids=self.model.end_ids,
        )

    def _auto(self, copy: CopyDrafter, task: DraftingRequest, curve: CostCurve) -> Auto:
        candidates = [Candidate(name="copy", drafter=copy)]
        if self.draft_model is not None and not task.is_shared:
            candidates.append(
                Candidate(
                    name="draft", drafter=self._model(task, curve), guess_s=self.draft_model.seconds
                )
            )
        return Auto(candidates, prior=PRIORS[task.route], curve=curve, gains=self._gains)


class Bytes:
    """A model's vocabulary in bytes, as `redraft_lookup` asks for it."""

    def __init__(self, file: LlamaModel) -> None:
        self._file = file
        self.piece = file.piece

    def tokenize(self, data: bytes) -> list[int]:
        return self._file.tokenize(data.decode("utf-8", "replace"))


def choose_row_counts(measurement: Measurement) -> tuple[int, ...]:
    """The row counts of the numeric class that serves edits best, ascending.

    All counts in it round alike, so what a pass computes for a token does not depend on how many
    others shared it. Never one row: its kernels change with the depth of the context (the CPU
    splits the cache between threads from 512 cells on), so it may look alike and not stay so.
    Best: a short pass and 16 tokens of the best copying pass are cheap together.
    """
    members: dict[int, list[int]] = {}
    for rows, group in zip(measurement.rows, measurement.classes, strict=True):
        if rows > 1:
            members.setdefault(group, []).append(rows)
    seconds = dict(zip(measurement.rows, measurement.seconds, strict=True))

    costs = {
        group: seconds[rows[0]] + 16 * min(seconds[k] / k for k in rows)
        for group, rows in members.items()
    }
    return tuple(members[min(costs, key=lambda group: costs[group])])


def build_cost_curve(measurement: Measurement, rows: tuple[int, ...]) -> CostCurve:
    """The cost of a pass that is padded to the next of `rows`; without rows, as measured.

    Of `rows` those count that were measured: behind more context wide passes may not be worth it.
    """
    seconds = dict(zip(measurement.rows, measurement.seconds, strict=True))
    known = [k for k in rows if k in seconds]
    if not known:
        return measurement.curve
    times: dict[int, float] = {}
    first = 1
    for last in known:
        times[first] = times[last] = seconds[last]
        first = last + 1
    return CostCurve.of(times)
