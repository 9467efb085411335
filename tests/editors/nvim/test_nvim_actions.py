"""The code action menu of Neovim itself, and `:Redraft actions` and `fix`."""

import pytest
from tests.editors.nvim.conftest import Vim
from tests.redraft.lsp.conftest import SHOP, script

RENAME = script(sub=["amount", "result"])
NEW = SHOP.replace("amount", "result")

CONFIGURE = """
local client = vim.lsp.get_clients({ name = "redraft" })[1]
client.settings = { redraft = { actions = {
  rename = { instruction = ... }, fix = { instruction = select(2, ...) },
} } }
client:notify("workspace/didChangeConfiguration", { settings = client.settings })
"""


@pytest.fixture
def shop(vim: Vim) -> Vim:
    vim.open(SHOP)
    vim.lua(CONFIGURE, RENAME, script(sub=["amount = 0", "amount = 1"]) + "\n{diagnostic}")
    vim.go_to("item.price")
    return vim


@pytest.mark.parametrize("how", ["gra", ":Redraft actions<CR>"])
def test_an_action_of_ones_own_is_in_the_menu_and_previewed(shop: Vim, how: str) -> None:
    shop.lua("_G.choice = 'Rename'")
    shop.type_keys(how)
    shop.wait_for_preview()
    offered = shop.lua("return offered")
    assert any("Add a docstring" in each for each in offered)
    assert any("Edit with instruction" in each for each in offered)
    shop.type_keys("a")
    shop.wait_for_message("changes")
    assert shop.get_text() + "\n" == NEW


def test_edit_with_instruction_asks_and_previews(shop: Vim) -> None:
    shop.lua("_G.choice = 'Edit with instruction'")
    shop.type_keys("gra")
    shop.wait_for("vim.fn.getcmdtype() == '@'")
    assert shop.lua("return vim.fn.getcmdprompt()") == "What shall be changed? (function total) "
    shop.type_keys(f"{RENAME}<CR>")
    shop.wait_for_preview()
    shop.type_keys("a")
    shop.wait_for_message("changes")
    assert shop.get_text() + "\n" == NEW


def test_edit_with_instruction_edits_exactly_what_is_selected(shop: Vim) -> None:
    shop.lua("_G.choice = 'Edit with instruction'")
    shop.type_keys("/item.price<CR>vegra")
    shop.wait_for("vim.fn.getcmdtype() == '@'")
    shop.type_keys(f"{script(reply='thing')}<CR>")
    shop.wait_for_preview()
    shop.type_keys("a")
    shop.wait_for_message("1 change")
    assert shop.get_text() + "\n" == SHOP.replace("item.price", "thing.price")


DIAGNOSE = """
local ns = vim.api.nvim_create_namespace("linter")
vim.diagnostic.set(ns, 0, vim.tbl_map(function(message)
  return { lnum = 6, col = 8, end_col = 14, message = message, source = "linter", severity = 2 }
end, ...))
"""


@pytest.mark.parametrize("how", ["gra", ":Redraft fix<CR>"])
def test_a_problem_that_another_tool_found_is_fixed(shop: Vim, how: str) -> None:
    shop.lua(DIAGNOSE, ["it begins at the wrong number"])
    shop.lua("_G.choice = 'Fix this problem: it begins'")
    shop.type_keys(how)
    shop.wait_for_preview()
    shop.type_keys("a")
    shop.wait_for_message("1 change")
    assert shop.get_text() + "\n" == SHOP.replace("amount = 0", "amount = 1")


def test_fix_asks_which_of_several_problems(shop: Vim) -> None:
    shop.lua(DIAGNOSE, ["one thing", "another thing"])
    shop.lua("_G.choice = 'another'")
    shop.nvim.command("Redraft fix")
    shop.wait_for_preview()
    assert shop.lua("return offered") == [
        "Fix this problem: one thing",
        "Fix this problem: another thing",
    ]


def test_fix_without_a_problem_says_so(shop: Vim) -> None:
    shop.nvim.command("Redraft fix")
    shop.wait_for_message("no problem is reported here")


def test_an_action_chosen_after_a_change_is_refused(shop: Vim) -> None:
    shop.lua(
        """
        vim.ui.select = function(items, _, done)
          vim.api.nvim_buf_set_lines(0, 0, 0, false, { "# above" })
          done(items[#items])
        end
        """
    )
    shop.nvim.command("Redraft actions")
    shop.wait_for_message("changed meanwhile")
    assert shop.get_text() + "\n" == "# above\n" + SHOP
