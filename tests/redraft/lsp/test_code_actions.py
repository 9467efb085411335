"""The code actions offered at a place."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from lsprotocol import types
from tests.redraft.lsp.conftest import SHOP, script
from tests.redraft.lsp.editor import CAPABILITIES, Editor, ResponseError

from redraft.config.actions import BUILT_IN, Action
from redraft.lsp.code_actions import ClientAbilities, list_code_actions
from redraft.lsp.documents import OpenDocument, to_range
from redraft.records import Span

URI = "file:///work/shop.py"


# What is offered in Python where nothing is selected, by a client without `redraft.prompt`.
OFFERED = [
    action.name
    for action in BUILT_IN
    if action.name not in ("edit", "fix") and "{selection}" not in action.instruction
]


async def request_actions(
    editor: Editor, start: int, stop: int, **context: Any
) -> list[dict[str, Any]]:
    document = editor.documents[URI]
    return await editor.request(
        "textDocument/codeAction",
        {
            "textDocument": {"uri": URI},
            "range": document.range(start, stop, editor.unit),
            "context": {"diagnostics": [], **context},
        },
    )


def names_of(actions: list[dict[str, Any]]) -> list[str]:
    return [action["kind"].removeprefix("refactor.rewrite.redraft.") for action in actions]


@pytest.mark.asyncio
async def test_without_selection_the_functions_actions_are_offered_and_run() -> None:
    async with Editor() as editor:
        document = editor.open(URI, SHOP)
        at = SHOP.index("amount")
        actions = await request_actions(editor, at, at)
        assert names_of(actions) == OFFERED
        assert all("edit" not in action for action in actions)
        settings = {"actions": {"mine": {"instruction": script(sub=["amount", "n"])}}}
        editor.settings = settings
        editor.notify("workspace/didChangeConfiguration", {"settings": None})
        while "mine" not in str(actions := await request_actions(editor, at, at)):
            pass
        command = next(a["command"] for a in actions if a["kind"].endswith(".mine"))
        arguments = {key: command[key] for key in ("command", "arguments")}
        answer = await editor.request("workspace/executeCommand", arguments)
        assert answer["outcome"] == "started"
        await editor.until("workspace/applyEdit")
        assert document.text == SHOP.replace("amount", "n")


OWN = (
    Action(name="own", title="Own", instruction="Do it."),
    Action(name="exact", title="Exact", instruction="Do it.", scope="selection"),
)
NEED_LINES = ("add-docstring", "add-types", "add-error-handling")
FREE = ("simplify", "own")


@pytest.mark.parametrize(
    ("selected", "are_cursor", "are_selection"),
    [
        pytest.param("t", (*NEED_LINES, *FREE), (), id="a character, as under a block cursor"),
        pytest.param("\n", (*NEED_LINES, *FREE), (), id="a line's end under it"),
        pytest.param("amount", (*NEED_LINES, *FREE), (), id="a word"),
        pytest.param("item.price * item.count", NEED_LINES, FREE, id="an expression"),
        pytest.param("def total(items)", NEED_LINES, FREE, id="most of a line"),
        pytest.param("def total(items):\n", (), (*NEED_LINES, *FREE), id="a line"),
        pytest.param(
            "for item in items:", (), (*NEED_LINES, *FREE), id="a line but its indentation"
        ),
        pytest.param(
            "        amount += item.price * item.count", (), (*NEED_LINES, *FREE), id="all"
        ),
        pytest.param("items:\n        amount", (), (*NEED_LINES, *FREE), id="parts of two lines"),
        pytest.param("", (*NEED_LINES, *FREE), (), id="nothing"),
    ],
)
def test_a_range_that_says_too_little_is_the_cursor(
    selected: str, are_cursor: tuple[str, ...], are_selection: tuple[str, ...]
) -> None:
    document = OpenDocument(types.TextDocumentItem(URI, "python", 1, SHOP), "shop.py")
    start = SHOP.index(selected or "amount")
    params = types.CodeActionParams(
        types.TextDocumentIdentifier(URI),
        to_range(Span(start, start + len(selected)), document.index, "utf-16"),
        types.CodeActionContext([]),
    )
    client = ClientAbilities(literals=True, tags=False, can_prompt=True)
    scopes = {
        action.kind.removeprefix("refactor.rewrite.redraft."): action.command.arguments[0]["scope"]
        for action in list_code_actions(params, document, (*BUILT_IN, *OWN), client, "utf-16")
    }
    assert {name for name in (*NEED_LINES, *FREE) if scopes[name] == "function"} == {*are_cursor}
    assert {name for name in (*NEED_LINES, *FREE) if scopes[name] is None} == {*are_selection}
    assert (scopes["edit"], scopes["exact"]) == (None, "selection")


@pytest.mark.parametrize(
    ("selected", "is_cursor"),
    [
        pytest.param("    amount = 0\n", True, id="Kate's line, with its ending"),
        pytest.param("    amount = 0", True, id="vim-lsp's line"),
        pytest.param("\n", True, id="an empty line"),
        pytest.param("    amount = 0\n    for item in items:\n", False, id="two lines"),
        pytest.param("amount = 0", False, id="a line but its indentation"),
    ],
)
def test_a_line_is_the_cursor_to_a_client_that_was_not_written_for_redraft(
    selected: str, is_cursor: bool
) -> None:
    document = OpenDocument(types.TextDocumentItem(URI, "python", 1, SHOP), "shop.py")
    start = SHOP.index("\n\n") + 1 if selected == "\n" else SHOP.index(selected)
    params = types.CodeActionParams(
        types.TextDocumentIdentifier(URI),
        to_range(Span(start, start + len(selected)), document.index, "utf-16"),
        types.CodeActionContext([]),
    )
    client = ClientAbilities(literals=True, tags=False, can_prompt=False)
    scopes = {
        action.kind.removeprefix("refactor.rewrite.redraft."): action.command.arguments[0]["scope"]
        for action in list_code_actions(params, document, (*BUILT_IN, *OWN), client, "utf-16")
    }
    assert {scopes[name] for name in (*NEED_LINES, *FREE)} == {"function" if is_cursor else None}
    assert ("extract-function" in scopes) is not is_cursor


@pytest.mark.asyncio
async def test_the_function_around_a_block_cursor_is_edited() -> None:
    action = {"instruction": script(sub=["def total", "def sum_up"])}
    async with Editor(settings={"actions": {"own": action}}) as editor:
        document = editor.open(URI, SHOP)
        at = SHOP.index("+=")
        command = (await request_actions(editor, at, at + 1))[-1]["command"]
        await editor.command(command["command"], command["arguments"][0])
        await editor.until("workspace/applyEdit")
        assert document.text == SHOP.replace("def total", "def sum_up")


class TestSettingsThatAreOnTheirWay:
    """The client does not answer what it is asked for until a test does."""

    pytestmark = pytest.mark.asyncio

    @pytest_asyncio.fixture
    async def editor(self) -> AsyncIterator[Editor]:
        editor = Editor()
        editor.on_request["workspace/configuration"] = lambda _: NotImplemented
        async with editor:
            editor.open(URI, SHOP)
            yield editor

    async def answer(self, editor: Editor) -> None:
        await editor.until("workspace/configuration")
        request = next(m for m in editor.received if m["method"] == "workspace/configuration")
        settings = {"actions": {"mine": {"instruction": "Do it."}}}
        editor.send({"jsonrpc": "2.0", "id": request["id"], "result": [settings]})

    async def test_actions_wait_for_them(self, editor: Editor) -> None:
        actions = asyncio.create_task(request_actions(editor, 0, 0))
        await editor.command("redraft.status")
        assert not actions.done()
        await self.answer(editor)
        assert "mine" in str(await actions)

    async def test_but_not_for_ever(self, editor: Editor) -> None:
        for _ in range(2):
            assert names_of(await request_actions(editor, 0, 0)) == OFFERED
        await self.answer(editor)
        while "mine" not in str(await request_actions(editor, 0, 0)):
            pass

    async def test_a_change_meanwhile_makes_the_place_stale(self, editor: Editor) -> None:
        actions = asyncio.create_task(request_actions(editor, 0, 0))
        await asyncio.sleep(0)
        editor.change(editor.documents[URI], 0, 0, "# typed\n")
        await self.answer(editor)
        with pytest.raises(ResponseError, match="changed meanwhile") as error:
            await actions
        assert error.value.code == -32801


@pytest.mark.asyncio
@pytest.mark.parametrize("selected", ["item", "+", "\n"])
async def test_a_word_or_a_character_is_nothing_to_extract(selected: str) -> None:
    async with Editor() as editor:
        editor.open(URI, SHOP)
        at = SHOP.index(selected)
        assert names_of(await request_actions(editor, at, at + len(selected))) == OFFERED


@pytest.mark.asyncio
async def test_with_a_selection_a_function_can_be_extracted() -> None:
    async with Editor() as editor:
        editor.open(URI, SHOP)
        at = SHOP.index("item.price")
        actions = await request_actions(editor, at, at + 10)
        (extract,) = [a for a in actions if a["kind"].endswith("extract-function")]
        (argument,) = extract["command"]["arguments"]
        assert "\nitem.price" in argument["instruction"]
        assert argument["scope"] == "function"


@pytest.mark.asyncio
async def test_a_diagnostic_becomes_a_quick_fix_with_its_text_as_instruction() -> None:
    async with Editor() as editor:
        document = editor.open(URI, SHOP)
        at = SHOP.index("item.count")
        diagnostic = {
            "range": document.range(at, at + 4, editor.unit),
            "message": "item may be None",
            "source": "checker",
        }
        (action,) = await request_actions(
            editor, at, at, diagnostics=[diagnostic], only=["quickfix"]
        )
        assert action["kind"] == "quickfix"
        assert action["diagnostics"] == [diagnostic]
        (argument,) = action["command"]["arguments"]
        assert argument["instruction"] == (
            "Fix this problem: item may be None (checker), at line 7"
        )
        assert (argument["scope"], argument["wait"]) == ("function", False)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("only", "names"),
    [
        (["refactor"], OFFERED),
        (["refactor.rewrite"], OFFERED),
        (["refactor.rewrite.redraft.simplify"], ["simplify"]),
        (["refactor.rew"], []),
        (["source.organizeImports"], []),
        (["quickfix"], []),
        ([], []),
    ],
    ids=str,
)
async def test_only_the_kinds_asked_for_are_offered(only: list[str], names: list[str]) -> None:
    async with Editor() as editor:
        editor.open(URI, SHOP)
        assert names_of(await request_actions(editor, 0, 0, only=only)) == names


@pytest.mark.asyncio
async def test_an_instruction_is_asked_for_only_where_the_client_can_ask() -> None:
    abilities = CAPABILITIES["textDocument"]["codeAction"] | {"tagSupport": {"valueSet": [1]}}
    capabilities = CAPABILITIES | {"textDocument": {"codeAction": abilities}}
    options = {"clientCommands": ["redraft.prompt"]}
    async with Editor(options=options, capabilities=capabilities) as editor:
        editor.open(URI, SHOP)
        actions = await request_actions(editor, 0, 0)
        assert actions[0]["command"]["command"] == "redraft.prompt"
        assert all(action["tags"] == [1] for action in actions)


@pytest.mark.asyncio
async def test_an_old_client_gets_commands() -> None:
    async with Editor(capabilities={}) as editor:
        editor.open(URI, SHOP)
        actions = await request_actions(editor, 0, 0)
        assert {action["command"] for action in actions} == {"redraft.edit"}


@pytest.mark.asyncio
async def test_a_problem_of_the_configuration_is_shown_once(tmp_path: Path) -> None:
    (tmp_path / "redraft.toml").write_text("[actions.x]\nscope = 3\n")
    uri = (tmp_path / "a.py").as_uri()
    async with Editor(root=tmp_path) as editor:
        editor.open(uri, SHOP)
        params = {
            "textDocument": {"uri": uri},
            "range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}},
            "context": {"diagnostics": []},
        }
        for _ in range(2):
            assert await editor.request("textDocument/codeAction", params)
        (message,) = editor.params_of("window/showMessage")
        assert "actions.x.scope must be" in message["message"]
