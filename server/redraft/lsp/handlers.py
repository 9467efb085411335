"""The answer to each message of the client.

Handlers are short and run on the event loop, in the order the messages came; what takes time is a
task or on the model's thread. Requests and commands are named as in the protocol, notifications
with `on_` before.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from lsprotocol import types
from pygls import uris
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams

from redraft.lsp import contract, responses
from redraft.lsp.code_actions import ClientAbilities, list_code_actions
from redraft.lsp.documents import path_from_uri
from redraft.lsp.params import parse_cancel, parse_warm
from redraft.lsp.server import Server

__all__ = ["register"]


def register(server: Server) -> None:
    """Have `server` answer everything that redraft answers."""
    for method, (handler, options) in _FEATURES.items():
        server.feature(method, options)(handler)
    for name, command in _COMMANDS.items():
        server.command(name)(command)


def initialize(ls: Server, params: types.InitializeParams) -> None:
    """Learn what the client can do; the answer follows from what is registered."""
    options = params.initialization_options
    options = options if isinstance(options, Mapping) else {}
    commands = options.get("clientCommands")
    can_do = ls.client.can
    ls.expect_answers_to_nobody()
    ls.abilities = ClientAbilities(
        literals=can_do("text_document.code_action.code_action_literal_support"),
        tags=can_do("text_document.code_action.tag_support"),
        can_prompt=isinstance(commands, list) and contract.PROMPT in commands,
    )
    # A client that says nothing has no notion of trust, as most have not.
    ls.config.is_trusted = options.get("trusted") is not False
    on_did_change_workspace_folders(ls, None)
    ls.configure(options.get("settings"))
    if options.get("statusNotifications") is True:
        ls.status_notifier.start()


def on_initialized(ls: Server, _: object) -> None:
    """Ask for the settings: from now on the client takes requests and notifications."""
    if ls.client.can("workspace.configuration"):
        ls.request_settings()
    ls.status_notifier.update()
    if ls.client.can("workspace.did_change_configuration.dynamic_registration"):
        ls.start_task(ls.watch_settings())
    if ls.process_id is not None:
        ls.start_task(ls.exit_with_client(ls.process_id))


def on_did_change_configuration(ls: Server, params: types.DidChangeConfigurationParams) -> None:
    """Ask for the settings, or take those that came along where the client cannot be asked."""
    if ls.client.can("workspace.configuration"):
        ls.request_settings()
    elif isinstance(params.settings, Mapping):
        ls.configure(params.settings.get(contract.SECTION))


def on_did_change_workspace_folders(ls: Server, _: object) -> None:
    """Take over the folders: user and model are shown paths from the workspace's folder on."""
    roots = [folder.uri for folder in ls.workspace.folders.values()]
    roots += [ls.workspace.root_uri] if ls.workspace.root_uri else []
    ls.documents.folders = tuple(path_from_uri(root) for root in roots if uris.to_fs_path(root))


def on_did_open(ls: Server, params: types.DidOpenTextDocumentParams) -> None:
    """Keep a copy, and prefill it if the model is loaded anyway."""
    # Without a didClose before, as after a plug-in's restart: positions of before mean nothing now.
    ls.edits.cancel("the document was opened anew", uri=params.text_document.uri)
    ls.prefiller.schedule(ls.documents.open(params.text_document))


def on_did_change(ls: Server, params: types.DidChangeTextDocumentParams) -> None:
    """Keep the copy equal to the client's."""
    document = ls.documents.get(params.text_document.uri)
    if document is not None:
        document.change(params.content_changes, params.text_document.version, ls.client.unit)
        if document.is_known:
            ls.prefiller.schedule(document)


def on_did_close(ls: Server, params: types.DidCloseTextDocumentParams) -> None:
    """Forget the document, and end what runs for it."""
    uri = params.text_document.uri
    ls.edits.cancel("the document was closed", uri=uri)
    ls.prefiller.forget(uri)
    ls.documents.close(uri)


async def code_action(
    ls: Server, params: types.CodeActionParams
) -> list[types.CodeAction | types.Command]:
    """Return what can be done at a place; nothing is computed for it."""
    document = ls.documents.get(params.text_document.uri)
    if document is None or not document.is_known:
        return []
    version = document.version
    # Right after the start the user's own actions may still be on their way.
    await ls.wait_for_settings()
    if document.version != version:
        raise responses.stale_error("the document was changed meanwhile; ask again")
    actions, problems = ls.config.load_actions(path_from_uri(document.uri))
    ls.show_problems(problems)
    return list_code_actions(params, document, actions, ls.abilities, ls.client.unit)


