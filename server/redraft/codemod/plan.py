"""What a run will do before it does anything: which files and which targets in them.

Reads every file once; a run reads it again and notices when it is another one by then.
"""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Protocol, runtime_checkable

from redraft.codemod.discover import Rules, Skipped, walk
from redraft.codemod.select import Selection
from redraft.errors import InputError
from redraft.records import Exactness, Model
from redraft.syntax import LANGUAGES, Target, language_of
from redraft.text import files

__all__ = [
    "Broken",
    "Costs",
    "Estimate",
    "Plan",
    "PlannedFile",
    "SupportsCosts",
    "best_jobs",
    "digest",
    "estimate",
    "plan",
    "tokens_per_s",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedFile:
    """A file to edit. `path` is relative to the root, `sha256` that of the bytes it must hold."""

    path: str
    sha256: str
    language: str | None
    n_chars: int
    targets: tuple[Target, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """A file that ought to be edited and cannot be."""

    path: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All that a run needs to know of the tree. Each group is sorted by path."""

    root: Path
    files: tuple[PlannedFile, ...]
    skipped: tuple[Skipped, ...] = ()
    broken: tuple[Broken, ...] = ()

    @property
    def n_targets(self) -> int:
        return sum(len(file.targets) for file in self.files)


def plan(
    root: Path,
    paths: Sequence[Path],
    rules: Rules,
    selection: Selection,
    *,
    limit: int | None = None,
    writable: bool = False,
) -> Plan:
    """Find the files under `paths` and their targets, the first `limit` of them.

    `writable` finds out now which files could not be written. Raises InputError where the
    selection has a query that none of the languages met knows.
    """
    look = _Look(root, rules, selection, writable=writable)
    found = [one if isinstance(one, Skipped) else look(one) for one in walk(root, paths, rules)]
    if look.foreign and not look.n_read:
        raise look.foreign[0]
    return Plan(
        root=root,
        files=tuple(_limited((one for one in found if isinstance(one, PlannedFile)), limit)),
        skipped=tuple(one for one in found if isinstance(one, Skipped)),
        broken=tuple(one for one in found if isinstance(one, Broken)),
    )


def digest(data: bytes) -> str:
    """The sha256 of `data` in hex."""
    return hashlib.sha256(data).hexdigest()


@dataclass(slots=True)
class _Look:
    """Looks into files; `foreign` are queries that a file's language did not know."""

    root: Path
    rules: Rules
    selection: Selection
    writable: bool = field(kw_only=True)
    n_read: int = 0
    foreign: list[InputError] = field(default_factory=list)

    def __call__(self, path: str) -> PlannedFile | Skipped | Broken | None:
        """None where there is nothing to edit in the file."""
        try:
            document = files.read(self.root / path)
        except InputError as error:
            # The system refused to hand the file over; or it is no text, which is nobody's fault.
            if isinstance(error.__cause__, OSError):
                return Broken(path=path, message=str(error))
            return Skipped(path=path, reason=str(error))
        language = language_of(path, document.text)
        if not self._counts(language):
            return None
        try:
            targets = self.selection.targets(document.text, language)
        except InputError as error:
            self.foreign.append(error)
            return Skipped(path=path, reason=str(error))
        self.n_read += 1
        if targets and self.writable and (problem := _unwritable(self.root / path)):
            return Broken(path=path, message=problem)
        planned = PlannedFile(
            path=path,
            sha256=digest(document.encode()),
            language=language,
            n_chars=len(document.text),
            targets=targets,
        )
        return planned if targets else None

    def _counts(self, language: str | None) -> bool:
        if self.rules.languages:
            return language in self.rules.languages
        # A file that a pattern named may be edited as plain text.
        return language in LANGUAGES or bool(self.rules.include)


def _unwritable(path: Path) -> str:
    needed = (path, path.parent)
    closed = next((one for one in needed if not os.access(one, os.W_OK)), None)
    return f"cannot write {path}: no permission to change {closed}" if closed else ""


def _limited(planned: Iterable[PlannedFile], limit: int | None) -> Iterator[PlannedFile]:
    """`planned` with the first `limit` targets only."""
    left = limit
    for file in planned:
        if left is None:
            yield file
        elif left > 0:
            yield replace(file, targets=file.targets[:left])
            left -= len(file.targets)


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
