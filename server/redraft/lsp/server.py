"""The parts of the server and their common life; `redraft.lsp.handlers` answers the messages."""

import asyncio
import logging
import os
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Final

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from redraft import __version__, models
from redraft.errors import InputError
from redraft.lsp import contract
from redraft.lsp.client import Client
from redraft.lsp.code_actions import ClientAbilities
from redraft.lsp.contract import Status
from redraft.lsp.documents import Documents, path_of
from redraft.lsp.edit_session import EditSessions
from redraft.lsp.model_download import Fetch, ModelDownload
from redraft.lsp.model_worker import ModelWorker, OpenModel
from redraft.lsp.prefill import Prefiller
from redraft.lsp.server_config import ServerConfig, editor_settings
from redraft.lsp.transport import MessageReader, MessageWriter, Protocol, is_parse_error

__all__ = ["OpenModel", "Server", "StatusNotifier", "serve"]

_SETTINGS_S: Final = 2.0  # a client that does not answer gets the defaults

log = logging.getLogger("redraft.lsp")


class Server(LanguageServer):
    """Holds the parts; `abilities` and the settings are known once the client has said them."""

    protocol: Protocol

    def __init__(self, *, open_model: OpenModel, fetch: Fetch, config: ServerConfig) -> None:
        super().__init__("redraft", __version__, protocol_cls=Protocol)
        self.config = config
        self.documents = Documents()
        self.client = Client(self)
        self.announcer = StatusNotifier(
            lambda: self.status,
            lambda status: self.client.notify(contract.STATUS_NOTIFICATION, status),
        )
        self.worker = ModelWorker(open_model, on_state=self.announcer.changed)
        self.shelf = ModelDownload(self.client, fetch)
        self.warmer = Prefiller(
            self.worker, lambda d: config.settings(path_of(d.uri)), settled=self.settled
        )
        self.edits = EditSessions(
            client=self.client,
            documents=self.documents,
            config=config,
            worker=self.worker,
            offer_model=self.shelf.offer,
            settled=self.settled,
            on_change=self.announcer.changed,
        )
        self.told: set[str] = set()  # problems of the configuration the user knows of
        self.abilities = ClientAbilities(literals=False, tags=False, can_ask=False)
        self.has_exited = False  # by the client's word, not because it is gone
        self._tasks: set[asyncio.Task[None]] = set()
        self._configuring: asyncio.Task[None] | None = None
        self._settled_by = 0.0  # on the event loop's clock

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

    @property
    def status(self) -> contract.Status:
        """What the server is doing and holds."""
        return {
            "version": __version__,
            "model": {"name": self._model_name(), "state": self.worker.state},
            "edits": self.edits.running,
            "waiting": self.worker.n_waiting,
            "documents": len(self.documents),
            "warm": self.warmer.warm,
        }

    @property
    def _any_file(self) -> Path:
        """A path that the workspace's settings hold for, as far as there is a workspace."""
        return next(iter(self.documents.folders), Path.home()) / "any"

    def ask_settings(self) -> None:
        """Ask the client for its settings."""
        self._settled_by = asyncio.get_running_loop().time() + _SETTINGS_S
        self._configuring = self.start(self._configure())

    async def settled(self) -> None:
        """Wait for settings that were asked for, but not for ever."""
        if self._configuring and not self._configuring.done():
            left = self._settled_by - asyncio.get_running_loop().time()
            await asyncio.wait({self._configuring}, timeout=max(0.0, left))

    def configure(self, given: object) -> None:
        """Take over the editor's settings."""
        self.config.editor, problems = editor_settings(given)
        self.worker.idle_s = self.config.editor.idle_unload
        self.warmer.is_on = self.config.editor.warm
        self.tell(problems)
        self.announcer.changed()

    def tell(self, problems: tuple[str, ...]) -> None:
        """Show each problem of the configuration once."""
        for problem in problems:
            if problem not in self.told:
                self.told.add(problem)
                self.client.show(types.MessageType.Warning, problem)

    async def load(self) -> None:
        """Load the model in the background; what is wrong with it the edit that needs it tells."""
        await self.settled()
        with suppress(InputError):
            self.worker.background(self.config.settings(self._any_file), lambda *_: None)

    def stop(self) -> None:
        """End everything that runs."""
        self.shelf.stop()
        self.edits.cancel("the server is shutting down")
        self.worker.stop()

    async def _configure(self) -> None:
        given = await self.client.configuration()
        if given is not None:  # else what came with `initialize` goes on to hold
            self.configure(given)

    def _model_name(self) -> str:
        try:
            wanted = self.config.settings(self._any_file).model
        except InputError:
            return ""
        return wanted or models.DEFAULT.name


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


def serve(
    stdin: BinaryIO,
    stdout: BinaryIO,
    *,
    open_model: OpenModel,
    fetch: Fetch = models.fetch,
    flags: Mapping[str, object] | None = None,
    environ: Mapping[str, str] | None = None,
) -> int:
    """Serve one client until it says exit, or is gone. Returns the process's exit code."""
    from redraft.lsp import handlers  # they know this module's Server

    # pygls logs the bodies of messages, which hold source code.
    logging.getLogger("pygls").setLevel(logging.CRITICAL + 1)
    config = ServerConfig(flags or {}, os.environ if environ is None else environ)
    server = Server(open_model=open_model, fetch=fetch, config=config)
    handlers.register(server)
    outbox = MessageWriter(stdout)
    try:
        server.start_io(MessageReader(stdin), outbox)  # type: ignore[arg-type]  # reads and writes as those
    finally:
        server.stop()
        outbox.close()
    return 1 if server.has_exited and not server.protocol.is_shut_down else 0
