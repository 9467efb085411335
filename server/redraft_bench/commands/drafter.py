"""`python -m redraft_bench drafter`: time and memory of drafting itself, without a model."""

import argparse
from dataclasses import asdict

from redraft.cli import options
from redraft.cli.bench import common

__all__ = ["add_parser"]


def add_parser(verbs: options.Subparsers) -> None:
    """Add the command `drafter`."""
    parser = common.command(
        verbs, "drafter", "time and memory of drafting itself, without a model", _run
    )
    flag = parser.add_argument
    flag("--history", type=common.count, default=32_000, help="tokens (default: %(default)s)")
    flag(
        "--answer", type=common.count, default=4_000, help="tokens to write (default: %(default)s)"
    )


def _run(args: argparse.Namespace) -> int:
    from redraft_bench.drafter import drafting_cost

    known = common.begin(args)
    cost = drafting_cost(args.history, args.answer)
    common.write(args.json, {"conditions": known, **asdict(cost)})
    print(
        f"{cost.passes} passes behind {cost.history_tokens:,} tokens, drafting:"
        f" {cost.mean_ms:.3f} ms a pass in the mean, {cost.median_ms:.3f} in the median,"
        f" {cost.p99_ms:.2f} at the 99th percentile, {cost.max_ms:.2f} at most;"
        f" {cost.start_ms:.0f} ms to start, {cost.bytes_per_10k / 1e3:.0f} kB for 10,000 tokens"
    )
    return 0
