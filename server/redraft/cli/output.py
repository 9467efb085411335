"""How an outcome looks: a coloured diff, one line of figures, one JSON object, a progress bar.

Knows streams and colours; decides nothing. Results go to stdout; everything about them (notes,
figures, errors, progress) goes to stderr, so that a piped diff or object stays clean.
"""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, Final

from rich import progress as bars
from rich.console import Console
from rich.text import Text

from redraft.records import (
    EditRequest,
    Outcome,
    Progress,
    Refused,
    Replacement,
    Rewritten,
    Stats,
    Unchanged,
)
from redraft.text.diff import unified_diff
from redraft.text.lines import LineIndex

__all__ = [
    "figures",
    "pluralize",
    "print_diff",
    "print_error",
    "print_json",
    "print_status",
    "progress",
    "record",
]

_STYLES: Final = {"+++": "bold", "---": "bold", "@": "cyan", "+": "green", "-": "red"}

# A file's control characters (an escape sequence, say) must not reach the terminal's interpreter.
_VISIBLE: Final = {code: 0x2400 + code for code in range(32) if code != ord("\t")}


def print_diff(diff: str) -> None:
    """Write a unified diff to stdout: in colour on a terminal, as it stands otherwise."""
    console = Console(highlight=False)
    if console.color_system is None or console.no_color:
        sys.stdout.write(diff)
        return
    for line in diff.removesuffix("\n").split("\n"):
        style = next((style for mark, style in _STYLES.items() if line.startswith(mark)), "")
        shown = line.removesuffix("\r").translate(_VISIBLE)
        console.print(Text(shown, style), soft_wrap=True)


def print_json(value: object) -> None:
    """Write `value` on one line of stdout, in ASCII so that no locale can spoil it."""
    sys.stdout.write(json.dumps(value) + "\n")


def record(outcome: Outcome, request: EditRequest) -> dict[str, Any]:
    """The object `--json` prints.

    Positions of `edits` are those that FILE:L1:C1-L2:C2 takes: lines and columns count from 1,
    columns in code points, the end is exclusive; all refer to the text before the edit.
    """
    kind, reason = _verdict(outcome)
    diff, replacements = "", tuple[Replacement, ...]()
    if isinstance(outcome, Rewritten):
        diff = unified_diff(request.text, outcome.new_text, request.path)
        replacements = outcome.replacements
    index = LineIndex(request.text)
    return {
        "outcome": kind,
        "reason": reason,
        "path": request.path,
        "diff": diff,
        "edits": [_edit(index, replacement) for replacement in replacements],
        "stats": asdict(outcome.stats) | {"tokens_per_s": outcome.stats.tokens_per_s},
    }


def _verdict(outcome: Outcome) -> tuple[str, str | None]:
    match outcome:
        case Rewritten():
            return "rewritten", None
        case Unchanged():
            return "unchanged", None
        case Refused(reason=reason):
            return "refused", reason


def _edit(index: LineIndex, replacement: Replacement) -> dict[str, Any]:
    start_line, start_col = index.position(replacement.span.start, "utf-32")
    end_line, end_col = index.position(replacement.span.stop, "utf-32")
    return {
        "start_line": start_line + 1,
        "start_col": start_col + 1,
        "end_line": end_line + 1,
        "end_col": end_col + 1,
        "new_text": replacement.new_text,
    }


def figures(stats: Stats) -> str:
    """One line: prompt tokens, output tokens, passes, tokens per pass, tokens per second."""
    return (
        f"{stats.prompt_tokens} prompt tokens, {stats.output_tokens} output tokens"
        f" in {stats.passes} passes, {stats.tokens_per_pass:.1f} tokens/pass,"
        f" {stats.tokens_per_s:.1f} tokens/s"
    )


def pluralize(n: int, noun: str) -> str:
    """Return `1 file`, `2 files`, `1,000 files`."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def print_error(message: str) -> None:
    """Print on stderr, in one line, what failed."""
    print_status(f"error: {' '.join(message.split())}")


def print_status(message: str) -> None:
    """Print one line for the person at the terminal, on stderr."""
    sys.stderr.write(f"redraft: {message}\n")
    sys.stderr.flush()


@contextmanager
def progress() -> Iterator[Callable[[Progress], None]]:
    """A callback that draws prefill and decode on stderr; draws nothing unless on a terminal."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    columns = (bars.TextColumn("{task.description}"), bars.BarColumn(), _Speed())
    with bars.Progress(*columns, console=Console(stderr=True), transient=True) as display:
        tasks = {
            "prefill": display.add_task("reading", total=None, start=False, visible=False),
            "decode": display.add_task("writing", total=None, start=False, visible=False),
        }

        def show(step: Progress) -> None:
            task = tasks[step.phase]
            display.start_task(task)
            total = max(step.expected, step.done)
            display.update(task, completed=step.done, total=total, visible=True)

        yield show


class _Speed(bars.ProgressColumn):
    def render(self, task: bars.Task) -> Text:
        speed = f", {task.speed:.0f} tokens/s" if task.speed else ""
        return Text(f"{task.completed:.0f} tokens{speed}")
