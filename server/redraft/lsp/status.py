"""Telling a client that asked for it whenever the model's state or the edits under way change."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from redraft.lsp.contract import Status

__all__ = ["StatusNotifier"]


class StatusNotifier:
    """Sends what `look` says, once for all that changes in one turn of the event loop."""

    def __init__(self, look: Callable[[], Status], send: Callable[[Status], None]) -> None:
        self._look = look
        self._send = send
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_due = False
        self._told: object = None

    def start(self) -> None:
        """Tell from now on; before, `changed` does nothing."""
        self._loop = asyncio.get_running_loop()

    def changed(self) -> None:
        """Something may be different by now. On any thread."""
        if self._loop and not self._is_due:
            self._is_due = True
            with suppress(RuntimeError):  # the loop is closed: nobody is there to be told
                self._loop.call_soon_threadsafe(self._tell)

    def _tell(self) -> None:
        self._is_due = False
        status = self._look()
        news = (status["model"], [edit["id"] for edit in status["edits"]])
        if news != self._told:
            self._told = news
            self._send(status)
