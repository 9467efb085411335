"""Editing in a real Neovim: ask, look, accept, undo. The files' bytes are what counts."""

from typing import Any

import pytest
from tests.editors.nvim.conftest import Vim
from tests.redraft.lsp.conftest import (
    AREA,
    AREA_LOSS,
    AREA_LOST,
    AREA_NEW,
    AREA_REPLY,
    SHOP,
    script,
)

RENAME = script(sub=["amount", "result"])
NEW = SHOP.replace("amount", "result")


def test_the_function_at_the_cursor_is_edited_and_one_undo_takes_it_back(vim: Vim) -> None:
    path = vim.open(SHOP)
    vim.go_to("item.price")
    vim.open_preview(RENAME)
    assert vim.get_bytes(path) == SHOP.encode()  # only shown so far
    vim.type_keys("a")
    vim.wait_for_message("3 changes")
    assert vim.get_bytes(path) == NEW.encode()
    vim.type_keys("u")
    vim.wait_for("vim.fn.search('amount', 'n') > 0")
    assert vim.get_bytes(path) == SHOP.encode()
    assert not vim.lua("return vim.bo.modified")


def test_the_preview_is_a_diff_in_a_tab_page_that_says_its_keys(vim: Vim) -> None:
    vim.open(SHOP)
    vim.go_to("item.price")
    vim.open_preview(RENAME)
    windows = vim.lua(
        "return vim.tbl_map(function(w) return { vim.wo[w].diff, vim.wo[w].winbar,"
        " vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(w), 4, 5, false)[1] }"
        " end, vim.api.nvim_tabpage_list_wins(0))"
    )
    (left, right) = windows
    assert left == [True, " %t", "    amount = 0"]
    assert right[0] is True
    assert right[2] == "    result = 0"
    for part in ("a accept", "q reject", "r retry", "redraft: "):
        assert part in right[1]
    assert not vim.lua("return vim.bo.modifiable")


def test_the_preview_says_its_keys_on_a_screen_of_80_columns(vim: Vim) -> None:
    vim.nvim.command("set columns=80")
    vim.open(SHOP)
    vim.go_to("item.price")
    vim.open_preview(RENAME)
    winbar = vim.lua(
        "return vim.api.nvim_eval_statusline(vim.wo.winbar, { use_winbar = true, winid = 0 }).str"
    )
    assert winbar.strip() == "a accept  q reject  r retry"


@pytest.mark.parametrize(
    "leave", ["q", ":q<CR>", ":tabclose<CR>", "<C-w>h:q<CR>", ":Redraft reject<CR>"]
)
def test_a_preview_that_is_left_changes_nothing(vim: Vim, leave: str) -> None:
    path = vim.open(SHOP)
    vim.go_to("item.price")
    vim.lua("vim.wo.foldmethod = 'manual'")
    vim.open_preview(RENAME)
    vim.type_keys(leave)
    vim.wait_for("#vim.api.nvim_list_tabpages() == 1 and #vim.api.nvim_list_wins() == 1")
    assert vim.get_bytes(path) == SHOP.encode()
    assert vim.lua("return vim.api.nvim_buf_get_name(0)") == str(path)
    assert vim.lua("return { vim.wo.diff, vim.wo.foldmethod, vim.wo.scrollbind }") == [
        False,
        "manual",
        False,
    ]
    # Nor is the next window of the buffer a diff.
    vim.nvim.command("new | buffer #")
    assert not vim.lua("return vim.wo.diff or vim.wo.scrollbind or vim.wo.winbar ~= ''")
    vim.nvim.command("Redraft accept")
    vim.wait_for_message("no edit is shown")


