"""The server's own copies of the open documents.

Lines break where the protocol says and columns count in the negotiated unit, both by
`redraft.text.lines`: the copies of the language server library break lines where Python does. A
change that makes no sense is taken in the nearest sense, for a notification cannot be refused.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import get_args
from urllib.parse import unquote, urlsplit
from weakref import WeakSet

from lsprotocol import types
from pygls import uris

from redraft.records import Replacement, Span
from redraft.syntax import language_of
from redraft.text.lines import LineIndex, Unit

__all__ = [
    "DocumentChange",
    "Documents",
    "OpenDocument",
    "Snapshot",
    "difference",
    "path_of",
    "placed",
    "range_of",
    "shift",
    "span_of",
    "step",
    "text_edits",
    "unit_of",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentChange:
    """One change as far as it moves what lies around it.

    `span` of the text before it became `n_new` code points. `ends_on_line_start` and
    `starts_on_line_end` say what stands next to the new text in the text after the change.
    """

    span: Span
    n_new: int
    ends_on_line_start: bool
    starts_on_line_end: bool


def placed(target: Span, steps: Iterable[DocumentChange], old: str, new: str) -> Span | None:
    """Where `target` of `old` lies in `new`, which `steps` led to; None if it was touched.

    A target that was changed and changed back is found: its text is what counts.
    """
    now = target
    for each in steps:
        now = _moved(now, each)
    return now if now.of(new) == target.of(old) else None


def step(change: Replacement, after: str) -> DocumentChange:
    """What `change`, which led to the text `after`, does to places around it."""
    start = change.span.start
    stop = start + len(change.new_text)
    return DocumentChange(
        span=change.span,
        n_new=len(change.new_text),
        ends_on_line_start=stop == 0 or after[stop - 1] in "\r\n",
        starts_on_line_end=start == len(after) or after[start] in "\r\n",
    )


def difference(old: str, new: str) -> Replacement:
    """The one change between two whole texts: all between their common start and common end."""
    start = _n_common(old, new)
    rest = _n_common(old[start:][::-1], new[start:][::-1])
    return Replacement(span=Span(start, len(old) - rest), new_text=new[start : len(new) - rest])


def shift(replacements: Iterable[Replacement], by: int) -> tuple[Replacement, ...]:
    """The same replacements `by` code points further on."""
    return tuple(
        Replacement(span=Span(r.span.start + by, r.span.stop + by), new_text=r.new_text)
        for r in replacements
    )


def _moved(span: Span, change: DocumentChange) -> Span:
    by = change.n_new - len(change.span)
    start, stop = change.span.start, change.span.stop
    # Text written right before or after a target belongs to it unless a line break divides them:
    # "async " typed before "def", or " + 1" behind the last line of a function.
    if stop < span.start or (stop == span.start and change.ends_on_line_start):
        return Span(span.start + by, span.stop + by)
    if start > span.stop or (start == span.stop and change.starts_on_line_end):
        return span
    return Span(min(span.start, start), max(span.stop, stop) + by)


def _n_common(a: str, b: str) -> int:
    """The length of the common start, by halving: slices compare at the speed of memory."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


@dataclass(kw_only=True, eq=False)  # without slots: Python 3.10 cannot refer weakly to those
class Snapshot:
    """A document as it was when an edit of it began, and all that happened to it since."""

    index: LineIndex
    version: int
    steps: list[DocumentChange] = field(default_factory=list)

    @property
    def text(self) -> str:
        return self.index.text


class OpenDocument:
    """One open document. `text` equals the client's after every change."""

    def __init__(self, item: types.TextDocumentItem, shown_path: str) -> None:
        self.uri = item.uri
        self.version = item.version
        self.index = LineIndex(item.text)
        self.shown_path = shown_path  # as the user and the model know it
        self._language_id = item.language_id
        self._snapshots: WeakSet[Snapshot] = WeakSet()

    @property
    def text(self) -> str:
        return self.index.text

    @property
    def language(self) -> str | None:
        """The name `redraft.syntax` has for the document's language, if it has one."""
        return language_of(path_of(self.uri).name, self.text, self._language_id)

    def snapshot(self) -> Snapshot:
        """What an edit is computed on; it keeps account of later changes while it is held."""
        snapshot = Snapshot(index=self.index, version=self.version)
        self._snapshots.add(snapshot)
        return snapshot

    def change(
        self,
        changes: Sequence[types.TextDocumentContentChangeEvent],
        version: int,
        unit: Unit,
    ) -> None:
        """Apply one didChange: each change refers to the text the one before it left."""
        for change in changes:
            if isinstance(change, types.TextDocumentContentChangePartial):
                span = span_of(change.range, self.index, unit)
                self._apply(Replacement(span=span, new_text=change.text))
            elif change.text != self.text:
                self._apply(difference(self.text, change.text))
        self.version = version

    def _apply(self, change: Replacement) -> None:
        old, span = self.text, change.span
        self.index = LineIndex(old[: span.start] + change.new_text + old[span.stop :])
        if self._snapshots:
            change_step = step(change, self.text)
            for snapshot in self._snapshots:
                snapshot.steps.append(change_step)

    def place(self, target: Span, snapshot: Snapshot) -> Span | None:
        """Where a snapshot's `target` lies now; None where it was changed."""
        return placed(target, snapshot.steps, snapshot.text, self.text)


class Documents:
    """The open documents by URI; `folders` are those of the workspace."""

    def __init__(self) -> None:
        self.folders: tuple[Path, ...] = ()
        self._open: dict[str, OpenDocument] = {}

    def __len__(self) -> int:
        return len(self._open)

    def open(self, item: types.TextDocumentItem) -> OpenDocument:
        document = OpenDocument(item, self._shown(path_of(item.uri)))
        self._open[item.uri] = document
        return document

    def get(self, uri: str) -> OpenDocument | None:
        return self._open.get(uri)

    def close(self, uri: str) -> None:
        self._open.pop(uri, None)

    def _shown(self, path: Path) -> str:
        """The path from the workspace's folder; outside of any, the name alone."""
        inside = [path.relative_to(folder) for folder in self.folders if folder in path.parents]
        return min((each.as_posix() for each in inside), key=len, default=path.name)


def path_of(uri: str) -> Path:
    """The file a URI names; for a document that is in no file, a path that shows its name."""
    try:
        if (parts := urlsplit(uri)).scheme == "file" and (path := uris.to_fs_path(uri)):
            return Path(path)
    except ValueError:
        return Path("untitled")
    return Path(PurePosixPath(unquote(parts.path)).name or "untitled")


def span_of(given: types.Range, index: LineIndex, unit: Unit) -> Span:
    """The span a client's range names; a reversed range is taken the right way round."""
    ends = sorted(
        index.offset(place.line, place.character, unit) for place in (given.start, given.end)
    )
    return Span(*ends)


def range_of(span: Span, index: LineIndex, unit: Unit) -> types.Range:
    """The span as the client counts."""
    start, stop = (
        types.Position(*index.position(offset, unit)) for offset in (span.start, span.stop)
    )
    return types.Range(start, stop)


def text_edits(
    replacements: Iterable[Replacement], index: LineIndex, unit: Unit
) -> list[types.TextEdit]:
    """The replacements as the client takes them, in the order they come."""
    return [
        types.TextEdit(range=range_of(each.span, index, unit), new_text=each.new_text)
        for each in replacements
    ]


def unit_of(encoding: object) -> Unit:
    """The unit of the negotiated position encoding; UTF-16 where none was."""
    value = getattr(encoding, "value", encoding)
    return value if value in get_args(Unit) else "utf-16"  # type: ignore[return-value]
