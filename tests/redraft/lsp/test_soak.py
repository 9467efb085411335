"""Long use: three hundred edits between changes, and a hundred cancels at random moments."""

import asyncio
import random

import psutil
import pytest
from tests.redraft.lsp.conftest import SHOP, script
from tests.redraft.lsp.editor import Editor, OpenDocument, ResponseError

pytestmark = pytest.mark.asyncio

PIECES = ["x", "\n", "\r\n", "\u2028", "\x0c", "λ", "\U0001f30a", "# price\n", "\r", ""]


def type_something(editor: Editor, document: OpenDocument, rng: random.Random) -> None:
    """A change above the class, so that the method below can still be edited."""
    limit = document.text.index("\nclass Cart")
    start = rng.randrange(limit)
    stop = min(limit, start + rng.randrange(4))
    if rng.random() < 0.2:
        text = document.text
        editor.change_whole(document, text[:start] + rng.choice(PIECES) + text[stop:])
    elif "\r\n" not in document.text[max(0, start - 1) : stop + 1]:
        editor.change(document, start, stop, rng.choice(PIECES))


@pytest.mark.parametrize("unit", ["utf-8", "utf-16"])
async def test_copies_stay_equal_over_150_edits_and_memory_is_bounded(unit: str) -> None:
    rng = random.Random(7)
    async with Editor(unit=unit) as editor:
        process = psutil.Process(editor.process.pid)
        sizes = []
        for n in range(150):
            uri = f"file:///work/{n % 7}.py"
            if uri not in editor.documents or rng.random() < 0.1:
                editor.open(uri, SHOP)
            document = editor.documents[uri]
            for _ in range(rng.randrange(4)):
                type_something(editor, document, rng)
            old, new = ("def add", "def put") if "def add" in document.text else ("put", "add")
            start = document.text.index(old)
            at = document.range(start, start, unit)
            answer = await editor.edit(document, script(sub=[old, new]), range=at)
            assert answer["outcome"] == "applied"
            assert await editor.server_text(document) == document.text
            sizes.append(process.memory_info().rss)
            if rng.random() < 0.1:
                editor.close(document)
        assert max(sizes[100:]) - min(sizes[30:60]) < 8 * 2**20


async def test_a_hundred_cancels_end_at_once_and_the_next_edit_is_right() -> None:
    rng = random.Random(1)
    async with Editor() as editor:
        document = editor.open("file:///work/shop.py", SHOP)
        process = psutil.Process(editor.process.pid)
        loop = asyncio.get_running_loop()
        sizes = []
        for n in range(100):
            slow = script(sub=["amount", "sum_"], prefill_s=0.1, token_s=0.002)
            id_, answer = editor.begin_edit(document, slow, scope="file", id=f"e{n}")
            await asyncio.sleep(rng.random() * 0.15)
            began = loop.time()
            match n % 4:
                case 0:
                    editor.notify("$/cancelRequest", {"id": id_})
                case 1:
                    editor.notify("redraft/cancel", {"id": f"e{n}"})
                case 2:
                    editor.notify("window/workDoneProgress/cancel", {"token": f"redraft/e{n}"})
                case _:
                    await editor.command("redraft.cancel", {"uri": document.uri})
            with pytest.raises(ResponseError) as caught:
                await answer
            assert caught.value.code == -32800
            assert loop.time() - began < 1
            sizes.append(process.memory_info().rss)
        assert not editor.applied
        status = await editor.command("redraft.status")
        assert (status["edits"], status["waiting"]) == ([], 0)
        process.cpu_percent()
        await asyncio.sleep(0.3)
        assert process.cpu_percent() < 20
        assert max(sizes[50:]) - min(sizes[10:50]) < 8 * 2**20
        answer = await editor.edit(document, script(sub=["amount", "sum_"]), scope="file")
        assert document.text == SHOP.replace("amount", "sum_")
