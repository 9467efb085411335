"""Messages between the client's two pipes and the handlers: pygls with some habits changed.

`ServerProtocol` answers every request, however malformed; keeps no documents
(`redraft.lsp.documents` does); and really stops what is cancelled by its request's id.
`MessageReader` and `MessageWriter` see to it that a client that does not read does not stop the
server from reading, and that one that announces an enormous message does not fill the memory.
Nothing here knows what redraft answers. pygls logs message bodies: its loggers are silenced where
the server is started.
"""

import inspect
import json
import logging
import queue
import threading
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO, Final, cast

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

from redraft.lsp.documents import NO_VERSION

__all__ = ["MAX_BODY", "MessageReader", "MessageWriter", "ServerProtocol", "is_parse_error"]

log = logging.getLogger("redraft.lsp")

MAX_BODY: Final = 64 * 2**20  # bytes of one message; files over 10 MB are not edited anyway

_VERSIONED: Final = (types.TEXT_DOCUMENT_DID_OPEN, types.TEXT_DOCUMENT_DID_CHANGE)
_MAX_HEADER: Final = 4096
_CHUNK: Final = 2**16
_FLUSH_S: Final = 5.0


class ServerProtocol(LanguageServerProtocol):
    """Answers what pygls drops, and leaves documents to redraft.

    `on_wrong_parameters` is told of the method and the parameters that were refused.
    """

    is_initialized = False
    on_wrong_parameters: Callable[[str, object, JsonRpcException], object] | None = None

    @property
    def is_shut_down(self) -> bool:
        """True once the client asked for the end; then `exit` is no failure."""
        return self._shutdown

    def structure_message(self, data: dict[str, Any]) -> object:
        # pygls calls this for every object inside a message, however deep, and drops the message
        # where it fails; `handle_message` does the work once, and answers.
        return data

    def handle_message(self, message: object) -> None:
        """Take one message as parsed from JSON, whatever it is."""
        fault = _find_fault(message)
        if fault or not isinstance(message, dict):
            log.warning("not a message of the protocol: %s", fault)
            self._refuse(message, JsonRpcInvalidRequest(fault))
            return
        if "method" not in message:
            self._receive_response(message)
            return
        if error := self._check_order(message):
            self._refuse(message, error)
            return
        method = message["method"]
        if method in _VERSIONED:
            message = _fill_version(message)
        try:
            if self.get_message_type(method):
                structured = cast("RPCMessage", super().structure_message(message))
            else:  # a method that the protocol does not have, such as redraft/cancel
                kind = JsonRPCRequestMessage if "id" in message else JsonRPCNotification
                id_ = {"id": message["id"]} if "id" in message else {}
                params = message.get("params")
                structured = kind(method=method, jsonrpc=self.VERSION, params=params, **id_)
        except JsonRpcException:
            error = JsonRpcInvalidParams(f"the parameters of {method} are wrong")
            self._refuse(message, error)
            if self.on_wrong_parameters:
                self.on_wrong_parameters(method, message.get("params"), error)
            return
        if method == types.INITIALIZE:
            self.is_initialized = True
        super().handle_message(structured)

    def refuse_unparsed(self, error: Exception) -> None:
        """Answer a body that is not JSON."""
        log.warning("a message is not JSON: %s", type(error).__name__)
        self._refuse({"id": None, "method": ""}, JsonRpcParseError("the message is not JSON"))

    def _check_order(self, message: Mapping[str, Any]) -> JsonRpcException | None:
        """Return the error for a message that may not come now, or that may not have an id."""
        method = message["method"]
        kind = self.get_message_type(method)
        if "id" in message and kind and not hasattr(kind, "id"):
            return JsonRpcInvalidRequest(f"{method} is a notification")
        if method == types.EXIT:  # may come at any time, and has to end the process
            return None
        if self._shutdown:
            return JsonRpcInvalidRequest("the server was shut down")
        if not self.is_initialized and method != types.INITIALIZE:
            return JsonRpcServerNotInitialized("initialize must come first")
        if self.is_initialized and method == types.INITIALIZE:
            return JsonRpcInvalidRequest("the server is initialized already")
        return None

    def _receive_response(self, message: dict[str, Any]) -> None:
        """Give a response of the client to the request that waits for it, or an error."""
        future = self._request_futures.get(message["id"])
        try:
            structured = super().structure_message(message)
        except JsonRpcException as error:
            log.warning("a response of the editor makes no sense")
            self._request_futures.pop(message["id"], None)
            if future and not future.done():
                future.set_exception(error)
            return
        if future and future.done():  # cancelled here meanwhile; pygls would set it once more
            self._request_futures.pop(message["id"], None)
        else:
            super().handle_message(structured)

    def _refuse(self, message: object, error: JsonRpcException) -> None:
        """Answer with an error, if `message` may be a request."""
        request = message if isinstance(message, Mapping) else {"id": None, "method": ""}
        if "id" not in request or "method" not in request:
            return
        id_ = request["id"]
        body = error.to_response_error()
        self._send_data(
            {
                "jsonrpc": self.VERSION,
                "id": id_ if _is_id(id_) else None,
                "error": {"code": body.code, "message": body.message},
            }
        )

    # pygls would pass the arguments without the progress token, and run a command outside the task
    # that a cancelled request ends.
    @lsp_method(types.WORKSPACE_EXECUTE_COMMAND)
    async def lsp_workspace__execute_command(  # type: ignore[override]  # pygls takes both kinds
        self, params: types.ExecuteCommandParams
    ) -> object:
        """Hand the whole parameters to the command."""
        handler = self.fm.commands.get(params.command)
        if handler is None:
            raise JsonRpcInvalidParams(f"there is no command {params.command!r}")
        result = handler(params)
        return await result if inspect.isawaitable(result) else result

    # pygls would keep documents of its own first; these three only call the handlers.
    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        self.fm.features[types.TEXT_DOCUMENT_DID_OPEN](params)

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        self.fm.features[types.TEXT_DOCUMENT_DID_CHANGE](params)

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        self.fm.features[types.TEXT_DOCUMENT_DID_CLOSE](params)


