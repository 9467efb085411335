"""Draw the pictures of docs/ from the output of redraft: docs/edit.svg and docs/trace.svg.

    make picture

Knows how a terminal looks, and nothing of edits. A picture loads nothing from outside: the web font
that rich refers to is removed, and the reader's own fixed-width font is shown instead.
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

# rich prints colours into a pipe only when it is forced to.
COLOURED: Final = {"FORCE_COLOR": "1", "TERM": "xterm-256color", "COLUMNS": str(WIDTH)}

_EXTERNAL = re.compile(r"\s*(?:@font-face \{.*?\}|<!--.*?-->)", re.DOTALL)


def main() -> None:
    """Run the commands and draw their output; if one fails, print its output and draw nothing."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(Path(demo.__file__).with_name("demo_shop.txt"), Path(folder) / demo.FILE)
        pictures = {
            "edit.svg": draw_terminal(run(folder, "demo"), "redraft demo"),
            "trace.svg": draw_terminal(
                run(folder, "trace", TARGET, demo.INSTRUCTION), "redraft trace"
            ),
        }
    for name, picture in pictures.items():
        (DOCS / name).write_text(picture, encoding="utf-8")


def run(folder: str, *arguments: str) -> str:
    """Return the output of `redraft` in `folder`, with its ANSI colours."""
    result = subprocess.run(
        [sys.executable, "-m", "redraft", *arguments],
        cwd=folder,
        env=os.environ | COLOURED,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    if result.returncode:
        sys.exit(result.stdout)
    return result.stdout


def draw_terminal(output: str, title: str) -> str:
    """Return the SVG of a terminal window with `output`."""
    console = Console(record=True, width=WIDTH, file=io.StringIO())
    console.print(Text.from_ansi(output.removesuffix("\n")))
    return _EXTERNAL.sub("", console.export_svg(title=title))


if __name__ == "__main__":
    main()
