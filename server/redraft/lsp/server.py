"""The parts of the server and their common life; `redraft.lsp.features` answers the messages."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, Final

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from redraft import __version__
from redraft.lsp.client import Client
from redraft.lsp.config import Config, editor_settings
from redraft.lsp.documents import Documents, path_of
from redraft.lsp.edits import Edits
from redraft.lsp.offers import Client as Abilities
from redraft.lsp.protocol import Protocol, is_parse_error
from redraft.lsp.shelf import Fetch, Shelf
from redraft.lsp.warm import Warmer
from redraft.lsp.worker import OpenModel, Worker

__all__ = ["Server"]

_SETTINGS_S: Final = 2.0  # a client that does not answer gets the defaults

log = logging.getLogger("redraft.lsp")


class Server(LanguageServer):
    """Holds the parts; `abilities` and the settings are known once the client has said them."""

    protocol: Protocol

    def __init__(self, *, open_model: OpenModel, fetch: Fetch, config: Config) -> None:
        super().__init__("redraft", __version__, protocol_cls=Protocol)
        self.config = config
        self.documents = Documents()
        self.client = Client(self)
        self.worker = Worker(open_model)
        self.shelf = Shelf(self.client, fetch)
        self.warmer = Warmer(self.worker, lambda d: config.settings(path_of(d.uri)))
        self.edits = Edits(
            client=self.client,
            documents=self.documents,
            config=config,
            worker=self.worker,
            offer_model=self.shelf.offer,
            settled=self.settled,
        )
        self.told: set[str] = set()  # problems of the configuration the user knows of
        self.abilities = Abilities(literals=False, tags=False, can_ask=False)
        self.configuring: asyncio.Task[None] | None = None
        self.has_exited = False  # by the client's word, not because it is gone
        self._tasks: set[asyncio.Task[None]] = set()

    def report_server_error(self, error: Exception, source: object) -> None:
        """Log what pygls would show to the user, and answer what it would not."""
        if is_parse_error(error):
            self.protocol.parse_error(error)
        else:
            log.warning("%s: %s", getattr(source, "__name__", source), type(error).__name__)

    def start(self, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run a coroutine as a task that is kept until it ends."""
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def settled(self) -> None:
        """Wait for settings that were asked for, but not for ever."""
        if self.configuring:
            await asyncio.wait({self.configuring}, timeout=_SETTINGS_S)

    def configure(self, given: object) -> None:
        """Take over the editor's settings."""
        self.config.editor, problems = editor_settings(given)
        self.worker.idle_s = self.config.editor.idle_unload
        self.warmer.is_on = self.config.editor.warm
        self.tell(problems)

    def tell(self, problems: tuple[str, ...]) -> None:
        """Show each problem of the configuration once."""
        for problem in problems:
            if problem not in self.told:
                self.told.add(problem)
                self.client.show(types.MessageType.Warning, problem)

    def stop(self) -> None:
        """End everything that runs."""
        self.shelf.stop()
        self.edits.cancel("the server is shutting down")
        self.worker.stop()
