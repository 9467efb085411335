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
    shop.show_preview()
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


@pytest.mark.parametrize("choice", ["Replace", "Keep"])
def test_of_two_edits_of_the_same_code_the_user_chooses_one(shop: Vim, choice: str) -> None:
    begin_edit(shop, SLOW)
    shop.lua("_G.choice = ...", choice)
    shop.nvim.command(f"Redraft edit {script(sub=['amount', 'sum_'])}")
    shop.wait_for("vim.list_contains(_G.offered or {}, 'Replace')")
    shop.wait_for_message("cancelled")
    shop.wait_for_preview()
    shop.type_keys("a")
    expect_changes(shop)
    kept = "sum_" if choice == "Replace" else "result"
    assert shop.get_text() + "\n" == SHOP.replace("amount", kept)


FUNCTIONS = "".join(f"def f{n}():\n    return {n}\n\n\n" for n in range(4))


def test_edits_of_one_buffer_wait_each_at_its_own_target(shop: Vim) -> None:
    shop.open(FUNCTIONS, "functions.py")
    for n in range(4):
        shop.go_to(f"return {n}")
        instruction = script(sub=["return", f"# {n}\n    return"], prefill_s=0.1)
        shop.nvim.command(f"Redraft edit {instruction}")
    shop.type_keys("j")
    shop.wait_for("require('redraft.status').get().n_ready == 4")
    marks = MARKS.replace("shop.py", "functions.py")
    assert [mark[:2].strip() for mark in shop.lua(f"return {marks}")] == ["1", "5", "9", "13"]
    expected = FUNCTIONS
    for number, n in enumerate((2, 0, 3, 1), start=1):  # each where the cursor is
        shop.go_to(f"return {n}")
        shop.show_preview()
        shop.type_keys("a")
        expect_changes(shop, number)
        expected = expected.replace(f"    return {n}", f"    # {n}\n    return {n}")
        assert shop.get_text() + "\n" == expected
    assert shop.lua("return require('redraft.status').get().n_ready") == 0
    shop.type_keys("u")
    shop.wait_for("vim.fn.search('# 1', 'n') == 0")
    assert "# 3" in shop.get_text()  # each is an undo step of its own


def test_a_second_edit_of_a_target_is_dropped_once_the_other_is_accepted(shop: Vim) -> None:
    shop.open_preview(script(sub=["amount", "first"]))
    shop.nvim.command("tabfirst")
    shop.open_preview(script(sub=["amount", "second"]))
    assert shop.lua("return require('redraft.status').get().n_ready") == 1
    shop.type_keys("a")
    expect_changes(shop)
    assert shop.get_text() + "\n" == SHOP.replace("amount", "second")
    assert shop.lua("return require('redraft.status').get().n_ready") == 0


def test_c12_lines_added_elsewhere_move_the_edit(shop: Vim) -> None:
    begin_edit(shop, SLOW)
    shop.type_keys("ggO# above<Esc>GoX = 1<Esc>")
    shop.show_preview()
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
    shop.show_preview()
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


@pytest.mark.parametrize("preview", ["tab", "float"])
def test_c12_a_preview_moves_with_changes_elsewhere(shop: Vim, preview: str) -> None:
    shop.lua("vim.g.redraft = { preview = ... }", preview)
    shop.open_preview(script(sub=["amount", "result"]))
    shop.lua("vim.api.nvim_buf_set_lines(vim.fn.bufnr('shop.py'), 0, 0, true, { '# above' })")
    moved = "^# above" if preview == "tab" else "^@@ -3"
    shop.wait_for("vim.fn.search(..., 'nc') == 1", moved)
    shop.type_keys("a")
    shop.wait_for_message("changes")
    assert shop.get_text() + "\n" == "# above\n" + NEW


