"""Putting a new text into a file so that it can be finished after a crash, and undone.

The order is the point: announce, replace, verify, close. Whatever is interrupted in between, the
file holds either its old or its new bytes, and the journal knows both.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from redraft.codemod.journal import Announced, Closed, Journal, Log, Undone
from redraft.codemod.plan import digest
from redraft.codemod.programs import Command
from redraft.codemod.results import FileResult
from redraft.errors import InputError
from redraft.records import Replacement, Span
from redraft.text import diff, files
from redraft.text.files import Document

__all__ = ["Writer", "undo"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """Writes files of `root`. `verify` has to exit with 0 after each, or the file is put back."""

    root: Path
    journal: Journal
    verify: Command | None = None

    def write(self, result: FileResult) -> FileResult:
        """Put a changed file's new text into it; any other result is only noted."""
        document, new_text = result.document, result.new_text
        if document is not None and new_text is not None:
            announced = _announced(result.path, document, new_text, result.kinds)
            self.journal.append(announced)
            return self._close(self._replace(result, announced))
        return self._close(result)

    def settle(self, announced: Announced) -> FileResult:
        """Finish a write that was cut off, unless the file was changed meanwhile."""
        path = self.root / announced.path
        _remove_scratch(path)
        result = FileResult(path=announced.path, state="changed")
        try:
            present = files.read(path)
        except InputError as error:
            return self._close(_failed(result, str(error)), announced.kinds)
        if digest(present.encode()) == announced.after:
            old = replace(present, text=_backward(present.text, announced))
            result = replace(result, document=old, new_text=present.text)
            return self._close(self._verified(result), announced.kinds)
        if digest(present.encode()) != announced.before:
            message = f"{path} changed since the run began; nothing was written"
            return self._close(_failed(result, message), announced.kinds)
        new_text = _forward(present.text, announced)
        result = replace(result, document=present, new_text=new_text)
        return self._close(self._replace(result, announced), announced.kinds)

    def _replace(self, result: FileResult, announced: Announced) -> FileResult:
        old, new = _bytes(result)
        try:
            files.write_atomic(self.root / announced.path, new, expected=old)
        except InputError as error:
            return _failed(result, str(error))
        return self._verified(result)

    def _verified(self, result: FileResult) -> FileResult:
        """`result`, whose new text is in the file, once the user's command had its say."""
        if self.verify is None:
            return replace(result, written=True)
        code, _, said = self.verify.run(self.root, result.path)
        if code == 0:
            return replace(result, written=True)
        message = f"the verification failed with exit code {code}: {said}"
        old, new = _bytes(result)
        try:
            files.write_atomic(self.root / result.path, old, expected=new)
        except InputError as error:
            problem = f"{message}; and it could not be put back: {error}"
            return replace(result, state="failed", message=problem, written=True)
        return replace(result, state="rolled_back", message=message)

    def _close(self, result: FileResult, kinds: Mapping[str, int] | None = None) -> FileResult:
        self.journal.append(
            Closed(
                path=result.path,
                state=result.state,
                written=result.written,
                message=result.message,
                kinds=dict(result.kinds if kinds is None else kinds),
            )
        )
        return result


def undo(log: Log, journal: Journal) -> Iterable[tuple[str, str]]:
    """Put back what the run wrote, the last file first: (path, "" or why it was left as it is)."""
    root = Path(log.started.root)
    for path, announced in reversed(log.announced.items()):
        closed = log.closed.get(path)
        if path in log.undone or (closed and not closed.written):
            continue
        problem = _undo(root / path, announced)
        if not problem:
            journal.append(Undone(path=path))
        yield path, problem


def _undo(path: Path, announced: Announced) -> str:
    _remove_scratch(path)
    try:
        present = files.read(path)
        data = present.encode()
        if digest(data) == announced.before:
            return ""  # a crash came before the write, or right after it was undone
        if digest(data) != announced.after:
            return f"{path} changed since the run; it was left as it is"
        old = replace(present, text=_backward(present.text, announced))
        files.write_atomic(path, old.encode(), expected=data)
    except InputError as error:
        return str(error)
    return ""


def _remove_scratch(path: Path) -> None:
    """Delete what a write of a killed process left beside `path`."""
    for left in path.parent.glob(".redraft-*.tmp"):
        left.unlink(missing_ok=True)


def _announced(path: str, old: Document, new_text: str, kinds: Mapping[str, int]) -> Announced:
    edits = diff.minimal_replacements(old.text, new_text)
    return Announced(
        path=path,
        before=digest(old.encode()),
        after=digest(replace(old, text=new_text).encode()),
        edits=tuple((one.span.start, one.span.of(old.text), one.new_text) for one in edits),
        kinds=dict(kinds),
    )


def _forward(text: str, announced: Announced) -> str:
    return diff.apply_replacements(
        text,
        [
            Replacement(span=Span(start, start + len(old)), new_text=new)
            for start, old, new in announced.edits
        ],
    )


def _backward(text: str, announced: Announced) -> str:
    replacements: list[Replacement] = []
    shift = 0
    for start, old, new in announced.edits:
        span = Span(start + shift, start + shift + len(new))
        replacements.append(Replacement(span=span, new_text=old))
        shift += len(new) - len(old)
    return diff.apply_replacements(text, replacements)


def _bytes(result: FileResult) -> tuple[bytes, bytes]:
    if result.document is None or result.new_text is None:
        raise ValueError(f"{result.path} has no new text")
    return result.document.encode(), replace(result.document, text=result.new_text).encode()


def _failed(result: FileResult, message: str) -> FileResult:
    return replace(result, state="failed", message=message, new_text=None)
