"""Which message is answered by what.

Handlers are short and run on the event loop, in the order the messages came; what takes time is a
task or on the model's thread.
"""

import asyncio
import os
from collections.abc import Callable, Mapping
from typing import Any, Final

from lsprotocol import types
from pygls import uris
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams

from redraft.lsp import contract, responses
from redraft.lsp.code_actions import ClientAbilities, offers
from redraft.lsp.documents import path_of
from redraft.lsp.params import optional_uri, which
from redraft.lsp.server import Server

__all__ = ["register"]

_PARENT_S: Final = 3.0  # between two looks whether the client's process still lives


def register(server: Server) -> None:
    """Have `server` answer everything that redraft answers."""
    for method, (handler, options) in _FEATURES.items():
        server.feature(method, options)(handler)
    for name, command in _COMMANDS.items():
        server.command(name)(_bound(command, server))


def initialize(ls: Server, params: types.InitializeParams) -> None:
    """Learn what the client can do; the answer follows from what is registered."""
    given = params.initialization_options
    options: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
    commands = options.get("clientCommands")
    can_do = ls.client.can
    ls.abilities = ClientAbilities(
        literals=can_do("text_document.code_action.code_action_literal_support"),
        tags=can_do("text_document.code_action.tag_support"),
        can_ask=isinstance(commands, list) and contract.PROMPT in commands,
    )
    ls.config.is_trusted = options.get("trusted") is not False
    folders_changed(ls, None)
    ls.configure(options.get("settings"))
    if options.get("statusNotifications") is True:
        ls.announcer.start()


def initialized(ls: Server, _: object) -> None:
    """The client is ready to be asked for its settings, and to be told things."""
    if ls.client.can("workspace.configuration"):
        ls.ask_settings()
    ls.announcer.changed()
    if ls.client.can("workspace.did_change_configuration.dynamic_registration"):
        ls.start(_subscribe(ls))
    if ls.process_id is not None and _is_alive(ls.process_id):
        ls.start(_outlive(ls, ls.process_id))


def configuration_changed(ls: Server, params: types.DidChangeConfigurationParams) -> None:
    """Ask for the settings, or take those that came along where the client cannot be asked."""
    if ls.client.can("workspace.configuration"):
        ls.ask_settings()
    elif isinstance(params.settings, Mapping):
        ls.configure(params.settings.get(contract.SECTION))


def folders_changed(ls: Server, _: object) -> None:
    """Paths are shown to the user and to the model from the workspace's folder on."""
    roots = [folder.uri for folder in ls.workspace.folders.values()]
    roots += [ls.workspace.root_uri] if ls.workspace.root_uri else []
    ls.documents.folders = tuple(path_of(root) for root in roots if uris.to_fs_path(root))


def opened(ls: Server, params: types.DidOpenTextDocumentParams) -> None:
    """Keep a copy, and prefill it if the model is there anyway."""
    ls.edits.cancel("the document was opened anew", uri=params.text_document.uri)
    ls.warmer.touch(ls.documents.open(params.text_document))


def changed(ls: Server, params: types.DidChangeTextDocumentParams) -> None:
    """Keep the copy equal to the client's."""
    document = ls.documents.get(params.text_document.uri)
    if document is not None:
        document.change(params.content_changes, params.text_document.version, ls.client.unit)
        ls.warmer.touch(document)


def closed(ls: Server, params: types.DidCloseTextDocumentParams) -> None:
    """Forget the document and what was under way for it."""
    uri = params.text_document.uri
    ls.edits.cancel("the document was closed", uri=uri)
    ls.warmer.forget(uri)
    ls.documents.close(uri)


async def code_actions(
    ls: Server, params: types.CodeActionParams
) -> list[types.CodeAction | types.Command]:
    """What can be done at a place; nothing is computed for it."""
    document = ls.documents.get(params.text_document.uri)
    if document is None:
        return []
    version = document.version
    await ls.settled()
    if document.version != version:
        raise responses.modified("the document was changed meanwhile; ask again")
    actions, problems = ls.config.actions(path_of(document.uri))
    ls.tell(problems)
    return offers(params, document, actions, ls.abilities, ls.client.unit)


def progress_cancelled(ls: Server, params: types.WorkDoneProgressCancelParams) -> None:
    """The user pressed the button of a progress display."""
    if bar := ls.client.bars.get(params.token):
        bar.cancel()


def cancelled(ls: Server, params: object) -> None:
    """`redraft/cancel`: for clients whose progress display is their own."""
    try:
        _cancel(ls, params)
    except JsonRpcException as error:
        ls.client.log(types.MessageType.Warning, f"{contract.CANCEL_NOTIFICATION}: {error.message}")


