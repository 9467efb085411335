"""The time in which an edit is computed: progress, typing, cancelling."""

import pytest
from tests.editors.nvim.conftest import Vim
from tests.redraft.lsp.conftest import SHOP, script

SLOW = script(sub=["amount", "result"], prefill_s=0.3)
ENDLESS = script(sub=["amount", "result"], prefill_s=0.1, token_s=0.5)
NEW = SHOP.replace("amount", "result")

MARKS = """vim.iter(vim.api.nvim_buf_get_extmarks(vim.fn.bufnr("shop.py"),
  vim.api.nvim_get_namespaces()["redraft.target"], 0, -1, { details = true }))
  :map(function(mark)
    return mark[4].virt_text and mark[2] .. mark[4].virt_text[1][1]
  end):totable()"""


@pytest.fixture
def shop(vim: Vim) -> Vim:
    vim.open(SHOP)
    vim.go_to("item.price")
    return vim


def begin_edit(vim: Vim, instruction: str) -> None:
    """Ask, and wait until the server works on it."""
    vim.nvim.command(f"Redraft edit {instruction}")
    vim.wait_for("require('redraft.status').get().state == 'working'")


def test_progress_is_shown_at_the_target_with_its_speed_and_goes_away(shop: Vim) -> None:
    begin_edit(shop, script(sub=["amount", "result"], token_s=0.02, prefill_s=0.2))
    assert shop.wait_for(f"({MARKS})[1]").startswith("6  redraft: ")
    shop.wait_for(f"(({MARKS})[1] or ''):find('reading, %d+ of %d+ tokens')")
    shop.wait_for(f"(({MARKS})[1] or ''):find('writing, %d+ of about %d+ tokens, %d+ tokens/s')")
    shop.type_keys("ggO# above<Esc>")
    shop.wait_for(f"(({MARKS})[1] or ''):find('^7 ')")  # it moves with the text
    shop.wait_for_preview()
    assert shop.lua(f"return {MARKS}") == []


def test_the_status_and_its_autocommand_follow_an_edit(shop: Vim) -> None:
    shop.lua(
        """
        _G.seen = {}
        vim.api.nvim_create_autocmd("User", { pattern = "RedraftStatus", callback = function(event)
          table.insert(seen, event.data.state .. "|" .. require("redraft").status())
        end })
        """
    )
    begin_edit(shop, script(sub=["amount", "result"], token_s=0.02, prefill_s=0.2))
    shop.wait_for_preview()
    shop.wait_for("require('redraft.status').get().state == 'idle'")
    seen = shop.lua("return seen")
    assert "working|redraft: reading" in seen
    assert any("tokens/s" in each for each in seen)
    assert seen[-1] == "idle|redraft: qwen2.5-coder-1.5b"


@pytest.mark.parametrize("how", [":Redraft cancel<CR>", "<C-c>"])
def test_an_edit_is_cancelled(shop: Vim, how: str) -> None:
    shop.nvim.command("nmap <C-c> <Plug>(redraft-cancel)")
    begin_edit(shop, ENDLESS)
    shop.type_keys(how)
    shop.wait_for_message("cancelled")
    shop.wait_for("require('redraft.status').get().state == 'idle'")
    assert shop.lua(f"return {MARKS}") == []
    assert shop.get_text() + "\n" == SHOP
    shop.type_keys(how)
    shop.wait_for_message("no edit is under way")
    shop.nvim.command("nunmap <C-c>")


def test_a_newer_edit_of_the_buffer_replaces_the_older(shop: Vim) -> None:
    begin_edit(shop, ENDLESS)
    shop.open_preview(script(sub=["amount", "result"]))
    shop.wait_for_message("cancelled")
    shop.type_keys("a")
    shop.wait_for_message("changes")
    assert shop.get_text() + "\n" == NEW


