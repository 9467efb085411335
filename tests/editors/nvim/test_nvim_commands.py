"""`:Redraft` itself, options, history, health, help and the trace."""

import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.editors.nvim.conftest import PLUGIN, Vim
from tests.redraft.lsp.conftest import SHOP, script

RENAME = script(sub=["amount", "result"])

HISTORY = "return require('redraft.history').get_path()"


def complete(vim: Vim, line: str) -> list[str]:
    return vim.lua("return vim.fn.getcompletion(..., 'cmdline')", line)


def test_subcommands_are_completed(vim: Vim) -> None:
    every = complete(vim, "Redraft ")
    for name in ("edit", "file", "fix", "cancel", "status", "trace", "log", "health", "restart"):
        assert name in every
    assert complete(vim, "Redraft re") == ["reject", "reload", "restart", "retry"]
    assert complete(vim, "'<,'>Redraft ed") == ["edit"]
    assert complete(vim, "Redraft fix ") == []


def test_instructions_are_completed_from_those_given_before(vim: Vim) -> None:
    Path(vim.lua(HISTORY)).unlink(missing_ok=True)
    for instruction in ("add a docstring", "add types", "rename it"):
        vim.lua("require('redraft.history').add(...)", instruction)
    assert complete(vim, "Redraft edit add") == ["add types", "add a docstring"]
    assert complete(vim, "Redraft edit add a d") == ["docstring"]


def test_the_history_is_bounded_private_and_without_doubles(vim: Vim) -> None:
    path = Path(vim.lua(HISTORY))
    path.unlink(missing_ok=True)
    vim.lua("vim.g.redraft = { history = 3 }")
    for instruction in ("a", 'quoted "b"\nand more', "c", "a", "d"):
        vim.lua("require('redraft.history').add(...)", instruction)
    assert vim.lua("return require('redraft.history').load()") == ["c", "a", "d"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.write_text('"c"\n{damaged\n17\n"d"\n')
    assert vim.lua("return require('redraft.history').load()") == ["c", "d"]
    vim.lua("vim.g.redraft = { history = 0 }")
    vim.lua("require('redraft.history').add('e')")
    assert vim.lua("return require('redraft.history').load()") == []


def test_an_instruction_is_chosen_from_the_history_and_changed(vim: Vim) -> None:
    vim.open(SHOP)
    vim.go_to("item.price")
    vim.lua("require('redraft.history').add(...)", RENAME)
    vim.lua("_G.choice = 'amount'")
    vim.type_keys(":Redraft history<CR>")
    vim.wait_for("vim.fn.getcmdline() == ...", RENAME)
    vim.type_keys("<CR>")
    vim.wait_for_preview()


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("Redraft edti", "no such subcommand: edti. There are accept, actions,"),
        ("Redraft fix it", ":Redraft fix takes no argument"),
        ("Redraft status", "qwen2.5-coder-1.5b"),
        ("Redraft reload", "the settings were read again"),
    ],
)
def test_what_commands_say(vim: Vim, command: str, message: str) -> None:
    vim.open(SHOP)
    vim.wait_for("require('redraft').status() ~= ''")
    vim.nvim.command(command)
    vim.wait_for_message(message)


def test_wrong_options_are_told_once_and_have_their_defaults(vim: Vim) -> None:
    vim.lua("vim.g.redraft = { preview = 'tap', hisotry = 3, keys = { accept = '<CR>' } }")
    options = vim.lua("return require('redraft.config').get()")
    vim.lua("require('redraft.config').get()")
    assert options["preview"] == "tab"
    assert options["keys"] == {"accept": "<CR>", "reject": "q", "retry": "r"}
    assert sorted(vim.get_messages()) == [
        "redraft: vim.g.redraft.hisotry: no such option; there are history, keys, preview, progress",
        'redraft: vim.g.redraft.preview must be "tab", "float" or "none", not "tap"',
    ]


def test_the_trace_shows_how_edits_ended_and_what_was_copied(vim: Vim) -> None:
    vim.open(SHOP)
    vim.go_to("item.price")
    vim.edit(RENAME)
    vim.nvim.command("Redraft trace")
    vim.wait_for("vim.bo.buftype == 'nofile'")
    assert "preview" in vim.get_text()
    assert "shop.py" in vim.get_text()
    vim.type_keys("q")
    vim.wait_for("vim.bo.buftype == ''")