def test_a_unified_diff_in_a_floating_window(vim: Vim) -> None:
    vim.lua("vim.g.redraft = { preview = 'float', keys = { accept = '<CR>', reject = false } }")
    path = vim.open(SHOP)
    vim.go_to("item.price")
    vim.open_preview(RENAME)
    lines = vim.get_text().split("\n")
    assert lines[0] == "@@ -2,10 +2,10 @@"
    assert "-    amount = 0" in lines
    assert "+    result = 0" in lines
    config = vim.lua("return vim.api.nvim_win_get_config(0)")
    assert config["footer"][0][0] == " <CR> accept  r retry "
    vim.type_keys("<CR>")
    vim.wait_for_message("changes")
    assert vim.get_bytes(path) == NEW.encode()


def test_without_a_preview_the_edit_is_applied_at_once(vim: Vim) -> None:
    vim.lua("vim.g.redraft = { preview = 'none' }")
    path = vim.open(SHOP)
    vim.go_to("item.price")
    vim.nvim.command(f"Redraft edit {RENAME}")
    vim.wait_for_message("changes")
    assert vim.get_bytes(path) == NEW.encode()
    vim.nvim.command("undo")
    assert vim.get_bytes(path) == SHOP.encode()


def test_retry_asks_again_with_the_instruction_to_be_changed(vim: Vim) -> None:
    path = vim.open(SHOP)
    vim.go_to("item.price")
    vim.open_preview(script(sub=["amount", "sum"]))
    vim.type_keys("r")
    vim.wait_for("vim.api.nvim_get_mode().mode == 'c'")
    assert vim.lua("return vim.fn.getcmdline()") == script(sub=["amount", "sum"])
    assert vim.lua("return vim.wo.diff")  # still there to look at
    vim.type_keys(f"<C-u>{RENAME}<CR>")
    vim.wait_for("vim.fn.search('result', 'n') > 0 and vim.wo.diff")
    vim.type_keys("a")
    vim.wait_for_message("changes")
    assert vim.get_bytes(path) == NEW.encode()


def test_the_prompt_remembers_and_an_empty_answer_is_none(vim: Vim) -> None:
    vim.open(SHOP)
    vim.go_to("item.price")
    vim.type_keys(":Redraft<CR>")
    vim.wait_for("vim.fn.getcmdtype() == '@'")
    vim.type_keys(f"{RENAME}<CR>")
    vim.wait_for_preview()
    vim.type_keys("q:Redraft<CR>")
    vim.wait_for("vim.fn.getcmdtype() == '@'")
    vim.type_keys("<Up>")
    vim.wait_for("vim.fn.getcmdline() == ...", RENAME)
    vim.type_keys("<Esc>")
    vim.wait_for("vim.api.nvim_get_mode().mode == 'n'")
    ns = vim.lua("return vim.api.nvim_get_namespaces()['redraft.target']")
    marks = vim.lua("return vim.api.nvim_buf_get_extmarks(0, ..., 0, -1, {})", ns)
    assert len(marks) <= 1  # of the last edit, to try it again


def find_highlight(vim: Vim) -> list[int] | None:
    """Return the rows and columns that are highlighted as what an edit would change."""
    code = """local ns = vim.api.nvim_get_namespaces()["redraft.target"]
      for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(0, ns, 0, -1, { details = true })) do
        if mark[4].hl_group == "RedraftTarget" then
          return { mark[2], mark[3], mark[4].end_row, mark[4].end_col }
        end
      end"""
    return vim.lua(code)


@pytest.mark.parametrize("command", ["Redraft", "Redraft history", "Redraft retry"])
def test_the_prompt_names_what_will_be_edited_and_it_is_highlighted(vim: Vim, command: str) -> None:
    vim.open(SHOP)
    vim.go_to("item.price")
    vim.lua("require('redraft.history').add(...)", RENAME)
    vim.lua("_G.choice = 'amount'")
    if command == "Redraft retry":
        vim.edit(script(sub=["amount", "amount_"]))
    vim.type_keys(f":{command}<CR>")
    vim.wait_for("vim.fn.getcmdtype() == '@'")
    assert vim.lua("return vim.fn.getcmdprompt()") == "Redraft function total: "
    lines = vim.get_text().split("\n")
    start = lines.index("def total(items):")
    stop = next(n for n, line in enumerate(lines) if line.startswith("    return amount"))
    assert find_highlight(vim) == [start, 0, stop, len(lines[stop])]
    vim.type_keys("<Esc>")
    vim.wait_for("vim.api.nvim_get_mode().mode == 'n'")
    assert find_highlight(vim) is None


