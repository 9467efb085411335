import asyncio
import threading
from typing import Any

import pytest

from redraft.lsp.server import StatusNotifier


class FakeServer:
    """A server whose status a test sets, and what its client was sent."""

    def __init__(self) -> None:
        self.state = "unloaded"
        self.edits: list[str] = []
        self.sent: list[Any] = []
        self.notifier = StatusNotifier(self.read_status, self.sent.append)

    def read_status(self) -> Any:
        edits = [{"id": name, "done": len(self.sent)} for name in self.edits]
        return {"model": {"name": "m", "state": self.state}, "edits": edits, "waiting": 0}

    async def turn(self) -> int:
        """Let what is due be sent; how much was sent so far."""
        self.notifier.update()
        await asyncio.sleep(0.01)
        return len(self.sent)


@pytest.mark.asyncio
async def test_only_a_status_that_differs_is_sent() -> None:
    server = FakeServer()
    assert await server.turn() == 0
    server.notifier.start()
    assert [await server.turn(), await server.turn()] == [1, 1]
    server.state = "loaded"
    assert await server.turn() == 2
    server.edits = ["a"]
    assert [await server.turn(), await server.turn()] == [3, 3], "how far an edit is does not count"
    server.edits = ["b"]
    assert await server.turn() == 4


@pytest.mark.asyncio
async def test_changes_in_one_turn_are_sent_once_from_any_thread() -> None:
    server = FakeServer()
    server.notifier.start()
    for name in "abc":
        server.edits.append(name)
        thread = threading.Thread(target=server.notifier.update)
        thread.start()
        thread.join()
    assert await server.turn() == 1
    assert [edit["id"] for edit in server.sent[0]["edits"]] == ["a", "b", "c"]


def test_when_the_loop_is_closed_nothing_is_sent() -> None:
    server = FakeServer()

    async def begin() -> None:
        server.notifier.start()

    asyncio.run(begin())
    server.notifier.update()
    assert not server.sent
