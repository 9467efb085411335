"""The server's own copies of the open documents, and where a target lies after they changed.

Lines break where the protocol says and columns count in the negotiated unit, both by
`redraft.text.lines`; the copies that pygls keeps break lines where Python does. Knows nothing of
edits; code that computes one holds a `Snapshot`.

A change elsewhere in a document moves a target exactly; a change that touches it widens it, and
only a target whose text is still the same is found. What an edit adds outside of its target moves
with the line that it stands in or goes in front of. The text is never searched.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Final
from urllib.parse import unquote, urlsplit
from weakref import WeakSet

from lsprotocol import types
from pygls import uris

from redraft.records import Replacement, Span
from redraft.syntax import language_of
from redraft.text.diff import apply_replacements, minimal_replacements
from redraft.text.lines import LineIndex, Unit, line_ending

__all__ = [
    "NO_VERSION",
    "DocumentChange",
    "Documents",
    "OpenDocument",
    "Snapshot",
    "describe_change",
    "find_change",
    "locate_in",
    "locate_target",
    "path_from_uri",
    "to_range",
    "to_span",
    "to_text_edits",
]


NO_VERSION: Final = -(2**31)  # the smallest there is, for a client that counts no versions


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

    def move(self, span: Span) -> Span:
        """Return where `span` lies after the change: widened where the change touches it."""
        distance = self.n_new - len(self.span)
        start, stop = self.span.start, self.span.stop
        # Text written right before or after a target belongs to it unless a line break divides
        # them: "async " typed before "def", or " + 1" behind the last line of a function.
        if stop < span.start or (stop == span.start and self.ends_on_line_start):
            return Span(span.start + distance, span.stop + distance)
        if start > span.stop or (start == span.stop and self.starts_on_line_end):
            return span
        return Span(min(span.start, start), max(span.stop, stop) + distance)


@dataclass(kw_only=True, eq=False)  # without slots: Python 3.10 cannot refer weakly to those
class Snapshot:
    """A document as it was when an edit of it began, and all changes since."""

    index: LineIndex
    version: int
    changes: list[DocumentChange] = field(default_factory=list)

    @property
    def text(self) -> str:
        return self.index.text


class OpenDocument:
    """One open document. `text` equals the client's after every change, while `is_known`.

    A change that makes no sense ends that, until the text comes whole. The versions of a client
    that counts none are counted here.
    """

    def __init__(self, item: types.TextDocumentItem, display_path: str) -> None:
        self.uri = item.uri
        self.is_versioned = item.version != NO_VERSION
        self.version = item.version if self.is_versioned else 0
        self.is_known = True
        self.index = LineIndex(item.text)
        self.display_path = display_path  # as the user and the model know it
        self._language_id = item.language_id
        # Weak, so that an edit that has ended need not say so for its snapshot to be dropped.
        self._snapshots: WeakSet[Snapshot] = WeakSet()

    @property
    def text(self) -> str:
        return self.index.text

    @property
    def language(self) -> str | None:
        """The name `redraft.syntax` has for the document's language, if it has one."""
        return language_of(path_from_uri(self.uri).name, self.text, self._language_id)

    def snapshot(self) -> Snapshot:
        """Return the document as it is, for an edit; it records later changes while it is held."""
        snapshot = Snapshot(index=self.index, version=self.version)
        self._snapshots.add(snapshot)
        return snapshot

    def change(
        self,
        changes: Sequence[types.TextDocumentContentChangeEvent],
        version: int,
        unit: Unit,
    ) -> None:
        """Apply one didChange: each change refers to the text the one before it left.

        A notification cannot be refused, so a place outside the text means the nearest one in it.
        Of a text that is not known, only a whole one can come of it.
        """
        for change in changes:
            if isinstance(change, types.TextDocumentContentChangePartial):
                if not self.is_known:
                    continue
                span = to_span(change.range, self.index, unit)
                self._apply(Replacement(span=span, new_text=change.text))
                continue
            self.is_known = True
            if change.text != self.text:
                self._apply(find_change(self.text, change.text))
        self.is_versioned = version != NO_VERSION
        self.version = version if self.is_versioned else self.version + 1

    def _apply(self, replacement: Replacement) -> None:
        old, span = self.text, replacement.span
        self.index = LineIndex(old[: span.start] + replacement.new_text + old[span.stop :])
        if self._snapshots:
            change = describe_change(replacement, self.text)
            for snapshot in self._snapshots:
                snapshot.changes.append(change)

    def locate(self, target: Span, snapshot: Snapshot) -> Span | None:
        """Return where `target` of a snapshot lies now; None if it was changed."""
        return locate_target(target, snapshot.changes, snapshot.text, self.text)

    def place(
        self, replacements: Iterable[Replacement], target: Span, snapshot: Snapshot
    ) -> tuple[Replacement, ...] | None:
        """Return an edit of a snapshot as one of the document now; None if its places were changed.

        Replacements inside `target` move with it. Any other moves with its line: an import that is
        inserted stays in front of the line that it was to go in front of.
        """
        moved_target = self.locate(target, snapshot)
        if moved_target is None:
            return None
        placed: list[Replacement] = []
        for replacement in replacements:
            span = replacement.span
            old, new = target, moved_target
            if span not in target:
                old = find_lines(span, snapshot.index)
                place = self.locate(old, snapshot)
                if place is None or not self._begins_line(place.start):
                    return None
                new = place
            distance = new.start - old.start
            moved = Span(span.start + distance, span.stop + distance)
            placed.append(replace(replacement, span=moved))
        # Lines that were taken out and put back elsewhere may have changed places.
        is_in_order = all(
            before.span.stop <= after.span.start for before, after in pairwise(placed)
        )
        return tuple(placed) if is_in_order else None

    def _begins_line(self, offset: int) -> bool:
        return self.index.line_span(self.index.line_at(offset)).start == offset