def test_outside_of_functions_the_place_is_chosen_before_the_instruction(vim: Vim) -> None:
    path = vim.open("import os\n\nname = os.name\nprint(name)\n")
    vim.go_to("print")
    vim.type_keys(":Redraft<CR>")  # and no place is chosen
    vim.wait_for("offered ~= nil")
    assert vim.lua("return offered") == ["line 4", "lines 3-4", "the whole file"]
    vim.lua("_G.choice = 'lines 3-4'")
    vim.type_keys(":Redraft<CR>")
    vim.wait_for("vim.fn.getcmdtype() == '@'")
    assert vim.lua("return vim.fn.getcmdprompt()") == "Redraft lines 3-4: "
    assert find_highlight(vim) == [2, 0, 3, len("print(name)")]
    vim.type_keys(f"{script(sub=['name', 'system'])}<CR>")
    vim.wait_for_preview()
    vim.type_keys("a")
    vim.wait_for_message("changes")
    new = "import os\n\nsystem = os.system\nprint(system)\n"
    assert vim.get_bytes(path) == new.encode()


def test_the_model_reads_the_file_while_the_user_types(vim: Vim) -> None:
    path = vim.open(SHOP.replace("amount", "warm_amount"), "warm.py")
    vim.go_to("item.price")
    vim.type_keys(":Redraft<CR>")
    vim.wait_for("vim.fn.getcmdtype() == '@'")
    status = """(function(uri)
      local client = vim.lsp.get_clients({ name = "redraft" })[1]
      local answer = client:request_sync("workspace/executeCommand",
        { command = "redraft.status" }, 1000)
      return answer and answer.result.warm[uri] ~= nil
    end)(...)"""
    assert vim.wait_for(status, path.as_uri())
    vim.type_keys("<Esc>")


def test_an_edit_of_400_lines_is_one_undo_step(vim: Vim) -> None:
    text = "".join(
        f"a_value_with_a_long_name_{n} = old(its_first_argument_{n})\n" for n in range(400)
    )
    path = vim.open(text)
    vim.type_keys("Oown = 1<Esc>")
    vim.wait_for("vim.fn.line('$') == 401")
    vim.edit(script(sub=["old(", "new("]), "Redraft file")
    assert vim.get_bytes(path) == b"own = 1\n" + text.replace("old(", "new(").encode()
    vim.type_keys("u")
    vim.wait_for("vim.fn.search('new', 'n') == 0")
    assert vim.get_bytes(path) == b"own = 1\n" + text.encode()


def test_an_edit_right_after_another_change_is_undone_alone(vim: Vim) -> None:
    vim.lua("vim.g.redraft = { preview = 'none' }")
    path = vim.open(SHOP)
    vim.go_to("item.price")
    for old, new in (("amount", "result"), ("result", "sum_")):  # no key between the two
        vim.lua("_G.messages = {}")
        vim.nvim.command(f"Redraft edit {script(sub=[old, new])}")
        vim.wait_for_message("changes")
    vim.nvim.command("undo")
    assert vim.get_bytes(path) == NEW.encode()


LINES = "alpha = 'Wavelength (μm)'; rate = price * qty  # total\nbeta = 2\ngamma = 3\n"


