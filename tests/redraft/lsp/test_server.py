"""How the server's process begins and ends."""

import asyncio
import re
import signal
import subprocess
import sys

import psutil
import pytest
from tests.redraft.lsp.conftest import SHOP, script
from tests.redraft.lsp.editor import REAL, ROOT, Editor

pytestmark = pytest.mark.asyncio


async def test_exit_without_shutdown_is_a_failure() -> None:
    async with Editor() as editor:
        editor.notify("exit")
        assert await asyncio.wait_for(editor.process.wait(), 10) == 1


@pytest.mark.parametrize("is_busy", [False, True], ids=["idle", "busy"])
async def test_the_process_ends_when_its_pipe_is_closed(is_busy: bool) -> None:
    async with Editor() as editor:
        document = editor.open("file:///work/a.py", SHOP)
        if is_busy:
            slow = script(sub=["amount", "n"], prefill_s=10)
            editor.begin_edit(document, slow, scope="file")
            await editor.until("$/progress")
        editor.process.stdin.close()
        assert await asyncio.wait_for(editor.process.wait(), 15) == 0
        assert not editor.applied
    assert not editor.stderr


async def test_the_process_ends_when_the_clients_process_is_gone() -> None:
    editor = Editor()
    await editor.start()
    pipe = asyncio.subprocess.PIPE
    client = await asyncio.create_subprocess_exec(sys.executable, "-c", "input()", stdin=pipe)
    params = {"processId": client.pid, "rootUri": None, "capabilities": {}}
    await editor.request("initialize", params)
    editor.notify("initialized", {})
    await editor.request("workspace/executeCommand", {"command": "redraft.status"})
    client.kill()
    await client.wait()
    await asyncio.wait_for(editor.process.wait(), 15)


async def test_ctrl_c_ends_it_without_a_traceback() -> None:
    async with Editor(REAL) as editor:
        await editor.command("redraft.status")
        editor.process.send_signal(signal.SIGINT)
        await asyncio.wait_for(editor.process.wait(), 10)
    assert "Traceback" not in editor.stderr


async def test_the_answer_to_initialize_comes_before_anything_heavy_is_loaded() -> None:
    async with Editor(REAL) as editor:
        maps = psutil.Process(editor.process.pid).memory_maps()
        assert not [found.path for found in maps if "llama" in found.path]
        assert editor.answer["capabilities"]["textDocumentSync"]["change"] == 2


async def test_one_client_can_be_served_on_a_socket() -> None:
    command = [*REAL, "--tcp", "127.0.0.1:0"]
    pipe = asyncio.subprocess.PIPE
    server = await asyncio.create_subprocess_exec(*command, stderr=pipe, cwd=ROOT)
    port = int(re.search(rb":(\d+)$", (await server.stderr.readline()).strip())[1])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    body = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}'
    writer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    assert (await reader.readline()).startswith(b"Content-Length")
    writer.close()
    assert await asyncio.wait_for(server.wait(), 15) == 0


@pytest.mark.parametrize("address", ["0.0.0.0:9257", "example.org:1", "127.0.0.1", "::0:80"])
async def test_an_address_that_others_can_reach_is_refused(address: str) -> None:
    command = [*REAL, "--tcp", address]
    ran = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, cwd=ROOT)
    assert ran.returncode == 2
    assert "--tcp" in ran.stderr


async def test_nothing_else_can_write_into_the_protocol() -> None:
    code = (
        "import os, sys\n"
        "from redraft.cli import serve\n"
        "serve._take_stdio()\n"
        "os.write(1, b'from a library')\n"
        "print('from python', flush=True)\n"
    )
    command = [sys.executable, "-c", code]
    ran = await asyncio.to_thread(subprocess.run, command, capture_output=True, cwd=ROOT)
    assert ran.stdout == b""
    assert b"from a library" in ran.stderr


async def test_the_loop_answers_while_the_model_works() -> None:
    async with Editor() as editor:
        document = editor.open("file:///work/a.py", SHOP)
        slow = script(sub=["amount", "n"], prefill_s=0.2, token_s=0.002)
        _, answer = editor.begin_edit(document, slow, scope="file")
        n = 0
        while not answer.done():
            await editor.command("redraft.status")
            n += 1
        assert n > 20
