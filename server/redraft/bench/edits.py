"""Strategies compared on edits: the same prompts, one after the other, in one run.

Each prompt is prefilled and its costs calibrated before any strategy decodes it, so that only
decoding is timed; the order of the strategies turns from one repetition and task to the next.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from redraft.bench import turns
from redraft.bench.oracle import Oracle, oracle
from redraft.bench.subject import Subject, answer, first_difference
from redraft.bench.tasks import Scope, Task, request
from redraft.prompting.build import build_prompt
from redraft.records import Completion, Exactness, Refused

__all__ = ["EditRecord", "SkippedTask", "measure", "summary"]

DEPTHS = (512, 2048, 4096)  # tokens of context that costs are measured behind, at first
MOSTLY_COPIED = 0.9  # tasks of whose answer this share is copied have a figure of their own


@dataclass(frozen=True, slots=True, kw_only=True)
class EditRecord:
    """One strategy on one task. Times in seconds; `decode_s` is the median of `runs_s`.

    `oracle_passes` and `oracle_s` are for this very answer. `first_difference` is the token where
    it parts from the plain one, None where they are equal.
    """

    id: str
    strategy: str
    output_tokens: int
    passes: int
    drafted: int
    accepted: int
    near_tie_redecodes: int
    decode_s: float
    runs_s: tuple[float, ...]
    oracle_passes: int
    oracle_s: float
    copied_share: float
    equal_to_plain: bool
    first_difference: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedTask:
    """A task that was not measured, and why."""

    id: str
    reason: str


def measure(
    subject: Subject,
    tasks: Sequence[Task],
    strategies: Sequence[str],
    *,
    scope: Scope,
    exactness: Exactness,
    n_repeats: int,
) -> Iterator[tuple[EditRecord, ...] | SkippedTask]:
    """For each task its records, one for each of `strategies`, of which "plain" is the first."""
    subject.calibrate(DEPTHS, exactness)
    for number, task in enumerate(tasks):
        asked = build_prompt(request(task, scope), subject, max_tokens=task.max_tokens)
        if isinstance(asked, Refused):
            yield SkippedTask(id=task.id, reason=asked.message)
            continue
        n_prompt = subject.warm_up(asked, exactness)
        source = subject.ids(asked.source)
        runs = turns.decode(
            subject,
            asked,
            strategies,
            n_repeats=n_repeats,
            begin_with=number,
            exactness=exactness,
            max_tokens=task.max_tokens,
        )
        plain = answer(runs["plain"][0])
        # Passes cost more as the text grows: the oracle pays what they cost in its middle.
        curve = subject.curve(n_prompt + len(plain) // 2, exactness)
        yield tuple(
            _record(task.id, name, runs[name], plain, oracle(answer(runs[name][0]), source, curve))
            for name in strategies
        )


def _record(
    task: str, strategy: str, runs: Sequence[Completion], plain: Sequence[int], best: Oracle
) -> EditRecord:
    stats = runs[0].stats
    difference = first_difference(answer(runs[0]), plain)
    times = tuple(run.stats.decode_s for run in runs)
    return EditRecord(
        id=task,
        strategy=strategy,
        output_tokens=stats.output_tokens,
        passes=stats.passes,
        drafted=stats.drafted,
        accepted=stats.accepted,
        near_tie_redecodes=stats.near_tie_redecodes,
        decode_s=median(times),
        runs_s=times,
        oracle_passes=best.passes,
        oracle_s=best.seconds,
        copied_share=best.copied_share,
        equal_to_plain=difference is None,
        first_difference=difference,
    )


def summary(records: Sequence[EditRecord]) -> dict[str, dict[str, Any]]:
    """For each strategy the figures over all tasks; `speedup` and ratios are of totals."""
    plain = {one.id: one for one in records if one.strategy == "plain"}
    names = dict.fromkeys(one.strategy for one in records)
    return {
        name: _figures([one for one in records if one.strategy == name], plain) for name in names
    }


def _figures(own: Sequence[EditRecord], plain: dict[str, EditRecord]) -> dict[str, Any]:
    n_tokens = sum(one.output_tokens for one in own)
    passes = sum(one.passes for one in own)
    decode_s = sum(one.decode_s for one in own)
    gains = [plain[one.id].decode_s / one.decode_s for one in own if _is_copy(plain[one.id])]
    parted = [one.first_difference for one in own if one.first_difference is not None]
    n_compared = sum(one.output_tokens for one in own if one.equal_to_plain) + sum(parted)
    return {
        "tasks": len(own),
        "output_tokens": n_tokens,
        "passes": passes,
        "decode_s": decode_s,
        "tokens_per_pass": _ratio(n_tokens, passes),
        "tokens_per_s": _ratio(n_tokens, decode_s),
        "speedup": _ratio(sum(plain[one.id].decode_s for one in own), decode_s),
        **turns.spread([plain[one.id].decode_s / one.decode_s for one in own]),
        "oracle_ratio": _ratio(passes, sum(one.oracle_passes for one in own)),
        "oracle_time_ratio": _ratio(decode_s, sum(one.oracle_s for one in own)),
        "equal_to_plain": not parted,
        "copied_tasks": len(gains),
        "copied_median_speedup": median(gains) if gains else None,
        "near_tie_redecodes": sum(one.near_tie_redecodes for one in own),
        "differences": len(parted),
        "differences_per_1000_tokens": 1000 * _ratio(len(parted), n_compared),
    }


def _is_copy(plain: EditRecord) -> bool:
    return plain.copied_share >= MOSTLY_COPIED


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
