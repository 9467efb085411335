"""Draws docs/edit.svg, the picture in the README, from what `redraft demo` really prints.

    make picture

Knows how a terminal looks and nothing of edits. The picture refers to nothing outside itself: the
web font that rich names is taken out, and the reader's own fixed-width font shows instead.
"""

import io
import os
import re
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

PICTURE = Path(__file__).with_name("edit.svg")
WIDTH = 100  # columns

# rich writes colours into a pipe only when it is told to.
COLOURED = {"FORCE_COLOR": "1", "TERM": "xterm-256color", "COLUMNS": str(WIDTH)}

_OUTSIDE = re.compile(r"\s*(?:@font-face \{.*?\}|<!--.*?-->)", re.DOTALL)


def main() -> None:
    """Run the demo and draw what it printed; where it fails, show that and draw nothing."""
    demo = subprocess.run(
        [sys.executable, "-m", "redraft", "demo"],
        env=os.environ | COLOURED,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    if demo.returncode:
        sys.exit(demo.stdout)
    PICTURE.write_text(drawn(demo.stdout), encoding="utf-8")


def drawn(printed: str) -> str:
    """The SVG of a terminal window that shows `printed`, its ANSI colours included."""
    console = Console(record=True, width=WIDTH, file=io.StringIO())
    console.print(Text.from_ansi(printed.removesuffix("\n")))
    return _OUTSIDE.sub("", console.export_svg(title="redraft demo"))


if __name__ == "__main__":
    main()
