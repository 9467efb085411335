"""`python -m redraft_bench memory`: memory with and without drafting by copying, beside the model.

Each strategy runs in a process of its own, on prompts that grow: the memory it holds behind each is
compared with that of plain decoding. Bytes everywhere.
"""

import argparse
import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Final

import psutil

from redraft import models
from redraft.bench.engine import BenchEngine, parse_strategies
from redraft.bench.results import markdown_table
from redraft.cli import bench_options, options, output
from redraft.engine.context_pool import CONTEXT_STEP
from redraft.prompting import template
from redraft.records import Piece, Prompt
from redraft_bench.drafter import build_long_text, measure_bytes_per_10k

__all__ = [
    "ContextMemory",
    "MemoryRecord",
    "add_parser",
    "compare_with_plain",
    "measure",
    "measure_contexts",
]

HISTORY: Final = 10_000  # tokens that the drafter's own memory is measured behind
N_TEXTS: Final = 8  # written at once
FRAME_TOKENS: Final = 64  # room for the chat template's and the request's tokens

_REQUEST: Final = "\nReply with this code exactly as it is. Change nothing.\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRecord:
    """Memory of a process behind `prompt_tokens` of prompt and `output_tokens` of answer.

    `unique` is what only this process has and would be free without it; `resident` counts what it
    shares too, and the mapped model file. Both 0 tokens: the model is loaded, nothing else.
    """

    strategy: str
    prompt_tokens: int
    output_tokens: int
    unique: int
    resident: int


def measure(
    model: Path,
    strategies: Sequence[str],
    prompts: Sequence[int],
    *,
    n_answer: int,
    n_threads: int | None,
) -> Iterator[tuple[MemoryRecord, ...]]:
    """Yield each strategy's memory once loaded, and behind prompts of so many tokens, ascending.

    `n_answer`: tokens that are written behind each. Raises what loading and decoding raise.
    """
    for strategy in strategies:
        # A new process each: what another strategy left behind would count.
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
            yield process.submit(
                _measure_strategy, model, strategy, sorted(prompts), n_answer, n_threads
            ).result()


def _measure_strategy(
    model: Path, strategy: str, prompts: Sequence[int], n_answer: int, n_threads: int | None
) -> tuple[MemoryRecord, ...]:
    engine = BenchEngine.load(model, n_threads=n_threads)
    with engine:
        records = [_read_memory(strategy, 0, 0)]
        for n_tokens in prompts:
            # The prompt, its frame and the answer have to fit the context together.
            n_code = min(n_tokens, engine.n_ctx - n_answer) - FRAME_TOKENS
            prompt = _build_prompt(engine, n_code)
            stats = engine.decode(prompt, strategy, "fast", max_tokens=n_answer).stats
            records.append(_read_memory(strategy, stats.prompt_tokens, stats.output_tokens))
        return tuple(records)


