"""Keep the journal of a run: one JSON object a line, on disk before what it tells of is done.

A write is announced with all its edits, so that it can be finished, or undone, from the journal
alone. A last line that a crash cut off counts as never written. Knows records, not how they come
about; the folder lies outside the repository, and only its user may read it.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Final, TypeAlias

import platformdirs
from filelock import FileLock, Timeout

from redraft.codemod.plan import PlannedFile
from redraft.codemod.results import FileState
from redraft.errors import InputError, RedraftError
from redraft.records import Span
from redraft.syntax import Target
from redraft.text.files import sync_folder

__all__ = [
    "FileClosed",
    "Journal",
    "RunLog",
    "RunStarted",
    "WriteAnnounced",
    "WriteUndone",
    "journal_folder",
    "read_logs",
]

VERSION: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted:
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
class WriteAnnounced:
    """A file is about to be replaced. `edits`: (offset in the old text, old part, new part)."""

    path: str
    before: str  # sha256 of the file
    after: str
    edits: tuple[tuple[int, str, str], ...]
    kinds: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileClosed:
    """A file is done with, as `redraft.codemod.results.FileResult` tells."""

    path: str
    state: FileState
    written: bool
    message: str
    kinds: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteUndone:
    """The file holds again what it held before the run."""

    path: str


JournalRecord: TypeAlias = RunStarted | WriteAnnounced | FileClosed | WriteUndone

_RECORDS: Final[Mapping[str, type[JournalRecord]]] = {
    "started": RunStarted,
    "announced": WriteAnnounced,
    "closed": FileClosed,
    "undone": WriteUndone,
}
_NAMES: Final = {cls: name for name, cls in _RECORDS.items()}


@dataclass(slots=True, kw_only=True)
class RunLog:
    """The run that a journal tells of."""

    path: Path
    started: RunStarted
    announced: dict[str, WriteAnnounced] = field(default_factory=dict)
    closed: dict[str, FileClosed] = field(default_factory=dict)
    undone: set[str] = field(default_factory=set)

    @classmethod
    def read(cls, path: Path) -> "RunLog | None":
        """Read a journal; None where not even its start was written.

        Raises InputError where it is missing, damaged, or of another version.
        """
        try:
            data = path.read_bytes()
        except OSError as error:
            raise InputError(f"cannot read the journal {path}: {error.strerror}") from error
        # What follows the last line feed was cut off by a crash.
        lines = data.split(b"\n")[:-1]
        records = [_parse(line, f"{path}, line {n},") for n, line in enumerate(lines, 1)]
        if not records:
            return None
        if not isinstance(records[0], RunStarted):
            raise InputError(f"{path} is damaged: it does not begin with the start of a run")
        log = cls(path=path, started=records[0])
        for record in records[1:]:
            log.add(record)
        return log

    def add(self, record: JournalRecord) -> None:
        """Take the next record into account. Raises InputError for a second start."""
        match record:
            case WriteAnnounced():
                # A resumed run tries again what failed: the file is open once more.
                self.announced[record.path] = record
                self.closed.pop(record.path, None)
            case FileClosed():
                self.closed[record.path] = record
            case WriteUndone():
                self.undone.add(record.path)
            case RunStarted():
                raise InputError(f"{self.path} is damaged: it begins twice")

    @property
    def is_finished(self) -> bool:
        """True where every file of the plan is done with, and none failed."""
        return not self.unsettled_writes and not self.remaining_files

    @property
    def unsettled_writes(self) -> tuple[WriteAnnounced, ...]:
        """The writes that may have happened or not."""
        return tuple(write for path, write in self.announced.items() if path not in self.closed)

    @property
    def remaining_files(self) -> tuple[PlannedFile, ...]:
        """The files nothing was announced for, or that failed: those are tried again."""
        unsettled = {write.path for write in self.unsettled_writes}
        done = {path for path, closed in self.closed.items() if closed.state != "failed"}
        return tuple(file for file in self.started.files if file.path not in unsettled | done)


class Journal:
    """A journal that is being written; nobody else can write it meanwhile."""

    def __init__(self, path: Path) -> None:
        self._lock = FileLock(path.with_suffix(".lock"), timeout=0)
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock.acquire()
            # Windows would change the line endings of a file that is not opened as binary.
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
            self._file = os.open(path, flags, 0o600)
            # A last line without its line feed was cut off by a crash: it never happened.
            os.ftruncate(self._file, path.read_bytes().rfind(b"\n") + 1)
            sync_folder(path.parent)
        except Timeout as error:
            raise InputError(f"the run {path.stem} is still going on in another process") from error
        except OSError as error:
            raise _unwritable(path, error) from error
        self._path = path

    def append(self, record: JournalRecord) -> None:
        """Put `record` on disk. Raises RedraftError where that fails."""
        line = json.dumps({"record": _NAMES[type(record)], **asdict(record)}) + "\n"
        try:
            data = line.encode()
            while data:  # a nearly full disk takes a part only
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


def journal_folder(root: Path) -> Path:
    """Return where the journals of runs in `root` lie: in the user's state folder."""
    key = hashlib.sha256(str(root).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return platformdirs.user_state_path("redraft") / "codemod" / key


def read_logs(folder: Path) -> list[RunLog]:
    """Return the runs whose journals lie in `folder`, the oldest first."""
    logs = (RunLog.read(path) for path in sorted(folder.glob("*.jsonl")))
    return [log for log in logs if log is not None]


def _parse(line: bytes, place: str) -> JournalRecord:
    """Return the record in `line`. Raises InputError, naming `place`, where it is none."""
    try:
        entry = json.loads(line)
        cls = _RECORDS[entry.pop("record")]
        # JSON has lists and objects only: make them tuples and records again.
        if "files" in entry:
            entry["files"] = tuple(_parse_file(file) for file in entry["files"])
            entry["broken"] = tuple(entry["broken"])
        if "edits" in entry:
            entry["edits"] = tuple((start, old, new) for start, old, new in entry["edits"])
        return cls(**entry)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{place} is damaged or of another version of redraft: {error!r}"
        ) from error


def _parse_file(entry: dict[str, Any]) -> PlannedFile:
    targets = tuple(
        Target(name=target["name"], kind=target["kind"], span=Span(**target["span"]))
        for target in entry.pop("targets")
    )
    return PlannedFile(**entry, targets=targets)


def _unwritable(path: Path, error: OSError) -> RedraftError:
    return RedraftError(
        f"cannot write the journal {path}: {error.strerror}; no more files were changed"
    )
