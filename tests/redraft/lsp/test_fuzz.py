"""Ten thousand messages that make little sense: every request is answered, nothing is edited."""

import asyncio
import json
import random
from typing import Any

import pytest
from tests.redraft.lsp.conftest import SHOP, script
from tests.redraft.lsp.editor import Editor

N_MESSAGES = 10_000
URI = "file:///work/shop.py"

METHODS = [
    "workspace/executeCommand",
    "textDocument/codeAction",
    "textDocument/didChange",
    "textDocument/didOpen",
    "textDocument/didClose",
    "textDocument/hover",
    "workspace/didChangeConfiguration",
    "workspace/didChangeWorkspaceFolders",
    "window/workDoneProgress/cancel",
    "$/cancelRequest",
    "$/setTrace",
    "$/unknown",
    "redraft/cancel",
    "initialize",
    "initialized",
    "no/such/method",
    "",
]

COMMANDS = [
    *(f"redraft.{name}" for name in "edit findTarget cancel warm status reload showTrace".split()),
    "redraft.no",
    "",
]


def junk(rng: random.Random, depth: int = 0) -> Any:
    kinds = ["null", "bool", "int", "float", "text"]
    if depth < 3:
        kinds += ["list", "dict"]
    match rng.choice(kinds):
        case "null":
            return None
        case "bool":
            return rng.random() < 0.5
        case "int":
            return rng.choice([0, 1, -1, 3, 2**31, -(2**40), 10**30])
        case "float":
            return rng.choice([0.5, -1.0, 1e300])
        case "text":
            return rng.choice(
                ["", "x", "\ud800", "\u2028", URI, "file:///no", "é" * 300, "%zz://["]
            )
        case "list":
            return [junk(rng, depth + 1) for _ in range(rng.randrange(4))]
        case _:
            keys = ["uri", "range", "start", "line", "jsonrpc", "method", "id", "version", "x"]
            return {rng.choice(keys): junk(rng, depth + 1) for _ in range(rng.randrange(4))}


def maybe(rng: random.Random, right: Any) -> Any:
    return junk(rng) if rng.random() < 0.25 else right


def position(rng: random.Random) -> Any:
    return {
        "line": maybe(rng, rng.choice([0, 3, 10**9, -1])),
        "character": maybe(rng, rng.choice([0, 7, 10**9])),
    }


def params(rng: random.Random, method: str) -> Any:
    named = {"uri": maybe(rng, rng.choice([URI, "file:///no.py", "untitled:x"]))}
    place = maybe(rng, {"start": maybe(rng, position(rng)), "end": maybe(rng, position(rng))})
    if method == "workspace/executeCommand":
        # The one right edit of all these would need a model that answers; its script fails.
        argument = {
            **named,
            "range": place,
            "instruction": maybe(rng, script(fail="no")),
            "version": maybe(rng, rng.choice([None, 1, 7])),
            "scope": maybe(rng, rng.choice(["file", "function", "selection"])),
            "wait": maybe(rng, True),
        }
        arguments = maybe(rng, [maybe(rng, argument)])
        return {"command": maybe(rng, rng.choice(COMMANDS)), "arguments": arguments}
    if method == "textDocument/codeAction":
        return {"textDocument": named, "range": place, "context": maybe(rng, {"diagnostics": []})}
    if method == "textDocument/didChange":
        change = maybe(rng, {"range": place, "text": maybe(rng, "y\r\n")})
        return {"textDocument": {**named, "version": maybe(rng, 3)}, "contentChanges": [change]}
    if method == "textDocument/didOpen":
        item = {**named, "languageId": "python", "version": 1, "text": maybe(rng, SHOP)}
        return {"textDocument": item}
    if method == "$/cancelRequest":
        return {"id": rng.randrange(N_MESSAGES)}
    return maybe(rng, {"textDocument": named, "token": "redraft/redraft-1", "id": "x"})


def message(rng: random.Random, n: int) -> Any:
    method = rng.choice(METHODS)
    whole = {"jsonrpc": "2.0", "method": maybe(rng, method), "params": params(rng, method)}
    if rng.random() < 0.7 or method in ("initialize", "workspace/executeCommand"):
        whole["id"] = n
    if rng.random() < 0.1:
        whole.pop(rng.choice(list(whole)))
    if rng.random() < 0.05:
        whole["jsonrpc"] = junk(rng)
    if rng.random() < 0.05:
        return junk(rng)
    if rng.random() < 0.05:
        return {"jsonrpc": "2.0", "id": rng.choice([n, "x", None]), "result": junk(rng)}
    return whole


@pytest.mark.asyncio
async def test_every_request_is_answered_and_nothing_is_edited() -> None:
    rng = random.Random(4)
    async with Editor() as editor:
        document = editor.open("file:///work/kept.py", SHOP)
        answers = []
        for n in range(1_000_000, 1_000_000 + N_MESSAGES):
            match rng.randrange(100):
                case 0:
                    editor.send_body(rng.choice([b"{", b"\xff\xfe", b"[" * 100_000, b"nonsense"]))
                case 1:
                    editor.process.stdin.write(b"X-Unknown: 1\r\ncontent-length: 2\r\n\r\n[]")
                case 2 if n % 10 == 0:
                    editor.send({"jsonrpc": "2.0", "method": "x", "params": "é" * 200_000})
                case _:
                    sent = message(rng, n)
                    if isinstance(sent, dict) and sent.get("id") == n and "method" in sent:
                        answers.append(editor.expect(n))
                    editor.send(sent)
            if n % 200 == 0:
                await editor.process.stdin.drain()
        await editor.process.stdin.drain()
        done, pending = await asyncio.wait(answers, timeout=60)
        assert not pending
        assert len(done) > N_MESSAGES / 2
        assert not editor.applied
        assert await editor.server_text(document) == SHOP
        editor.close(document)
        again = editor.open("file:///work/kept.py", SHOP)
        answer = await editor.edit(again, script(sub=["amount", "sum_"]), scope="file")
        assert answer["outcome"] == "applied"
    assert editor.code == 0
    assert "Traceback" not in editor.stderr
    assert "class Cart" not in editor.stderr


@pytest.mark.asyncio
async def test_an_announced_size_beyond_reason_is_refused_and_the_next_message_read() -> None:
    async with Editor() as editor:
        editor.send_body(b"x" * (65 * 2**20))
        assert (await editor.command("redraft.status"))["documents"] == 0
        assert editor.params_of("error")[0]["code"] == -32700


@pytest.mark.asyncio
async def test_what_comes_before_initialize_and_after_shutdown_is_refused() -> None:
    editor = Editor()
    await editor.start()
    _, early = editor.begin("textDocument/codeAction", {})
    editor.notify("textDocument/didOpen", {})
    assert (await asyncio.wait([early]))[0]
    assert early.exception().code == -32002
    await editor.initialize()
    await editor.request("shutdown")
    _, late = editor.begin("workspace/executeCommand", {"command": "redraft.status"})
    await asyncio.wait([late])
    assert late.exception().code == -32600
    editor.notify("exit")
    assert await asyncio.wait_for(editor.process.wait(), 10) == 0
    assert json.dumps(editor.params_of("error")) == "[]"