@pytest.mark.parametrize(
    ("keys", "selected"),
    [
        ("/price<CR>v/qty<CR>e", "price * qty"),
        ("/μ<CR>vl", "μm"),
        ("/price<CR>v$", "price * qty  # total"),
        ("/qty<CR>evb", "qty"),
        ("jVj", "beta = 2\ngamma = 3"),
        ("/beta<CR>v/gamma<CR>", "beta = 2\ng"),
        ("/price<CR><C-v>e", "price"),
    ],
    ids=[
        "C01: characters in a line",
        "multibyte characters",
        "to the end of the line, not its ending",
        "backwards",
        "lines",
        "characters over two lines",
        "a block in one line",
    ],
)
@pytest.mark.parametrize("how", ["by command", "by mapping"])
def test_a_selection_is_exactly_what_is_edited(
    vim: Vim, keys: str, selected: str, how: str
) -> None:
    path = vim.open(LINES)
    reply = script(reply="REPLACED\n```\n")
    if how == "by command":
        vim.type_keys(f"{keys}:Redraft edit {reply}<CR>")
    else:
        vim.nvim.command("xmap gz <Plug>(redraft-edit)")
        vim.type_keys(f"{keys}gz")
        vim.wait_for("vim.fn.getcmdtype() == '@'")
        vim.type_keys(f"{reply}<CR>")
    vim.wait_for_preview()
    vim.type_keys("a")
    vim.wait_for_message("change")
    assert vim.get_bytes(path) == LINES.replace(selected, "REPLACED").encode()


@pytest.mark.parametrize("line", [".", "1", ""])
def test_one_line_is_the_line_and_not_what_was_selected_in_it_once(vim: Vim, line: str) -> None:
    path = vim.open(LINES)
    vim.type_keys("/price<CR>ve<Esc>")
    vim.wait_for('vim.fn.line("\'<") == 1')
    if not line:  # but the selection, where that is what is meant
        vim.edit(script(reply="REPLACED\n```\n"), "'<,'>Redraft edit")
        assert vim.get_bytes(path) == LINES.replace("price", "REPLACED").encode()
        return
    vim.edit(script(reply="REPLACED\n```\n"), f"{line}Redraft edit")
    assert vim.get_bytes(path) == b"REPLACED\n" + LINES.partition("\n")[2].encode()


@pytest.mark.parametrize(("text", "at"), [("", 1), ("import os\n\n\nprint(os)\n", 2)])
def test_an_edit_of_an_empty_line_is_an_insertion(vim: Vim, text: str, at: int) -> None:
    path = vim.open(text)
    vim.nvim.command(f"{at}")
    vim.edit(script(reply="new = 1\n```\n"))
    lines = text.split("\n")
    assert vim.get_bytes(path).decode().split("\n")[at - 1] == "new = 1"
    assert [line for line in vim.get_text().split("\n") if line and line != "new = 1"] == [
        line for line in lines if line
    ]


def test_a_block_of_several_lines_is_refused(vim: Vim) -> None:
    path = vim.open(LINES)
    vim.type_keys(f"<C-v>jl:Redraft edit {RENAME}<CR>")
    vim.wait_for_message("a block of several lines is no range of text")
    assert vim.get_bytes(path) == LINES.encode()


def test_given_lines_and_a_motion_are_targets_too(vim: Vim) -> None:
    path = vim.open(LINES)
    vim.edit(script(reply="b = 2\n```\n"), "2Redraft edit")
    assert vim.get_bytes(path) == LINES.replace("beta", "b").encode()
    vim.nvim.command("nmap gs <Plug>(redraft-operator)")
    vim.go_to("gamma")
    vim.type_keys("gsiw")
    vim.wait_for("vim.fn.getcmdtype() == '@'")
    vim.type_keys(f"{script(reply='g')}<CR>")
    vim.wait_for_preview()
    vim.type_keys("a")
    vim.wait_for("vim.fn.search('^g = 3', 'n') > 0")


