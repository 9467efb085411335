"""The server's own copies of the open documents.

Lines break where the protocol says and columns count in the negotiated unit, both by
`redraft.text.lines`: the copies of the language server library break lines where Python does. A
change that makes no sense is taken in the nearest sense, for a notification cannot be refused.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit
from weakref import WeakSet

from lsprotocol import types
from pygls import uris

from redraft.lsp import rebase
from redraft.lsp.positions import span_of
from redraft.records import Replacement, Span
from redraft.syntax import language_of
from redraft.text.lines import LineIndex, Unit

__all__ = ["Documents", "OpenDocument", "Snapshot", "path_of"]


@dataclass(kw_only=True, eq=False)  # without slots: Python 3.10 cannot refer weakly to those
class Snapshot:
    """A document as it was when an edit of it began, and all that happened to it since."""

    index: LineIndex
    version: int
    steps: list[rebase.DocumentChange] = field(default_factory=list)

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
                self._apply(rebase.difference(self.text, change.text))
        self.version = version

    def _apply(self, change: Replacement) -> None:
        old, span = self.text, change.span
        self.index = LineIndex(old[: span.start] + change.new_text + old[span.stop :])
        if self._snapshots:
            step = rebase.step(change, self.text)
            for snapshot in self._snapshots:
                snapshot.steps.append(step)

    def place(self, target: Span, snapshot: Snapshot) -> Span | None:
        """Where a snapshot's `target` lies now; None where it was changed."""
        return rebase.placed(target, snapshot.steps, snapshot.text, self.text)


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
