"""How much a plan is to read and to write, how long that may take, how many replies at once pay.

Sums from measured figures, not a promise: tokens are extrapolated from a sample of the files, and
seconds from what passes cost on this machine, as if guesses were as good as they mostly are.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

from redraft.codemod.plan import Plan
from redraft.errors import InputError
from redraft.records import Exactness, Model
from redraft.text import files

__all__ = ["Costs", "Estimate", "SupportsCosts", "best_jobs", "estimate", "tokens_per_s"]

_SAMPLE: Final = 20  # files whose tokens are counted
_WORDING: Final = 60  # tokens around a file and the instruction
_NAMING: Final = 20  # tokens that say which part of the file is meant
_RIGHT: Final = 0.85  # the chance that a guessed token is right, given that those before it are
_MOST_JOBS: Final = 6  # each takes memory for a text of its own, and more bring next to nothing
_WORTH: Final = 0.97  # of the best rate: where fewer replies at once reach it, they do
_UNKNOWN_JOBS: Final = 4  # where nobody knows what passes cost


class Costs(Protocol):
    """T(rows): what a pass of so many rows takes, as `redraft_lookup.CostCurve` has it."""

    @property
    def max_rows(self) -> int:
        """The most rows that were measured."""

    def seconds(self, rows: int) -> float:
        """T(rows) for 1 <= rows <= max_rows."""


@runtime_checkable
class SupportsCosts(Protocol):
    """A model that knows what its passes cost."""

    def costs(self, depth: int, exactness: Exactness) -> Costs | None:
        """T(rows) behind about `depth` tokens at that exactness; None where that says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What is ahead. Times in seconds, None where nobody knows what passes cost."""

    prompt_tokens: int
    output_tokens: int
    jobs: int  # replies written at once, by each worker
    seconds: float | None = None
    plain_s: float | None = None  # one token, decoded plainly


def estimate(
    plan: Plan,
    model: Model,
    instruction: str,
    exactness: Exactness,
    *,
    jobs: int | None,
    n_workers: int = 1,
) -> Estimate:
    """The sums for `plan`, if nothing of it is known from the cache.

    `jobs` None: as many as pay, by what passes cost.
    """
    n_chars = sum(file.n_chars for file in plan.files)
    n_edited = sum(len(target.span) for file in plan.files for target in file.targets)
    per_char = _tokens_per_char(plan, model.count_tokens)
    n_around = model.count_tokens(instruction) + _WORDING
    output = int(per_char * n_edited)
    prompt = int(per_char * n_chars) + len(plan.files) * n_around + plan.n_targets * _NAMING
    depth = prompt // max(1, len(plan.files))
    costs = model.costs(depth, exactness) if isinstance(model, SupportsCosts) else None
    plain = model.costs(depth, "fast") if isinstance(model, SupportsCosts) else None
    if costs is None or plain is None:
        jobs = jobs or _UNKNOWN_JOBS
        return Estimate(prompt_tokens=prompt, output_tokens=output, jobs=jobs)
    jobs = jobs or best_jobs(costs)
    prefill = prompt / costs.max_rows * costs.seconds(costs.max_rows)
    decode = output / tokens_per_s(costs, jobs)
    return Estimate(
        prompt_tokens=prompt,
        output_tokens=output,
        jobs=jobs,
        seconds=(prefill + decode) / n_workers,
        plain_s=plain.seconds(1),
    )


def best_jobs(costs: Costs) -> int:
    """How many replies at once bring the most tokens a second; the fewest that nearly do."""
    rates = {n: tokens_per_s(costs, n) for n in range(1, min(_MOST_JOBS, costs.max_rows) + 1)}
    best = max(rates.values())
    return next(n for n, rate in rates.items() if rate >= _WORTH * best)


def tokens_per_s(costs: Costs, jobs: int) -> float:
    """The rate at which `jobs` replies at once are written, at the draft length that suits them.

    A pass with k guesses for each brings 1 + p + ... + p^k tokens of each, p being the chance that
    one more guess is right.
    """
    jobs = min(jobs, costs.max_rows)
    lengths = range(1, costs.max_rows // jobs + 1)
    gains = ((1 - _RIGHT**rows) / (1 - _RIGHT) for rows in lengths)
    rates = (gain / costs.seconds(jobs * n) for n, gain in zip(lengths, gains, strict=True))
    return jobs * max(rates)


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