def test_c12_an_edit_of_code_that_changed_under_the_preview_waits(shop: Vim) -> None:
    shop.open_preview(script(sub=["amount", "result"]))
    shop.type_keys("<C-w>h/= 0<CR>A  # none<Esc><C-w>l")
    shop.type_keys("a")
    shop.wait_for_message("the code being edited was changed")
    assert shop.lua("return vim.wo.diff")
    shop.type_keys("<C-w>hu<C-w>l")  # as it was: nothing stands in the way
    shop.type_keys("a")
    shop.wait_for_message("changes")
    assert shop.get_text() + "\n" == NEW


def test_an_edit_that_cannot_be_applied_now_waits(shop: Vim) -> None:
    shop.open_preview(script(sub=["amount", "result"]))
    shop.nvim.command("call setbufvar('shop.py', '&modifiable', 0)")
    shop.type_keys("a")
    shop.wait_for_message("'modifiable' is off")
    shop.nvim.command("call setbufvar('shop.py', '&modifiable', 1)")
    shop.type_keys("a")
    shop.wait_for_message("changes")
    assert shop.get_text() + "\n" == NEW


def test_a_buffer_that_is_closed_ends_its_edit(shop: Vim) -> None:
    begin_edit(shop, ENDLESS)
    shop.nvim.command("bwipeout!")
    shop.wait_for_message("cancelled")


def test_edits_of_two_buffers_wait_for_each_other(shop: Vim) -> None:
    path = shop.lua("return vim.api.nvim_buf_get_name(0)")
    other = shop.open(SHOP, "other.py")
    shop.go_to("item.price")
    begin_edit(shop, SLOW)
    shop.nvim.command(f"buffer {path}")
    shop.open_preview(SLOW)
    shop.wait_for_message(ready("other.py"))
    shop.type_keys("a")
    expect_changes(shop)
    assert not shop.lua("return vim.wo.diff")  # the next one opens on request only
    shop.show_preview()
    shop.type_keys("a")
    expect_changes(shop, 2)
    for each in (path, other):
        assert shop.get_bytes(each) == NEW.encode()


def test_a_preview_waits_while_another_one_is_looked_at(shop: Vim) -> None:
    path = shop.lua("return vim.api.nvim_buf_get_name(0)")
    other = shop.open(SHOP, "other.py")
    shop.open_preview(script(sub=["amount", "first"]), "Redraft file")
    shop.nvim.command(f"tabfirst | edit {path}")
    shop.go_to("item.price")
    shop.open_preview(script(sub=["amount", "result"]))
    assert shop.lua("return require('redraft.status').get().n_ready") == 1
    shop.type_keys("a")
    expect_changes(shop)
    shop.show_preview()
    shop.type_keys("a")
    expect_changes(shop, 2)
    assert shop.get_bytes(path) == NEW.encode()
    assert shop.get_bytes(other) == SHOP.replace("amount", "first").encode()


def ready(name: str = "shop.py") -> str:
    return f"the edit of {name} is ready; :Redraft show opens it"


def expect_changes(vim: Vim, n: int = 1) -> None:
    """Wait until `n` edits were applied."""
    vim.wait_for(
        "#vim.tbl_filter(function(s) return s.message:find('%d changes?,') end, messages) == ...",
        n,
    )


@pytest.mark.parametrize(
    ("leave", "text_there"),
    [
        (":new other.txt<CR>Aab<Esc>", "ab"),
        (":new other.txt<CR>iab", "ab"),
        ("j", NEW[:-1]),
    ],
    ids=["in another window", "typing", "moving the cursor"],
)
def test_a_preview_leaves_keys_to_a_user_who_went_on(
    shop: Vim, leave: str, text_there: str
) -> None:
    begin_edit(shop, SLOW)
    shop.type_keys(leave)
    shop.wait_for_message(ready())
    window = shop.lua("return vim.api.nvim_get_current_win()")
    shop.type_keys("a")  # would accept, in the preview
    assert shop.lua("return vim.api.nvim_get_current_win()") == window
    assert shop.lua("return #vim.api.nvim_list_tabpages()") == 1
    assert shop.lua("return vim.fn.getbufline('shop.py', 5)") == ["    amount = 0"]
    assert shop.lua("return require('redraft').status()") == "redraft: 1 edit ready"
    assert shop.lua(f"return {MARKS}") == ["6  redraft: ready, :Redraft show"]
    shop.type_keys("<Esc>:Redraft show<CR>")
    shop.wait_for_preview()
    assert shop.lua(f"return {MARKS}") == []
    shop.type_keys("a")
    expect_changes(shop)
    assert shop.lua("return vim.fn.getbufline('shop.py', 5)") == ["    result = 0"]
    assert shop.lua("return require('redraft').status()") == "redraft: qwen2.5-coder-1.5b"


