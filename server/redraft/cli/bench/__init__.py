"""`redraft bench`: what decoding costs here, how strategies compare, whether they are exact.

A module a command. Tables go to stdout, progress and notes to stderr, all figures to the file that
--json names.
"""

from redraft.cli import options
from redraft.cli.bench import cost, edits, exact, latency

__all__ = ["add_parser"]

_COMMANDS = (cost, edits, exact, latency)


def add_parser(subparsers: options.Subparsers) -> None:
    """Add the verb `bench` with its commands."""
    parser = subparsers.add_parser("bench", help="measure speed, exactness and costs here")
    verbs = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in _COMMANDS:
        command.add_parser(verbs)
