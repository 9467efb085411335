"""Draws docs/vscode.png, the picture in the README: VS Code, and the preview of an edit that the
default model really made.

    python -m tests.editors.vscode.picture editors/vscode/redraft.vsix
"""

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import expect
from tests.editors.program import ROOT
from tests.editors.tools import find_browser, find_vscode
from tests.editors.vscode.extension import open_redraft

PICTURE = ROOT / "docs" / "vscode.png"
FILE = ROOT / "server" / "redraft" / "cli" / "demo_shop.txt"
PLACE = "def shipping_cost"
INSTRUCTION = "raise ValueError when the weight is negative"

WIDTH, HEIGHT = 1120, 540  # room for both sides; a README shows some 900 pixels
PATIENCE_MS = 300_000  # for a real model on a busy machine
SETTINGS = {
    "editor.scrollbar.horizontal": "hidden",
    "editor.scrollbar.vertical": "hidden",
    "editor.stickyScroll.enabled": False,
    "redraft.server.python": sys.executable,
    "window.commandCenter": False,
    "window.title": "${rootName}",
    "workbench.activityBar.location": "hidden",
}


def main(vsix: Path) -> None:
    """Make the edit and take the picture; what is in the way of it is raised."""
    vscode, browser = find_vscode(), find_browser()
    with (
        tempfile.TemporaryDirectory() as home,
        open_redraft(vscode, browser, vsix=vsix, settings=SETTINGS, home=Path(home)) as redraft,
    ):
        expect.set_options(timeout=PATIENCE_MS)
        redraft.page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
        redraft.open("shop.py", FILE.read_text(encoding="utf-8"))
        redraft.command("View: Close Primary Side Bar")
        redraft.select(PLACE)
        redraft.press("ArrowLeft")
        redraft.command("redraft: Edit Function or Selection...")
        # Who types an instruction gives the model time to be loaded.
        expect(redraft.status.locator("[aria-label$=': loaded']")).to_be_visible()
        redraft.submit(INSTRUCTION)
        redraft.expect_preview("raise")
        redraft.page.screenshot(path=PICTURE)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
