"""`python -m redraft_bench sampling`: what choosing a token costs, without any model.

Rows of random logits as long as those of large vocabularies, most of which are far from likely, as
a model's are.
"""

import argparse
import time
from statistics import median
from typing import Any, Final

import numpy as np

from redraft.bench.results import markdown_table
from redraft.cli import bench_options, options
from redraft_lookup import Chooser, Greedy, Sampler

__all__ = ["CHOOSERS", "add_parser", "measure", "run"]

CHOOSERS: Final[dict[str, Chooser]] = {
    "greedy": Greedy(),
    "uncut": Sampler(temperature=0.8, seed=1),
    "top_k 40": Sampler(temperature=0.8, seed=1, top_k=40),
    "top_p 0.95": Sampler(temperature=0.8, seed=1, top_p=0.95),
    "min_p 0.05": Sampler(temperature=0.8, seed=1, min_p=0.05),
    "top_k 40, top_p 0.95, min_p 0.05": Sampler(
        temperature=0.8, seed=1, top_k=40, top_p=0.95, min_p=0.05
    ),
}
# Of a code model's rows: the standard deviation of logits is about 3, the best one some 20 above.
SPREAD: Final = 3.0
LEAD: Final = 8.0


def measure(n_vocab: int, n_tokens: int) -> dict[str, float]:
    """Return the median microseconds that each way of choosing takes for a token."""
    random = np.random.default_rng(7)
    rows = SPREAD * random.standard_normal((n_tokens, n_vocab), dtype=np.float32)
    rows[np.arange(n_tokens), random.integers(n_vocab, size=n_tokens)] += LEAD
    found = {}
    for name, chooser in CHOOSERS.items():
        seconds = []
        for position, row in enumerate(rows):
            began = time.perf_counter()
            chooser.choose(row, position)
            seconds.append(time.perf_counter() - began)
        found[name] = 1e6 * median(seconds)
    return found


def add_parser(commands: options.Subparsers) -> None:
    """Add the command `sampling`."""
    parser = bench_options.add_command(
        commands, "sampling", "what choosing a token costs, without a model", run
    )
    for name, default, what in (
        ("--vocabulary", 152_000, "logits in a row"),
        ("--tokens", 64, "tokens chosen in each way"),
    ):
        parser.add_argument(
            name,
            type=bench_options.parse_count,
            default=default,
            help=f"{what} (default: %(default)s)",
        )


def run(args: argparse.Namespace) -> int:
    """Run the command `sampling`. Returns its exit code."""
    conditions = bench_options.begin_run(args)
    found = measure(args.vocabulary, args.tokens)
    record: dict[str, Any] = {"conditions": conditions, "microseconds_per_token": found}
    bench_options.write_results(args.json, record)
    rows = [(name, f"{microseconds:,.0f}") for name, microseconds in found.items()]
    print(markdown_table(("choice", "microseconds a token"), rows), end="")
    return 0
