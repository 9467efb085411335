"""The drafter for a request: the names of `redraft.records.Strategy` made real.

Knows the drafters and what they need (a cost curve, a vocabulary, a draft model); nothing of
prompts, limits or clocks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

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
]

Kind: TypeAlias = Literal["edit", "codemod", "new text"]

UNSIZED: Final = ("plain", "lookup", "jacobi", "lookahead")  # drafts not sized by their cost
# What `auto` expects of drafts. Edits begin by copying; text without a source, such as what is
# written into an empty file, quotes its prompt now and then.
PRIORS: Final[Mapping[Kind, Prior]] = {
    "edit": Prior(kind="edit", gain=3.0, head_start=32.0),
    "codemod": Prior(kind="codemod", gain=3.0, head_start=32.0),
    "new text": Prior(kind="new text", gain=1.5),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftingRequest:
    """All that a drafter is made from. tokens: the whole prompt. source: ids that may be copied."""

    tokens: Sequence[int]
    source: Sequence[int]
    curve: CostCurve | None  # None for strategies that do not size their drafts
    route: Route
    max_tokens: int  # of the reply
    is_shared: bool = False  # whether other texts are in the passes

    @property
    def kind(self) -> Kind:
        """The kind of request, by which `auto` knows what to expect."""
        return self.route if self.source else "new text"


@dataclass(slots=True)
class DrafterFactory:
    """Makes drafters for `model`, and remembers what strategies gained, for `auto`.

    `draft` and `lookup+draft` need `draft_model`; `auto` uses it if there is one.
    """

    model: LlamaModel
    draft_model: DraftModel | None = None
    _gains: GainTracker = field(default_factory=GainTracker)

    def make(self, name: Strategy, request: DraftingRequest) -> Drafter:
        """Return a drafter of strategy `name`. Raises ModelError if it needs a draft model."""
        tokens, curve = request.tokens, request.curve
        # Without rollback a wrong guess could not be taken out of the cache again.
        if name == "plain" or not self.model.can_roll_back:
            return PlainDrafter()
        if name == "lookup":
            return NgramDrafter(tokens)
        if name == "jacobi":
            return JacobiDrafter(tokens)
        if name == "lookahead":
            return LookaheadDrafter(tokens)
        if curve is None:
            raise ValueError(f"strategy {name} needs a cost curve")
        if name == "draft":
            return self._make_model_drafter(request, curve)
        copy = CopyDrafter(
            tokens,
            request.source,
            curve=curve,
            vocabulary=ByteVocabulary(self.model),
            shared=request.is_shared,
        )
        if name == "copy":
            return copy
        if name == "lookup+draft":
            return LookupThenModel(copy, self._make_model_drafter(request, curve))
        # A draft model follows one text at a time, so it is of no use in shared passes.
        has_model = self.draft_model is not None and not request.is_shared
        return Auto(
            [Candidate(name="copy", drafter=copy)],
            prior=PRIORS[request.kind],
            curve=curve,
            gains=self._gains,
            model=self._make_model_drafter(request, curve) if has_model else None,
        )

    def _make_model_drafter(self, request: DraftingRequest, curve: CostCurve) -> ModelDrafter:
        if self.draft_model is None:
            raise ModelError("this strategy needs a draft model: name one with --draft-model")
        # The last token of the prompt is the first that the drafter feeds it.
        reading = self.draft_model.read(request.tokens[:-1], n_more=request.max_tokens)
        return ModelDrafter(
            self.draft_model,
            request.tokens,
            reading=reading,
            n_draft=curve.max_rows - 1,
            costs=ModelCosts(curve=curve, small=self.draft_model),
            end_ids=self.model.end_ids,
        )


class ByteVocabulary:
    """A model's vocabulary in bytes: `redraft_lookup.Vocabulary`."""

    def __init__(self, model: LlamaModel) -> None:
        self._model = model
        self.piece = model.piece

    def tokenize(self, data: bytes) -> list[int]:
        return self._model.tokenize(data.decode("utf-8", "replace"))


def build_cost_curve(measurement: Measurement, row_counts: tuple[int, ...]) -> CostCurve:
    """Return the cost of a pass that is padded to the next of `row_counts`; () as measured.

    Counts that were not measured are left out: behind more context wide passes may not pay.
    """
    seconds = dict(zip(measurement.rows, measurement.seconds, strict=True))
    measured = [n for n in row_counts if n in seconds]
    if not measured:
        return measurement.curve
    # A staircase: padded to 8 or 32, a pass of 9 rows costs what one of 32 does.
    times: dict[int, float] = {}
    first = 1
    for last in measured:
        times[first] = times[last] = seconds[last]
        first = last + 1
    return CostCurve.of(times)
