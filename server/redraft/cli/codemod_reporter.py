"""How a codemod looks: diffs and objects on stdout, progress and summary on stderr.

Also where the person at the terminal has a say: Ctrl-C, and the questions of --interactive.
"""

import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from types import FrameType, TracebackType
from typing import Any, Literal, TypeAlias

from rich import progress as bars
from rich.console import Console

from redraft.cli.output import pluralize, print_diff, print_json, print_status
from redraft.codemod.journal import Log
from redraft.codemod.output.html import html
from redraft.codemod.output.sarif import sarif
from redraft.codemod.output.summary import problems, record, rows
from redraft.codemod.plan import Estimate, Plan
from redraft.codemod.replies import Reply
from redraft.codemod.results import FileResult, Summary, TargetResult
from redraft.codemod.run import RetryRequest, Review, Verdict
from redraft.records import Completion, Rewritten
from redraft.text.diff import unified_diff
from redraft.text.files import Document

__all__ = ["CodemodReporter", "InterruptHandler", "Output", "reviewer"]

Output: TypeAlias = Literal["diff", "json", "jsonl", "sarif"]


class CodemodReporter:
    """Tells a run while it goes on. `keeps` holds on to all results for `page`."""

    def __init__(self, output: Output, planned: Plan, instruction: str, *, keeps: bool) -> None:
        self.summary = Summary()
        self._output = output
        self._plan = planned
        self._instruction = instruction
        self._keeps = keeps or output in ("json", "sarif")
        self._results: list[FileResult] = []
        self._problems = [f"{one.path}: {one.message}" for one in planned.broken]
        self._n_written = 0  # tokens, for the progress bar
        self._n_copied = 0
        self._bar: bars.Progress | None = None
        self._plain_s: float | None = None  # one token, decoded plainly
        self._run_s = 0.0  # from the first prompt to the last result
        self._rows: list[tuple[str, str]] = []

    @property
    def is_failed(self) -> bool:
        return self.summary.is_failed or bool(self._plan.broken)

    def plan(self, expected: Estimate | None) -> None:
        """What would be edited, what would not, and what a run would take."""
        if self._output == "diff":
            for file in self._plan.files:
                names = " ".join(target.name for target in file.targets)
                print(f"{file.path}  {names}".rstrip())
        else:
            print_json(
                {
                    "files": [asdict(file) for file in self._plan.files],
                    "skipped": [asdict(one) for one in self._plan.skipped],
                    "broken": [asdict(one) for one in self._plan.broken],
                    "estimate": asdict(expected) if expected else None,
                }
            )
        self._tell_plan(expected)
        for problem in self._problems:
            print_status(f"failed: {problem}")

    def resumed(self, log: Log) -> None:
        """Count what an earlier process did of this run."""
        print_status(f"resuming the run {log.started.run}")
        for closed in log.closed.values():
            if closed.state != "failed":
                self.summary.count(closed.state, closed.kinds)
                if closed.message:
                    self._problems.append(f"{closed.path}: {closed.message}")

    def replied(self, reply: Reply) -> None:
        """Move the progress bar on."""
        if isinstance(reply.completion, Completion) and not reply.cached:
            self._n_written += reply.completion.stats.output_tokens
            self._n_copied += reply.completion.stats.accepted
        if self._bar:
            (task,) = self._bar.tasks
            speed = f"{self._n_written / max(1.0, task.elapsed or 0.0):.0f} tokens/s"
            share = f"{self._n_copied / max(1, self._n_written):.0%} copied"
            self._bar.update(task.id, advance=1, figures=f"{speed}, {share}")

    def add(self, result: FileResult) -> None:
        """One more file."""
        self.summary.add(result)
        self._problems += problems(result)
        if self._keeps:
            self._results.append(result)
        if self._output == "jsonl":
            print_json(record(result))
        elif self._output == "diff" and result.document and result.new_text is not None:
            with self._paused():
                print_diff(unified_diff(result.document.text, result.new_text, result.path))
        sys.stdout.flush()

    @contextmanager
    def progress(self, expected: Estimate, *, is_bar: bool) -> Iterator[None]:
        """Say what is ahead, and perhaps draw a bar on stderr meanwhile."""
        self._tell_plan(expected)
        self._plain_s = expected.plain_s
        start = time.monotonic()
        with self._drawn() if is_bar else nullcontext():
            yield
        self._run_s = time.monotonic() - start

    @contextmanager
    def _drawn(self) -> Iterator[None]:
        columns = (
            bars.BarColumn(),
            bars.MofNCompleteColumn(),
            bars.TextColumn("{task.fields[figures]}"),
            bars.TimeRemainingColumn(elapsed_when_finished=True),
        )
        console = Console(stderr=True)
        with bars.Progress(
            *columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False
        ) as self._bar:
            self._bar.add_task("", total=self._plan.n_targets, figures="")
            yield
        self._bar = None

    def end(self, wall_s: float, *, run: str) -> None:
        """The summary, and the failed files last."""
        self._rows = rows(
            self.summary, self._plan, wall_s=wall_s, run_s=self._run_s, plain_s=self._plain_s
        )
        if self._output == "jsonl":
            print_json(self._totals(run))
        elif self._output == "json":
            print_json({"files": [record(one) for one in self._results]} | self._totals(run))
        elif self._output == "sarif":
            print_json(sarif(self._results, self._plan.broken))
        for label, value in self._rows:
            print_status(f"{label:<8} {value}")
        if run:
            print_status(f"{'run':<8} {run} (`redraft codemod undo {run}` reverts it)")
        for problem in self._problems:
            print_status(f"failed: {problem}")

    def page(self) -> str:
        """The run as HTML."""
        return html(self._instruction, self._plan, self._results, self._rows)

    def _totals(self, run: str) -> dict[str, Any]:
        return {
            "summary": self.summary.as_dict(),
            "run": run or None,
            "skipped": [asdict(one) for one in self._plan.skipped],
            "broken": [asdict(one) for one in self._plan.broken],
        }

    def _tell_plan(self, expected: Estimate | None) -> None:
        n_targets, n_files = self._plan.n_targets, len(self._plan.files)
        text = f"plan     {pluralize(n_targets, 'target')} in {pluralize(n_files, 'file')}"
        if expected:
            text += f"; about {expected.prompt_tokens:,} tokens to read"
            text += f" and {expected.output_tokens:,} to write, {expected.jobs} at once"
        if expected and expected.seconds:
            text += f", {max(1, round(expected.seconds / 60))} min"
        print_status(text)

    @contextmanager
    def _paused(self) -> Iterator[None]:
        if self._bar:
            self._bar.stop()
        yield
        if self._bar:
            self._bar.start()


