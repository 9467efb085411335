"""An editor for tests: a language client with documents of its own.

It speaks raw JSON over the server's pipes, so that a test can send what no library would, and it
counts lines and columns by itself, so that it agrees with the server only if both are right.
"""

import asyncio
import itertools
import json
import os
import re
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
SCRIPTED = (sys.executable, "-m", "tests.redraft.lsp.scripted_server")
REAL = (sys.executable, "-m", "redraft", "serve")

CAPABILITIES: dict[str, Any] = {
    "general": {"positionEncodings": ["utf-16"]},
    "workspace": {
        "applyEdit": True,
        "configuration": True,
        "workspaceEdit": {"documentChanges": True},
    },
    "window": {"workDoneProgress": True},
    "textDocument": {
        "codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": []}}}
    },
}


class ResponseError(Exception):
    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data = error.get("data")


class OpenDocument:
    """The client's text; columns in the unit the server chose."""

    def __init__(self, uri: str, text: str, version: int = 1) -> None:
        self.uri, self.text, self.version = uri, text, version

    def starts(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer(r"\r\n|\r|\n", self.text))]

    def position(self, offset: int, unit: str) -> dict[str, int]:
        starts = self.starts()
        line = max(n for n, start in enumerate(starts) if start <= offset)
        return {"line": line, "character": width(self.text[starts[line] : offset], unit)}

    def range(self, start: int, stop: int, unit: str) -> dict[str, Any]:
        return {"start": self.position(start, unit), "end": self.position(stop, unit)}

    def offset(self, position: dict[str, int], unit: str) -> int:
        start = self.starts()[position["line"]]
        n = 0
        while width(self.text[start : start + n], unit) < position["character"]:
            n += 1
            assert start + n <= len(self.text), "a column past the line's end"
        assert width(self.text[start : start + n], unit) == position["character"]
        assert not re.search(r"[\r\n]", self.text[start : start + n]), "past the line's end"
        return start + n

    def apply(self, edits: list[dict[str, Any]], unit: str) -> list[tuple[int, int, str]]:
        """Apply text edits that must not overlap; returns them as offsets, ascending."""
        spans = sorted(
            (
                self.offset(edit["range"]["start"], unit),
                self.offset(edit["range"]["end"], unit),
                edit["newText"],
            )
            for edit in edits
        )
        for (_, stop, _), (start, _, _) in itertools.pairwise(spans):
            assert stop <= start, "the edits overlap"
        for start, stop, new in reversed(spans):
            self.text = self.text[:start] + new + self.text[stop:]
        self.version += 1
        return spans


def width(text: str, unit: str) -> int:
    if unit == "utf-32":
        return len(text)
    data = text.encode("utf-8" if unit == "utf-8" else "utf-16-le", "surrogatepass")
    return len(data) if unit == "utf-8" else len(data) // 2


