"""Named instructions: where they come from, and what is offered where."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from lsprotocol import types
from tests.redraft.lsp.conftest import SHOP, script
from tests.redraft.lsp.editor import CAPABILITIES, Editor, ResponseError

from redraft.config.actions import BUILT_IN, Action, Layer, merge_layers
from redraft.errors import InputError
from redraft.lsp.code_actions import ClientAbilities, list_code_actions
from redraft.lsp.documents import OpenDocument, to_range
from redraft.lsp.server_config import ServerConfig, parse_editor_settings
from redraft.records import Span

TABLE = "p.toml: actions"


def actions_of(*tables: object) -> tuple[dict[str, Any], tuple[str, ...]]:
    actions, problems = merge_layers(Layer(place=TABLE, table=table) for table in tables)
    return {action.name: action for action in actions}, problems


def test_the_actions_of_the_issue_are_there_out_of_the_box() -> None:
    names = [action.name for action in BUILT_IN]
    assert names == [
        "edit",
        "fix",
        "add-docstring",
        "add-types",
        "simplify",
        "add-error-handling",
        "extract-function",
    ]


def test_later_layers_change_single_keys_add_and_switch_off() -> None:
    actions, problems = actions_of(
        {"simplify": {"title": "Shorter"}, "mine": {"instruction": "Do it."}},
        {"mine": {"scope": "file", "languages": ["go"]}, "add-types": {"enabled": False}},
    )
    assert not problems
    assert actions["simplify"].title == "Shorter"
    assert actions["simplify"].instruction.startswith("Simplify")
    mine = actions["mine"]
    assert (mine.title, mine.instruction, mine.scope) == ("Mine", "Do it.", "file")
    assert mine.languages == ("go",)
    assert "add-types" not in actions


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"instruction": 3}, ".mine.instruction must be a text, not 3"),
        ({"instruction": "x", "scope": "all"}, ".mine.scope must be one of function"),
        ({"instruction": "x", "languages": ["klingon"]}, ".mine.languages must be a list"),
        ({"instruction": "x", "promt": "x"}, ".mine: unknown key 'promt'"),
        ({"title": "x"}, ".mine.instruction is missing"),
        ("x", ".mine must be a table"),
    ],
)
def test_an_invalid_action_is_named_and_the_rest_work(entry: object, said: str) -> None:
    actions, problems = actions_of({"mine": entry, "good": {"instruction": "x"}})
    (problem,) = problems
    assert problem.startswith(TABLE + said)
    assert "mine" not in actions
    assert "good" in actions


def test_an_invalid_change_of_an_action_leaves_it_as_it_was() -> None:
    actions, _ = actions_of({"simplify": {"scope": "all"}})
    assert actions["simplify"] in BUILT_IN


def test_files_then_the_editor_and_the_later_wins(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.redraft.actions.a]\ninstruction = "pyproject"\n'
        '[tool.redraft.actions.b]\ninstruction = "pyproject"\n'
        '[tool.redraft.actions.c]\ninstruction = "pyproject"\n'
    )
    (tmp_path / "redraft.toml").write_text(
        'seed = 3\n[actions.b]\ninstruction = "redraft"\n[actions.c]\ninstruction = "redraft"\n'
        "[actions.bad]\nscope = 3\n"
    )
    config = ServerConfig({}, {})
    config.editor, _ = parse_editor_settings({"actions": {"c": {"instruction": "editor"}}})
    actions, problems = config.load_actions(tmp_path / "x.py")
    found = {action.name: action.instruction for action in actions}
    assert (found["a"], found["b"], found["c"]) == ("pyproject", "redraft", "editor")
    (problem,) = problems
    assert problem.startswith(f"{tmp_path / 'redraft.toml'}: actions.bad.scope must be")
    assert config.load_settings(tmp_path / "x.py").seed == 3


def test_a_project_that_is_not_trusted_has_no_say(tmp_path: Path) -> None:
    (tmp_path / "redraft.toml").write_text('model = "x.gguf"\n[actions.a]\ninstruction = "x"\n')
    config = ServerConfig({}, {})
    config.is_trusted = False
    actions, _ = config.load_actions(tmp_path / "x.py")
    assert all(action in BUILT_IN for action in actions)
    assert config.load_settings(tmp_path / "x.py").model is None


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"warm": 3}, "redraft.warm must be true or false, not 3"),
        ({"idleUnload": "x"}, "redraft.idleUnload must be"),
        ([], "redraft must be an object"),
    ],
)
def test_wrong_settings_of_the_editor_are_named(given: object, said: str) -> None:
    _, (problem,) = parse_editor_settings(given)
    assert problem.startswith(said)


def test_settings_in_camel_case_are_the_command_lines() -> None:
    editor, problems = parse_editor_settings(
        {"maxTokens": 5, "nCtx": 9, "idleUnload": 0, "trace": {"server": "off"}, "model": None}
    )
    assert not problems
    assert editor.decoding == {"max_tokens": 5, "n_ctx": 9}
    assert editor.idle_unload is None


def test_flags_stand_above_the_editor_and_the_editor_above_variables(tmp_path: Path) -> None:
    config = ServerConfig({"seed": "1"}, {"REDRAFT_SEED": "3", "REDRAFT_THREADS": "3"})
    config.editor, _ = parse_editor_settings({"seed": 2, "threads": 2})
    settings = config.load_settings(tmp_path / "x.py")
    assert (settings.seed, settings.threads) == (1, 2)


def test_a_wrong_setting_of_the_editor_is_named_as_the_editor_does(tmp_path: Path) -> None:
    config = ServerConfig({}, {})
    config.editor, _ = parse_editor_settings({"maxTokens": -1})
    with pytest.raises(InputError, match=r"redraft\.maxTokens must be"):
        config.load_settings(tmp_path / "x.py")


URI = "file:///work/shop.py"


async def offered(editor: Editor, start: int, stop: int, **context: Any) -> list[dict[str, Any]]:
    document = editor.documents[URI]
    return await editor.request(
        "textDocument/codeAction",
        {
            "textDocument": {"uri": URI},
            "range": document.range(start, stop, editor.unit),
            "context": {"diagnostics": [], **context},
        },
    )


@pytest.mark.asyncio
async def test_without_selection_the_functions_actions_are_offered_and_run() -> None:
    async with Editor() as editor:
        document = editor.open(URI, SHOP)
        at = SHOP.index("amount")
        actions = await offered(editor, at, at)
        kinds = [action["kind"].removeprefix("refactor.rewrite.redraft.") for action in actions]
        assert kinds == ["add-docstring", "add-types", "simplify", "add-error-handling"]
        assert all("edit" not in action for action in actions)
        settings = {"actions": {"mine": {"instruction": script(sub=["amount", "n"])}}}
        editor.settings = settings
        editor.notify("workspace/didChangeConfiguration", {"settings": None})
        while "mine" not in str(actions := await offered(editor, at, at)):
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
        pytest.param("items:\n        amount", (), (*NEED_LINES, *FREE), id="parts of two lines"),
        pytest.param("", NEED_LINES, FREE, id="nothing, which every scope takes for the cursor"),
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
    found = {
        action.kind.removeprefix("refactor.rewrite.redraft."): action.command.arguments[0]["scope"]
        for action in list_code_actions(params, document, (*BUILT_IN, *OWN), client, "utf-16")
    }
    assert {name for name in (*NEED_LINES, *FREE) if found[name] == "function"} == {*are_cursor}
    assert {name for name in (*NEED_LINES, *FREE) if found[name] is None} == {*are_selection}
    assert (found["edit"], found["exact"]) == (None, "selection")


@pytest.mark.asyncio
async def test_the_function_around_a_block_cursor_is_edited() -> None:
    action = {"instruction": script(sub=["def total", "def sum_up"])}
    async with Editor(settings={"actions": {"own": action}}) as editor:
        document = editor.open(URI, SHOP)
        at = SHOP.index("+=")
        command = (await offered(editor, at, at + 1))[-1]["command"]
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
        asked = next(m for m in editor.received if m["method"] == "workspace/configuration")
        settings = {"actions": {"mine": {"instruction": "Do it."}}}
        editor.send({"jsonrpc": "2.0", "id": asked["id"], "result": [settings]})

    async def test_actions_wait_for_them(self, editor: Editor) -> None:
        actions = asyncio.create_task(offered(editor, 0, 0))
        await editor.command("redraft.status")
        assert not actions.done()
        await self.answer(editor)
        assert "mine" in str(await actions)

    async def test_but_not_for_ever(self, editor: Editor) -> None:
        for _ in range(2):
            assert len(await offered(editor, 0, 0)) == 4
        await self.answer(editor)
        while "mine" not in str(await offered(editor, 0, 0)):
            pass

    async def test_a_change_meanwhile_makes_the_place_stale(self, editor: Editor) -> None:
        actions = asyncio.create_task(offered(editor, 0, 0))
        await asyncio.sleep(0)
        editor.change(editor.documents[URI], 0, 0, "# typed\n")
        await self.answer(editor)
        with pytest.raises(ResponseError, match="changed meanwhile") as error:
            await actions
        assert error.value.code == -32801


@pytest.mark.asyncio
async def test_with_a_selection_a_function_can_be_extracted() -> None:
    async with Editor() as editor:
        editor.open(URI, SHOP)
        at = SHOP.index("item.price")
        actions = await offered(editor, at, at + 10)
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
        (action,) = await offered(editor, at, at, diagnostics=[diagnostic], only=["quickfix"])
        assert action["kind"] == "quickfix"
        assert action["diagnostics"] == [diagnostic]
        (argument,) = action["command"]["arguments"]
        assert argument["instruction"] == (
            "Fix this problem: item may be None (checker), at line 7"
        )
        assert (argument["scope"], argument["wait"]) == ("function", False)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("only", "n"),
    [
        (["refactor"], 4),
        (["refactor.rewrite"], 4),
        (["refactor.rewrite.redraft.simplify"], 1),
        (["refactor.rew"], 0),
        (["source.organizeImports"], 0),
        (["quickfix"], 0),
        ([], 0),
    ],
    ids=str,
)
async def test_only_the_kinds_asked_for_are_offered(only: list[str], n: int) -> None:
    async with Editor() as editor:
        editor.open(URI, SHOP)
        assert len(await offered(editor, 0, 0, only=only)) == n


@pytest.mark.asyncio
async def test_an_instruction_is_asked_for_only_where_the_client_can_ask() -> None:
    abilities = CAPABILITIES["textDocument"]["codeAction"] | {"tagSupport": {"valueSet": [1]}}
    capabilities = CAPABILITIES | {"textDocument": {"codeAction": abilities}}
    options = {"clientCommands": ["redraft.prompt"]}
    async with Editor(options=options, capabilities=capabilities) as editor:
        editor.open(URI, SHOP)
        actions = await offered(editor, 0, 0)
        assert actions[0]["command"]["command"] == "redraft.prompt"
        assert all(action["tags"] == [1] for action in actions)


@pytest.mark.asyncio
async def test_an_old_client_gets_commands() -> None:
    async with Editor(capabilities={}) as editor:
        editor.open(URI, SHOP)
        actions = await offered(editor, 0, 0)
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
        (shown,) = editor.said("window/showMessage")
        assert "actions.x.scope must be" in shown["message"]
