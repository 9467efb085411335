"""`python -m redraft_bench COMMAND`: benchmarks for redraft's developers, with their report."""

import argparse
import sys
from collections.abc import Sequence

from redraft.cli import run
from redraft_bench import report
from redraft_bench.commands import codemod, drafter, memory, peers, quality, simulate, workloads

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; `argv` defaults to the process's arguments."""
    parser = argparse.ArgumentParser(prog="python -m redraft_bench", description=__doc__)
    verbs = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in (peers, quality, workloads, memory, drafter, codemod, simulate, report):
        command.add_parser(verbs)
    return run(parser, argv)


if __name__ == "__main__":
    sys.exit(main())