class Editor:
    """One server process and one client of it. Use as an asynchronous context manager."""

    def __init__(
        self,
        command: tuple[str, ...] = SCRIPTED,
        *,
        unit: str = "utf-16",
        capabilities: dict[str, Any] | None = None,
        options: dict[str, Any] | None = None,
        settings: dict[str, Any] | None = None,
        root: Path | None = None,
        env: dict[str, str] | None = None,
    ) -> None:
        self.unit, self.options, self.root = unit, options, root
        self._program = command
        self.capabilities = (
            capabilities
            if capabilities is not None
            else {
                **CAPABILITIES,
                "general": {"positionEncodings": [unit]},
            }
        )
        self.settings = settings
        self.env = env or {}
        self.documents: dict[str, OpenDocument] = {}
        self.received: list[dict[str, Any]] = []
        self.applied: list[dict[str, Any]] = []
        self.spans: list[list[tuple[int, int, str]]] = []
        self.on_request: dict[str, Callable[[dict[str, Any]], Any]] = {
            "workspace/applyEdit": self.apply_edit,
            "workspace/configuration": lambda _: [self.settings],
        }
        self._ids = itertools.count(1)
        self._waiting: dict[Any, asyncio.Future[Any]] = {}
        self._arrived: dict[str, asyncio.Event] = defaultdict(asyncio.Event)

    async def __aenter__(self) -> "Editor":
        await self.start()
        await self.initialize()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self.process.returncode is None:
            await self.request("shutdown")
            self.notify("exit")
            self.code = await asyncio.wait_for(self.process.wait(), 10)
        self._reader.cancel()
        self.stderr = (await self.process.stderr.read()).decode()

    async def start(self) -> None:
        self.process = await asyncio.create_subprocess_exec(
            *self._program,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=ROOT,
            env={**os.environ, **self.env},
            limit=2**26,
        )
        self._reader = asyncio.create_task(self._read())

    async def initialize(self) -> dict[str, Any]:
        self.answer = await self.request(
            "initialize",
            {
                "processId": os.getpid(),
                "rootUri": self.root.as_uri() if self.root else None,
                "capabilities": self.capabilities,
                "initializationOptions": self.options,
            },
        )
        self.notify("initialized", {})
        return self.answer

    # Messages

    def send(self, message: Any) -> None:
        self.send_body(json.dumps(message).encode())

    def send_body(self, body: bytes) -> None:
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def notify(self, method: str, params: Any = None) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def begin(self, method: str, params: Any = None) -> tuple[int, asyncio.Future[Any]]:
        """Send a request; its answer comes in the future."""
        id_ = next(self._ids)
        future = self._waiting[id_] = asyncio.get_running_loop().create_future()
        self.send({"jsonrpc": "2.0", "id": id_, "method": method, "params": params})
        return id_, future

    async def request(self, method: str, params: Any = None, timeout: float = 60) -> Any:
        return await asyncio.wait_for(self.begin(method, params)[1], timeout)

    def expect(self, id_: Any) -> asyncio.Future[Any]:
        """The answer to a request that was sent by hand."""
        return self._waiting.setdefault(id_, asyncio.get_running_loop().create_future())

    async def until(self, method: str, fits: Callable[[Any], bool] = lambda _: True) -> Any:
        """The parameters of the first message `method` that fits, past or to come."""
        while True:
            self._arrived[method].clear()
            for message in self.received:
                if message.get("method") == method and fits(message.get("params")):
                    return message.get("params")
            await asyncio.wait_for(self._arrived[method].wait(), 60)

    def params_of(self, method: str) -> list[Any]:
        return [m["params"] for m in self.received if m.get("method") == method]

    async def _read(self) -> None:
        stream = self.process.stdout
        while line := await stream.readline():
            if not line.lower().startswith(b"content-length:"):
                continue
            n = int(line.partition(b":")[2])
            while (await stream.readline()).strip():
                pass
            self._take(json.loads(await stream.readexactly(n)))

    def _take(self, message: dict[str, Any]) -> None:
        if "method" not in message:
            future = self._waiting.pop(message["id"], None)
            if future and not future.done():
                if "error" in message:
                    future.set_exception(ResponseError(message["error"]))
                    future.exception()
                else:
                    future.set_result(message["result"])
            elif message["id"] is None:
                self.received.append({"method": "error", "params": message["error"]})
            return
        self.received.append(message)
        self._arrived[message["method"]].set()
        if "id" in message:
            handler = self.on_request.get(message["method"], lambda _: None)
            result = handler(message["params"])
            if result is not NotImplemented:
                self.send({"jsonrpc": "2.0", "id": message["id"], "result": result})

    # Documents

    def open(self, uri: str, text: str, language: str = "python") -> OpenDocument:
        document = self.documents[uri] = OpenDocument(uri, text)
        self.notify(
            "textDocument/didOpen",
            {
                "textDocument": {
                    "uri": uri,
                    "languageId": language,
                    "version": 1,
                    "text": text,
                }
            },
        )
        return document

    def change(self, document: OpenDocument, start: int, stop: int, new: str) -> None:
        """Type something: the server hears of it incrementally."""
        place = document.range(start, stop, self.unit)
        document.text = document.text[:start] + new + document.text[stop:]
        document.version += 1
        self._changed(document, [{"range": place, "text": new}])

    def change_whole(self, document: OpenDocument, text: str) -> None:
        document.text = text
        document.version += 1
        self._changed(document, [{"text": text}])

    def close(self, document: OpenDocument) -> None:
        del self.documents[document.uri]
        self.notify("textDocument/didClose", {"textDocument": {"uri": document.uri}})

    def _changed(self, document: OpenDocument, changes: list[dict[str, Any]]) -> None:
        named = {"uri": document.uri, "version": document.version}
        self.notify("textDocument/didChange", {"textDocument": named, "contentChanges": changes})

    def apply_edit(self, params: dict[str, Any]) -> dict[str, Any]:
        """As editors do it: refuse what is for another version, tell of the change at once."""
        self.applied.append(params)
        for change in params["edit"]["documentChanges"]:
            document = self.documents[change["textDocument"]["uri"]]
            if change["textDocument"]["version"] != document.version:
                return {"applied": False, "failureReason": "the buffer is newer"}
            ranges = [edit["range"] for edit in change["edits"]]
            self.spans.append(document.apply(change["edits"], self.unit))
            if len(ranges) == 1:
                changes = [{"range": ranges[0], "text": change["edits"][0]["newText"]}]
            else:
                changes = [{"text": document.text}]
            self._changed(document, changes)
        return {"applied": True}

    # redraft

    async def command(self, name: str, argument: Any = None) -> Any:
        arguments = [] if argument is None else [argument]
        return await self.request(
            "workspace/executeCommand", {"command": name, "arguments": arguments}
        )

    def begin_edit(
        self, document: OpenDocument, instruction: str, **more: Any
    ) -> tuple[int, asyncio.Future[Any]]:
        argument = {"uri": document.uri, "version": document.version, "instruction": instruction}
        return self.begin(
            "workspace/executeCommand",
            {"command": "redraft.edit", "arguments": [{**argument, **more}]},
        )

    async def edit(self, document: OpenDocument, instruction: str, **more: Any) -> Any:
        return await asyncio.wait_for(self.begin_edit(document, instruction, **more)[1], 120)

    async def status(self, fits: Callable[[Any], bool]) -> Any:
        """The server's status, once it fits."""
        while not fits(status := await self.command("redraft.status")):  # noqa: ASYNC110 - a poll
            await asyncio.sleep(0.02)
        return status

    async def server_text(self, document: OpenDocument) -> str:
        """The server's copy; only the scripted server gives it away."""
        return (await self.request("test/document", {"uri": document.uri}))["text"]
