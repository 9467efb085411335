"""The server's copies against an independent client, and where a target lies after changes."""

import random
from pathlib import Path

import pytest
from lsprotocol import types
from tests.redraft.lsp.editor import OpenDocument

from redraft.lsp.documents import (
    Documents,
    describe_change,
    find_change,
    locate_target,
    path_from_uri,
)
from redraft.records import Replacement, Span
from redraft.text.diff import apply_replacements

PIECES = ["a", "\n", "\r", "\r\n", "\u2028", "\x0c", "\x85", "é", "語", "\U0001f600", "e\u0301", ""]


def open_document(text: str, uri: str = "file:///w/a.py", language: str = "python"):
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
    server = open_document(client.text)
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
    server = open_document("ab\ncd\n")
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
    assert open_document("", uri).display_path == name
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
    assert open_document("", uri, language).language == name


OLD = "head\ndef f():\n    return 1\ntail\n"
TARGET = Span(5, 26)


def apply_changes(changes: list[tuple[int, int, str]]) -> tuple[str, list]:
    text, described = OLD, []
    for start, stop, new in changes:
        change = Replacement(span=Span(start, stop), new_text=new)
        text = apply_replacements(text, [change])
        described.append(describe_change(change, text))
    return text, described


@pytest.mark.parametrize(
    ("changes", "start"),
    [
        ([], 5),
        ([(0, 0, "# top\n")], 11),
        ([(0, 5, "")], 0),
        ([(5, 5, "# right above\n")], 19),
        ([(26, 26, "\n# right below")], 5),
        ([(27, 32, "")], 5),
        ([(0, 1, "HH"), (28, 28, "below\n"), (0, 0, "\n")], 7),
        ([(9, 10, "gg"), (9, 11, "f")], 5),
        ([(10, 10, "x"), (0, 0, "\n"), (11, 12, "")], 6),
    ],
    ids=[
        "nothing",
        "a line above",
        "the line above removed",
        "a line typed right above",
        "a line typed right below",
        "what follows removed",
        "above and below",
        "changed and undone",
        "changed, moved and undone",
    ],
)
def test_a_target_that_still_reads_the_same_is_found(changes: list, start: int) -> None:
    new, described = apply_changes(changes)
    place = locate_target(TARGET, described, OLD, new)
    assert place == Span(start, start + len(TARGET))
    assert place.of(new) == TARGET.of(OLD)


@pytest.mark.parametrize(
    "changes",
    [
        [(10, 11, "g")],
        [(26, 26, " + 1")],
        [(5, 5, "async ")],
        [(0, 10, "")],
        [(20, 30, "x")],
        [(0, 32, "other")],
        [(10, 10, "x"), (10, 11, "y")],
    ],
    ids=[
        "inside",
        "typed at its end",
        "typed before it on its line",
        "cut at the front",
        "cut at the back",
        "all replaced",
        "changed twice",
    ],
)
def test_a_target_that_was_touched_is_not_found(changes: list) -> None:
    new, described = apply_changes(changes)
    assert locate_target(TARGET, described, OLD, new) is None


@pytest.mark.parametrize("seed", range(200))
def test_the_difference_turns_one_text_into_the_other(seed: int) -> None:
    rng = random.Random(seed)
    old, new = ("".join(rng.choices("ab\n", k=rng.randrange(30))) for _ in range(2))
    assert apply_replacements(old, [find_change(old, new)]) == new


@pytest.mark.parametrize("seed", range(300))
def test_a_found_place_is_where_untouched_text_went(seed: int) -> None:
    """Every character is distinct, so that the target's true place can be looked up."""
    rng = random.Random(seed)
    old = "".join(chr(0x4E00 + n) if n % 7 else "\n" for n in range(60))
    fresh = iter(range(0x6000, 0x9000))
    start = rng.randrange(50)
    target = Span(start, start + rng.randrange(1, 10))
    text, described = old, []
    for _ in range(rng.randrange(1, 6)):
        a = rng.randrange(len(text) + 1)
        b = min(len(text), a + rng.randrange(4))
        new = "".join(chr(next(fresh)) for _ in range(rng.randrange(4))) + rng.choice(["", "\n"])
        change = Replacement(span=Span(a, b), new_text=new)
        text = apply_replacements(text, [change])
        described.append(describe_change(change, text))
    place = locate_target(target, described, old, text)
    assert place is None or text[place.start : place.stop] == target.of(old)
    letters = target.of(old).replace("\n", "")
    if place and letters:
        assert place.start <= text.index(letters[0]) < place.stop


def insertion(offset: int) -> Replacement:
    return Replacement(span=Span(offset, offset), new_text="import x\n")


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("seed", range(100))
def test_what_an_edit_inserts_stays_in_front_of_its_line(seed: int, ending: str) -> None:
    rng = random.Random(seed)
    letters = [chr(0x4E00 + n) for n in range(20)]  # one on each line, so that it can be looked up
    text = "".join(f"{letter}{ending}" for letter in letters)
    line = len(ending) + 1
    target = Span(15 * line, 17 * line - len(ending))
    places = [insertion(line * rng.randrange(12)), Replacement(span=target, new_text="new")]
    document = open_document(text)
    snapshot = document.snapshot()
    client = OpenDocument(document.uri, text)
    for version in range(2, 2 + rng.randrange(1, 5)):
        start = rng.randrange(len(client.text) + 1)
        stop = min(len(client.text), start + rng.choice([0, 0, 0, 1, line]))
        if any(between_cr_and_lf(client.text, offset) for offset in (start, stop)):
            continue
        new = rng.choice(["a", f"a{ending}", f"{ending}a", ending, ""])
        document.change([event(client, start, stop, new, "utf-16")], version, "utf-16")
        client.text = client.text[:start] + new + client.text[stop:]
    placed = document.place(places, target, snapshot)
    if placed is None:
        return
    inserted, replaced = placed
    assert document.text[inserted.span.start] == text[places[0].span.start]
    assert inserted.span.start == 0 or document.text[inserted.span.start - 1] in "\r\n"
    assert replaced.span.of(document.text) == target.of(text)


def test_what_an_edit_adds_in_lines_that_changed_places_is_not_placed() -> None:
    document = open_document("a\nb\nc\ndef f():\n")
    snapshot = document.snapshot()
    client = OpenDocument(document.uri, document.text)
    first, second = event(client, 0, 2, "", "utf-16"), None
    client.text = client.text[2:]
    second = event(client, 2, 2, "a\n", "utf-16")
    document.change([first, second], 2, "utf-16")
    assert document.text == "b\na\nc\ndef f():\n"
    assert document.place([insertion(0), insertion(2)], Span(6, 14), snapshot) is None


def test_nothing_is_placed_where_the_line_break_before_it_is_gone() -> None:
    document = open_document("a\n\n\ndef f():\n")
    snapshot = document.snapshot()
    client = OpenDocument(document.uri, document.text)
    document.change([event(client, 1, 2, "", "utf-16")], 2, "utf-16")
    assert document.place([insertion(2)], Span(4, 12), snapshot) is None