def test_c13_cursor_marks_folds_and_extmarks_on_unchanged_lines_stay(vim: Vim) -> None:
    vim.open(SHOP)
    vim.lua(
        """
        vim.wo.foldmethod = "manual"
        vim.cmd("12,13fold | 5mark a | 8mark b | 12mark c")
        _G.ns = vim.api.nvim_create_namespace("test")
        for _, row in ipairs({ 3, 6, 11 }) do vim.api.nvim_buf_set_extmark(0, ns, row, 4, {}) end
        vim.api.nvim_win_set_cursor(0, { 8, 7 })
        """
    )
    state = """return {
        vim.api.nvim_win_get_cursor(0),
        vim.tbl_map(function(m) return vim.api.nvim_buf_get_mark(0, m) end, { "a", "b", "c" }),
        vim.tbl_map(function(m) return { m[2], m[3] } end,
          vim.api.nvim_buf_get_extmarks(0, ns, 0, -1, {})),
        { vim.fn.foldclosed(13), vim.fn.foldclosedend(13), vim.fn.foldclosed(8) },
    }"""
    before = vim.lua(state)
    added = ["        amount += item", "        # counted\n        amount += item"]
    vim.edit(script(sub=added))
    after = vim.lua(state)
    cursor, marks, extmarks, folds = before
    assert after == [
        [cursor[0] + 1, cursor[1]],
        [marks[0], [9, 4], [13, 4]],
        [extmarks[0], [7, 4], [12, 4]],
        [folds[0] + 1, folds[1] + 1, -1],
    ]
    vim.type_keys("u")
    vim.wait_for("vim.fn.search('# counted', 'n') == 0")
    assert vim.lua(state)[1:] == before[1:]


IMPORTING = {"reply": f"{AREA_REPLY}```\n"}
LOSING = script(reply=f"{AREA_LOSS}```\n")


@pytest.mark.parametrize("preview", ["tab", "float", "none"])
def test_an_edit_with_imports_is_one_undo_step(vim: Vim, preview: str) -> None:
    vim.lua("vim.g.redraft = { preview = ... }", preview)
    path = vim.open(AREA)
    vim.go_to("3.14")
    vim.nvim.command(f"Redraft edit {script(**IMPORTING)}")
    if preview != "none":
        vim.wait_for_preview()
        vim.type_keys("a")
    vim.wait_for_message("changes")
    assert vim.get_bytes(path) == AREA_NEW.encode()
    vim.type_keys("u")
    vim.wait_for("vim.fn.search('math', 'n') == 0")
    assert vim.get_bytes(path) == AREA.encode()
    assert not vim.lua("return vim.bo.modified")


def test_a_preview_begins_at_the_target_and_not_at_its_imports(vim: Vim) -> None:
    vim.open(AREA)
    vim.go_to("3.14")
    vim.open_preview(script(**IMPORTING))
    assert "math.pi" in vim.lua("return vim.api.nvim_get_current_line()")


@pytest.mark.parametrize(
    ("before", "keys", "typed"),
    [
        ("import os", "ggO# Areas<Esc>", "# Areas\n"),
        ("from typing", "ggoimport re<Esc>", "import re\n"),
        ("\ndef", "jjoPI = 3<Esc>", "PI = 3\n"),
        ("print", "GOprint(1)<Esc>", "print(1)\n"),
    ],
    ids=["above the imports", "among them", "between them and the target", "below the target"],
)
def test_what_is_typed_around_an_import_that_is_added_stays(
    vim: Vim, before: str, keys: str, typed: str
) -> None:
    path = vim.open(AREA)
    vim.go_to("3.14")
    vim.nvim.command(f"Redraft edit {script(prefill_s=0.5, **IMPORTING)}")
    vim.type_keys(f"gg{keys}")
    vim.show_preview()
    vim.type_keys("a")
    vim.wait_for_message("changes")
    text = AREA_NEW.replace("import math\n", "")
    place = text.index(before)
    text = text[:place] + typed + text[place:]
    assert vim.get_bytes(path) == text.replace("from typing", "import math\nfrom typing").encode()
    vim.type_keys("u")
    vim.wait_for("vim.fn.search('math', 'n') == 0")
    assert typed.encode() in vim.get_bytes(path)


