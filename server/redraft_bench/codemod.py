"""How fast a codemod's replies are written: one after another, and several at once.

Whole runs are timed, prefill included, over the same prompts and each from an empty cache; the
numbers of replies at once take turns, so that no machine that slows down favours one.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from redraft import syntax
from redraft.bench.subject import Subject
from redraft.bench.tasks import Task
from redraft.bench.turns import in_turn
from redraft.edit import PromptRequest, ask
from redraft.records import DecodeOptions, EditRequest

__all__ = ["ThroughputRun", "measure", "prompts", "summary"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ThroughputRun:
    """All prompts once, `jobs` replies at once. Times in seconds.

    `same_text`: whether every reply is the one that the first run of all gave.
    """

    jobs: int
    turn: int
    wall_s: float
    prefill_s: float
    prefilled_tokens: int
    output_tokens: int
    accepted: int
    same_text: bool


def prompts(
    subject: Subject, tasks: Sequence[Task], options: DecodeOptions
) -> tuple[PromptRequest, ...]:
    """What a codemod would ask for every outermost function of the tasks' files."""
    asked = (ask(request, subject, options) for task in tasks for request in _requests(task))
    return tuple(one for one in asked if isinstance(one, PromptRequest))


def _requests(task: Task) -> Iterator[EditRequest]:
    language = syntax.language_of(task.path, task.before)
    end = 0
    for target in syntax.targets(task.before, language) if language else ():
        if target.kind in ("function", "method") and target.span.start >= end:
            end = target.span.stop
            yield EditRequest(
                path=task.path,
                text=task.before,
                target=target.span,
                instruction=task.instruction,
                language=language,
            )


def measure(
    subject: Subject,
    asked: Sequence[PromptRequest],
    counts: Sequence[int],
    options: DecodeOptions,
    *,
    n_repeats: int,
) -> Iterator[ThroughputRun]:
    """Each of `counts` replies at once, `n_repeats` times, in turn."""
    batch = [(one.prompt, one.max_tokens) for one in asked]
    first: list[str] = []
    for turn in range(n_repeats):
        for jobs in in_turn(counts, turn):
            subject.forget()
            began = time.perf_counter()
            ended = dict(subject.complete_many(batch, options, n_parallel=jobs))
            wall_s = time.perf_counter() - began
            texts = [ended[i].text for i in range(len(batch))]
            first = first or texts
            stats = [one.stats for one in ended.values()]
            yield ThroughputRun(
                jobs=jobs,
                turn=turn,
                wall_s=wall_s,
                prefill_s=sum(one.prefill_s for one in stats),
                prefilled_tokens=sum(one.prompt_tokens - one.reused_tokens for one in stats),
                output_tokens=sum(one.output_tokens for one in stats),
                accepted=sum(one.accepted for one in stats),
                same_text=texts == first,
            )


def summary(runs: Sequence[ThroughputRun]) -> dict[int, dict[str, Any]]:
    """For each number of replies at once the medians; `speedup` is against one, turn by turn."""
    alone = {one.turn: one for one in runs if one.jobs == 1}
    figures: dict[int, dict[str, Any]] = {}
    for jobs in sorted({one.jobs for one in runs}):
        own = [one for one in runs if one.jobs == jobs]
        pairs = [(alone[one.turn], one) for one in own if one.turn in alone]
        figures[jobs] = {
            "wall_s": median(one.wall_s for one in own),
            "prefill_s": median(one.prefill_s for one in own),
            "tokens_per_s": median(one.output_tokens / one.wall_s for one in own),
            "speedup": median(a.wall_s / b.wall_s for a, b in pairs),
            "least_speedup": min(a.wall_s / b.wall_s for a, b in pairs),
            "decode_speedup": median(_decode_s(a) / _decode_s(b) for a, b in pairs),
            "same_text": all(one.same_text for one in own),
        }
    return figures


def _decode_s(run: ThroughputRun) -> float:
    return run.wall_s - run.prefill_s
