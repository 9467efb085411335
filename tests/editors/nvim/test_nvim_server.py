"""The server's life seen from Neovim: started when needed, missed, killed, started again."""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from tests.editors.nvim.conftest import Vim
from tests.redraft.lsp.conftest import SHOP, script

RENAME = script(sub=["amount", "result"])
ENDLESS = script(sub=["amount", "result"], prefill_s=0.1, token_s=0.5)
NEW = SHOP.replace("amount", "result")

Start = Callable[..., Vim]

PID = """vim.iter(vim.api.nvim_get_proc_children(vim.fn.getpid())):find(function(pid)
  return (vim.api.nvim_get_proc(pid) or {}).name:find("python")
end)"""


def test_the_command_starts_the_server_that_nobody_enabled(start: Start) -> None:
    vim = start(config="vim.g.redraft = { preview = 'none' }")
    path = vim.open(SHOP, is_attached=False)
    assert vim.lua("return package.loaded['redraft.client']") is None
    assert vim.lua("return require('redraft').status()") == ""
    vim.go_to("item.price")
    vim.nvim.command(f"Redraft edit {RENAME}")
    vim.wait_for_message("changes")
    assert vim.get_bytes(path) == NEW.encode()
    vim.lua("_G.messages = {}")
    other = vim.open(SHOP, "other.py", is_attached=False)
    vim.go_to("item.price")
    vim.nvim.command(f"Redraft edit {RENAME}")
    vim.wait_for_message("changes")
    assert vim.get_bytes(other) == NEW.encode()
    assert vim.lua("return #vim.lsp.get_clients()") == 1


def test_loading_the_plugin_defines_names_and_loads_nothing(start: Start) -> None:
    vim = start(config="return")
    assert vim.lua("return vim.fn.exists(':Redraft')") == 2
    assert vim.lua("return vim.fn.maparg('<Plug>(redraft-edit)', 'x') ~= ''")
    loaded = "return vim.iter(pairs(package.loaded)):any(function(n) return n:find('^redraft') end)"
    assert not vim.lua(loaded)


def test_a_missing_program_is_named_with_its_cure(start: Start) -> None:
    vim = start(command=("/nowhere/redraft", "serve"), config="return")
    vim.open(SHOP, is_attached=False)
    vim.nvim.command(f"Redraft edit {RENAME}")
    assert "docs/install.md" in vim.wait_for_message('cannot run "/nowhere/redraft"')
    vim.nvim.command("Redraft")  # asks for no instruction that nobody could carry out
    assert len(vim.get_messages()) == 2
    assert vim.lua("return vim.api.nvim_get_mode().mode") == "n"


def test_a_program_that_ends_at_once_is_given_up(start: Start) -> None:
    vim = start(command=(sys.executable, "-c", "raise SystemExit(3)"), config="return")
    vim.open(SHOP, is_attached=False)
    vim.nvim.command(f"Redraft edit {RENAME}")
    assert "(exit code 3)" in vim.wait_for_message("died 4 times within 3 minutes")
    marks = """return vim.iter(vim.api.nvim_buf_get_extmarks(0, -1, 0, -1, { details = true }))
      :any(function(mark) return mark[4].virt_text ~= nil end)"""
    assert not vim.lua(marks)


def test_one_server_serves_all_projects(start: Start) -> None:
    vim = start()
    for project in ("one", "two"):
        (vim.home / project / ".git").mkdir(parents=True)
        vim.open(SHOP, f"{project}/shop.py")
    assert vim.lua("return #vim.lsp.get_clients({ name = 'redraft' })") == 1
    folders = vim.lua("return vim.lsp.get_clients()[1].workspace_folders")
    assert {Path(each["name"]).name for each in folders} == {"one", "two"}


def test_a_server_that_dies_is_started_again_but_not_for_ever(start: Start) -> None:
    vim = start()
    vim.open(SHOP)
    vim.go_to("item.price")
    for n in range(4):
        vim.nvim.command(f"Redraft edit {ENDLESS}")
        vim.wait_for("require('redraft.status').get().state == 'working'")
        vim.lua("_G.messages = {}")
        old = vim.lua("return vim.lsp.get_clients({ name = 'redraft' })[1].id")
        os.kill(vim.wait_for(PID), signal.SIGKILL)
        vim.wait_for_message("the server ended before the edit was done")
        if n < 3:
            vim.wait_for_message("the server died (signal 9); starting it again")
            vim.wait_for("(require('redraft.client').get(0) or { id = ... }).id ~= ...", old)
    assert ":Redraft log" in vim.wait_for_message("died 4 times within 3 minutes")
    assert vim.lua("return require('redraft').status()") == ""
    vim.nvim.command("Redraft restart")  # asked for, it is
    vim.wait_for("require('redraft.client').get(0) ~= nil")
    vim.edit(RENAME)
    assert vim.get_text() + "\n" == NEW


def test_restart_and_stop_are_no_deaths(start: Start) -> None:
    vim = start()
    vim.open(SHOP)
    old = vim.lua("return require('redraft.client').get(0).id")
    vim.nvim.command("Redraft restart")
    vim.wait_for("(require('redraft.client').get(0) or { id = ... }).id ~= ...", old)
    vim.nvim.command("Redraft stop")
    vim.wait_for("#vim.lsp.get_clients() == 0")
    vim.wait_for("require('redraft').status() == ''")
    assert not [each for each in vim.get_messages() if "died" in each]


def test_a_missing_model_is_offered_fetched_and_used(start: Start, tmp_path: Path) -> None:
    model = tmp_path / "model"
    models = tmp_path / "models"
    vim = start(env={"SCRIPTED_NEEDS": str(model), "REDRAFT_MODELS_DIR": str(models)})
    vim.lua(
        """
        _G.choice, _G.seen = "Download", {}
        vim.api.nvim_create_autocmd("User", { pattern = "RedraftStatus", callback = function()
          table.insert(seen, require("redraft").status())
        end })
        """
    )
    vim.open(SHOP)
    vim.go_to("item.price")
    vim.open_preview(RENAME)
    assert vim.lua("return offered") == ["Download", "Not now"]
    assert "redraft: downloading, 60 %" in vim.lua("return seen")
    assert model.exists()


def test_a_model_that_is_not_wanted_leaves_a_message(start: Start, tmp_path: Path) -> None:
    env = {"SCRIPTED_NEEDS": str(tmp_path / "no"), "REDRAFT_MODELS_DIR": str(tmp_path / "models")}
    vim = start(env=env)
    vim.lua("_G.choice = 'Not now'")
    vim.open(SHOP)
    vim.go_to("item.price")
    vim.nvim.command(f"Redraft edit {RENAME}")
    vim.wait_for_message("the model is not on this machine")
