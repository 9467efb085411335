"""`redraft bench cost`: what a pass costs by its rows, the curve that sizes drafts."""

import argparse

from redraft.cli import options
from redraft.cli.bench import common
from redraft.errors import InputError

__all__ = ["add_parser"]


def add_parser(verbs: options.Subparsers) -> None:
    """Add the command `cost`."""
    parser = common.command(
        verbs,
        "cost",
        "what a pass costs by its rows: the curve that sizes drafts, as a table and a plot",
        _run,
    )
    common.add_model(parser)
    flag = parser.add_argument
    flag("--depths", default="0,1024,4096", help="tokens of context (default: %(default)s)")
    common.add_plot(parser)


def _run(args: argparse.Namespace) -> int:
    from redraft.bench import cost

    depths = args.depths.split(",")
    if not all(depth.isdecimal() for depth in depths):
        raise InputError(f"--depths takes whole numbers with commas, not {args.depths!r}")
    with common.loaded(args) as (subject, known):
        measured = []
        for depth in map(int, depths):
            measured.append(subject.measure(depth))
            print(cost.table(measured[-1]), flush=True)
    lines = [line for one in measured for line in cost.records(one)]
    record = {"conditions": known, "passes": lines}
    common.write(args.json, record)
    common.draw(args.plot, record)
    return 0
