"""Cases from other tools' bug reports, through the real server, in all three position encodings."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import pytest_asyncio
from tests.redraft.lsp.conftest import script
from tests.redraft.lsp.editor import REAL, Editor, OpenDocument, ResponseError

URI = "file:///work/waves.py"

WAVES = '''\
# \U0001f30a 波 waves
LABEL = 'Wavelength (μm)'; RATE = price * qty  # \U0001f4b0 total
\f
def speed(λ, ν):
    """Speed: λ·ν.\u2028Second line."""
    v = λ * ν
    return v


class 測定:
    def read(self):
        value = self.port.read()
        if value:
            value = value + 1
        return value
'''

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["utf-8", "utf-16", "utf-32"])
async def shared(request: pytest.FixtureRequest) -> AsyncIterator[Editor]:
    async with Editor(unit=request.param) as editor:
        yield editor


@pytest.fixture
def editor(shared: Editor) -> Editor:
    """One server a position encoding; what it did for other tests is forgotten."""
    for past in (shared.applied, shared.spans, shared.received):
        past.clear()
    for document in list(shared.documents.values()):
        shared.close(document)
    return shared


def range_of(editor: Editor, document: OpenDocument, part: str) -> dict:
    start = document.text.index(part)
    return document.range(start, start + len(part), editor.unit)


async def edit_function(
    editor: Editor, document: OpenDocument, part: str, instruction: str, **more
) -> dict:
    """An edit of the function that holds `part`."""
    at = range_of(editor, document, part)
    return await editor.edit(document, instruction, range=at, scope="function", **more)


async def refusal_of(editor: Editor, document: OpenDocument, part: str, instruction: str) -> str:
    """The message of an edit that must be refused and leave everything as it is."""
    before = document.text
    with pytest.raises(ResponseError) as caught:
        await edit_function(editor, document, part, instruction)
    assert caught.value.code == -32803
    assert document.text == before
    assert await editor.server_text(document) == before
    assert not editor.applied
    return caught.value.message


async def test_c01_a_selection_in_a_line_is_all_that_changes(editor: Editor) -> None:
    document = editor.open(URI, WAVES)
    await editor.edit(
        document, script(sub=["price", "cost"]), range=range_of(editor, document, "price * qty")
    )
    assert document.text == WAVES.replace("price * qty", "cost * qty")
    assert await editor.server_text(document) == document.text


async def test_c02_edits_stay_in_the_method_and_mass_deletion_is_refused(editor: Editor) -> None:
    text = "".join(
        f"class K{n}:\n    def m(self):\n        # π {n}\n        a = {n}\n        return a\n\n\n"
        for n in range(45)
    )
    document = editor.open(URI, text)
    await edit_function(editor, document, "# π 17", script(sub=["a = 17", "a = 18"]))
    assert document.text == text.replace("a = 17", "a = 18")
    editor.applied.clear()
    big = editor.open("file:///work/big.py", text)
    with pytest.raises(ResponseError) as caught:
        await editor.edit(big, script(reply="x\n```\n"), scope="file")
    assert caught.value.data["reason"] == "deletion"
    assert not editor.applied


async def test_c03_tags_fences_and_talk_never_reach_the_document(editor: Editor) -> None:
    reply = (
        "<|im_start|>assistant\nHere is the updated function:\n\n```python\n"
        'def speed(λ, ν):\n    """Speed: λ·ν.\u2028Second line."""\n    w = λ * ν\n    return w\n'
        "```\n\nThis renames the variable.<|im_end|>\n"
    )
    document = editor.open(URI, WAVES)
    try:
        await edit_function(editor, document, "v = λ", script(reply=reply))
    except ResponseError:
        assert document.text == WAVES
    else:
        new = WAVES.replace("    v = λ * ν\n    return v", "    w = λ * ν\n    return w")
        assert document.text == new


async def test_c04_a_method_that_comes_back_dedented_is_indented_again(editor: Editor) -> None:
    reply = (
        "def read(self):\n    value = self.port.read()\n    if value:\n        value = value + 2\n"
        "    return value\n```\n"
    )
    document = editor.open(URI, WAVES)
    await edit_function(editor, document, "value + 1", script(reply=reply))
    assert document.text == WAVES.replace("value + 1", "value + 2")
    assert len(editor.spans[0]) == 1


async def test_c05_a_fence_inside_does_not_end_the_edit(editor: Editor) -> None:
    text = (
        "# 波\n\n```sh\nmake \U0001f4b0\n```\n\nSome text.\n\n```sh\nmake test\n```\n\nThe end.\n"
    )
    document = editor.open("file:///work/README.md", text, "markdown")
    await editor.edit(document, script(sub=["Some text", "More text"]), scope="file")
    assert document.text == text.replace("Some", "More")


async def test_c06_a_reply_cut_at_the_limit_is_no_edit(editor: Editor) -> None:
    async with Editor(unit=editor.unit, options={"settings": {"maxTokens": 8}}) as limited:
        document = limited.open(URI, WAVES)
        message = await refusal_of(limited, document, "v = λ", script(sub=["v", "w"]))
        assert "8 tokens; raise redraft.maxTokens or" in message


async def test_c07_an_elided_reply_is_refused_or_restored(editor: Editor) -> None:
    reply = "def read(self):\n    value = 1\n    # ... rest of the code unchanged ...\n```\n"
    document = editor.open(URI, WAVES)
    try:
        await edit_function(editor, document, "value + 1", script(reply=reply))
    except ResponseError:
        assert document.text == WAVES
    assert "rest of the code" not in document.text


async def test_c08_white_space_at_line_ends_alone_is_no_change(editor: Editor) -> None:
    reply = 'def speed(λ, ν):\n    """Speed: λ·ν.\u2028Second line."""\n    v = λ * ν  \n    return v\t\n```\n'
    document = editor.open(URI, WAVES)
    answer = await edit_function(editor, document, "v = λ", script(reply=reply))
    assert answer["outcome"] == "unchanged"
    assert not editor.applied


@pytest.mark.parametrize(
    "ending",
    [lambda n: "\r\n", lambda n: "\r", lambda n: ("\n", "\r\n", "\r")[n % 3]],
    ids=["CRLF", "CR", "mixed"],
)
async def test_c09_every_kept_line_keeps_its_ending(
    editor: Editor, ending: Callable[[int], str]
) -> None:
    lines = WAVES.split("\n")
    text = "".join(line + ending(n) for n, line in enumerate(lines))
    document = editor.open(URI, text)
    await edit_function(editor, document, "value + 1", script(sub=["value + 1", "value + 2"]))
    assert document.text == text.replace("value + 1", "value + 2")
    assert await editor.server_text(document) == document.text


@pytest.mark.parametrize(
    ("part", "new"),
    [
        ("'Wavelength (μm)'", "'λ (μm)'"),
        ("price * qty", "price * 数"),
        ("\U0001f4b0 total", "\U0001f4b0\U0001f30a"),
    ],
)
async def test_c10_columns_after_multibyte_text(editor: Editor, part: str, new: str) -> None:
    document = editor.open(URI, WAVES)
    preview = await editor.edit(
        document,
        script(reply=f"{new}\n```\n"),
        range=range_of(editor, document, part),
        preview=True,
    )
    document.apply(preview["edits"], editor.unit)
    assert document.text == WAVES.replace(part, new)


async def test_c11_the_copy_stays_equal_below_odd_line_breaks(editor: Editor) -> None:
    text = "a\x0cb\x0bc\x85d\u2028e\u2029f\x1c\x1d\x1eg\r\nh\ri\n\n" + WAVES
    document = editor.open(URI, text)
    for part, new in [("speed", "pace"), ("h\ri", "\u2028\r\n"), ("波", "\U0001f30a\x0c")]:
        start = document.text.index(part)
        editor.change(document, start, start + len(part), new)
        assert await editor.server_text(document) == document.text
    await edit_function(editor, document, "value + 1", script(sub=["value + 1", "value + 2"]))
    assert "value + 2" in document.text
    assert await editor.server_text(document) == document.text


SLOW = script(sub=["value + 1", "value + 2"], prefill_s=0.4)


@pytest.mark.parametrize("is_whole", [False, True], ids=["incremental", "full"])
async def test_c12_lines_added_above_and_below_shift_the_edit(
    editor: Editor, is_whole: bool
) -> None:
    document = editor.open(URI, WAVES)
    _, answer = editor.begin_edit(
        document, SLOW, range=range_of(editor, document, "value + 1"), scope="function"
    )
    await editor.until("$/progress")
    if is_whole:
        editor.change_whole(document, "# \U0001f30a new\n" + document.text)
    else:
        editor.change(document, 0, 0, "# \U0001f30a new\n")
        end = len(document.text)
        editor.change(document, end, end, "\n\nX = 1\n")
    expected = document.text.replace("value + 1", "value + 2")
    assert (await answer)["outcome"] == "applied"
    assert document.text == expected
    assert await editor.server_text(document) == expected


async def test_c12_a_change_inside_the_target_refuses_the_edit(editor: Editor) -> None:
    document = editor.open(URI, WAVES)
    _, answer = editor.begin_edit(
        document, SLOW, range=range_of(editor, document, "value + 1"), scope="function"
    )
    await editor.until("$/progress")
    start = document.text.index("value + 1")
    editor.change(document, start, start, "my_")
    with pytest.raises(ResponseError) as caught:
        await answer
    assert caught.value.code == -32801
    assert not editor.applied
    assert await editor.server_text(document) == document.text


async def test_c12_a_change_that_is_undone_is_none(editor: Editor) -> None:
    document = editor.open(URI, WAVES)
    _, answer = editor.begin_edit(
        document, SLOW, range=range_of(editor, document, "value + 1"), scope="function"
    )
    await editor.until("$/progress")
    start = document.text.index("value + 1")
    editor.change(document, start, start, "λ_")
    editor.change(document, start, start + 2, "")
    assert (await answer)["outcome"] == "applied"
    assert document.text == WAVES.replace("value + 1", "value + 2")


async def test_c13_only_the_changed_characters_are_touched(editor: Editor) -> None:
    document = editor.open(URI, WAVES)
    await edit_function(editor, document, "v = λ", script(sub=["v = λ * ν", "v = λ * ν * 2"]))
    ((start, stop, _),) = editor.spans[0]
    line = WAVES.index("    v = λ * ν\n")
    assert line <= start <= stop <= line + len("    v = λ * ν")


async def test_c14_a_failing_library_leaves_document_and_server_as_they_are(editor: Editor) -> None:
    document = editor.open(URI, WAVES)
    message = await refusal_of(editor, document, "v = λ", script(fail="llama.cpp refused a pass"))
    assert "llama.cpp" in message
    assert "RuntimeError" in await refusal_of(editor, document, "v = λ", script(bug=True))
    answer = await edit_function(editor, document, "v = λ", script(sub=["v = ", "w = "]))
    assert answer["outcome"] == "applied"


@pytest.mark.parametrize("content", [b"no model\n", b"GGUF\x03\0\0\0"], ids=["text", "truncated"])
async def test_c14_a_broken_model_file_is_named(
    editor: Editor, content: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(content)
    settings = {"model": str(path)}
    async with Editor(REAL, unit=editor.unit, options={"settings": settings}) as real:
        document = real.open(URI, WAVES)
        for _ in range(2):
            with pytest.raises(ResponseError, match=r"broken\.gguf"):
                await edit_function(real, document, "v = λ", "rename v")
        assert not real.applied
        assert (await real.command("redraft.status"))["model"]["state"] == "unloaded"