class InterruptHandler:
    """The first Ctrl-C asks to stop, the second one does it. `at_once` makes the first do it."""

    def __init__(self) -> None:
        self.asked = False
        self.at_once = False
        self._before: Any = signal.SIG_DFL

    def __enter__(self) -> "InterruptHandler":
        self._before = signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        signal.signal(signal.SIGINT, self._before)

    def _interrupt(self, _: int, __: FrameType | None) -> None:
        if self.asked or self.at_once:
            raise KeyboardInterrupt
        self.asked = True
        print_status("stopping after the write in hand; Ctrl-C again stops now")


def reviewer(stopper: InterruptHandler) -> Review:
    """Asks on stderr about each edit, and reads the answer from stdin; its end means quit."""
    wants_all = False

    def review(path: str, document: Document, result: TargetResult) -> Verdict:
        nonlocal wants_all
        if wants_all or not isinstance(result.ending, Rewritten):
            return "yes"
        print_diff(unified_diff(document.text, result.ending.new_text, path))
        sys.stdout.flush()
        while True:
            answer = _read(
                f"{path}:{result.line} [y]es, [n]o, [e]dit the instruction, [a]ll, [q]uit? ",
                stopper,
            )
            match answer[:1].lower():
                case "y":
                    return "yes"
                case "n":
                    return "no"
                case "a":
                    wants_all = True
                    return "yes"
                case "e":
                    if instruction := _read("instruction: ", stopper):
                        return RetryRequest(instruction)
                case "q":
                    return "quit"

    return review


def _read(question: str, stopper: InterruptHandler) -> str:
    """One answer; "q" where there will be none any more."""
    sys.stderr.write(question)
    sys.stderr.flush()
    stopper.at_once = True
    try:
        line = sys.stdin.readline()
    except KeyboardInterrupt:
        stopper.asked, line = True, ""
    finally:
        stopper.at_once = False
    return line.strip() if line else "q"
