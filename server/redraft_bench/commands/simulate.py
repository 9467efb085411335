"""`python -m redraft_bench simulate`: SIMULATED speed-up on Apple's chips."""

import argparse
from dataclasses import asdict
from pathlib import Path

from redraft.cli import options
from redraft.cli.bench import common

__all__ = ["add_parser"]


def add_parser(verbs: options.Subparsers) -> None:
    """Add the command `simulate`."""
    parser = common.command(
        verbs,
        "simulate",
        "SIMULATE the speed-up on Apple's chips by scripted answers; states its inputs",
        _run,
    )
    flag = parser.add_argument
    flag("--tasks", metavar="FILE.jsonl", type=Path, help="workload, user, reference; or built-in")
    flag(
        "--tokens-per-s", type=float, default=27.0, help="of plain decoding (default: %(default)s)"
    )
    flag(
        "--tile",
        type=common.count,
        default=32,
        help="rows computed together (default: %(default)s)",
    )
    flag("--first-tile", type=float, default=2.5, help="its cost, in passes of one row")
    flag("--next-tile", type=float, default=1.5, help="what each further tile adds")


def _run(args: argparse.Namespace) -> int:
    from redraft.bench import table
    from redraft_bench import simulate

    known = common.begin(args)
    chip = simulate.Chip(
        tokens_per_s=args.tokens_per_s,
        tile=args.tile,
        first_tile=args.first_tile,
        next_tile=args.next_tile,
    )
    scripts = simulate.load(args.tasks) if args.tasks else simulate.built_in_scripts()
    found = simulate.simulate(scripts, chip)
    names = list(next(iter(found.values())))
    rows = [
        (workload, *(table.figure(own[name]) for name in names), table.figure(published))
        for workload, published in simulate.PUBLISHED.items()
        if (own := found.get(workload))
    ]
    print("SIMULATION, nothing was measured: scripted answers, a made-up vocabulary, and passes of")
    for rows_, seconds in zip(chip.curve.rows, chip.curve.measured, strict=True):
        print(f"  {rows_:3} rows  {1000 * seconds:5.0f} ms")
    print("\nSpeed-up over plain decoding:\n")
    print(table.markdown(("workload", *names, "lookup, published"), rows), end="")
    curve = dict(zip(chip.curve.rows, chip.curve.measured, strict=True))
    common.write(
        args.json,
        {
            "conditions": known,
            "simulation": True,
            "inputs": asdict(chip),
            "pass_seconds": curve,
            "speedup": found,
            "published": simulate.PUBLISHED,
        },
    )
    return 0
