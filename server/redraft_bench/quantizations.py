"""Exactness over several quantisations of one model, each made here and measured from nothing.

Row counts that round alike with one kind of weights do not with another: so each kind finds its own
class, while strategies are compared with plain decoding, with copies of fewer bits as draft models.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from redraft import models
from redraft.bench import exact
from redraft.bench.engine import BenchEngine, parse_strategies
from redraft.bench.results import markdown_table
from redraft.cli import bench_options, options, output
from redraft.engine.llama import requantize

__all__ = ["KindTallies", "add_parser", "compare", "run"]

DRAFT_KIND = "Q2_K"
STRATEGIES = "lookup,copy,copy@6,jacobi,lookahead,draft,auto"


class KindTallies(NamedTuple):
    """What was compared with weights of one kind so far. row_counts: the class used behind 0."""

    kind: str
    row_counts: tuple[int, ...]
    tallies: dict[str, exact.Tally]


def compare(
    source: Path,
    kinds: Sequence[str],
    strategies: Sequence[str],
    *,
    n_tokens: int,
    n_together: Sequence[int],
    max_answer: int,
    n_threads: int | None = None,
) -> Iterator[KindTallies]:
    """Requantise `source` to each of `kinds` and compare at least `n_tokens` plain tokens of each.

    An answer has `max_answer` tokens at most.

    Yields what is known of a kind after each prompt.
    """
    with TemporaryDirectory() as name:
        folder = Path(name)
        draft = folder / f"{DRAFT_KIND}.gguf"
        requantize(source, draft, DRAFT_KIND)
        for kind in kinds:
            path = folder / f"{kind}-copy.gguf"
            requantize(source, path, kind)
            engine = BenchEngine.load(path, draft=draft, n_threads=n_threads)
            with engine:
                engine.calibrate_anew(folder / "costs")
                engine.save_states(folder / "states")
                for tallies in exact.compare(
                    engine,
                    strategies,
                    exactness="invariant",
                    n_tokens=n_tokens,
                    n_together=n_together,
                    max_answer=max_answer,
                ):
                    yield KindTallies(kind, engine.row_counts, tallies)
            path.unlink()


def add_parser(commands: options.Subparsers) -> None:
    """Add the command `exact-quantizations`."""
    parser = bench_options.add_command(
        commands,
        "exact-quantizations",
        "check that invariant decoding is exact on quantisations that are made here",
        run,
    )
    for key in ("model", "threads"):
        options.add_flag(parser, key)
    flag = parser.add_argument
    flag("--kinds", default="Q4_1,Q4_0,Q4_K_M,Q8_0", help="default: %(default)s")
    flag("--strategies", default=STRATEGIES, help="default: %(default)s")
    flag("--parallel", default="2,4", help="texts at once, besides one (default: %(default)s)")
    flag(
        "--answer",
        type=bench_options.parse_count,
        default=100,
        help="tokens of an answer, at most (default: %(default)s)",
    )
    flag(
        "--tokens",
        type=bench_options.parse_count,
        default=700,
        help="plain tokens of each kind; each strategy is compared with all (default: %(default)s)",
    )


def run(args: argparse.Namespace) -> int:
    """Run the command `exact-quantizations`. Returns its exit code: 2 where texts differ."""
    strategies = parse_strategies(args.strategies)
    n_together = bench_options.split_numbers("--parallel", args.parallel, least=2)
    settings = bench_options.load_settings(args, "model", "threads")
    source = models.resolve(settings.model)
    conditions = bench_options.begin_run(args, source, n_threads=settings.threads)
    found: dict[str, KindTallies] = {}
    for of_kind in compare(
        source,
        [kind.strip() for kind in args.kinds.split(",")],
        strategies,
        n_tokens=args.tokens,
        n_together=n_together,
        max_answer=args.answer,
        n_threads=settings.threads,
    ):
        found[of_kind.kind] = of_kind
        n_compared, n_parted = _count(of_kind)
        output.print_status(f"{of_kind.kind}: {n_compared} tokens, {n_parted} differences")
        # Written after each prompt, so that a run that is interrupted is not lost.
        bench_options.write_results(args.json, _build_record(conditions, found))
    rows = [
        (kind, ", ".join(map(str, of_kind.row_counts)), *map(str, _count(of_kind)))
        for kind, of_kind in found.items()
    ]
    total = [sum(numbers) for numbers in zip(*map(_count, found.values()), strict=True)]
    rows.append(("all", "", *map(str, total)))
    head = ("weights", "rows of a pass", "tokens compared", "differences")
    print(markdown_table(head, rows), end="")
    for kind, of_kind in found.items():
        for line in exact.describe_differences(of_kind.tallies):
            output.print_status(f"{kind}: {line}")
    return 2 if total[1] else 0


def _count(of_kind: KindTallies) -> tuple[int, int]:
    """Return how many tokens were compared, and how many differences there are."""
    tallies = of_kind.tallies.values()
    return sum(t.tokens for t in tallies), sum(len(t.differences) for t in tallies)


def _build_record(conditions: dict[str, Any], found: dict[str, KindTallies]) -> dict[str, Any]:
    return {
        "conditions": conditions,
        "exactness": "invariant",
        "kinds": {
            kind: {
                "row_counts": of_kind.row_counts,
                "strategies": {name: asdict(tally) for name, tally in of_kind.tallies.items()},
            }
            for kind, of_kind in found.items()
        },
    }
