"""Put a codemod's results into words and into JSON objects. Pure; prints nothing.

A figure of the summary comes from `redraft.codemod.results.Summary`: a field there is in the JSON
by itself, and `format_summary` says it in words, on the terminal and in the HTML page.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from redraft.codemod.plan import Estimate, Plan
from redraft.codemod.results import FileResult, Summary, TargetResult
from redraft.edit import describe_override
from redraft.records import Caller, Refused, Rewritten
from redraft.text.diff import unified_diff

__all__ = [
    "build_file_record",
    "build_plan_record",
    "build_run_record",
    "describe_problems",
    "format_summary",
]


def build_file_record(result: FileResult) -> dict[str, Any]:
    """Return the JSON object of one file. Lines count from 1, times are in seconds."""
    diff = ""
    if result.document is not None and result.new_text is not None:
        diff = unified_diff(result.document.text, result.new_text, result.path)
    return {
        "path": result.path,
        "state": result.state,
        "written": result.written,
        "message": result.message,
        "diff": diff,
        "targets": [_build_target_record(target, result) for target in result.targets],
    }


def _build_target_record(result: TargetResult, file: FileResult) -> dict[str, Any]:
    refused = result.outcome if isinstance(result.outcome, Refused) else None
    withheld = refused.withheld if refused else None
    old_text = file.document.text if file.document else ""
    callers = result.outcome.callers if isinstance(result.outcome, Rewritten) else ()
    return {
        "name": result.target.name,
        "kind": result.target.kind,
        "line": result.line,
        "last_line": result.last_line,
        "outcome": result.kind.partition(":")[0],
        "reason": refused.reason if refused else None,
        "message": refused.message if refused else "",
        "lost": list(refused.lost) if refused else [],
        "withheld_diff": unified_diff(old_text, withheld.new_text, file.path) if withheld else None,
        "callers": [asdict(caller) for caller in callers],
        "cached": result.is_cached,
        "stats": asdict(result.outcome.stats),
    }


def build_plan_record(plan: Plan, estimate: Estimate | None) -> dict[str, Any]:
    """Return the JSON object of `--plan`."""
    return {
        "files": [asdict(file) for file in plan.files],
        "skipped": [asdict(file) for file in plan.skipped],
        "broken": [asdict(file) for file in plan.inaccessible],
        "estimate": asdict(estimate) if estimate else None,
    }


def build_run_record(
    summary: Summary, plan: Plan, run: str, callers: Sequence[Caller] = ()
) -> dict[str, Any]:
    """Return the JSON object of a whole run; `run` is its name, "" where it wrote nothing.

    callers: lines of all files of the plan that the edits leave behind.
    """
    return {
        "summary": summary.as_dict(),
        "run": run or None,
        "callers": [asdict(caller) for caller in callers],
        "skipped": [asdict(file) for file in plan.skipped],
        "broken": [asdict(file) for file in plan.inaccessible],
    }


def describe_problems(result: FileResult) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield a line for each refusal and failure, and the lines of code that would be lost."""
    if result.message:
        yield f"{result.path}: {result.message}", ()
    for target in result.targets:
        if isinstance(target.outcome, Refused):
            name = target.target.name
            clause = describe_override(target.outcome)
            message = f"{target.outcome.message}; {clause}" if clause else target.outcome.message
            yield f"{result.path}:{target.line} {name}: {message}", target.outcome.lost


def format_summary(
    summary: Summary, plan: Plan, *, wall_s: float, run_s: float, plain_s: float | None
) -> list[tuple[str, str]]:
    """Return the lines of the summary as (label, text).

    `run_s` is the part of the time in which replies were written; `plain_s` what one plainly
    decoded token takes, if known.
    """
    files = dict(summary.files)
    if plan.inaccessible:
        files["failed"] = files.get("failed", 0) + len(plan.inaccessible)
    if plan.skipped:
        files["skipped"] = len(plan.skipped)
    lines = [("files", _format_counts(files)), ("targets", _format_counts(summary.targets))]
    speed = f"{wall_s:.1f} s"
    if summary.output_tokens:
        tokens = (
            f"{summary.prompt_tokens:,} read ({summary.reused_tokens:,} of them reused), "
            f"{summary.output_tokens:,} written, {summary.copied_share:.0%} of them copied"
        )
        lines.append(("tokens", tokens))
        run_s = max(run_s, 1e-9)
        speed += f", {summary.output_tokens / run_s:.1f} tokens/s"
        if plain_s:
            # Plain decoding reads as much, then writes token by token, one reply after the other.
            # `run_s` holds the prefill too: without it here, reading would count as a slowdown.
            plain_run_s = summary.prefill_s + summary.output_tokens * plain_s
            speed += f", {plain_run_s / run_s:.1f} times plain decoding"
    return [*lines, ("time", speed)]


def _format_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{n:,} {name}" for name, n in sorted(counts.items())) or "none"
