"""pygls's protocol with three habits changed.

Every request is answered, however malformed; documents are not kept here (`redraft.lsp.documents`
does); and what is cancelled by its request's id really stops. pygls logs message bodies: its
loggers are silenced where the server is started.
"""

import inspect
import json
import logging
from collections.abc import Mapping
from typing import Any, cast

from lsprotocol import types
from pygls.exceptions import (
    JsonRpcException,
    JsonRpcInvalidParams,
    JsonRpcInvalidRequest,
    JsonRpcParseError,
    JsonRpcServerNotInitialized,
)
from pygls.protocol import JsonRPCNotification, JsonRPCRequestMessage, LanguageServerProtocol
from pygls.protocol.json_rpc import RPCMessage
from pygls.protocol.language_server import lsp_method

__all__ = ["Protocol"]

log = logging.getLogger("redraft.lsp")


class Protocol(LanguageServerProtocol):
    """Answers what pygls drops, and takes over what it does to documents."""

    is_initialized = False

    @property
    def is_shut_down(self) -> bool:
        """Whether the client asked for the end; then `exit` is no failure."""
        return self._shutdown

    def structure_message(self, data: dict[str, Any]) -> object:
        # pygls calls this for every object inside a message; `handle_message` does the work once.
        return data

    def handle_message(self, message: object) -> None:
        """One message as parsed from JSON, whatever it is."""
        fault = _fault(message)
        if fault or not isinstance(message, dict):
            log.warning("not a message of the protocol: %s", fault)
            self._refuse(message, JsonRpcInvalidRequest(fault))
        elif "method" not in message:
            self._settle(message)
        elif early := self._out_of_order(message):
            self._refuse(message, early)
        else:
            self._dispatch(message)

    def parse_error(self, error: Exception) -> None:
        """Answer a body that is not JSON."""
        log.warning("a message is not JSON: %s", type(error).__name__)
        self._refuse({"id": None, "method": ""}, JsonRpcParseError("the message is not JSON"))

    def _dispatch(self, message: dict[str, Any]) -> None:
        try:
            structured = self._structured(message)
        except JsonRpcException:
            method = message["method"]
            log.warning("%s came with parameters that make no sense", method)
            self._refuse(message, JsonRpcInvalidParams(f"the parameters of {method} are wrong"))
            return
        if message["method"] == types.INITIALIZE:
            self.is_initialized = True
        super().handle_message(structured)

    def _structured(self, message: dict[str, Any]) -> RPCMessage:
        method, params = message["method"], message.get("params")
        if self.get_message_type(method):
            return cast("RPCMessage", super().structure_message(message))
        kind = JsonRPCRequestMessage if "id" in message else JsonRPCNotification
        named = {"id": message["id"]} if "id" in message else {}
        return kind(method=method, jsonrpc=self.VERSION, params=params, **named)

    def _out_of_order(self, message: Mapping[str, Any]) -> JsonRpcException | None:
        method = message["method"]
        kind = self.get_message_type(method)
        if "id" in message and kind and not hasattr(kind, "id"):
            return JsonRpcInvalidRequest(f"{method} is a notification")
        if method == types.EXIT:
            return None
        if self._shutdown:
            return JsonRpcInvalidRequest("the server was shut down")
        if not self.is_initialized and method != types.INITIALIZE:
            return JsonRpcServerNotInitialized("initialize must come first")
        if self.is_initialized and method == types.INITIALIZE:
            return JsonRpcInvalidRequest("the server is initialized already")
        return None

    def _settle(self, message: dict[str, Any]) -> None:
        """A response of the client's: whoever waits for it gets it, or an error."""
        waiting = self._request_futures.get(message["id"])
        try:
            structured = super().structure_message(message)
        except JsonRpcException as error:
            log.warning("a response of the editor makes no sense")
            self._request_futures.pop(message["id"], None)
            if waiting and not waiting.done():
                waiting.set_exception(error)
            return
        if waiting and waiting.done():  # cancelled here meanwhile
            self._request_futures.pop(message["id"], None)
        else:
            super().handle_message(structured)

    def _refuse(self, message: object, error: JsonRpcException) -> None:
        """Answer with an error, if `message` may be a request."""
        known = message if isinstance(message, Mapping) else {"id": None, "method": ""}
        if "id" not in known or "method" not in known:
            return
        id_ = known["id"]
        body = error.to_response_error()
        self._send_data(
            {
                "jsonrpc": self.VERSION,
                "id": id_ if _is_id(id_) else None,
                "error": {"code": body.code, "message": body.message},
            }
        )

    @lsp_method(types.WORKSPACE_EXECUTE_COMMAND)
    async def lsp_workspace__execute_command(  # type: ignore[override]  # pygls takes both kinds
        self, params: types.ExecuteCommandParams
    ) -> object:
        """Hand the whole parameters to the command. A task, so that cancelling it arrives there."""
        handler = self.fm.commands.get(params.command)
        if handler is None:
            raise JsonRpcInvalidParams(f"there is no command {params.command!r}")
        result = handler(params)
        return await result if inspect.isawaitable(result) else result

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        self.fm.features[types.TEXT_DOCUMENT_DID_OPEN](params)

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        self.fm.features[types.TEXT_DOCUMENT_DID_CHANGE](params)

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        self.fm.features[types.TEXT_DOCUMENT_DID_CLOSE](params)


def is_parse_error(error: Exception) -> bool:
    return isinstance(error, json.JSONDecodeError | UnicodeDecodeError | RecursionError)


def _fault(message: object) -> str:
    """What makes `message` none of the protocol's; "" where it is one."""
    if not isinstance(message, dict):
        return "a message must be an object"
    if message.get("jsonrpc") != "2.0":
        return 'a message must say "jsonrpc": "2.0"'
    if "id" in message and not _is_id(message["id"]):
        return "an id must be a whole number or a string"
    if "method" in message:
        return "" if isinstance(message["method"], str) else "a method must be a string"
    return "" if "id" in message else "a message needs a method or an id"


def _is_id(value: object) -> bool:
    return isinstance(value, int | str) and not isinstance(value, bool)
