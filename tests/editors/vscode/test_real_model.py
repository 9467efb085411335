"""The extension with the product's own server and a real model: from typing to undo.

The model is too small to edit well, so what is asked is what must hold whatever it answers.
"""

import sys
from pathlib import Path

from playwright.sync_api import expect
from tests.editors.tools import VSCode
from tests.editors.vscode.extension import open_redraft
from tests.redraft.lsp.conftest import SHOP

METHOD = "    def size(self):\n        return len(self.items)\n"


def test_only_the_function_changes_and_undo_restores_every_byte(
    browser: Path, vscode: VSCode, vsix: Path, small_model_path: Path, tmp_path: Path
):
    settings = {"redraft.server.python": sys.executable, "redraft.model": str(small_model_path)}
    with open_redraft(vscode, browser, vsix=vsix, settings=settings, home=tmp_path) as redraft:
        file = redraft.open("shop.py", SHOP)
        redraft.select("return len")
        redraft.edit("Return 0 when items is None.")
        refused = redraft.page.get_by_role("button", name="Retry...")
        expect(redraft.preview.or_(refused).first).to_be_visible()
        if redraft.preview.is_visible():
            redraft.accept()
            redraft.save()
            head, _, tail = SHOP.partition(METHOD)
            edited = file.read_text()
            assert edited.startswith(head)
            assert edited.endswith(tail)
            assert edited != SHOP
            redraft.press("ControlOrMeta+z")
        redraft.save_and_expect(file, SHOP)