def _fill_version(message: dict[str, Any]) -> dict[str, Any]:
    """Return the message with `NO_VERSION` where its document's version is null."""
    params = message.get("params")
    if not isinstance(params, dict):
        return message
    document = params.get("textDocument")
    if not isinstance(document, dict) or document.get("version", 0) is not None:
        return message
    document = {**document, "version": NO_VERSION}
    return {**message, "params": {**params, "textDocument": document}}


def is_parse_error(error: Exception) -> bool:
    """Return True for what pygls raises where a body is not JSON."""
    # Deep nesting, as in a hundred thousand brackets, ends in RecursionError.
    return isinstance(error, json.JSONDecodeError | UnicodeDecodeError | RecursionError)


def _find_fault(message: object) -> str:
    """Return why `message` is no message of JSON-RPC; "" where it is one."""
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


class MessageReader:
    """The stream that pygls reads. A message that is too large becomes one that is no JSON."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def readline(self) -> bytes:
        """Read one header line. The length's name comes in the one spelling that pygls knows."""
        line = self._stream.readline(_MAX_HEADER)
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            return b"Content-Length: " + value.strip() + b"\r\n"
        return line

    def read(self, n: int) -> bytes:
        """Read `n` bytes, or skip them where that is too many."""
        if n <= MAX_BODY:
            return self._stream.read(n)
        # The body has to be read past all the same, or the next header would begin inside it.
        while n > 0 and (chunk := self._stream.read(min(n, _CHUNK))):
            n -= len(chunk)
        return b"too large"


class MessageWriter:
    """The stream that pygls writes to: bytes leave on a thread of their own, in order."""

    def __init__(self, stream: BinaryIO) -> None:
        self._queue: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()

        def send() -> None:
            try:
                while (data := self._queue.get()) is not None:
                    stream.write(data)
                    stream.flush()
            except (OSError, ValueError):
                return  # the client is gone, and its end of the other pipe tells the server so

        self._thread = threading.Thread(target=send, name="redraft-out", daemon=True)
        self._thread.start()

    def write(self, data: bytes) -> None:
        self._queue.put(data)

    def flush(self) -> None:
        """Do nothing: every write is flushed when it leaves."""

    def close(self) -> None:
        """Let what is queued leave; a client that reads no more is not waited for."""
        self._queue.put(None)
        self._thread.join(_FLUSH_S)
