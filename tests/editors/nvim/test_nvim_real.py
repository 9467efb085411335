"""With a real model, too small to edit well: whatever it writes, Neovim ends in order."""

import sys
from collections.abc import Callable
from pathlib import Path

from tests.editors.nvim.conftest import Vim
from tests.redraft.lsp.conftest import SHOP

ENDINGS = "vim.wo.diff or vim.iter(said):any(function(s) return s.message:find('redraft: ') end)"


def test_a_real_edit_is_shown_and_undone_exactly_or_refused_with_a_reason(
    start: Callable[..., Vim], small_model_path: Path
) -> None:
    command = (sys.executable, "-m", "redraft", "serve", "--model", str(small_model_path))
    vim = start(command=command)
    path = vim.open(SHOP)
    vim.go_to("item.price")
    n_shown = 0
    for instruction in ("Rename amount to result.", "Add a comment.", "Return amount + 1."):
        vim.lua("_G.said = {}")
        vim.nvim.command(f"Redraft edit {instruction}")
        vim.until(ENDINGS)
        if vim.lua("return vim.wo.diff"):
            n_shown += 1
            vim.keys("a")
            vim.hears("tokens/s")
            assert vim.bytes(path) != SHOP.encode()
            vim.keys("u")
            vim.until("not vim.bo.modified")
        assert vim.bytes(path) == SHOP.encode()
    vim.until("require('redraft.status').get().is_loaded")
    vim.nvim.command("Redraft trace")
    vim.until("vim.bo.buftype == 'nofile'")
    assert "The last answer, from" in vim.screen()
