"""With a real model, too small to edit well: whatever it writes, Neovim ends in order."""

import sys
from collections.abc import Callable
from pathlib import Path

from tests.editors.nvim.conftest import Vim
from tests.redraft.lsp.conftest import SHOP

ENDINGS = (
    "vim.wo.diff or vim.iter(messages):any(function(s) return s.message:find('redraft: ') end)"
)


def test_a_real_edit_is_shown_and_undone_exactly_or_refused_with_a_reason(
    start: Callable[..., Vim], small_model_path: Path
) -> None:
    command = (sys.executable, "-m", "redraft", "serve", "--model", str(small_model_path))
    vim = start(command=command)
    path = vim.open(SHOP)
    vim.go_to("item.price")
    n_shown = 0
    for instruction in ("Rename amount to result.", "Add a comment.", "Return amount + 1."):
        vim.lua("_G.messages = {}")
        vim.nvim.command(f"Redraft edit {instruction}")
        vim.wait_for(ENDINGS)
        if vim.lua("return vim.wo.diff"):
            n_shown += 1
            vim.type_keys("a")
            vim.wait_for_message("tokens/s")
            assert vim.get_bytes(path) != SHOP.encode()
            vim.type_keys("u")
            vim.wait_for("not vim.bo.modified")
        assert vim.get_bytes(path) == SHOP.encode()
    vim.wait_for("require('redraft.status').get().is_loaded")
    vim.nvim.command("Redraft trace")
    vim.wait_for("vim.bo.buftype == 'nofile'")
    assert "The last answer, from" in vim.get_text()
