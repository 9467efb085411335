"""What a run will do before it does anything: which files and which targets in them.

Reads every file once; a run reads it again and notices when it is another one by then.
"""

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from redraft.codemod.discover import Rules, Skipped, walk
from redraft.codemod.select import Selection
from redraft.errors import InputError
from redraft.syntax import LANGUAGES, Target, language_of
from redraft.text import files

__all__ = ["Broken", "Plan", "PlannedFile", "digest", "plan"]


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
