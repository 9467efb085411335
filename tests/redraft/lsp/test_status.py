import asyncio
import threading
from typing import Any

import pytest

from redraft.lsp.server import StatusNotifier


class Told:
    """A server whose status a test sets, and what its client was told."""

    def __init__(self) -> None:
        self.state = "unloaded"
        self.edits: list[str] = []
        self.sent: list[Any] = []
        self.announcer = StatusNotifier(self.look, self.sent.append)

    def look(self) -> Any:
        edits = [{"id": name, "done": len(self.sent)} for name in self.edits]
        return {"model": {"name": "m", "state": self.state}, "edits": edits, "waiting": 0}

    async def turn(self) -> int:
        """Let what is due be sent; how much was sent so far."""
        self.announcer.changed()
        await asyncio.sleep(0.01)
        return len(self.sent)


@pytest.mark.asyncio
async def test_only_what_is_another_is_told() -> None:
    told = Told()
    assert await told.turn() == 0
    told.announcer.start()
    assert [await told.turn(), await told.turn()] == [1, 1]
    told.state = "loaded"
    assert await told.turn() == 2
    told.edits = ["a"]
    assert [await told.turn(), await told.turn()] == [3, 3], "how far an edit is does not count"
    told.edits = ["b"]
    assert await told.turn() == 4


@pytest.mark.asyncio
async def test_what_changes_in_one_turn_is_told_once_from_whatever_thread() -> None:
    told = Told()
    told.announcer.start()
    for name in "abc":
        told.edits.append(name)
        thread = threading.Thread(target=told.announcer.changed)
        thread.start()
        thread.join()
    assert await told.turn() == 1
    assert [edit["id"] for edit in told.sent[0]["edits"]] == ["a", "b", "c"]


def test_when_the_loop_is_closed_nobody_is_told() -> None:
    told = Told()

    async def begin() -> None:
        told.announcer.start()

    asyncio.run(begin())
    told.announcer.changed()
    assert not told.sent
