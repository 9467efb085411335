"""How much a plan is to read and to write, and how long that may take.

Sums from measured figures, not a promise: tokens are extrapolated from a sample of the files, and
seconds from what passes cost on this machine, as if three of four tokens of a reply were copied.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

from redraft import files
from redraft.codemod.plan import Plan
from redraft.errors import InputError
from redraft.messages import Model

__all__ = ["Costs", "Estimate", "Timed", "cost_curve", "estimate"]

_SAMPLE: Final = 20  # files whose tokens are counted
_WORDING: Final = 120  # tokens around a target, its own text and the instruction aside
_COPIED: Final = 4  # tokens a pass


class Costs(Protocol):
    """T(rows): what a pass of so many rows takes, as `redraft_lookup.CostCurve` has it."""

    @property
    def max_rows(self) -> int:
        """The most rows that were measured."""

    def seconds(self, rows: int) -> float:
        """T(rows) for 1 <= rows <= max_rows."""


@runtime_checkable
class Timed(Protocol):
    """A model that knows what its passes cost."""

    def costs(self, depth: int) -> Costs | None:
        """T(rows) behind about `depth` tokens, measured earlier; None: not yet measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Tokens to read and to write; `seconds` is None where costs are not yet measured."""

    prompt_tokens: int
    output_tokens: int
    seconds: float | None


def estimate(plan: Plan, model: Model, instruction: str) -> Estimate:
    """The sums for `plan`, if nothing of it is known from the cache."""
    n_chars = sum(file.n_chars for file in plan.files)
    n_edited = sum(len(target.span) for file in plan.files for target in file.targets)
    per_char = _tokens_per_char(plan, model.count_tokens)
    n_asked = model.count_tokens(instruction) + _WORDING
    output = int(per_char * n_edited)
    prompt = int(per_char * n_chars) + output + plan.n_targets * n_asked
    curve = cost_curve(model, prompt // max(1, plan.n_targets))
    if curve is None:
        return Estimate(prompt_tokens=prompt, output_tokens=output, seconds=None)
    rows = curve.max_rows
    prefill = prompt / rows * curve.seconds(rows)
    decode = output / _COPIED * curve.seconds(min(_COPIED, rows))
    return Estimate(prompt_tokens=prompt, output_tokens=output, seconds=prefill + decode)


def cost_curve(model: Model, depth: int) -> Costs | None:
    """What passes of `model` cost, where that was measured."""
    return model.costs(depth) if isinstance(model, Timed) else None


def _tokens_per_char(plan: Plan, count: Callable[[str], int]) -> float:
    step = max(1, len(plan.files) // _SAMPLE)
    n_chars = n_tokens = 0
    for file in plan.files[::step]:
        try:
            text = files.read(plan.root / file.path).text
        except InputError:  # the run will say so
            continue
        n_chars += len(text)
        n_tokens += count(text)
    return n_tokens / n_chars if n_chars else 0.0
