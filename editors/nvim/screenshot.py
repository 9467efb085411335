"""Draws docs/nvim.svg: the screen of a real Neovim that shows a real edit, with the real model.

    .venv/bin/python editors/nvim/screenshot.py

Neovim sends its screen as a user interface gets it (`:help ui-linegrid`): cells with the number of
their highlight. The picture refers to nothing outside itself.
"""

import html
import itertools
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pynvim

PLUGIN = Path(__file__).parent
ROOT = PLUGIN.parents[1]
PICTURE = ROOT / "docs" / "nvim.svg"

SHOP = ROOT / "server" / "redraft" / "cli" / "demo_shop.txt"
INSTRUCTION = "Add a parameter `tax_free: bool = False`; no tax is due when it is true."

COLUMNS, ROWS = 140, 34
WIDTH, HEIGHT, BASE = 8.4, 18, 13  # of a cell, and where its text stands, at 14 px

SETTINGS = """
vim.o.termguicolors, vim.o.laststatus, vim.o.showtabline, vim.o.number = true, 2, 0, true
vim.o.background, vim.o.ruler, vim.o.shortmess = "dark", false, vim.o.shortmess .. "F"
vim.opt.fillchars:append("diff: ")
vim.o.statusline = " %t%=%{v:lua.require'redraft'.status()} "
vim.notify = function(message) vim.g.message = message end
vim.lsp.config("redraft", { cmd = { ..., "-m", "redraft", "serve" } })
vim.lsp.enable("redraft")
"""


class Screen:
    """The drawing of a user interface: a grid of (text, highlight), and the highlights' colours."""

    def __init__(self) -> None:
        self.cells = [[(" ", 0)] * COLUMNS for _ in range(ROWS)]
        self.colours: dict[int, dict[str, Any]] = {}
        self.default = {"foreground": 0xFFFFFF, "background": 0}

    def apply(self, name: str, args: list[Any]) -> None:
        """Apply one event of the redraw protocol; those without effect here are left out."""
        if name == "default_colors_set":
            self.default = {"foreground": args[0], "background": args[1]}
        elif name == "hl_attr_define":
            self.colours[args[0]] = args[1]
        elif name == "grid_clear":
            self.cells = [[(" ", 0)] * COLUMNS for _ in range(ROWS)]
        elif name == "grid_line":
            _, row, column, cells = args[:4]
            highlight = 0
            for text, *more in cells:
                highlight = more[0] if more else highlight
                for _ in range(more[1] if len(more) > 1 else 1):
                    self.cells[row][column] = (text, highlight)
                    column += 1

    def render_svg(self) -> str:
        """Return the screen as SVG: a rectangle and a text for each run of one highlight."""
        size = f"0 0 {COLUMNS * WIDTH:g} {ROWS * HEIGHT}"
        font = 'font-family="ui-monospace, Menlo, Consolas, monospace" font-size="14"'
        head = f'xmlns="http://www.w3.org/2000/svg" viewBox="{size}" {font}'
        parts = [
            f"<svg {head}>",
            f'<rect width="100%" height="100%" fill="{_hex(self.default["background"])}"/>',
        ]
        for row, cells in enumerate(self.cells):
            column = 0
            for highlight, run in itertools.groupby(cells, key=lambda cell: cell[1]):
                text = [cell[0] for cell in run]
                colours = self.colours.get(highlight, {})
                parts += self._render_run("".join(text), colours, row, column)
                column += len(text)
        return "\n".join([*parts, "</svg>"]) + "\n"

    def _render_run(self, text: str, colours: dict[str, Any], row: int, column: int) -> list[str]:
        fore, back = (colours.get(part, self.default[part]) for part in self.default)
        if colours.get("reverse"):
            fore, back = back, fore
        x, y, width = column * WIDTH, row * HEIGHT, len(text) * WIDTH
        parts = []
        if back != self.default["background"]:
            parts.append(
                f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{HEIGHT}"'
                f' fill="{_hex(back)}"/>'
            )
        if text.strip():
            indent = len(text) - len(text.lstrip())
            weight = ' font-weight="bold"' if colours.get("bold") else ""
            content = text.strip().replace(" ", "\N{NO-BREAK SPACE}")  # SVG merges others
            parts.append(
                f'<text x="{x + indent * WIDTH:.1f}" y="{y + BASE}" fill="{_hex(fore)}"{weight}'
                f' textLength="{len(content) * WIDTH:.1f}">{html.escape(content)}</text>'
            )
        return parts


def _hex(colour: int) -> str:
    return f"#{colour:06x}"


def main() -> None:
    """Have an edit previewed and draw the screen; where it is refused, say so and draw nothing."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_STATE_HOME"] = folder  # the user's history is not for pictures
        nvim = pynvim.attach(
            "child",
            argv=[
                *(sys.argv[1:] or [str(Path(sys.executable).with_name("nvim"))]),
                *("--clean", "-n", "--headless", "--embed"),
                *("--cmd", f"set runtimepath^={PLUGIN}"),
            ],
        )
        nvim.ui_attach(COLUMNS, ROWS, rgb=True, ext_linegrid=True)
        path = Path(folder, "shop.py")
        path.write_bytes(SHOP.read_bytes())
        nvim.exec_lua(SETTINGS, sys.executable)
        nvim.command(f"edit {path} | call search('def invoice')")
        nvim.command(f"Redraft edit {INSTRUCTION}")
        while not nvim.exec_lua("return vim.wo.diff"):
            if message := nvim.vars.get("message"):
                sys.exit(message)
            time.sleep(0.1)
        PICTURE.write_text(_read_screen(nvim).render_svg(), encoding="utf-8")
        nvim.close()


def _read_screen(nvim: pynvim.Nvim) -> Screen:
    """Return all that Neovim draws in a full redraw."""
    nvim.command("redraw! | call rpcnotify(0, 'drawn')")
    screen = Screen()
    while (message := nvim.next_message())[1] != "drawn":
        for name, *calls in message[2] if message[1] == "redraw" else ():
            for args in calls:
                screen.apply(name, args)
    return screen


if __name__ == "__main__":
    main()
