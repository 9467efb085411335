"""Strategies compared on edits, with plain decoding and with an oracle that copies.

Every strategy decodes the same prompts in one run. Each prompt is prefilled and its costs are
calibrated before any strategy decodes it, so that only decoding is timed; the order of the
strategies turns from one repetition and task to the next.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

from redraft.bench.engine import (
    BenchEngine,
    answer_tokens,
    decode_in_turns,
    first_difference,
    speedup_spread,
)
from redraft.bench.tasks import Scope, Task, build_request
from redraft.prompting.build import build_prompt
from redraft.records import Exactness, Refused
from redraft_lookup import CostCurve

__all__ = [
    "EditRecord",
    "OracleDecode",
    "SkippedTask",
    "copied_spans",
    "decode_with_oracle",
    "measure",
    "summarize",
]

DEPTHS: Final = (512, 2048, 4096)  # tokens of context that costs are measured behind, at first
MOSTLY_COPIED: Final = 0.9  # share of an answer from which on it has a figure of its own
MIN_SPAN: Final = 2  # tokens: a shorter stretch is not worth a draft


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
    engine: BenchEngine,
    tasks: Sequence[Task],
    strategies: Sequence[str],
    *,
    scope: Scope,
    exactness: Exactness,
    n_repeats: int,
) -> Iterator[tuple[EditRecord, ...] | SkippedTask]:
    """Yield each task's records, one for each of `strategies`, of which "plain" is the first."""
    engine.calibrate(DEPTHS, exactness)
    for number, task in enumerate(tasks):
        prompt = build_prompt(build_request(task, scope), engine, max_tokens=task.max_tokens)
        if isinstance(prompt, Refused):
            yield SkippedTask(id=task.id, reason=prompt.message)
            continue
        # From here on the prompt is in the cache: no strategy pays for its prefill.
        n_prompt = engine.warm_up(prompt, exactness)
        source = engine.tokenize(prompt.source)
        completions = decode_in_turns(
            engine,
            prompt,
            strategies,
            n_repeats=n_repeats,
            first=number,
            exactness=exactness,
            max_tokens=task.max_tokens,
        )
        plain = answer_tokens(completions["plain"][0])
        # Passes cost more as the text grows: the oracle pays what they cost in its middle.
        curve = engine.cost_curve(n_prompt + len(plain) // 2, exactness)
        records = []
        for strategy, runs in completions.items():
            answer, stats = answer_tokens(runs[0]), runs[0].stats
            oracle = decode_with_oracle(answer, source, curve)
            difference = first_difference(answer, plain)
            runs_s = tuple(run.stats.decode_s for run in runs)
            records.append(
                EditRecord(
                    id=task.id,
                    strategy=strategy,
                    output_tokens=stats.output_tokens,
                    passes=stats.passes,
                    drafted=stats.drafted,
                    accepted=stats.accepted,
                    near_tie_redecodes=stats.near_tie_redecodes,
                    decode_s=median(runs_s),
                    runs_s=runs_s,
                    oracle_passes=oracle.passes,
                    oracle_s=oracle.seconds,
                    copied_share=oracle.copied_share,
                    equal_to_plain=difference is None,
                    first_difference=difference,
                )
            )
        yield tuple(records)


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleDecode:
    """One answer decoded with drafts from a drafter that knows it: the best copying could reach.

    `seconds` by the cost curve; `copied` counts the tokens of spans.
    """

    tokens: int
    passes: int
    seconds: float
    copied: int

    @property
    def copied_share(self) -> float:
        return self.copied / self.tokens if self.tokens else 0.0


def decode_with_oracle(
    answer: Sequence[int], source: Sequence[int], curve: CostCurve
) -> OracleDecode:
    """Decode `answer` by copying every span of two or more tokens that is also in `source`.

    A span is copied at the cost-optimal draft length: in passes of `curve.best_rows` rows, of
    which k rows commit k tokens, and a shorter last one. Each other token is a plain pass.
    """
    passes, seconds, copied = 0, 0.0, 0
    for length in copied_spans(answer, source):
        if length >= MIN_SPAN:
            copied += length
        for start in range(0, length, curve.best_rows):
            # Every row of the pass is accepted: the oracle drafts the answer itself.
            passes += 1
            seconds += curve.seconds(min(curve.best_rows, length - start))
    return OracleDecode(tokens=len(answer), passes=passes, seconds=seconds, copied=copied)


def copied_spans(answer: Sequence[int], source: Sequence[int]) -> Iterator[int]:
    """Cut `answer` greedily into the longest spans found in `source`; yields lengths, at least 1.

    "cdxab" from "abcd" gives 2 (cd), 1 (x), 2 (ab).
    """
    # Places of each pair of tokens: a span that is worth a draft begins with one.
    positions: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for position in range(len(source) - 1):
        positions[tuple(source[position : position + MIN_SPAN])].append(position)
    start = 0
    while start < len(answer):
        matches = positions.get(tuple(answer[start : start + MIN_SPAN]), ())
        length = max(
            (_common_length(answer, start, source, position) for position in matches), default=1
        )
        yield length
        start += length


def _common_length(answer: Sequence[int], start: int, source: Sequence[int], position: int) -> int:
    limit = min(len(answer) - start, len(source) - position)
    differing = (i for i in range(limit) if answer[start + i] != source[position + i])
    return next(differing, limit)


def summarize(records: Sequence[EditRecord]) -> dict[str, dict[str, Any]]:
    """Return each strategy's figures over all tasks; `speedup` and ratios are of totals."""
    plain = {record.id: record for record in records if record.strategy == "plain"}
    names = dict.fromkeys(record.strategy for record in records)
    return {
        name: _summarize_strategy([record for record in records if record.strategy == name], plain)
        for name in names
    }


def _summarize_strategy(
    records: Sequence[EditRecord], plain: dict[str, EditRecord]
) -> dict[str, Any]:
    n_tokens = sum(record.output_tokens for record in records)
    passes = sum(record.passes for record in records)
    decode_s = sum(record.decode_s for record in records)
    speedups = {record.id: plain[record.id].decode_s / record.decode_s for record in records}
    # Edits that change little have a figure of their own: what copying is made for.
    copied = [gain for id_, gain in speedups.items() if plain[id_].copied_share >= MOSTLY_COPIED]
    parted_at = [r.first_difference for r in records if r.first_difference is not None]
    # An answer that parts is compared up to the difference only: what follows is another text.
    n_compared = sum(r.output_tokens for r in records if r.equal_to_plain) + sum(parted_at)
    return {
        "tasks": len(records),
        "output_tokens": n_tokens,
        "passes": passes,
        "decode_s": decode_s,
        "tokens_per_pass": _ratio(n_tokens, passes),
        "tokens_per_s": _ratio(n_tokens, decode_s),
        "speedup": _ratio(sum(plain[record.id].decode_s for record in records), decode_s),
        **speedup_spread(list(speedups.values())),
        "oracle_ratio": _ratio(passes, sum(record.oracle_passes for record in records)),
        "oracle_time_ratio": _ratio(decode_s, sum(record.oracle_s for record in records)),
        "equal_to_plain": not parted_at,
        "copied_tasks": len(copied),
        "copied_median_speedup": median(copied) if copied else None,
        "near_tie_redecodes": sum(record.near_tie_redecodes for record in records),
        "differences": len(parted_at),
        "differences_per_1000_tokens": 1000 * _ratio(len(parted_at), n_compared),
    }


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