def test_c12_lines_added_elsewhere_move_the_edit(shop: Vim) -> None:
    begin_edit(shop, SLOW)
    shop.type_keys("ggO# above<Esc>GoX = 1<Esc>")
    shop.wait_for_preview()
    shop.type_keys("a")
    shop.wait_for_message("changes")
    assert shop.get_text() == f"# above\n{NEW}X = 1"


def test_c12_a_change_in_the_target_is_a_refusal(shop: Vim) -> None:
    begin_edit(shop, SLOW)
    shop.type_keys("/0<CR>s1<Esc>")
    shop.wait_for_message("changed meanwhile")
    assert shop.get_text() + "\n" == SHOP.replace("= 0", "= 1")


def test_c12_a_change_that_is_undone_is_none(shop: Vim) -> None:
    begin_edit(shop, SLOW)
    shop.type_keys("/0<CR>s1<Esc>u")
    shop.wait_for_preview()
    shop.type_keys("a")
    shop.wait_for_message("changes")
    assert shop.get_text() + "\n" == NEW


@pytest.mark.parametrize("n_lines", [1, 3])
def test_c12_changes_that_the_server_has_not_heard_of_move_the_edit_too(
    shop: Vim, n_lines: int
) -> None:
    # As if the user typed in the moment in which the answer comes.
    shop.lua(
        """
        local n, edit = ..., require("redraft.edit_session")
        local finish = edit._finish
        edit._finish = function(...)
          edit._finish = finish
          vim.api.nvim_buf_set_lines(0, 0, 0, false, vim.fn["repeat"]({ "# above" }, n))
          return finish(...)
        end
        """,
        n_lines,
    )
    shop.open_preview(script(sub=["amount", "result"]))
    shop.type_keys("a")
    shop.wait_for_message("changes")
    assert shop.get_text() + "\n" == "# above\n" * n_lines + NEW


def test_c12_a_buffer_that_changed_under_the_preview_is_not_edited(shop: Vim) -> None:
    shop.open_preview(script(sub=["amount", "result"]))
    shop.type_keys("<C-w>hggO# above<Esc><C-w>l")
    shop.type_keys("a")
    shop.wait_for_message("the buffer was changed since")
    assert shop.lua("return vim.wo.diff")
    shop.type_keys("<C-w>hu<C-w>l")  # as it was: nothing stands in the way
    shop.type_keys("a")
    shop.wait_for_message("changes")
    assert shop.get_text() + "\n" == NEW


def test_a_preview_waits_until_the_user_has_stopped_typing(shop: Vim) -> None:
    begin_edit(shop, SLOW)
    shop.type_keys("Gonew")
    shop.wait_for_message("the edit is ready")
    shop.type_keys(" line")
    assert not shop.lua("return vim.wo.diff")
    shop.type_keys("<Esc>")
    shop.wait_for_preview()
    shop.type_keys("a")
    shop.wait_for_message("changes")
    assert shop.get_text() == f"{NEW}new line"


def test_a_buffer_that_is_closed_ends_its_edit(shop: Vim) -> None:
    begin_edit(shop, ENDLESS)
    shop.nvim.command("bwipeout!")
    shop.wait_for_message("cancelled")


def test_edits_of_two_buffers_are_shown_one_after_the_other(shop: Vim) -> None:
    path = shop.lua("return vim.api.nvim_buf_get_name(0)")
    other = shop.open(SHOP, "other.py")
    shop.go_to("item.price")
    begin_edit(shop, SLOW)
    shop.nvim.command(f"buffer {path}")
    shop.nvim.command(f"Redraft edit {SLOW}")
    shop.wait_for_preview()
    shop.wait_for_message("another edit is ready")
    shop.type_keys("a")
    shop.wait_for(
        "#vim.tbl_filter(function(s) return s.message:find('changes') end, messages) == 1"
    )
    shop.wait_for_preview()
    shop.type_keys("a")
    shop.wait_for(
        "#vim.tbl_filter(function(s) return s.message:find('changes') end, messages) == 2"
    )
    for each in (path, other):
        assert shop.get_bytes(each) == NEW.encode()
