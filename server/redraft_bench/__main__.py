"""`python -m redraft_bench COMMAND`: benchmarks for redraft's developers, with their report."""

import argparse
import sys
from collections.abc import Sequence

from redraft.cli import run
from redraft_bench import (
    codemod,
    drafter,
    laws,
    memory,
    quantizations,
    report,
    sampling,
    simulate,
    workloads,
)
from redraft_bench.peers import compare
from redraft_bench.quality import measure

__all__ = ["build_parser", "main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; `argv` defaults to the process's arguments."""
    return run(build_parser(), argv)


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    what = "Benchmarks for redraft's developers, and the report of their results."
    parser = argparse.ArgumentParser(prog="python -m redraft_bench", description=what)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for module in (
        *(
            compare,
            measure,
            workloads,
            quantizations,
            memory,
            drafter,
            sampling,
            codemod,
            simulate,
            laws,
        ),
        report,
    ):
        module.add_parser(commands)
    return parser


if __name__ == "__main__":
    sys.exit(main())
