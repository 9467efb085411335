"""Print an outcome: a coloured diff, one line of figures, one JSON object, a progress bar.

Knows streams and colours; decides nothing. Results go to stdout; everything about them (notes,
figures, errors, progress) goes to stderr, so that a piped diff or object stays clean.
"""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
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
    "build_record",
    "format_stats",
    "pluralize",
    "print_diff",
    "print_error",
    "print_json",
    "print_lost",
    "print_status",
    "show_progress",
]

_STYLES: Final = {"+++": "bold", "---": "bold", "@": "cyan", "+": "green", "-": "red"}

_SHORT_S: Final = 0.05  # nobody asks where so little went
_MOST_LOST: Final = 20  # lines that a refusal names

# A file's control characters (an escape sequence, say) must not reach the terminal's interpreter.
_VISIBLE: Final = {code: 0x2400 + code for code in range(32) if code != ord("\t")}


def print_diff(diff: str) -> None:
    """Print a unified diff: in colour on a terminal, as it stands otherwise."""
    console = Console(highlight=False)
    if console.color_system is None or console.no_color:
        sys.stdout.write(diff)
        return
    for line in diff.removesuffix("\n").split("\n"):
        style = next((style for mark, style in _STYLES.items() if line.startswith(mark)), "")
        visible = line.removesuffix("\r").translate(_VISIBLE)
        console.print(Text(visible, style), soft_wrap=True)


def print_json(value: object) -> None:
    """Print `value` on one line, in ASCII so that no locale can spoil it."""
    sys.stdout.write(json.dumps(value) + "\n")


def build_record(outcome: Outcome, request: EditRequest) -> dict[str, Any]:
    """Return the object that `--json` prints.

    Positions of `edits` are those that FILE:L1:C1-L2:C2 takes: lines and columns count from 1,
    columns in code points, the end is exclusive; all refer to the text before the edit.
    """
    kinds = {Rewritten: "rewritten", Unchanged: "unchanged", Refused: "refused"}
    diff, replacements = "", tuple[Replacement, ...]()
    callers = outcome.callers if isinstance(outcome, Rewritten) else ()
    refused = outcome if isinstance(outcome, Refused) else None
    withheld = refused.withheld if refused else None
    if isinstance(outcome, Rewritten):
        diff = unified_diff(request.text, outcome.new_text, request.path)
        replacements = outcome.replacements
    index = LineIndex(request.text)
    return {
        "outcome": kinds[type(outcome)],
        "reason": refused.reason if refused else None,
        "path": request.path,
        "diff": diff,
        "edits": [_build_edit_record(index, replacement) for replacement in replacements],
        "lost": list(refused.lost) if refused else [],
        "withheld_diff": unified_diff(request.text, withheld.new_text, request.path)
        if withheld
        else None,
        "callers": [asdict(caller) for caller in callers],
        "stats": asdict(outcome.stats) | {"tokens_per_s": outcome.stats.tokens_per_s},
    }


def _build_edit_record(index: LineIndex, replacement: Replacement) -> dict[str, Any]:
    start_line, start_col = index.position(replacement.span.start, "utf-32")
    end_line, end_col = index.position(replacement.span.stop, "utf-32")
    return {
        "start_line": start_line + 1,
        "start_col": start_col + 1,
        "end_line": end_line + 1,
        "end_col": end_col + 1,
        "new_text": replacement.new_text,
    }


def format_stats(stats: Stats) -> str:
    """Return one line: prompt tokens, output tokens, passes, tokens per pass, tokens per second.

    And how long passes were measured and a draft model worked, if that can be felt.
    """
    line = (
        f"{stats.prompt_tokens} prompt tokens, {stats.output_tokens} output tokens"
        f" in {stats.passes} passes, {stats.tokens_per_pass:.1f} tokens/pass,"
        f" {stats.tokens_per_s:.1f} tokens/s"
    )
    if stats.draft_s >= _SHORT_S:
        line += f", {stats.draft_s:.1f} s in the draft model"
    if stats.calibration_s >= _SHORT_S:
        line += f", {stats.calibration_s:.1f} s of calibration"
    return line


def pluralize(n: int, noun: str) -> str:
    """Return `1 file`, `2 files`, `1,000 files`."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def print_error(message: str) -> None:
    """Print on stderr, in one line, what failed."""
    print_status(f"error: {' '.join(message.split())}")


def print_lost(lines: Sequence[str]) -> None:
    """Name on stderr the lines that a refused edit would leave out."""
    for line in lines[:_MOST_LOST]:
        print_status(f"lost: {line.strip()}")
    if more := len(lines[_MOST_LOST:]):
        print_status(f"lost: {pluralize(more, 'more line')}")


def print_status(message: str) -> None:
    """Print one line for the person at the terminal, on stderr."""
    sys.stderr.write(f"redraft: {message}\n")
    sys.stderr.flush()


@contextmanager
def show_progress() -> Iterator[Callable[[Progress], None]]:
    """Yield a callback that draws prefill and decode on stderr, if that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    columns = (bars.TextColumn("{task.description}"), bars.BarColumn(), _Speed())
    with bars.Progress(*columns, console=Console(stderr=True), transient=True) as display:
        tasks = {
            "prefill": display.add_task("reading", total=None, start=False, visible=False),
            "decode": display.add_task("writing", total=None, start=False, visible=False),
        }

        def draw(step: Progress) -> None:
            task = tasks[step.phase]
            display.start_task(task)
            total = max(step.expected, step.done)
            display.update(task, completed=step.done, total=total, visible=True)

        yield draw


class _Speed(bars.ProgressColumn):
    def render(self, task: bars.Task) -> Text:
        speed = f", {task.speed:.0f} tokens/s" if task.speed else ""
        return Text(f"{task.completed:.0f} tokens{speed}")