class Documents:
    """The open documents by URI; `folders` are those of the workspace."""

    def __init__(self) -> None:
        self.folders: tuple[Path, ...] = ()
        self._open: dict[str, OpenDocument] = {}

    def __len__(self) -> int:
        return len(self._open)

    def open(self, item: types.TextDocumentItem) -> OpenDocument:
        """Keep a copy of a document.

        It is shown by its path from the workspace's folder; outside of any, by its name alone.
        """
        path = path_from_uri(item.uri)
        inside = [path.relative_to(folder) for folder in self.folders if folder in path.parents]
        shortest = min((relative.as_posix() for relative in inside), key=len, default=path.name)
        document = self._open[item.uri] = OpenDocument(item, shortest)
        return document

    def get(self, uri: str) -> OpenDocument | None:
        return self._open.get(uri)

    def close(self, uri: str) -> None:
        self._open.pop(uri, None)


def path_from_uri(uri: str) -> Path:
    """Return the file a URI names; for a document in no file, a path that ends in its name."""
    try:
        if (parts := urlsplit(uri)).scheme == "file" and (path := uris.to_fs_path(uri)):
            return Path(path)
    except ValueError:
        return Path("untitled")
    return Path(PurePosixPath(unquote(parts.path)).name or "untitled")


def to_span(range_: types.Range, index: LineIndex, unit: Unit) -> Span:
    """Return the span a client's range names; a reversed range is taken the right way round."""
    start, stop = sorted(
        index.offset(position.line, position.character, unit)
        for position in (range_.start, range_.end)
    )
    return Span(start, stop)


def to_range(span: Span, index: LineIndex, unit: Unit) -> types.Range:
    """Return a span as the client counts."""
    start, stop = (
        types.Position(*index.position(offset, unit)) for offset in (span.start, span.stop)
    )
    return types.Range(start, stop)


def to_text_edits(
    replacements: Iterable[Replacement], index: LineIndex, unit: Unit
) -> list[types.TextEdit]:
    """Return replacements as the client takes them, in the same order."""
    return [
        types.TextEdit(range=to_range(replacement.span, index, unit), new_text=replacement.new_text)
        for replacement in replacements
    ]


def locate_target(
    target: Span, changes: Iterable[DocumentChange], old: str, new: str
) -> Span | None:
    """Return where `target` of `old` lies in `new`, which `changes` led to; None if it changed.

    A target that was changed and changed back is found: its text is what counts.
    """
    span = target
    for change in changes:
        span = change.move(span)
    return span if span.of(new) == target.of(old) else None


def locate_in(new: str, span: Span, old: str) -> Span | None:
    """Return where `span` of `old` lies in `new`; None if it changed.

    By the difference of the two, which may be wrong about lines that repeat: for places that are
    shown, not for edits.
    """
    text, changes = old, []
    for replacement in reversed(minimal_replacements(old, new)):
        text = apply_replacements(text, [replacement])
        changes.append(describe_change(replacement, text))
    return locate_target(span, changes, old, new)


def find_lines(span: Span, index: LineIndex) -> Span:
    """Return the lines that `span` touches; the last one's ending only where `span` holds it."""
    first = index.line_span(index.line_at(span.start))
    last = index.line_span(index.line_at(max(span.start, span.stop - 1)))
    stop = last.stop - len(line_ending(last.of(index.text)))
    return Span(first.start, max(span.stop, stop))


def describe_change(replacement: Replacement, new: str) -> DocumentChange:
    """Return what a replacement, which led to the text `new`, does to places around it."""
    start = replacement.span.start
    stop = start + len(replacement.new_text)
    return DocumentChange(
        span=replacement.span,
        n_new=len(replacement.new_text),
        ends_on_line_start=stop == 0 or new[stop - 1] in "\r\n",
        starts_on_line_end=start == len(new) or new[start] in "\r\n",
    )


def find_change(old: str, new: str) -> Replacement:
    """Return the one change between two whole texts: all between common start and common end."""
    start = _common_start(old, new)
    n_end = _common_start(old[start:][::-1], new[start:][::-1])
    return Replacement(span=Span(start, len(old) - n_end), new_text=new[start : len(new) - n_end])


def _common_start(a: str, b: str) -> int:
    """Return the length of the common start."""
    # By halving, since comparing slices runs at the speed of memory and a loop in Python does not.
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
