"""Put a new text into a file so that it can be finished after a crash, and undone.

The order is the point: announce, replace, verify, close. Whatever is interrupted in between, the
file holds either its old or its new bytes, and the journal knows both.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from redraft.codemod.journal import FileClosed, Journal, RunLog, WriteAnnounced, WriteUndone
from redraft.codemod.plan import digest
from redraft.codemod.programs import Command
from redraft.codemod.results import FileResult
from redraft.errors import InputError
from redraft.records import Replacement, Span
from redraft.text import diff, files
from redraft.text.files import Document

__all__ = ["Writer", "recall_write", "undo"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """Writes files of `root`. `verify` has to exit with 0 after each, or the file is put back."""

    root: Path
    journal: Journal
    verify: Command | None = None

    def write(self, result: FileResult) -> FileResult:
        """Put a changed file's new text into it; any other result is only noted."""
        if result.document is None or result.new_text is None:
            return self._close(result)
        old, new = _encode_texts(result)
        old_text = result.document.text
        edits = diff.minimal_replacements(old_text, result.new_text)
        announced = WriteAnnounced(
            path=result.path,
            before=digest(old),
            after=digest(new),
            edits=tuple((edit.span.start, edit.span.of(old_text), edit.new_text) for edit in edits),
            kinds=dict(result.kinds),
        )
        # On disk before the file is touched: after a crash, `settle` and `undo` know both texts.
        self.journal.append(announced)
        return self._close(self._replace(result))

    def settle(self, announced: WriteAnnounced) -> FileResult:
        """Finish a write that was cut off, unless the file was changed meanwhile."""
        path = self.root / announced.path
        _remove_scratch_files(path)
        result = FileResult(path=announced.path, state="changed")
        try:
            present = files.read(path)
        except InputError as error:
            return self._close(_fail(result, str(error)), announced.kinds)
        if written := _recall(present, announced):
            # The write happened; whether the verification did is not known.
            return self._close(self._verify(written), announced.kinds)
        if digest(present.encode()) != announced.before:
            message = f"{path} changed since the run began; nothing was written"
            return self._close(_fail(result, message), announced.kinds)
        replacements = [
            Replacement(span=Span(start, start + len(old)), new_text=new)
            for start, old, new in announced.edits
        ]
        new_text = diff.apply_replacements(present.text, replacements)
        result = replace(result, document=present, new_text=new_text)
        return self._close(self._replace(result), announced.kinds)

    def _replace(self, result: FileResult) -> FileResult:
        """Write the new text and verify it, as long as the file still holds the old one."""
        old, new = _encode_texts(result)
        try:
            files.write_atomic(self.root / result.path, new, expected=old)
        except InputError as error:
            return _fail(result, str(error))
        return self._verify(result)

    def _verify(self, result: FileResult) -> FileResult:
        """Run the user's command on the new text, which is in the file; put it back on failure."""
        if self.verify is None:
            return replace(result, written=True)
        code, _, tail = self.verify.run(self.root, result.path)
        if code == 0:
            return replace(result, written=True)
        message = f"the verification failed with exit code {code}: {tail}"
        old, new = _encode_texts(result)
        try:
            files.write_atomic(self.root / result.path, old, expected=new)
        except InputError as error:
            problem = f"{message}; and it could not be put back: {error}"
            return replace(result, state="failed", message=problem, written=True)
        return replace(result, state="rolled_back", message=message)

    def _close(self, result: FileResult, kinds: Mapping[str, int] | None = None) -> FileResult:
        """Note in the journal that the file is done with; `kinds` where `result` has no targets."""
        self.journal.append(
            FileClosed(
                path=result.path,
                state=result.state,
                written=result.written,
                message=result.message,
                kinds=dict(result.kinds if kinds is None else kinds),
            )
        )
        return result


def recall_write(root: Path, announced: WriteAnnounced) -> FileResult | None:
    """Return a write of an earlier process as its result, without targets.

    None where the file is gone or was changed since.
    """
    try:
        return _recall(files.read(root / announced.path), announced)
    except InputError:
        return None


def undo(log: RunLog, journal: Journal) -> Iterable[tuple[str, str]]:
    """Put back what the run wrote, the last file first.

    Yields (path, "" or why the file was left as it is).
    """
    root = Path(log.started.root)
    for path, announced in reversed(log.announced.items()):
        # A write without its end may have happened: the file's digest will tell.
        closed = log.closed.get(path)
        if path in log.undone or (closed and not closed.written):
            continue
        problem = _undo_write(root / path, announced)
        if not problem:
            journal.append(WriteUndone(path=path))
        yield path, problem


def _undo_write(path: Path, announced: WriteAnnounced) -> str:
    """Put back the old text; return why not, or ""."""
    _remove_scratch_files(path)
    try:
        present = files.read(path)
        data = present.encode()
        if digest(data) == announced.before:
            return ""  # a crash came before the write, or right after it was undone
        if digest(data) != announced.after:
            return f"{path} changed since the run; it was left as it is"
        old = replace(present, text=_revert_edits(present.text, announced))
        files.write_atomic(path, old.encode(), expected=data)
    except InputError as error:
        return str(error)
    return ""


def _recall(present: Document, announced: WriteAnnounced) -> FileResult | None:
    """Return the write that left the file as it is; None where no such write did."""
    if digest(present.encode()) != announced.after:
        return None
    old = replace(present, text=_revert_edits(present.text, announced))
    return FileResult(path=announced.path, state="changed", document=old, new_text=present.text)


def _remove_scratch_files(path: Path) -> None:
    """Delete what a write of a killed process left beside `path`."""
    for scratch in path.parent.glob(".redraft-*.tmp"):
        scratch.unlink(missing_ok=True)


def _revert_edits(text: str, announced: WriteAnnounced) -> str:
    """Return the old text, given the new one."""
    replacements: list[Replacement] = []
    shift = 0  # from an offset in the old text to the same place in the new one
    for start, old, new in announced.edits:
        span = Span(start + shift, start + shift + len(new))
        replacements.append(Replacement(span=span, new_text=old))
        shift += len(new) - len(old)
    return diff.apply_replacements(text, replacements)


def _encode_texts(result: FileResult) -> tuple[bytes, bytes]:
    """Return the old and the new bytes of a file whose text changes."""
    if result.document is None or result.new_text is None:
        raise ValueError(f"{result.path} has no new text")
    return result.document.encode(), replace(result.document, text=result.new_text).encode()


def _fail(result: FileResult, message: str) -> FileResult:
    return replace(result, state="failed", message=message, new_text=None)
