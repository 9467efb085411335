"""Report a codemod: diffs and objects on stdout, progress and summary on stderr.

Also where the person at the terminal decides: Ctrl-C, and the questions of --interactive.
"""

import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from types import FrameType, TracebackType
from typing import Any, Literal, TypeAlias

from rich import progress as bars
from rich.console import Console

from redraft.cli.output import pluralize, print_diff, print_json, print_lost, print_status
from redraft.codemod.callers import CallerSearch
from redraft.codemod.journal import RunLog
from redraft.codemod.output.html import render_html
from redraft.codemod.output.sarif import build_sarif
from redraft.codemod.output.summary import (
    build_file_record,
    build_plan_record,
    build_run_record,
    describe_problems,
    format_summary,
)
from redraft.codemod.plan import Estimate, Plan
from redraft.codemod.replies import Reply
from redraft.codemod.results import FileResult, Summary, TargetResult
from redraft.codemod.run import RetryRequest, Review, Verdict
from redraft.postprocess.callers import describe_callers
from redraft.records import Completion, Rewritten
from redraft.text.diff import unified_diff
from redraft.text.files import Document

__all__ = ["CodemodReporter", "InterruptHandler", "OutputFormat", "make_reviewer"]

OutputFormat: TypeAlias = Literal["diff", "json", "jsonl", "sarif"]


class CodemodReporter:
    """Reports a run while it goes on. `keep_results` holds on to all of them for `render_page`."""

    def __init__(
        self, output: OutputFormat, plan: Plan, instruction: str, *, keep_results: bool
    ) -> None:
        self.summary = Summary()
        self._output = output
        self._plan = plan
        self._instruction = instruction
        self._caller_search = CallerSearch(plan)
        self._keep_results = keep_results or output in ("json", "sarif")
        self._results: list[FileResult] = []
        self._problems: list[tuple[str, tuple[str, ...]]] = [
            (f"{file.path}: {file.message}", ()) for file in plan.inaccessible
        ]
        self._n_written = 0  # tokens, for the progress bar
        self._n_copied = 0
        self._bar: bars.Progress | None = None
        self._plain_s: float | None = None  # one token, decoded plainly
        self._run_s = 0.0  # from the first prompt to the last result
        self._summary_lines: list[tuple[str, str]] = []

    @property
    def is_failed(self) -> bool:
        return self.summary.is_failed or bool(self._plan.inaccessible)

    def report_plan(self, expected: Estimate | None) -> None:
        """Print what would be edited, what would not, and what a run would take."""
        if self._output == "diff":
            for file in self._plan.files:
                names = " ".join(target.name for target in file.targets)
                print(f"{file.path}  {names}".rstrip())
        else:
            print_json(build_plan_record(self._plan, expected))
        self._print_plan_line(expected)
        self._print_problems()

    def report_resumed(self, log: RunLog) -> None:
        """Count what an earlier process did of this run."""
        print_status(f"resuming the run {log.started.run}")
        self._caller_search.resume(log)
        for closed in log.closed.values():
            if closed.state != "failed":  # what failed is tried again
                self.summary.count(closed.state, closed.kinds)
                if closed.message:
                    self._problems.append((f"{closed.path}: {closed.message}", ()))

    def count_reply(self, reply: Reply) -> None:
        """Move the progress bar on."""
        if isinstance(reply.completion, Completion) and not reply.is_cached:
            self._n_written += reply.completion.stats.output_tokens
            self._n_copied += reply.completion.stats.accepted
        if self._bar:
            (task,) = self._bar.tasks
            speed = f"{self._n_written / max(1.0, task.elapsed or 0.0):.0f} tokens/s"
            share = f"{self._n_copied / max(1, self._n_written):.0%} copied"
            # One step for each target: a second prompt for one moves the bar no further.
            self._bar.update(task.id, advance=1, figures=f"{speed}, {share}")

    def add(self, result: FileResult) -> None:
        """Count and print one more file."""
        self.summary.add(result)
        self._caller_search.add(result)
        self._problems += describe_problems(result)
        if self._keep_results:
            self._results.append(result)
        if self._output == "jsonl":
            print_json(build_file_record(result))
        elif self._output == "diff" and result.document and result.new_text is not None:
            # The bar is drawn on the line that the diff would begin on.
            if self._bar:
                self._bar.stop()
            print_diff(unified_diff(result.document.text, result.new_text, result.path))
            if self._bar:
                self._bar.start()
        sys.stdout.flush()

    @contextmanager
    def show_progress(self, expected: Estimate, *, has_bar: bool) -> Iterator[None]:
        """Print what is ahead, time the run, and perhaps draw a bar on stderr meanwhile."""
        self._print_plan_line(expected)
        self._plain_s = expected.plain_s
        start = time.monotonic()
        with self._draw_bar() if has_bar else nullcontext():
            yield
        self._run_s = time.monotonic() - start

    @contextmanager
    def _draw_bar(self) -> Iterator[None]:
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

    def report_end(self, wall_s: float, *, run: str) -> None:
        """Print the summary, and the failed files last. `run` is "" where nothing was written."""
        self._summary_lines = format_summary(
            self.summary, self._plan, wall_s=wall_s, run_s=self._run_s, plain_s=self._plain_s
        )
        callers = self._caller_search.find()
        if callers:
            self._summary_lines.append(("callers", "; ".join(describe_callers(callers))))
        if self._output == "sarif":
            print_json(build_sarif(self._results, self._plan.inaccessible))
        elif self._output in ("json", "jsonl"):
            record = build_run_record(self.summary, self._plan, run, callers)
            if self._output == "json":
                record = {"files": [build_file_record(file) for file in self._results]} | record
            print_json(record)
        for label, text in self._summary_lines:
            print_status(f"{label:<8} {text}")
        if run:
            print_status(f"{'run':<8} {run} (`redraft codemod undo {run}` reverts it)")
        self._print_problems()

    def render_page(self) -> str:
        """Return the run as HTML, once it was reported."""
        return render_html(self._instruction, self._plan, self._results, self._summary_lines)

    def _print_plan_line(self, expected: Estimate | None) -> None:
        n_targets, n_files = self._plan.n_targets, len(self._plan.files)
        text = f"plan     {pluralize(n_targets, 'target')} in {pluralize(n_files, 'file')}"
        if expected:
            text += f"; about {expected.prompt_tokens:,} tokens to read"
            text += f" and {expected.output_tokens:,} to write, {expected.jobs} at once"
        if expected and expected.seconds:
            text += f", {max(1, round(expected.seconds / 60))} min"
        print_status(text)

    def _print_problems(self) -> None:
        # Last, so that they are on the screen when a long run ends.
        for problem, lost in self._problems:
            print_status(f"failed: {problem}")
            print_lost(lost)