def _build_prompt(engine: BenchEngine, n_tokens: int) -> Prompt:
    """Ask for a code of about `n_tokens` tokens again; a longer one begins as a shorter one."""
    # Code has about four characters a token; what is too long by the model's count is cut off.
    text = build_long_text(4 * n_tokens)
    text = text[: len(text) * n_tokens // max(n_tokens, engine.count_tokens(text))]
    frame = template.render_frame(engine.chat_template)
    request = (Piece(_REQUEST), frame.closing)
    return Prompt(file=(frame.opening, Piece(text)), request=request, source=text, stop=())


def _read_memory(strategy: str, prompt_tokens: int, output_tokens: int) -> MemoryRecord:
    used = psutil.Process(os.getpid()).memory_full_info()
    return MemoryRecord(
        strategy=strategy,
        prompt_tokens=prompt_tokens,
        output_tokens=output_tokens,
        unique=used.uss,
        resident=used.rss,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextMemory:
    """What an engine with a limit of `n_ctx` tokens holds for contexts.

    cells: the most of all contexts at once, while `n_parallel` texts of `prompt_tokens` were
    written beside a file that stays. old_cells, new_cells: of a context that grew, where a file had
    taken used_cells; peak_bytes: the most that cells took meanwhile, saved ones included.
    cell_bytes: of one.
    """

    n_ctx: int
    n_parallel: int
    prompt_tokens: int
    cells: int
    old_cells: int
    used_cells: int
    new_cells: int
    cell_bytes: int
    peak_bytes: int

    @property
    def cells_of_limit(self) -> float:
        return self.cells / self.n_ctx

    @property
    def bytes_of_limit(self) -> int:
        """What the limit implies."""
        return self.n_ctx * self.cell_bytes

    @property
    def peak_of_cells(self) -> float:
        """The most bytes while growing, in those of the cells that there are then."""
        return self.peak_bytes / (self.new_cells * self.cell_bytes)


def measure_contexts(model: Path, n_ctx: int, n_threads: int | None) -> ContextMemory:
    """Measure in a new process. Raises what loading and decoding raise."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(_measure_contexts, model, n_ctx, n_threads).result()


def _measure_contexts(model: Path, n_ctx: int, n_threads: int | None) -> ContextMemory:
    n_prompt = n_ctx // 4
    engine = BenchEngine.load(model, n_ctx=n_ctx, n_threads=n_threads)
    with engine:
        counts = engine.watch_cells()
        prompt = _build_prompt(engine, n_prompt - FRAME_TOKENS)
        engine.decode(prompt, "plain", "invariant", max_tokens=4)
        engine.decode_together([(prompt, n_prompt)] * N_TEXTS, "copy", "invariant")
        cells = max(counts)
    engine = BenchEngine.load(model, n_threads=n_threads)
    with engine:
        counts = engine.watch_cells()
        # The worst case: a file nearly fills what there is, and all of it has to be saved.
        prompt = _build_prompt(engine, min(CONTEXT_STEP, engine.n_ctx) * 7 // 8)
        engine.decode(prompt, "plain", "invariant", max_tokens=4)
        old_cells = counts[-1]
        used_cells = sum(len(engine.tokenize(piece.text)) for piece in prompt.file)
        before = psutil.Process().memory_info().rss
        with _PeakMemory() as peak:
            new_cells, cell_bytes = engine.grow(min(2 * old_cells, engine.n_ctx), "invariant")
    return ContextMemory(
        n_ctx=n_ctx,
        n_parallel=N_TEXTS,
        prompt_tokens=n_prompt,
        cells=cells,
        old_cells=old_cells,
        used_cells=used_cells,
        new_cells=new_cells,
        cell_bytes=cell_bytes,
        peak_bytes=peak.resident - before + old_cells * cell_bytes,
    )


class _PeakMemory:
    """The most resident bytes of this process while this is entered, looked at all the time."""

    resident = 0

    def __enter__(self) -> "_PeakMemory":
        self._is_done = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_done.set()
        self._thread.join()

    def _look(self) -> None:
        process = psutil.Process()
        while not self._is_done.wait(0.001):
            self.resident = max(self.resident, process.memory_info().rss)
        self.resident = max(self.resident, process.memory_info().rss)


def compare_with_plain(records: Sequence[MemoryRecord]) -> list[tuple[MemoryRecord, int | None]]:
    """Pair each record with its unique bytes over plain decoding's behind the same prompt."""
    plain = {
        record.prompt_tokens: record.unique for record in records if record.strategy == "plain"
    }
    return [
        (
            record,
            record.unique - plain[record.prompt_tokens] if record.prompt_tokens in plain else None,
        )
        for record in records
    ]


def add_parser(commands: options.Subparsers) -> None:
    """Add the command `memory`."""
    parser = bench_options.add_command(
        commands,
        "memory",
        "resident memory with and without speculation, each in a new process",
        run,
    )
    for key in ("model", "threads"):
        options.add_flag(parser, key)
    flag = parser.add_argument
    flag("--prompts", default="2000,8000", help="tokens, with commas (default: %(default)s)")
    flag(
        "--answer",
        type=bench_options.parse_count,
        default=200,
        help="tokens to write (default: %(default)s)",
    )
    flag("--strategies", default="plain,copy", help="default: %(default)s")
    flag(
        "--n-ctx",
        type=bench_options.parse_count,
        default=4096,
        help="the limit that contexts are measured against (default: %(default)s)",
    )


def run(args: argparse.Namespace) -> int:
    """Run the command `memory`. Returns its exit code."""
    strategies = parse_strategies(args.strategies)
    prompts = bench_options.split_numbers("--prompts", args.prompts, least=1)
    settings = bench_options.load_settings(args, "model", "threads")
    path = models.resolve(settings.model)
    conditions = bench_options.begin_run(args, path, n_threads=settings.threads)
    records: list[MemoryRecord] = []
    for of_strategy in measure(
        path, strategies, prompts, n_answer=args.answer, n_threads=settings.threads
    ):
        records += of_strategy
        last = of_strategy[-1]
        output.print_status(f"{last.strategy}: {last.unique / 1e6:,.0f} MB at the end")
    drafter_bytes = measure_bytes_per_10k(HISTORY, HISTORY // 10)
    rows = [
        (
            record.strategy,
            f"{record.prompt_tokens:,}" if record.prompt_tokens else "loaded",
            f"{record.unique / 1e6:,.0f}",
            f"{record.resident / 1e6:,.0f}",
            "-" if more is None else f"{more / 1e6:+,.1f}",
        )
        for record, more in compare_with_plain(records)
    ]
    head = ("strategy", "prompt tokens", "MB of its own", "MB resident", "MB more than plain")
    print(markdown_table(head, rows), end="")
    print(f"\nThe drafter's own memory: {drafter_bytes / 1e3:,.0f} kB for 10,000 tokens of text.")
    contexts = measure_contexts(path, args.n_ctx, settings.threads)
    print(
        f"Contexts, with a limit of {contexts.n_ctx:,} tokens, which implies"
        f" {contexts.bytes_of_limit / 1e6:,.1f} MB: {contexts.cells:,} cells at most for"
        f" {contexts.n_parallel} texts at once beside a file that stays"
        f" ({contexts.cells_of_limit:.2f} of the limit)."
    )
    if contexts.new_cells > contexts.old_cells:
        print(
            f"Growing from {contexts.old_cells:,} cells, {contexts.used_cells:,} of them in use, to"
            f" {contexts.new_cells:,} takes {contexts.peak_of_cells:.2f} times their bytes."
        )
    else:
        print(f"This model's contexts do not grow: {contexts.old_cells:,} cells are all it reads.")
    results = {
        "conditions": conditions,
        "answer": args.answer,
        "held": [asdict(record) for record in records],
        "drafter_bytes_per_10k": drafter_bytes,
        "contexts": {
            **asdict(contexts),
            "bytes_of_limit": contexts.bytes_of_limit,
            "cells_of_limit": contexts.cells_of_limit,
            "peak_of_cells": contexts.peak_of_cells,
        },
    }
    bench_options.write_results(args.json, results)
    return 0
