"""The server with a real model, driven by pygls's own client and by the editor of the tests.

The model is too small to edit well: what is asked of it is that the server treats whatever it
answers rightly, and that nothing but speed depends on what was in its cache.
"""

import asyncio
import random
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import pytest_asyncio
import pytest_lsp
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from tests.redraft.lsp.conftest import SHOP
from tests.redraft.lsp.editor import REAL, Editor, OpenDocument, ResponseError

URI = "file:///work/shop.py"
TEXT = SHOP + "".join(
    f"\n\ndef price_{n}(item):\n    return item.price * {n} + item.tax\n" for n in range(40)
)
INSTRUCTION = "Rename amount to result."

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def editor(small_model_path: Path) -> AsyncIterator[Editor]:
    # Drafts follow what passes cost, and with `fast` near-ties follow the drafts.
    environ = {"REDRAFT_EXACTNESS": "invariant"}
    async with Editor((*REAL, "--model", str(small_model_path)), env=environ) as editor:
        yield editor


async def ending(editor: Editor, uri: str, text: str) -> tuple[Any, dict[str, Any]]:
    """How a preview of one edit ends, and what it cost."""
    document = editor.open(uri, text)
    at = document.position(text.index("amount +="), editor.unit)
    try:
        answer = await editor.edit(document, INSTRUCTION, position=at, preview=True)
    except ResponseError as error:
        ended: Any = (error.code, error.message)
    else:
        ended = (answer["outcome"], answer.get("edits"))
    trace = await editor.command("redraft.showTrace")
    return ended, trace["edits"][-1]


async def test_a_warm_edit_gives_the_very_answer_of_a_cold_one(editor: Editor) -> None:
    cold, _ = await ending(editor, URI, TEXT)
    again, _ = await ending(editor, URI, TEXT)
    assert again == cold
    await editor.command("redraft.reload")
    editor.open(URI, TEXT)
    await editor.command("redraft.warm", {"uri": URI})
    await editor.status(lambda status: URI in status["warm"])
    warm, edit = await ending(editor, URI, TEXT)
    assert warm == cold
    if edit["stats"]:
        assert edit["stats"]["reusedTokens"] > 0.8 * edit["stats"]["promptTokens"]


async def test_cancels_at_random_moments_leave_the_cache_true(editor: Editor) -> None:
    rng = random.Random(3)
    texts = [TEXT.replace("tax", f"tax_{n}") for n in range(3)]
    expected = [(await ending(editor, URI, text))[0] for text in texts]
    process = psutil.Process(editor.process.pid)
    before = process.memory_info().rss  # every text has its cells by now
    for n in range(20):
        document = editor.open(URI, texts[n % 3])
        at = document.position(document.text.index("amount +="), editor.unit)
        _, answer = editor.begin_edit(document, INSTRUCTION, position=at, preview=True)
        await asyncio.sleep(rng.random())
        await editor.command("redraft.cancel", {})
        await asyncio.wait([answer], timeout=5)
        assert answer.done()
    await editor.status(lambda status: not status["edits"])
    assert process.memory_info().rss - before < 64 * 2**20
    assert (await ending(editor, URI, texts[0]))[0] == expected[0]


async def test_two_documents_edited_at_once_get_what_each_gets_alone(editor: Editor) -> None:
    documents = [editor.open(f"file:///work/{name}.py", SHOP) for name in "ab"]

    def begin(document: OpenDocument) -> asyncio.Future[Any]:
        return editor.begin_edit(document, INSTRUCTION, scope="file", preview=True)[1]

    async def endings(*answers: asyncio.Future[Any]) -> list[str]:
        await asyncio.wait(answers, timeout=120)
        return [str(answer.exception() or answer.result()["edits"]) for answer in answers]

    at_once = await endings(*map(begin, documents))
    # The model is told the name of the file: one may get another answer than the other.
    alone = [text for document in documents for text in await endings(begin(document))]
    assert at_once == alone
    for document in documents:
        editor.close(document)


async def test_what_was_warmed_before_the_server_ended_is_warm_in_the_next(
    small_model_path: Path, tmp_path: Path
) -> None:
    large = TEXT * 3  # 2,900 tokens; fewer than 2,048 are not kept

    def server() -> Editor:
        command = (*REAL, "--model", str(small_model_path))
        environ = {"XDG_CACHE_HOME": str(tmp_path)}
        return Editor(command, settings={"saveStates": True}, env=environ)

    async with server() as editor:
        editor.open(URI, large)
        await editor.command("redraft.warm", {"uri": URI})
        await editor.status(lambda status: URI in status["warm"])
    assert list((tmp_path / "redraft" / "states").iterdir())
    async with server() as editor:
        _, edit = await ending(editor, URI, large)
        assert edit["stats"]["reusedTokens"] > 0.8 * edit["stats"]["promptTokens"] > 2048


async def test_pyglss_client_gets_an_edit_inside_the_target_or_a_reason(
    small_model_path: Path,
) -> None:
    client = pytest_lsp.make_test_lsp_client()
    applied: list[types.ApplyWorkspaceEditParams] = []

    @client.feature(types.WORKSPACE_APPLY_EDIT)
    def apply(params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
        applied.append(params)
        return types.ApplyWorkspaceEditResult(applied=True)

    await client.start_io(sys.executable, *REAL[1:], "--model", str(small_model_path))
    capabilities = pytest_lsp.client_capabilities("neovim")
    await client.initialize_session(
        types.InitializeParams(capabilities=capabilities, process_id=None)
    )
    client.text_document_did_open(
        types.DidOpenTextDocumentParams(types.TextDocumentItem(URI, "python", 1, SHOP))
    )
    argument = {
        "uri": URI,
        "instruction": "Add a docstring.",
        "position": {"line": 5, "character": 0},
    }
    command = types.ExecuteCommandParams(command="redraft.edit", arguments=[argument])
    (ended,) = await asyncio.gather(
        client.workspace_execute_command_async(command), return_exceptions=True
    )
    if isinstance(ended, JsonRpcException):
        assert ended.code == -32803
        assert not applied
    else:
        assert ended["outcome"] == ("applied" if applied else "unchanged")
    for params in applied:
        (change,) = params.edit.document_changes
        assert change.text_document.version == 1
        lines = [
            place.line for edit in change.edits for place in (edit.range.start, edit.range.end)
        ]
        assert all(3 <= line <= 7 for line in lines)
    await client.shutdown_session()
    await client.stop()