def on_progress_cancel(ls: Server, params: types.WorkDoneProgressCancelParams) -> None:
    """Cancel the work whose progress display the user cancelled."""
    if progress := ls.client.progress.get(params.token):
        progress.cancel()


def on_cancel(ls: Server, params: object) -> None:
    """Cancel edits for a client whose progress display is its own."""
    # A notification has no answer: what is wrong with it can only be logged.
    try:
        _cancel(ls, params)
    except JsonRpcException as error:
        ls.client.log(types.MessageType.Warning, f"{contract.CANCEL_NOTIFICATION}: {error.message}")


def shutdown(ls: Server, _: object) -> None:
    """End what runs; the process ends with `exit`."""
    ls.model_download.stop()
    ls.edits.cancel("the server is shutting down")


def on_exit(ls: Server, _: object) -> None:
    """Note that the client wants the process to end; pygls ends it."""
    ls.has_exited = True


async def edit(ls: Server, params: types.ExecuteCommandParams) -> contract.EditAnswer:
    """Rewrite a part of a document: see `redraft.lsp.edit_session`."""
    return await ls.edits.run(params)


async def find_target(ls: Server, params: types.ExecuteCommandParams) -> contract.FoundTargets:
    """Say what an edit at a place would change."""
    return await ls.edits.find_target(params)


def cancel(ls: Server, params: types.ExecuteCommandParams) -> contract.Cancelled:
    """Cancel the edits named, or all."""
    return {"cancelled": _cancel(ls, params.arguments[0] if params.arguments else {})}


def warm(ls: Server, params: types.ExecuteCommandParams) -> contract.Status:
    """Load the model, and prefill a document if one is named. Answers at once."""
    uri = parse_warm(params.arguments)
    document = ls.documents.get(uri) if uri else None
    if uri and document is None:
        raise JsonRpcInvalidParams(f"{uri} is not open")
    if document is not None and not document.is_known:
        raise responses.failed_error(responses.describe_unknown(document))
    if document is not None:
        ls.prefiller.prefill(document)
    else:
        ls.start_task(ls.load_model())
    return ls.status


def status(ls: Server, _: types.ExecuteCommandParams) -> contract.Status:
    """Return the state of the server."""
    return ls.status


def reload(ls: Server, _: types.ExecuteCommandParams) -> contract.Status:
    """Free the model and read the settings again; the next edit loads the model they name."""
    ls.shown_problems.clear()
    ls.worker.unload()
    if ls.client.can("workspace.configuration"):
        ls.request_settings()
    return ls.status


def show_trace(ls: Server, _: types.ExecuteCommandParams) -> contract.Trace:
    """Return how the last edits ended, and the passes of the model's last reply."""
    completion = ls.edits.last_completion
    passes = responses.convert_passes(completion) if completion else []
    return {"edits": list(ls.edits.trace), "passes": passes}


def _cancel(ls: Server, params: object) -> int:
    id_, uri = parse_cancel(params)
    return ls.edits.cancel("cancelled", id=id_, uri=uri)


_CODE_ACTION_OPTIONS: Final = types.CodeActionOptions(
    code_action_kinds=[types.CodeActionKind.QuickFix, contract.KIND]
)

_FEATURES: Final[Mapping[str, tuple[Callable[..., Any], Any]]] = {
    types.INITIALIZE: (initialize, None),
    types.INITIALIZED: (on_initialized, None),
    types.SHUTDOWN: (shutdown, None),
    types.EXIT: (on_exit, None),
    types.WORKSPACE_DID_CHANGE_CONFIGURATION: (on_did_change_configuration, None),
    types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: (on_did_change_workspace_folders, None),
    types.TEXT_DOCUMENT_DID_OPEN: (on_did_open, None),
    types.TEXT_DOCUMENT_DID_CHANGE: (on_did_change, None),
    types.TEXT_DOCUMENT_DID_CLOSE: (on_did_close, None),
    types.TEXT_DOCUMENT_CODE_ACTION: (code_action, _CODE_ACTION_OPTIONS),
    types.WINDOW_WORK_DONE_PROGRESS_CANCEL: (on_progress_cancel, None),
    contract.CANCEL_NOTIFICATION: (on_cancel, None),
}

_COMMANDS: Final[Mapping[str, Callable[[Server, types.ExecuteCommandParams], Any]]] = {
    contract.EDIT: edit,
    contract.FIND_TARGET: find_target,
    contract.CANCEL: cancel,
    contract.WARM: warm,
    contract.STATUS: status,
    contract.RELOAD: reload,
    contract.SHOW_TRACE: show_trace,
}
