"""The language server: its parts, their common life, and serving one client from end to end.

`redraft.lsp.handlers` answers the messages.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Final

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from redraft import __version__, models
from redraft.errors import InputError
from redraft.lsp import contract, responses
from redraft.lsp.client import Client
from redraft.lsp.code_actions import ClientAbilities
from redraft.lsp.documents import Documents, path_from_uri
from redraft.lsp.edit_session import EditSessions
from redraft.lsp.model_download import Fetch, ModelDownload
from redraft.lsp.model_worker import ModelWorker, OpenModel
from redraft.lsp.prefill import Prefiller
from redraft.lsp.server_config import ServerConfig, parse_editor_settings
from redraft.lsp.transport import MessageReader, MessageWriter, ServerProtocol, is_parse_error

__all__ = ["OpenModel", "Server", "StatusNotifier", "serve"]

_PARENT_S: Final = 3.0  # between two checks that the client's process still lives
_SETTINGS_S: Final = 2.0  # a client that does not answer gets the defaults

log = logging.getLogger("redraft.lsp")


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
    from redraft.lsp import handlers  # which know this module's Server

    # pygls logs the bodies of messages, which hold source code.
    logging.getLogger("pygls").setLevel(logging.CRITICAL + 1)
    config = ServerConfig(flags or {}, os.environ if environ is None else environ)
    server = Server(open_model=open_model, fetch=fetch, config=config)
    handlers.register(server)
    writer = MessageWriter(stdout)
    try:
        server.start_io(MessageReader(stdin), writer)  # type: ignore[arg-type]  # reads and writes as those
    finally:
        server.stop()
        writer.close()
    return 1 if server.has_exited and not server.protocol.is_shut_down else 0


class Server(LanguageServer):
    """Holds the parts. `abilities` and settings have defaults until the client has sent them."""

    protocol: ServerProtocol

    def __init__(self, *, open_model: OpenModel, fetch: Fetch, config: ServerConfig) -> None:
        super().__init__("redraft", __version__, protocol_cls=ServerProtocol)
        self.protocol.on_wrong_parameters = self.refuse_parameters
        self.config = config
        self.documents = Documents()
        self.client = Client(self)
        self.status_notifier = StatusNotifier(
            lambda: self.status,
            lambda status: self.client.notify(contract.STATUS_NOTIFICATION, status),
        )
        self.worker = ModelWorker(open_model, on_state=self.status_notifier.update)
        self.model_download = ModelDownload(self.client, fetch)
        self.prefiller = Prefiller(
            self.worker,
            lambda document: config.load_settings(path_from_uri(document.uri)),
            wait_for_settings=self.wait_for_settings,
        )
        self.edits = EditSessions(
            client=self.client,
            documents=self.documents,
            config=config,
            worker=self.worker,
            offer_model=self.model_download.offer,
            wait_for_settings=self.wait_for_settings,
            on_change=self.status_notifier.update,
        )
        self.shown_problems: set[str] = set()  # of the configuration
        self.abilities = ClientAbilities(literals=False, tags=False, can_prompt=False)
        self.has_exited = False  # because the client said so, not because it is gone
        self._tasks: set[asyncio.Task[None]] = set()
        self._settings_task: asyncio.Task[None] | None = None
        self._settings_deadline = 0.0  # on the event loop's clock

    def report_server_error(self, error: Exception, source: object) -> None:
        """Log what pygls would show to the user, and answer what it would not."""
        if is_parse_error(error):
            self.protocol.refuse_unparsed(error)
        elif isinstance(error, JsonRpcException):
            self.log_refusal("a request", error)
        else:
            log.warning("%s: %s", getattr(source, "__name__", source), type(error).__name__)

    def log_refusal(self, refused: str, error: JsonRpcException) -> None:
        """Write an error that was answered to the editor's log: it is no failure of the server.

        The message of a refused reply may hold lines of the document: its reason stands for it.
        """
        details = error.data if isinstance(error.data, Mapping) else {}
        reason = details.get("reason", error.message)
        self.client.log(types.MessageType.Info, f"{refused} was refused: {error.code} {reason}")

    def refuse_parameters(self, method: str, params: object, error: JsonRpcException) -> None:
        """Take in that the parameters of a message make no sense."""
        self.log_refusal(method, error)
        if method == types.TEXT_DOCUMENT_DID_CHANGE and isinstance(params, Mapping):
            named = params.get("textDocument")
            uri = named.get("uri") if isinstance(named, Mapping) else None
            document = self.documents.get(uri) if isinstance(uri, str) else None
            if document is not None and document.is_known:
                document.is_known = False
                problem = responses.describe_unknown(document)
                self.edits.cancel(problem, uri=document.uri)
                self.prefiller.forget(document.uri)
                self.client.show(types.MessageType.Warning, problem)

    def expect_answers_to_nobody(self) -> None:
        """Let requests end in an error after the client is gone: nobody waits for the answer."""
        loop = asyncio.get_running_loop()

        def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
            if not isinstance(context.get("exception"), JsonRpcException):
                loop.default_exception_handler(context)

        loop.set_exception_handler(handle)

    def start_task(self, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run a coroutine as a task that is kept until it ends."""
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    @property
    def status(self) -> contract.Status:
        """The state of the server, for `redraft.status`."""
        try:
            model = self.config.load_settings(self._any_file).model or models.DEFAULT.name
        except InputError:  # the edit that needs the settings tells what is wrong with them
            model = ""
        return {
            "version": __version__,
            "model": {"name": model, "state": self.worker.state},
            "edits": self.edits.running,
            "waiting": self.worker.n_waiting,
            "documents": len(self.documents),
            "warm": self.prefiller.prefilled_versions,
        }

    @property
    def _any_file(self) -> Path:
        """A path that the workspace's settings hold for, as far as there is a workspace."""
        return next(iter(self.documents.folders), Path.home()) / "any"

    def request_settings(self) -> None:
        """Ask the client for its settings, in the background."""

        async def request() -> None:
            settings = await self.client.fetch_settings()
            if settings is not None:  # else what came with `initialize` goes on to hold
                self.configure(settings)

        # The deadline runs from the request: an edit that comes later waits only for what is left.
        self._settings_deadline = asyncio.get_running_loop().time() + _SETTINGS_S
        self._settings_task = self.start_task(request())

    async def watch_settings(self) -> None:
        """Ask the client to notify the server when the settings change."""
        method = types.WORKSPACE_DID_CHANGE_CONFIGURATION
        options = types.DidChangeConfigurationRegistrationOptions(section=contract.SECTION)
        registration = types.Registration(id=method, method=method, register_options=options)
        try:
            await self.client_register_capability_async(types.RegistrationParams([registration]))
        except JsonRpcException as error:
            self.client.log(types.MessageType.Warning, f"{method}: {error.message}")

    async def wait_for_settings(self) -> None:
        """Wait for settings that were requested, for 2 s after the request at most."""
        if self._settings_task and not self._settings_task.done():
            remaining = self._settings_deadline - asyncio.get_running_loop().time()
            await asyncio.wait({self._settings_task}, timeout=max(0.0, remaining))

    def configure(self, section: object) -> None:
        """Take over the section `redraft` of the editor's settings."""
        self.config.editor, problems = parse_editor_settings(section)
        self.worker.idle_s = self.config.editor.idle_unload
        self.prefiller.is_on = self.config.editor.warm
        self.show_problems(problems)
        self.status_notifier.update()

    def show_problems(self, problems: tuple[str, ...]) -> None:
        """Show each problem of the configuration once."""
        for problem in problems:
            if problem not in self.shown_problems:
                self.shown_problems.add(problem)
                self.client.show(types.MessageType.Warning, problem)

    async def load_model(self) -> None:
        """Load the model in the background. The edit that needs it tells what is wrong with it."""
        await self.wait_for_settings()
        with suppress(InputError):
            self.worker.background(self.config.load_settings(self._any_file), lambda *_: None)

    async def exit_with_client(self, process: int) -> None:
        """End this process when the client's, of the id `process`, has ended without a word."""
        if not _is_alive(process):
            return  # as from inside a container, where the client's id means nothing
        while _is_alive(process):  # noqa: ASYNC110 - the system has no event for it everywhere
            await asyncio.sleep(_PARENT_S)
        await asyncio.to_thread(self.stop)
        # The thread that waits for the client's next message cannot be woken: its pipe may be held
        # open by a process that the client left behind.
        os._exit(0)

    def stop(self) -> None:
        """End everything that runs."""
        self.model_download.stop()
        self.edits.cancel("the server is shutting down")
        self.worker.stop()


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)  # sends nothing, only checks
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


class StatusNotifier:
    """Sends the status when the model's state changes or an edit begins or ends.

    It is sent once for all that changes in one turn of the event loop, and not before `start`.
    """

    def __init__(
        self,
        read_status: Callable[[], contract.Status],
        send: Callable[[contract.Status], None],
    ) -> None:
        self._read_status = read_status
        self._send = send
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_due = False
        self._last: object = None

    def start(self) -> None:
        """Send from now on."""
        self._loop = asyncio.get_running_loop()

    def update(self) -> None:
        """Send the status soon if it has changed. Call on any thread."""

        def send() -> None:
            self._is_due = False
            status = self._read_status()
            # How far an edit is does not count: `redraft/partial` tells who wants to know.
            news = (status["model"], [edit["id"] for edit in status["edits"]])
            if news != self._last:
                self._last = news
                self._send(status)

        # On the loop, after all that its current turn still changes.
        if self._loop and not self._is_due:
            self._is_due = True
            with suppress(RuntimeError):  # the loop is closed: there is no client any more
                self._loop.call_soon_threadsafe(send)
