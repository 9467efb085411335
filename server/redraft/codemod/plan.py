"""Plan a run before it does anything: the files, the targets in them, and what that will take.

Reads every file once; a run reads it again and notices when it is another one by then. The
estimate is a sum of measured figures, not a promise: tokens are extrapolated from a sample of the
files, and seconds from what passes cost on this machine, as if guesses were as good as they mostly
are.
"""

import hashlib
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Protocol, runtime_checkable

from redraft.codemod.discover import FileRules, Skipped, walk
from redraft.codemod.select import Selection
from redraft.errors import InputError
from redraft.records import Exactness, Model
from redraft.syntax import Target, is_code, language_of
from redraft.text import files

__all__ = [
    "Costs",
    "Estimate",
    "InaccessibleFile",
    "Plan",
    "PlannedFile",
    "SupportsCosts",
    "choose_jobs",
    "digest",
    "estimate",
    "plan",
    "predict_tokens_per_s",
]

_N_SAMPLES: Final = 20  # files whose tokens are counted
_FRAME_TOKENS: Final = 60  # tokens around a file and the instruction
_NAME_TOKENS: Final = 20  # tokens that say which part of the file is meant
_P_RIGHT: Final = 0.85  # the chance that a guessed token is right, given that those before it are
_MAX_JOBS: Final = 6  # each takes memory for a text of its own, and more bring next to nothing
_GOOD_RATE: Final = 0.97  # of the best rate: where fewer replies at once reach it, they do
_DEFAULT_JOBS: Final = 4  # where nobody knows what passes cost


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedFile:
    """A file to edit. `path` is relative to the root, `sha256` that of the bytes it must hold."""

    path: str
    sha256: str
    language: str | None
    n_chars: int
    targets: tuple[Target, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class InaccessibleFile:
    """A file that ought to be edited and cannot be."""

    path: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All that a run needs to know of the tree. Each group is sorted by path."""

    root: Path
    files: tuple[PlannedFile, ...]
    skipped: tuple[Skipped, ...] = ()
    inaccessible: tuple[InaccessibleFile, ...] = ()

    @property
    def n_targets(self) -> int:
        return sum(len(file.targets) for file in self.files)


def plan(
    root: Path,
    paths: Sequence[Path],
    rules: FileRules,
    selection: Selection,
    *,
    limit: int | None = None,
    writable: bool = False,
) -> Plan:
    """Find the files under `paths` and their targets, the first `limit` of them.

    `writable` also finds the files that could not be written. Raises InputError where the
    selection has a query that none of the languages met knows.
    """
    planner = _FilePlanner(root, rules, selection, writable=writable)
    entries = [
        entry if isinstance(entry, Skipped) else planner.plan_file(entry)
        for entry in walk(root, paths, rules)
    ]
    if planner.query_errors and not planner.n_read:
        raise planner.query_errors[0]
    planned: list[PlannedFile] = []
    n_left = sys.maxsize if limit is None else limit
    for file in entries:
        if isinstance(file, PlannedFile) and n_left:
            planned.append(replace(file, targets=file.targets[:n_left]))
            n_left -= len(planned[-1].targets)
    return Plan(
        root=root,
        files=tuple(planned),
        skipped=tuple(entry for entry in entries if isinstance(entry, Skipped)),
        inaccessible=tuple(entry for entry in entries if isinstance(entry, InaccessibleFile)),
    )


def digest(data: bytes) -> str:
    """Return the sha256 of `data` in hex."""
    return hashlib.sha256(data).hexdigest()


@dataclass(slots=True)
class _FilePlanner:
    """Looks into files; `query_errors` are for queries that a file's language did not know."""

    root: Path
    rules: FileRules
    selection: Selection
    writable: bool = field(kw_only=True)
    n_read: int = 0
    query_errors: list[InputError] = field(default_factory=list)

    def plan_file(self, path: str) -> PlannedFile | Skipped | InaccessibleFile | None:
        """Return the file with its targets; None where there is nothing to edit in it."""
        try:
            document = files.read(self.root / path)
        except InputError as error:
            # The system refused to hand the file over; or it is no text, which is nobody's fault.
            if isinstance(error.__cause__, OSError):
                return InaccessibleFile(path=path, message=str(error))
            return Skipped(path=path, reason=str(error))
        language = language_of(path, document.text)
        # A file that a pattern named may be edited as plain text, or as data.
        is_taken = is_code(language) or bool(self.rules.include)
        if not (language in self.rules.languages if self.rules.languages else is_taken):
            return None
        try:
            targets = self.selection.find_targets(document.text, language)
        except InputError as error:
            # `(call) @c` is a query in Python and none in JavaScript: it is wrong only where no
            # language of the run knows it.
            self.query_errors.append(error)
            return Skipped(path=path, reason=str(error))
        self.n_read += 1
        if targets and self.writable:
            needed = (self.root / path, (self.root / path).parent)
            for place in (place for place in needed if not os.access(place, os.W_OK)):
                message = f"cannot write {needed[0]}: no permission to change {place}"
                return InaccessibleFile(path=path, message=message)
        planned = PlannedFile(
            path=path,
            sha256=digest(document.encode()),
            language=language,
            n_chars=len(document.text),
            targets=targets,
        )
        return planned if targets else None


class Costs(Protocol):
    """T(rows): the seconds a pass of so many rows takes, as in `redraft_lookup.CostCurve`."""

    @property
    def max_rows(self) -> int:
        """The most rows that were measured."""

    def seconds(self, rows: int) -> float:
        """Return T(rows) for 1 <= rows <= max_rows."""


@runtime_checkable
class SupportsCosts(Protocol):
    """A model that knows what its passes cost."""

    def costs(self, depth: int, exactness: Exactness) -> Costs | None:
        """Return T(rows) behind about `depth` tokens at that exactness; None where unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """The tokens and the time of a run. Times in seconds, None where no cost is known."""

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
    """Estimate what `plan` takes if no reply to it is in the cache.

    `jobs` None: as many as pay, by what passes cost.
    """
    n_chars = sum(file.n_chars for file in plan.files)
    n_edited = sum(len(target.span) for file in plan.files for target in file.targets)
    per_char = _sample_tokens_per_char(plan, model.count_tokens)
    output = int(per_char * n_edited)
    # A file and the instruction are read once; each target adds the words that name it.
    n_frame = model.count_tokens(instruction) + _FRAME_TOKENS
    prompt = int(per_char * n_chars) + len(plan.files) * n_frame + plan.n_targets * _NAME_TOKENS
    depth = prompt // max(1, len(plan.files))
    costs = model.costs(depth, exactness) if isinstance(model, SupportsCosts) else None
    plain = model.costs(depth, "fast") if isinstance(model, SupportsCosts) else None
    if costs is None or plain is None:
        jobs = jobs or _DEFAULT_JOBS
        return Estimate(prompt_tokens=prompt, output_tokens=output, jobs=jobs)
    jobs = jobs or choose_jobs(costs)
    prefill = prompt / costs.max_rows * costs.seconds(costs.max_rows)
    decode = output / predict_tokens_per_s(costs, jobs)
    return Estimate(
        prompt_tokens=prompt,
        output_tokens=output,
        jobs=jobs,
        seconds=(prefill + decode) / n_workers,
        plain_s=plain.seconds(1),
    )


def choose_jobs(costs: Costs) -> int:
    """Return how many replies at once bring the most tokens a second; the fewest that nearly do."""
    n_jobs = range(1, min(_MAX_JOBS, costs.max_rows) + 1)
    rates = {n: predict_tokens_per_s(costs, n) for n in n_jobs}
    best = max(rates.values())
    return next(n for n, rate in rates.items() if rate >= _GOOD_RATE * best)


def predict_tokens_per_s(costs: Costs, jobs: int) -> float:
    """Return the rate at which `jobs` replies at once are written, at the best draft length.

    A pass with k guesses for each brings 1 + p + ... + p^k tokens of each, p being the chance that
    one more guess is right (Leviathan et al. 2023, https://arxiv.org/abs/2211.17192, eq. 1).
    """
    jobs = min(jobs, costs.max_rows)
    lengths = range(1, costs.max_rows // jobs + 1)
    gains = ((1 - _P_RIGHT**rows) / (1 - _P_RIGHT) for rows in lengths)
    rates = (gain / costs.seconds(jobs * n) for n, gain in zip(lengths, gains, strict=True))
    return jobs * max(rates)


def _sample_tokens_per_char(plan: Plan, count_tokens: Callable[[str], int]) -> float:
    """Return the tokens a character has in some files of `plan`, spread evenly over it."""
    step = max(1, len(plan.files) // _N_SAMPLES)
    n_chars = n_tokens = 0
    for file in plan.files[::step]:
        try:
            text = files.read(plan.root / file.path).text
        except InputError:  # the run will say so
            continue
        n_chars += len(text)
        n_tokens += count_tokens(text)
    return n_tokens / n_chars if n_chars else 0.0