def test_a_change_of_a_line_that_takes_an_import_makes_the_edit_stale(vim: Vim) -> None:
    path = vim.open(AREA)
    vim.go_to("3.14")
    vim.nvim.command(f"Redraft edit {script(prefill_s=0.5, **IMPORTING)}")
    vim.type_keys("ggjA, Final<Esc>")
    vim.wait_for_message("was changed meanwhile")
    assert vim.get_bytes(path) == AREA.replace("Any\n", "Any, Final\n", 1).encode()


@pytest.mark.parametrize("preview", ["tab", "none"])
def test_an_edit_that_was_refused_is_shown_and_applied_anyway(vim: Vim, preview: str) -> None:
    vim.lua("vim.g.redraft = { preview = ... }", preview)
    path = vim.open(AREA)
    vim.go_to("3.14")
    vim.nvim.command(f"Redraft edit {LOSING}")
    message = vim.wait_for_message("circle.check()")
    assert message.endswith("or apply it anyway; :Redraft anyway shows the edit")
    vim.type_keys("ggO# typed<Esc>:Redraft anyway<CR>")
    vim.wait_for_preview()
    assert vim.get_bytes(path) == f"# typed\n{AREA}".encode()
    vim.type_keys("a")
    vim.wait_for_message("changes")
    assert vim.get_bytes(path) == f"# typed\n{AREA_LOST}".encode()
    vim.type_keys("u")
    vim.wait_for("vim.fn.search('3.1416', 'n') == 0")
    assert vim.get_bytes(path) == f"# typed\n{AREA}".encode()
    vim.nvim.command("Redraft anyway")
    vim.wait_for_message("no edit of this buffer was refused")


def test_an_edit_that_was_refused_can_be_looked_at_and_rejected(vim: Vim) -> None:
    path = vim.open(AREA)
    vim.go_to("3.14")
    vim.nvim.command(f"Redraft edit {LOSING}")
    vim.wait_for_message(":Redraft anyway")
    vim.open_preview("", "Redraft anyway")
    vim.type_keys("q")
    vim.wait_for("#vim.api.nvim_list_tabpages() == 1")
    assert vim.get_bytes(path) == AREA.encode()


def test_an_edit_that_was_refused_is_not_shown_once_its_code_was_changed(vim: Vim) -> None:
    path = vim.open(AREA)
    vim.go_to("3.14")
    vim.nvim.command(f"Redraft edit {LOSING}")
    vim.wait_for_message(":Redraft anyway")
    vim.type_keys("A  # pi<Esc>:Redraft anyway<CR>")
    vim.wait_for_message("was changed meanwhile")
    assert vim.get_bytes(path) == AREA.replace("radius**2", "radius**2  # pi").encode()


def test_lines_that_do_not_fit_an_edit_are_in_the_quickfix_list(vim: Vim) -> None:
    text = SHOP + "\n\nx = '\U0001f4b0'; print(total([]))\nprint(total)\n"
    path = vim.open(text)
    vim.go_to("item.price")
    vim.nvim.command("cexpr []")
    vim.edit(script(sub=["def total(items):", "def sum_up(items):\n    print(items)"]))
    assert vim.wait_for_message("2 lines still use the old total; :copen lists them")
    items = vim.lua("return vim.fn.getqflist()")
    bufnr = vim.lua("return vim.fn.bufnr()")
    assert [(item["bufnr"], item["lnum"], item["text"]) for item in items] == [
        (bufnr, 20, "x = '\U0001f4b0'; print(total([]))"),
        (bufnr, 21, "print(total)"),
    ]
    vim.type_keys(":cc 2<CR>")
    vim.wait_for("vim.fn.line('.') == 21")
    assert vim.lua("return vim.api.nvim_buf_get_name(0)") == str(path)