def shut_down(ls: Server, _: object) -> None:
    """End what runs; the process ends with `exit`."""
    ls.shelf.stop()
    ls.edits.cancel("the server is shutting down")


def exited(ls: Server, _: object) -> None:
    """The client wants the process to end."""
    ls.has_exited = True


def warm(ls: Server, params: types.ExecuteCommandParams) -> contract.Status:
    """Load the model, and prefill a document if one is named. Answers at once."""
    uri = optional_uri(contract.WARM, params.arguments)
    document = ls.documents.get(uri) if uri else None
    if uri and document is None:
        raise JsonRpcInvalidParams(f"{uri} is not open")
    if document is not None:
        ls.warmer.now(document)
    else:
        ls.start(ls.load())
    return ls.status


def status(ls: Server, _: types.ExecuteCommandParams) -> contract.Status:
    """What the server is doing and holds."""
    return ls.status


def reload(ls: Server, _: types.ExecuteCommandParams) -> contract.Status:
    """Free the model and read the settings again; the next edit loads the model they name."""
    ls.told.clear()
    ls.worker.unload()
    if ls.client.can("workspace.configuration"):
        ls.ask_settings()
    return ls.status


def show_trace(ls: Server, _: types.ExecuteCommandParams) -> contract.Trace:
    """How the last edits ended and what they cost, and how the last answer came about."""
    last = ls.edits.last
    return {"edits": list(ls.edits.trace), "passes": responses.passes_of(last) if last else []}


def cancel(ls: Server, params: types.ExecuteCommandParams) -> contract.Cancelled:
    """Cancel the edits named, or all."""
    given = params.arguments[0] if params.arguments else {}
    return {"cancelled": _cancel(ls, given)}


async def edit(ls: Server, params: types.ExecuteCommandParams) -> contract.EditAnswer:
    """See `redraft.lsp.edit_session`."""
    return await ls.edits.answer(params)


def _cancel(ls: Server, params: object) -> int:
    id_, uri = which(params)
    return ls.edits.cancel("cancelled", id=id_, uri=uri)


async def _subscribe(ls: Server) -> None:
    """Ask to be told when the settings change."""
    method = types.WORKSPACE_DID_CHANGE_CONFIGURATION
    options = types.DidChangeConfigurationRegistrationOptions(section=contract.SECTION)
    wanted = types.Registration(id=method, method=method, register_options=options)
    try:
        await ls.client_register_capability_async(types.RegistrationParams([wanted]))
    except JsonRpcException as error:
        ls.client.log(types.MessageType.Warning, f"{method}: {error.message}")


async def _outlive(ls: Server, process: int) -> None:
    """End this process when the client's has ended without a word."""
    while _is_alive(process):  # noqa: ASYNC110 - the system has no event for it everywhere
        await asyncio.sleep(_PARENT_S)
    await asyncio.to_thread(ls.stop)
    # The thread that waits for the client's next message cannot be woken: its pipe may be held
    # open by a process that the client left behind.
    os._exit(0)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def _bound(
    command: Callable[[Server, types.ExecuteCommandParams], Any], server: Server
) -> Callable[[types.ExecuteCommandParams], object]:
    def run(params: types.ExecuteCommandParams) -> object:
        return command(server, params)

    return run


_ACTIONS: Final = types.CodeActionOptions(
    code_action_kinds=[types.CodeActionKind.QuickFix, contract.KIND]
)

_FEATURES: Final[Mapping[str, tuple[Callable[..., Any], Any]]] = {
    types.INITIALIZE: (initialize, None),
    types.INITIALIZED: (initialized, None),
    types.SHUTDOWN: (shut_down, None),
    types.EXIT: (exited, None),
    types.WORKSPACE_DID_CHANGE_CONFIGURATION: (configuration_changed, None),
    types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: (folders_changed, None),
    types.TEXT_DOCUMENT_DID_OPEN: (opened, None),
    types.TEXT_DOCUMENT_DID_CHANGE: (changed, None),
    types.TEXT_DOCUMENT_DID_CLOSE: (closed, None),
    types.TEXT_DOCUMENT_CODE_ACTION: (code_actions, _ACTIONS),
    types.WINDOW_WORK_DONE_PROGRESS_CANCEL: (progress_cancelled, None),
    contract.CANCEL_NOTIFICATION: (cancelled, None),
}

_COMMANDS: Final[Mapping[str, Callable[[Server, types.ExecuteCommandParams], Any]]] = {
    contract.EDIT: edit,
    contract.CANCEL: cancel,
    contract.WARM: warm,
    contract.STATUS: status,
    contract.RELOAD: reload,
    contract.SHOW_TRACE: show_trace,
}
