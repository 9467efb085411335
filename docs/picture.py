"""Draws the pictures of docs/ from what redraft really prints: docs/edit.svg and docs/trace.svg.

    make picture

Knows how a terminal looks and nothing of edits. A picture refers to nothing outside itself: the web
font that rich names is taken out, and the reader's own fixed-width font shows instead.
"""

import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.text import Text

from redraft.cli import demo

DOCS: Final = Path(__file__).parent
WIDTH: Final = 100  # columns
TARGET: Final = f"{demo.FILE}::{demo.TARGET}"

# rich writes colours into a pipe only when it is told to.
COLOURED: Final = {"FORCE_COLOR": "1", "TERM": "xterm-256color", "COLUMNS": str(WIDTH)}

_OUTSIDE = re.compile(r"\s*(?:@font-face \{.*?\}|<!--.*?-->)", re.DOTALL)


def main() -> None:
    """Run the commands and draw what they print; where one fails, show that and draw nothing."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(Path(demo.__file__).with_name("demo_shop.txt"), Path(folder) / demo.FILE)
        pictures = {
            "edit.svg": drawn(run(folder, "demo"), "redraft demo"),
            "trace.svg": drawn(run(folder, "trace", TARGET, demo.INSTRUCTION), "redraft trace"),
        }
    for name, picture in pictures.items():
        (DOCS / name).write_text(picture, encoding="utf-8")


def run(folder: str, *arguments: str) -> str:
    """What `redraft` prints in `folder`, its ANSI colours included."""
    done = subprocess.run(
        [sys.executable, "-m", "redraft", *arguments],
        cwd=folder,
        env=os.environ | COLOURED,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    if done.returncode:
        sys.exit(done.stdout)
    return done.stdout


def drawn(printed: str, title: str) -> str:
    """The SVG of a terminal window that shows `printed`."""
    console = Console(record=True, width=WIDTH, file=io.StringIO())
    console.print(Text.from_ansi(printed.removesuffix("\n")))
    return _OUTSIDE.sub("", console.export_svg(title=title))


if __name__ == "__main__":
    main()
