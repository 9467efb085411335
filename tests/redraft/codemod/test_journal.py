"""Journals as a crash may leave them, and the lock that keeps them to one process."""

from pathlib import Path

import pytest

from redraft.codemod.journal import (
    FileClosed,
    Journal,
    RunLog,
    RunStarted,
    WriteAnnounced,
    WriteUndone,
    read_logs,
)
from redraft.codemod.plan import PlannedFile
from redraft.errors import InputError, RedraftError
from redraft.records import Span
from redraft.syntax import Target


def planned(path: str) -> PlannedFile:
    target = Target(name="f", kind="function", span=Span(0, 5))
    return PlannedFile(path=path, sha256=path * 8, language="python", n_chars=9, targets=(target,))


STARTED = RunStarted(
    run="r1",
    at="2026-01-01T00:00:00+00:00",
    root="/r",
    instruction="größer 😀",
    identity="i",
    model="m",
    parameters={"limit": None},
    files=tuple(map(planned, "abcd")),
)


def announced(path: str) -> WriteAnnounced:
    return WriteAnnounced(
        path=path, before="1", after="2", edits=((0, "é", ""), (3, "", "x\r\n")), kinds={"k": 1}
    )


def closed(path: str, state: str = "changed") -> FileClosed:
    return FileClosed(
        path=path, state=state, written=state == "changed", message="", kinds={"k": 1}
    )


RECORDS = [
    STARTED,
    announced("a"),
    closed("a"),
    closed("b", "failed"),
    announced("c"),
    WriteUndone(path="a"),
]


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    path = tmp_path / "folder" / "r1.jsonl"
    with Journal(path) as open_:
        for record in RECORDS:
            open_.append(record)
    return path


def test_what_was_written_is_read(journal: Path):
    log = RunLog.read(journal)
    assert log
    assert log.started == STARTED
    assert log.announced == {"a": announced("a"), "c": announced("c")}
    assert log.closed == {"a": closed("a"), "b": closed("b", "failed")}
    assert log.undone == {"a"}
    assert log.unsettled_writes == (announced("c"),)
    assert [file.path for file in log.remaining_files] == ["b", "d"]
    assert not log.is_finished
    assert [log.started for log in read_logs(journal.parent)] == [STARTED]
    assert [path.name for path in journal.parent.iterdir()] == ["r1.jsonl"]


def test_a_write_announced_again_is_unsettled_again(journal: Path):
    with Journal(journal) as open_:
        open_.append(announced("b"))
    log = RunLog.read(journal)
    assert log
    assert [write.path for write in log.unsettled_writes] == ["c", "b"]


def test_a_journal_cut_off_anywhere_is_read_up_to_its_last_whole_line(journal: Path):
    data = journal.read_bytes()
    for length in range(0, len(data) + 1, 7):
        journal.write_bytes(data[:length])
        n_whole = data[:length].count(b"\n")
        log = RunLog.read(journal)
        assert (log is None) == (n_whole == 0)
        with Journal(journal) as open_:
            open_.append(STARTED if n_whole == 0 else WriteUndone(path="z"))
        assert journal.read_bytes().count(b"\n") == n_whole + 1
        again = RunLog.read(journal)
        assert again
        assert ("z" in again.undone) == (n_whole > 0)


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda lines: [lines[0], b"{]", *lines[1:]], id="no JSON"),
        pytest.param(lambda lines: [lines[0], b'{"record": "new"}', *lines[1:]], id="unknown"),
        pytest.param(lambda lines: [lines[0], b'{"record": "undone"}'], id="a key is missing"),
        pytest.param(lambda lines: [lines[0], b"[]"], id="no object"),
        pytest.param(lambda lines: lines[1:], id="no start"),
        pytest.param(lambda lines: [lines[0], *lines], id="two starts"),
    ],
)
def test_a_damaged_journal_is_an_error_that_names_it(journal: Path, damage):
    lines = journal.read_bytes().split(b"\n")[:-1]
    journal.write_bytes(b"\n".join([*damage(lines), b""]))
    with pytest.raises(InputError) as caught:
        RunLog.read(journal)
    assert str(journal) in str(caught.value)


def test_only_one_process_writes_a_journal(journal: Path):
    with Journal(journal), pytest.raises(InputError, match="still going on"):
        Journal(journal)
    Journal(journal).close()


def test_a_journal_is_for_its_user_only(journal: Path):
    assert journal.stat().st_mode & 0o077 == 0
    assert journal.parent.stat().st_mode & 0o077 == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_an_error(journal: Path, monkeypatch):
    with Journal(journal) as open_, Path("/dev/full").open("wb", buffering=0) as full:
        monkeypatch.setattr(open_, "_file", full.fileno())
        with pytest.raises(RedraftError, match="No space left"):
            open_.append(STARTED)
        monkeypatch.undo()