def test_the_quickfix_list_has_the_lines_where_they_are_by_then(vim: Vim) -> None:
    vim.open(AREA.replace("print(os.name)", "print(area(os))"))
    vim.go_to("3.14")
    vim.nvim.command("cexpr []")
    reply = AREA_LOSS.replace("(circle: Any)", "(circle: Any, n: int)")
    vim.nvim.command(f"Redraft edit {script(reply=f'{reply}```{chr(10)}')}")
    vim.wait_for_message(":Redraft anyway")
    vim.type_keys("ggO# typed<CR># typed<Esc>:Redraft anyway<CR>")
    vim.wait_for_preview()
    vim.type_keys("a")
    vim.wait_for_message("1 line still uses the old area")
    (item,) = vim.lua("return vim.fn.getqflist()")
    row = vim.lua("return vim.fn.search('print(area', 'n')")
    assert (item["lnum"], item["text"]) == (row, "print(area(os))")


def test_where_nothing_changed_another_version_can_be_had(vim: Vim) -> None:
    path = vim.open(SHOP)
    vim.go_to("item.price")
    vim.nvim.command(f"Redraft edit {script(nearly=['amount', 'total_cost'])}")
    vim.wait_for_message("no changes; :Redraft another asks for another version")
    assert vim.get_bytes(path) == SHOP.encode()
    vim.type_keys(":Redraft another<CR>")
    vim.wait_for_preview()
    vim.type_keys("a")
    vim.wait_for("vim.fn.getline(5):find('total_cost') ~= nil")


@pytest.mark.parametrize(
    ("message", "settings", "instruction"),
    [
        ("8 tokens", {"maxTokens": 8}, RENAME),
        ("the server's library", {}, script(fail="the server's library")),
        ("no changes", {}, script(sub=["", ""])),
        ("would no longer parse", {}, script(sub=["amount = 0", "amount = ("])),
        ("holds no code", {}, script(reply="\n```\n")),
    ],
    ids=["token limit", "failure", "no changes", "broken parse", "no code"],
)
def test_every_refusal_is_said_and_changes_nothing(
    vim: Vim, message: str, settings: dict[str, Any], instruction: str
) -> None:
    path = vim.open(SHOP)
    configure = """local client = vim.lsp.get_clients({ name = "redraft" })[1]
      client.settings = { redraft = ... }
      client:notify("workspace/didChangeConfiguration", { settings = client.settings })"""
    vim.lua(configure, settings)
    vim.go_to("item.price")
    vim.nvim.command(f"Redraft edit {instruction}")
    assert vim.wait_for_message(message).startswith("redraft: ")
    vim.lua(configure, {})
    assert vim.get_bytes(path) == SHOP.encode()
    vim.type_keys(":Redraft retry<CR>")
    vim.wait_for("vim.fn.getcmdline() == ...", instruction)
    vim.type_keys("<Esc>")


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        ("setlocal nomodifiable", "'modifiable' is off"),
        ("enew", "no name"),
        ("new | setlocal buftype=nofile", "holds no file"),
        ('call setline(1, "a\\rb")', "line 1 holds a carriage return"),
    ],
)
def test_buffers_that_cannot_be_edited_rightly_are_refused(
    vim: Vim, prepare: str, message: str
) -> None:
    vim.open(SHOP)
    vim.nvim.command(prepare)
    vim.nvim.command(f"Redraft edit {RENAME}")
    vim.wait_for_message(message)


def test_a_single_hunk_can_be_taken_over_from_the_diff(vim: Vim) -> None:
    text = SHOP + "\n" * 20 + "amount = 1\n"
    path = vim.open(text)
    vim.open_preview(script(sub=["amount", "result"]), "Redraft file")
    vim.type_keys("Gdpq")
    vim.wait_for("#vim.api.nvim_list_tabpages() == 1")
    assert vim.get_bytes(path) == text.replace("amount = 1", "result = 1").encode()
