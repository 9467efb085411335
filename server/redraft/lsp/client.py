"""The client as the server sees it: its capabilities, and the requests it answers.

Knows the capabilities by name and uses none that was not declared. Knows nothing of edits beyond
the replacements it is given.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Final, get_args

from lsprotocol import types
from pygls.capabilities import get_capability
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from redraft.lsp import contract
from redraft.lsp.documents import OpenDocument, to_text_edits
from redraft.records import Replacement
from redraft.text.lines import Unit

__all__ = ["Client", "WorkDoneProgress"]

log = logging.getLogger("redraft.lsp")

_ANNOTATION: Final = "redraft"
_UNDECLARED_S: Final = 5.0  # for the answer to what a client did not declare


class Client:
    """Requests and notifications to the client. Use on the event loop's thread only."""

    def __init__(self, server: LanguageServer) -> None:
        self.progress: dict[str | int, WorkDoneProgress] = {}  # that has not ended, by token
        self._server = server

    def begin_progress(
        self, title: str, *, token: str, client_token: str | int | None = None
    ) -> "WorkDoneProgress":
        """Begin a progress display, under the client's own token where it passed one."""
        progress = WorkDoneProgress(self, title, token, client_token)
        self.progress[progress.token] = progress
        return progress

    def can(self, capability: str) -> bool:
        """Return True where the client declared a capability, such as "workspace.apply_edit"."""
        return bool(get_capability(self._server.client_capabilities, capability, False))  # noqa: FBT003

    @property
    def unit(self) -> Unit:
        """The unit of columns: that of the negotiated position encoding, or UTF-16."""
        encoding = self._server.server_capabilities.position_encoding
        value = getattr(encoding, "value", encoding)
        return value if value in get_args(Unit) else "utf-16"  # type: ignore[return-value]

    def notify(self, method: str, params: object) -> None:
        """Send a notification."""
        self._server.protocol.notify(method, params)

    def show(self, kind: types.MessageType, message: str) -> None:
        """Show a message to the user, and keep it in the editor's log."""
        self._server.window_show_message(types.ShowMessageParams(kind, f"redraft: {message}"))
        self.log(kind, message)

    def log(self, kind: types.MessageType, message: str) -> None:
        """Write to the editor's log for this server. Never text of a document."""
        self._server.window_log_message(types.LogMessageParams(kind, message))

    async def choose(self, message: str, options: tuple[str, ...]) -> str | None:
        """Ask the user to choose one of `options`; None when dismissed."""
        params = types.ShowMessageRequestParams(
            type=types.MessageType.Info,
            message=f"redraft: {message}",
            actions=[types.MessageActionItem(title=option) for option in options],
        )
        try:
            choice = await self._server.window_show_message_request_async(params)
        except JsonRpcException:
            return None
        return choice.title if choice else None

    async def fetch_settings(self) -> object:
        """Ask for the section `redraft` of the client's settings; None where it has none."""
        item = types.ConfigurationItem(section=contract.SECTION)
        params = types.ConfigurationParams(items=[item])
        try:
            sections = await self._server.workspace_configuration_async(params)
        except JsonRpcException as error:
            log.warning("the editor gave no configuration: %s", error)
            return None
        return sections[0] if sections else None

    async def create_progress(self, token: str | int) -> bool:
        """Ask for a progress display under a token of the server's; False where it is refused."""
        try:
            await self._server.window_work_done_progress_create_async(
                types.WorkDoneProgressCreateParams(token=token)
            )
        except JsonRpcException:
            return False
        return True

    async def apply_edit(self, edit: types.WorkspaceEdit, label: str) -> tuple[bool, str]:
        """Have the client apply an edit. Return True, or False and the client's reason.

        Clients that did not declare it are asked, too: Kate applies edits and does not say so. From
        one that does not answer then, nothing more is to be expected.
        """
        params = types.ApplyWorkspaceEditParams(edit=edit, label=label)
        patience_s = None if self.can("workspace.apply_edit") else _UNDECLARED_S
        try:
            answer = self._server.workspace_apply_edit_async(params)
            result = await asyncio.wait_for(answer, patience_s)
        except JsonRpcException as error:
            return False, error.message
        except asyncio.TimeoutError:
            return False, "it takes no edits from a server, or has not answered"
        return result.applied, result.failure_reason or ""

    def build_workspace_edit(
        self,
        document: OpenDocument,
        replacements: tuple[Replacement, ...],
        label: str,
        *,
        confirm: bool,
    ) -> types.WorkspaceEdit:
        """Return an edit of the document's current version, in the richest form the client takes.

        With `confirm` the editor asks the user before it applies the edit, where it can.
        """
        edits: list[Any] = list(to_text_edits(replacements, document.index, self.unit))
        if not self.can("workspace.workspace_edit.document_changes"):
            return types.WorkspaceEdit(changes={document.uri: edits})
        # An annotation names the edit in the editor's own preview, and can have it ask the user.
        annotations = None
        if self.can("workspace.workspace_edit.change_annotation_support"):
            annotation = types.ChangeAnnotation(label=label, needs_confirmation=confirm)
            annotations = {_ANNOTATION: annotation}
            edits = [
                types.AnnotatedTextEdit(
                    annotation_id=_ANNOTATION, range=edit.range, new_text=edit.new_text
                )
                for edit in edits
            ]
        identifier = types.OptionalVersionedTextDocumentIdentifier(
            uri=document.uri, version=document.version if document.is_versioned else None
        )
        change = types.TextDocumentEdit(text_document=identifier, edits=edits)
        return types.WorkspaceEdit(document_changes=[change], change_annotations=annotations)


class WorkDoneProgress:
    """One progress display of the client's; harmless where the client shows none.

    A display under the client's own token is begun at once; for another, the client is asked to
    create one first. `on_cancel` is called when the user cancels in the display.
    """

    def __init__(
        self, client: Client, title: str, token: str, client_token: str | int | None
    ) -> None:
        self.token: str | int = token if client_token is None else client_token
        self.is_cancelled = False
        self.on_cancel: Callable[[], object] = lambda: None
        self._client = client
        self._title = title
        self._percentage = 0
        self._is_shown = False
        self._is_over = False
        self._creation: asyncio.Task[None] | None = None  # kept: the loop refers weakly to tasks

        async def create() -> None:
            # The work may be over before the client has answered.
            if await client.create_progress(self.token) and not self._is_over:
                self._begin()

        if client_token is not None:
            self._begin()
        elif client.can("window.work_done_progress"):
            self._creation = asyncio.create_task(create())

    def report(self, percentage: int, message: str) -> None:
        """Show how far the work is; a percentage below the last one is shown as that."""
        self._percentage = max(self._percentage, percentage)
        if self._is_shown:
            self._send(types.WorkDoneProgressReport(message=message, percentage=self._percentage))

    def cancel(self) -> None:
        """Take in that the user cancelled in the display."""
        self.is_cancelled = True
        self.on_cancel()

    def end(self, message: str = "") -> None:
        """Remove the display; harmless when repeated."""
        if self._is_shown:
            self._send(types.WorkDoneProgressEnd(message=message or None))
        self._is_over, self._is_shown = True, False
        self._client.progress.pop(self.token, None)

    def _begin(self) -> None:
        self._is_shown = True
        self._send(types.WorkDoneProgressBegin(title=self._title, cancellable=True, percentage=0))

    def _send(self, value: object) -> None:
        self._client.notify(types.PROGRESS, types.ProgressParams(token=self.token, value=value))