class InterruptHandler:
    """Turns the first Ctrl-C into `requested`, a request to stop; the second one stops at once.

    With `is_immediate` the first one does too, for as long as a question waits for its answer.
    """

    def __init__(self) -> None:
        self.requested = False
        self.is_immediate = False
        self._previous: Any = signal.SIG_DFL

    def __enter__(self) -> "InterruptHandler":
        self._previous = signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        signal.signal(signal.SIGINT, self._previous)

    def _interrupt(self, _: int, __: FrameType | None) -> None:
        if self.requested or self.is_immediate:
            raise KeyboardInterrupt
        self.requested = True
        print_status("stopping after the write in hand; Ctrl-C again stops now")


def make_reviewer(interrupt: InterruptHandler) -> Review:
    """Return a function that asks on stderr about each edit and reads the answer from stdin.

    The end of stdin means quit.
    """
    accepts_all = False

    def review(path: str, document: Document, result: TargetResult) -> Verdict:
        nonlocal accepts_all
        if accepts_all or not isinstance(result.outcome, Rewritten):
            return "yes"
        print_diff(unified_diff(document.text, result.outcome.new_text, path))
        sys.stdout.flush()
        question = f"{path}:{result.line} [y]es, [n]o, [e]dit the instruction, [a]ll, [q]uit? "
        while True:
            match _ask(question, interrupt)[:1].lower():
                case "y":
                    return "yes"
                case "n":
                    return "no"
                case "a":
                    accepts_all = True
                    return "yes"
                case "e":
                    if instruction := _ask("instruction: ", interrupt):
                        return RetryRequest(instruction)
                case "q":
                    return "quit"

    return review


def _ask(question: str, interrupt: InterruptHandler) -> str:
    """Return one answer; "q" where there will be none any more."""
    sys.stderr.write(question)
    sys.stderr.flush()
    interrupt.is_immediate = True
    try:
        line = sys.stdin.readline()
    except KeyboardInterrupt:
        interrupt.requested, line = True, ""
    finally:
        interrupt.is_immediate = False
    return line.strip() if line else "q"
