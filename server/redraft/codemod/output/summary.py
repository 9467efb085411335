"""Results of a codemod in words and as JSON. Pure; prints nothing."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from redraft.codemod.plan import Plan
from redraft.codemod.results import FileResult, Summary, TargetResult, kind_of
from redraft.records import Refused
from redraft.text.diff import unified_diff

__all__ = ["problems", "record", "rows"]


def record(result: FileResult) -> dict[str, Any]:
    """The object of one file, for --json and --jsonl. Lines count from 1, times are in seconds."""
    diff = ""
    if result.document is not None and result.new_text is not None:
        diff = unified_diff(result.document.text, result.new_text, result.path)
    return {
        "path": result.path,
        "state": result.state,
        "written": result.written,
        "message": result.message,
        "diff": diff,
        "targets": [_target(one) for one in result.targets],
    }


def _target(one: TargetResult) -> dict[str, Any]:
    refused = one.ending if isinstance(one.ending, Refused) else None
    return {
        "name": one.target.name,
        "kind": one.target.kind,
        "line": one.line,
        "last_line": one.last_line,
        "outcome": kind_of(one.ending).partition(":")[0],
        "reason": refused.reason if refused else None,
        "message": refused.message if refused else "",
        "cached": one.cached,
        "stats": asdict(one.ending.stats),
    }


def problems(result: FileResult) -> Iterator[str]:
    """One line for each refusal and failure."""
    if result.message:
        yield f"{result.path}: {result.message}"
    for one in result.targets:
        if isinstance(one.ending, Refused):
            yield f"{result.path}:{one.line} {one.target.name}: {one.ending.message}"


def rows(
    summary: Summary, planned: Plan, *, wall_s: float, run_s: float, plain_s: float | None
) -> list[tuple[str, str]]:
    """The lines of the summary.

    `run_s` is the part of the time in which replies were written; `plain_s` what one plainly
    decoded token takes, if known.
    """
    files = dict(summary.files)
    if planned.broken:
        files["failed"] = files.get("failed", 0) + len(planned.broken)
    if planned.skipped:
        files["skipped"] = len(planned.skipped)
    told = [("files", _counts(files)), ("targets", _counts(summary.targets))]
    if summary.output_tokens:
        told.append(("tokens", _tokens(summary)))
    speed = f"{wall_s:.1f} s"
    if summary.output_tokens:
        run_s = max(run_s, 1e-9)
        speed += f", {summary.output_tokens / run_s:.1f} tokens/s"
        if plain_s:
            # As much read, then written token by token and one reply after the other.
            plainly_s = summary.prefill_s + summary.output_tokens * plain_s
            speed += f", {plainly_s / run_s:.1f} times plain decoding"
    return [*told, ("time", speed)]


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{n:,} {what}" for what, n in sorted(counts.items())) or "none"


def _tokens(summary: Summary) -> str:
    return (
        f"{summary.prompt_tokens:,} read ({summary.reused_tokens:,} of them reused), "
        f"{summary.output_tokens:,} written, {summary.copied_share:.0%} of them copied"
    )
