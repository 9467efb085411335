"""The server's copies, against an independent client; and how much a change of a long file costs."""

import random
from pathlib import Path

import pytest
from lsprotocol import types
from tests.redraft.lsp.editor import OpenDocument

from redraft.lsp.documents import Documents, path_from_uri

PIECES = ["a", "\n", "\r", "\r\n", "\u2028", "\x0c", "\x85", "é", "語", "\U0001f600", "e\u0301", ""]


def opened(text: str, uri: str = "file:///w/a.py", language: str = "python"):
    documents = Documents()
    documents.folders = (Path("/w"),)
    return documents.open(types.TextDocumentItem(uri, language, 1, text))


def event(document: OpenDocument, start: int, stop: int, new: str, unit: str):
    place = document.range(start, stop, unit)
    ends = (types.Position(**place[end]) for end in ("start", "end"))
    return types.TextDocumentContentChangePartial(range=types.Range(*ends), text=new)


def between_cr_and_lf(text: str, offset: int) -> bool:
    return text[max(0, offset - 1) : offset + 1] == "\r\n"


@pytest.mark.parametrize("unit", ["utf-8", "utf-16", "utf-32"])
@pytest.mark.parametrize("seed", range(40))
def test_copies_are_equal_after_every_change(unit: str, seed: int) -> None:
    rng = random.Random(seed)
    client = OpenDocument("file:///w/a.py", "".join(rng.choices(PIECES, k=20)))
    server = opened(client.text)
    for version in range(2, 30):
        changes = []
        for _ in range(rng.randrange(1, 4)):
            start = rng.randrange(len(client.text) + 1)
            stop = min(len(client.text), start + rng.randrange(5))
            if any(between_cr_and_lf(client.text, offset) for offset in (start, stop)):
                continue
            new = "".join(rng.choices(PIECES, k=rng.randrange(4)))
            changes.append(event(client, start, stop, new, unit))
            client.text = client.text[:start] + new + client.text[stop:]
        if rng.random() < 0.2:
            client.text = "".join(rng.choices(PIECES, k=20))
            changes.append(types.TextDocumentContentChangeWholeDocument(text=client.text))
        server.change(changes, version, unit)
        assert server.text == client.text
        assert server.version == version


@pytest.mark.parametrize(
    ("start", "end"),
    [((9, 0), (99, 99)), ((0, 99), (0, 99)), ((1, 1), (0, 1))],
    ids=["past the end", "past the line", "reversed"],
)
def test_a_range_that_makes_no_sense_is_taken_in_the_nearest_sense(start, end) -> None:
    server = opened("ab\ncd\n")
    place = types.Range(types.Position(*start), types.Position(*end))
    server.change([types.TextDocumentContentChangePartial(range=place, text="X")], 2, "utf-16")
    assert "X" in server.text


@pytest.mark.parametrize(
    ("uri", "name"),
    [
        ("file:///w/src/a%20b.py", "src/a b.py"),
        ("file:///elsewhere/c.py", "c.py"),
        ("untitled:Untitled-1", "Untitled-1"),
        ("vscode-remote://host/w/d.py", "d.py"),
        ("", "untitled"),
    ],
)
def test_a_document_is_shown_by_its_path_in_the_workspace(uri: str, name: str) -> None:
    assert opened("", uri).display_path == name
    assert str(path_from_uri(uri)).endswith(Path(name).name)


@pytest.mark.parametrize(
    ("language", "uri", "name"),
    [
        ("typescriptreact", "file:///a", "tsx"),
        ("shellscript", "file:///a", "bash"),
        ("unknown", "file:///a.rs", "rust"),
        ("plaintext", "file:///a.txt", None),
    ],
)
def test_the_editors_name_for_a_language_comes_first(language, uri, name) -> None:
    assert opened("", uri, language).language == name
