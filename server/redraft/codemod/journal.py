"""The journal of a run: one JSON object a line, on disk before what it tells of is done.

A write is announced with all its edits, so that it can be finished, or undone, from the journal
alone. A last line that a crash cut off counts as never written. Knows records, not how they come
about; the folder lies outside the repository, and only its user may read it.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Final, TypeAlias

import platformdirs
from filelock import FileLock, Timeout

from redraft.codemod.plan import PlannedFile
from redraft.codemod.results import State
from redraft.errors import InputError, RedraftError
from redraft.records import Span
from redraft.syntax import Target

__all__ = [
    "Announced",
    "Closed",
    "Journal",
    "Log",
    "Started",
    "Undone",
    "folder_of",
    "logs",
]

VERSION: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """The first record. `identity` is a hash of all that decides the results."""

    run: str
    at: str  # UTC, ISO 8601
    root: str
    instruction: str
    identity: str
    model: str  # the model file's sha256
    parameters: Mapping[str, Any]
    files: tuple[PlannedFile, ...]
    broken: tuple[str, ...] = ()  # paths of files that ought to be edited and could not be
    version: int = VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class Announced:
    """A file is about to be replaced. `edits`: (offset in the old text, old part, new part)."""

    path: str
    before: str  # sha256 of the file
    after: str
    edits: tuple[tuple[int, str, str], ...]
    kinds: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed:
    """A file is done with, as `redraft.codemod.results.FileResult` tells."""

    path: str
    state: State
    written: bool
    message: str
    kinds: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone:
    """The file holds again what it held before the run."""

    path: str


Record: TypeAlias = Started | Announced | Closed | Undone

_KINDS: Final = {cls.__name__.lower(): cls for cls in (Started, Announced, Closed, Undone)}


@dataclass(slots=True, kw_only=True)
class Log:
    """What a journal tells."""

    path: Path
    started: Started
    announced: dict[str, Announced] = field(default_factory=dict)
    closed: dict[str, Closed] = field(default_factory=dict)
    undone: set[str] = field(default_factory=set)

    @classmethod
    def read(cls, path: Path) -> "Log | None":
        """Read a journal; None where not even its start was written.

        Raises InputError where it is missing, damaged, or of another version.
        """
        records = list(_records(path))
        if not records:
            return None
        if not isinstance(records[0], Started):
            raise InputError(f"{path} is damaged: it does not begin with the start of a run")
        log = cls(path=path, started=records[0])
        for record in records[1:]:
            log.add(record)
        return log

    def add(self, record: Record) -> None:
        match record:
            case Announced():
                self.announced[record.path] = record
                self.closed.pop(record.path, None)
            case Closed():
                self.closed[record.path] = record
            case Undone():
                self.undone.add(record.path)
            case Started():
                raise InputError(f"{self.path} is damaged: it begins twice")

    @property
    def is_finished(self) -> bool:
        """Whether every file of the plan is done with, and none failed."""
        return not self.unsettled and not self.left

    @property
    def unsettled(self) -> tuple[Announced, ...]:
        """The writes that may have happened or not."""
        return tuple(one for path, one in self.announced.items() if path not in self.closed)

    @property
    def left(self) -> tuple[PlannedFile, ...]:
        """The files nothing was announced for, or that failed: those are tried again."""
        unsettled = {one.path for one in self.unsettled}
        done = {path for path, closed in self.closed.items() if closed.state != "failed"}
        return tuple(file for file in self.started.files if file.path not in unsettled | done)


class Journal:
    """A journal that is being written; nobody else can write it meanwhile."""

    def __init__(self, path: Path) -> None:
        self._lock = FileLock(path.with_suffix(".lock"), timeout=0)
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock.acquire()
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
            os.ftruncate(self._file, _whole(path))
            _sync(path.parent)
        except Timeout as error:
            raise InputError(f"the run {path.stem} is still going on in another process") from error
        except OSError as error:
            raise _unwritable(path, error) from error
        self._path = path

    def append(self, record: Record) -> None:
        """Put `record` on disk. Raises RedraftError where that fails."""
        line = json.dumps({"record": type(record).__name__.lower(), **asdict(record)}) + "\n"
        try:
            data = line.encode()
            while data:
                data = data[os.write(self._file, data) :]
            os.fsync(self._file)
        except OSError as error:
            raise _unwritable(self._path, error) from error

    def close(self) -> None:
        os.close(self._file)
        self._lock.release()
        self._path.with_suffix(".lock").unlink(missing_ok=True)

    def __enter__(self) -> "Journal":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def folder_of(root: Path) -> Path:
    """Where the journals of runs in `root` lie: in the user's state folder."""
    key = hashlib.sha256(str(root).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return platformdirs.user_state_path("redraft") / "codemod" / key


def logs(folder: Path) -> list[Log]:
    """The runs whose journals lie in `folder`, the oldest first."""
    read = (Log.read(path) for path in sorted(folder.glob("*.jsonl")))
    return [log for log in read if log is not None]


def _sync(folder: Path) -> None:
    """Make the name of a new journal last as long as its records."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _whole(path: Path) -> int:
    """How many bytes of the file are whole lines."""
    return path.read_bytes().rfind(b"\n") + 1


def _records(path: Path) -> Iterator[Record]:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read the journal {path}: {error.strerror}") from error
    lines = data.split(b"\n")[:-1]
    return (_record(line, f"{path}, line {number},") for number, line in enumerate(lines, 1))


def _record(line: bytes, place: str) -> Record:
    try:
        return _parsed(json.loads(line))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{place} is damaged or of another version of redraft: {error!r}"
        ) from error


def _parsed(entry: dict[str, Any]) -> Record:
    kind = _KINDS[entry.pop("record")]
    if "files" in entry:
        entry["files"] = tuple(map(_planned, entry["files"]))
        entry["broken"] = tuple(entry["broken"])
    if "edits" in entry:
        entry["edits"] = tuple((start, old, new) for start, old, new in entry["edits"])
    record: Record = kind(**entry)
    return record


def _planned(entry: dict[str, Any]) -> PlannedFile:
    targets = tuple(
        Target(name=one["name"], kind=one["kind"], span=Span(**one["span"]))
        for one in entry.pop("targets")
    )
    return PlannedFile(**entry, targets=targets)


def _unwritable(path: Path, error: OSError) -> RedraftError:
    return RedraftError(
        f"cannot write the journal {path}: {error.strerror}; no more files were changed"
    )
