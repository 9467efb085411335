"""Without the plug-in: exactly the configuration that docs/editors.md gives for Neovim."""

import os
import re
from collections.abc import Callable
from pathlib import Path

from tests.editors.nvim.conftest import Vim
from tests.editors.program import scripted_redraft
from tests.redraft.lsp.conftest import SHOP, script
from tests.redraft.lsp.editor import ROOT

RENAME = script(sub=["amount", "result"])


def test_the_documented_configuration_edits_and_one_undo_takes_it_back(
    start: Callable[..., Vim], tmp_path: Path
) -> None:
    text = (ROOT / "docs" / "editors.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```lua\n(.*?)```", text, re.DOTALL)
    (config,) = (block for block in blocks if "redraft.prompt" in block)
    scripted_redraft(tmp_path)
    vim = start(with_plugin=False, env={"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"})
    vim.lua(config)
    vim.lua("_G.choice = 'Edit with instruction'")
    path = vim.open(SHOP)
    vim.go_to("item.price")
    vim.type_keys("gra")
    vim.wait_for("vim.fn.getcmdtype() == '@'")
    vim.type_keys(f"{RENAME}<CR>")
    vim.wait_for("vim.fn.search('result', 'n') > 0")
    assert vim.get_bytes(path) == SHOP.replace("amount", "result").encode()
    vim.type_keys("u")
    vim.wait_for("vim.fn.search('result', 'n') == 0")
    assert vim.get_bytes(path) == SHOP.encode()
