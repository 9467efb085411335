"""`python -m redraft_bench drafter`: time and memory of drafting itself, without any model.

A source of thousands of tokens is written again with an edit every few lines, some of which come
back (a renamed variable), so that the drafter loses its place, finds it, and learns.
"""

import argparse
import re
import time
import tracemalloc
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import mean, quantiles
from typing import Final

from redraft.bench.tasks import built_in_tasks
from redraft.cli import bench_options, options
from redraft_bench.scripted import ScriptedVocabulary, play
from redraft_lookup import CopyDrafter, CostCurve

__all__ = [
    "CURVE",
    "DraftingCost",
    "add_parser",
    "build_long_text",
    "build_scripted_edit",
    "measure",
    "measure_bytes_per_10k",
]

# T(k) / T(1) of a two-core x86 machine without a GPU, which drafts of many lengths pay on.
CURVE: Final = CostCurve.of(
    {1: 1.0, 2: 1.5, 4: 1.6, 8: 2.6, 16: 3.6, 32: 6.1, 48: 8.6, 64: 9.9, 128: 19.9}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftingCost:
    """Milliseconds a pass (propose and observe), and bytes for each 10,000 tokens of history.

    `start_ms`: making the drafter, once a request.
    """

    history_tokens: int
    answer_tokens: int
    passes: int
    start_ms: float
    mean_ms: float
    median_ms: float
    p99_ms: float
    max_ms: float
    bytes_per_10k: float


def measure(n_history: int, n_answer: int) -> DraftingCost:
    """Measure time, then memory of a `CopyDrafter` behind `n_history` tokens that it may copy."""
    source, answer, vocabulary = build_scripted_edit(n_history, n_answer)
    # Time and memory in runs of their own: tracing allocations would slow down the first.
    began = time.perf_counter()
    drafter = _make_drafter(source, vocabulary)
    start_s = time.perf_counter() - began
    passes_ms = [1000 * seconds for seconds in play(drafter, answer, CURVE).drafting_s]
    percentiles = quantiles(passes_ms, n=100, method="inclusive")
    return DraftingCost(
        history_tokens=len(source),
        answer_tokens=len(answer),
        passes=len(passes_ms),
        start_ms=1000 * start_s,
        mean_ms=mean(passes_ms),
        median_ms=percentiles[49],
        p99_ms=percentiles[98],
        max_ms=max(passes_ms),
        bytes_per_10k=_trace_bytes_per_10k(source, answer, vocabulary),
    )


def measure_bytes_per_10k(n_history: int, n_answer: int) -> float:
    """Return the bytes a `CopyDrafter` holds for 10,000 tokens of text at such an answer's end."""
    return _trace_bytes_per_10k(*build_scripted_edit(n_history, n_answer))


def _trace_bytes_per_10k(
    source: list[int], answer: list[int], vocabulary: ScriptedVocabulary
) -> float:
    tracemalloc.start()
    try:
        drafter = _make_drafter(source, vocabulary)
        play(drafter, answer, CURVE)
        n_bytes = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    return n_bytes / (len(source) + len(answer)) * 10_000


def _make_drafter(source: Sequence[int], vocabulary: ScriptedVocabulary) -> CopyDrafter:
    return CopyDrafter(source, source, curve=CURVE, vocabulary=vocabulary)


def build_scripted_edit(
    n_source: int, n_answer: int
) -> tuple[list[int], list[int], ScriptedVocabulary]:
    """Return a source of `n_source` tokens, the start of its edited text, and their vocabulary."""
    vocabulary = ScriptedVocabulary()
    source = vocabulary.tokenize(build_long_text(4 * n_source).encode())[:n_source]
    text = b"".join(map(vocabulary.piece, source)).decode()
    answer = vocabulary.tokenize(_edit_lines(text[: 4 * n_answer]).encode())[:n_answer]
    return source, answer, vocabulary


def build_long_text(n_characters: int) -> str:
    """Return the built-in files over and over, each time with other names."""
    parts: list[str] = []
    size = number = 0
    tasks = built_in_tasks()
    while size < n_characters:
        text = tasks[number % len(tasks)].before
        # Every second name gets a number, others in each round, so that no two copies are equal.
        names = list(dict.fromkeys(re.findall(r"\b[a-z]{4,}\b", text)))
        pattern = re.compile(rf"\b({'|'.join(names[number % 2 :: 2])})\b")
        parts.append(pattern.sub(rf"\1_{number}", text))
        size += len(parts[-1])
        number += 1
    return "".join(parts)


def _edit_lines(text: str) -> str:
    """Rename two words, delete every 24th line, and add a line after every 24."""
    lines: list[str] = []
    for number, line in enumerate(text.split("\n")):
        # The constants only spread the edits: a deletion and an insertion in every 24 lines.
        if number % 24 == 7:
            continue
        lines.append(line.replace("value", "amount").replace("self", "this"))
        if number % 24 == 19:
            lines.append(f"{line[: len(line) - len(line.lstrip())]}check({number})")
    return "\n".join(lines)


def add_parser(commands: options.Subparsers) -> None:
    """Add the command `drafter`."""
    parser = bench_options.add_command(
        commands, "drafter", "time and memory of drafting itself, without a model", run
    )
    for name, default, what in (
        ("--history", 32_000, "tokens"),
        ("--answer", 4_000, "tokens to write"),
    ):
        parser.add_argument(
            name,
            type=bench_options.parse_count,
            default=default,
            help=f"{what} (default: %(default)s)",
        )


def run(args: argparse.Namespace) -> int:
    """Run the command `drafter`. Returns its exit code."""
    conditions = bench_options.begin_run(args)
    cost = measure(args.history, args.answer)
    bench_options.write_results(args.json, {"conditions": conditions, **asdict(cost)})
    print(
        f"{cost.passes} passes behind {cost.history_tokens:,} tokens, drafting:"
        f" {cost.mean_ms:.3f} ms a pass in the mean, {cost.median_ms:.3f} in the median,"
        f" {cost.p99_ms:.2f} at the 99th percentile, {cost.max_ms:.2f} at most;"
        f" {cost.start_ms:.0f} ms to start, {cost.bytes_per_10k / 1e3:.0f} kB for 10,000 tokens"
    )
    return 0