def test_an_edit_that_waits_is_rejected_and_nothing_waits_then(shop: Vim) -> None:
    begin_edit(shop, SLOW)
    shop.type_keys("j")
    shop.wait_for_message(ready())
    shop.nvim.command("Redraft accept")
    shop.wait_for_message("no edit is shown")  # and what nobody saw is not applied
    shop.nvim.command("Redraft reject")
    shop.wait_for_message("rejected")
    shop.nvim.command("Redraft show")
    shop.wait_for_message("no edit waits to be shown")
    assert shop.get_text() + "\n" == SHOP
    assert shop.lua(f"return {MARKS}") == []


def test_edits_that_wait_are_gone_with_their_buffer(shop: Vim) -> None:
    begin_edit(shop, SLOW)
    shop.type_keys("j")
    shop.wait_for_message(ready())
    shop.nvim.command("bwipeout!")
    shop.wait_for("require('redraft.status').get().n_ready == 0")


BOOM = "augroup Boom | autocmd! | augroup END"


@pytest.mark.parametrize(
    ("preview", "prepare", "mend"),
    [
        ("tab", f"{BOOM} | autocmd Boom WinNew * throw 'boom'", BOOM),
        ("tab", f"{BOOM} | autocmd Boom WinEnter * throw 'boom'", BOOM),
        ("tab", "call feedkeys('q:', 'nt')", "quit"),
        ("float", "call feedkeys('q:', 'nt')", "quit"),
    ],
)
def test_an_edit_that_cannot_be_shown_is_kept_and_leaves_nothing_behind(
    shop: Vim, preview: str, prepare: str, mend: str
) -> None:
    shop.lua("vim.g.redraft = { preview = ... }", preview)
    begin_edit(shop, SLOW)
    shop.type_keys("j")
    shop.wait_for_message(ready())
    for line in prepare.split(" | "):
        shop.nvim.command(line)
    shop.wait_for("(...) == (vim.fn.getcmdwintype() == ':')", mend == "quit")
    state = """return { vim.api.nvim_list_bufs(), vim.api.nvim_list_tabpages(),
      vim.api.nvim_list_wins() }"""
    before = shop.lua(state)
    shop.lua("require('redraft').show()")
    shop.wait_for_message("the edit is kept, but cannot be shown")
    assert shop.lua(state) == before
    for line in mend.split(" | "):
        shop.nvim.command(line)
    assert shop.lua(f"return {MARKS}") == ["6  redraft: ready, :Redraft show"]
    shop.nvim.command("Redraft show")
    shop.wait_for_preview()
    shop.type_keys("a")
    expect_changes(shop)
    assert shop.get_text() + "\n" == NEW


@pytest.mark.parametrize("preview", ["tab", "float"])
@pytest.mark.parametrize(
    "prepare",
    [
        "set nomodifiable | setlocal modifiable",
        "set filetype=unregistered | lua vim.treesitter.start(0, 'lua')",
        "set splitright winfixbuf",
        "call nvim_buf_set_name(nvim_create_buf(0, 1), 'redraft://' .. expand('%:p'))",
    ],
)
def test_a_preview_opens_whatever_the_options_are(shop: Vim, preview: str, prepare: str) -> None:
    shop.lua("vim.g.redraft = { preview = ... }", preview)
    shop.nvim.command(prepare)
    shop.open_preview(script(sub=["amount", "result"]))
    shop.type_keys("a")
    expect_changes(shop)
    assert shop.get_text() + "\n" == NEW
    shop.nvim.command("set modifiable& splitright& winfixbuf&")