def test_the_trace_of_passes_is_marked_where_it_was_copied(vim: Vim) -> None:
    passes = [
        {"drafted": 2, "seconds": 0.1, "text": [{"origin": None, "text": "def f"}]},
        {"drafted": 2, "seconds": 0.1, "text": [{"origin": "copy", "text": "(x):\n    ret"}]},
        {"drafted": 0, "seconds": 0.1, "text": [{"origin": None, "text": "urn λ\n"}]},
    ]
    vim.lua("require('redraft.trace')._open({ edits = {}, passes = ... })", passes)
    assert vim.get_text().endswith("def f(x):\n    return λ\n")
    marks = vim.lua(
        "return vim.tbl_map(function(m) return { m[2], m[3], m[4].end_row, m[4].end_col } end,"
        " vim.api.nvim_buf_get_extmarks(0, vim.api.nvim_get_namespaces()['redraft.trace'],"
        " 0, -1, { details = true }))"
    )
    row = vim.get_text().split("\n").index("def f(x):")
    assert marks == [[row, 5, row + 1, 7]]


def test_the_log_is_opened_at_its_end(vim: Vim) -> None:
    vim.nvim.command("Redraft log")
    assert vim.lua("return vim.api.nvim_buf_get_name(0)").endswith("lsp.log")


def test_health_of_a_whole_installation(start: Callable[..., Vim]) -> None:
    vim = start(command=(sys.executable, "-m", "redraft", "serve"), env={"REDRAFT_MODEL": "none"})
    vim.open(SHOP)
    vim.nvim.command("Redraft health")
    report = vim.get_text()
    assert "OK Neovim 0." in report
    assert "OK redraft " in report
    assert "WARNING the model is not here" in report
    assert "OK the server runs for 1 buffer, columns in utf-8" in report
    assert "OK server" in report


def test_health_names_a_missing_program_and_wrong_options(start: Callable[..., Vim]) -> None:
    vim = start(command=("/nowhere/redraft", "serve"), config="vim.g.redraft = { preview = 1 }")
    vim.nvim.command("checkhealth redraft")
    report = vim.get_text()
    assert "ERROR cannot run `/nowhere/redraft`" in report
    assert "docs/install.md" in report
    assert 'ERROR vim.g.redraft.preview must be "tab", "float" or "none", not 1' in report
    assert "no server runs" in report


def test_the_help_has_a_tag_for_every_command_and_option(vim: Vim, tmp_path: Path) -> None:
    text = (PLUGIN / "doc" / "redraft.txt").read_text(encoding="utf-8")
    (tmp_path / "redraft.txt").write_text(text, encoding="utf-8")
    vim.nvim.command(f"helptags {tmp_path}")
    tags = {line.split("\t")[0] for line in (tmp_path / "tags").read_text().splitlines()}
    for name in complete(vim, "Redraft "):
        assert f":Redraft-{name}" in tags
    for name in vim.lua("return vim.tbl_keys(require('redraft.config').defaults)"):
        assert f"redraft-option-{name}" in tags
    plugs = {
        each["lhs"]
        for mode in "nx"
        for each in vim.nvim.api.get_keymap(mode)
        if each["lhs"].startswith("<Plug>(redraft-")
    }
    assert plugs <= tags
    assert all(len(line) <= 80 for line in text.splitlines())


EDIT = {"id": "nvim-9", "uri": "file:///a", "done": 0, "expected": 9, "tokensPerSecond": 0}


@pytest.mark.parametrize(
    ("model", "edits", "text"),
    [
        ({"name": "qwen", "state": "unloaded"}, [], "redraft: qwen (not loaded)"),
        ({"name": "/models/own.gguf", "state": "loaded"}, [], "redraft: own"),
        ({"name": "qwen", "state": "loading"}, [EDIT], "redraft: loading qwen"),
        ({"name": "qwen", "state": "loaded"}, [EDIT], "redraft: waiting"),
        ({"name": "qwen", "state": "loaded"}, [EDIT | {"phase": "prefill"}], "redraft: reading"),
        (
            {"name": "qwen", "state": "loaded"},
            [EDIT | {"phase": "decode", "tokensPerSecond": 31.4}],
            "redraft: writing, 31 tokens/s",
        ),
    ],
)
def test_the_status_says_what_the_server_says(
    vim: Vim, model: dict[str, str], edits: list[dict[str, object]], text: str
) -> None:
    vim.open(SHOP)
    status = {"model": model, "edits": edits}
    code = "require('redraft.status').update(...) return require('redraft').status()"
    assert vim.lua(code, status) == text
    vim.lua(
        "require('redraft.status').update({ model = { name = 'x', state = 'loaded' }, edits = {} })"
    )
