"""`python -m redraft_bench workloads`: strategies on five kinds of request, chat among them."""

import argparse
from dataclasses import asdict
from pathlib import Path

from redraft.cli import options, output
from redraft.cli.bench import common

__all__ = ["add_parser"]


def add_parser(verbs: options.Subparsers) -> None:
    """Add the command `workloads`."""
    parser = common.command(
        verbs, "workloads", "compare strategies on five kinds of request, chat among them", _run
    )
    common.add_model(parser)
    common.add_decoding(parser, "fast", "plain,lookup,copy,auto")
    flag = parser.add_argument
    flag("--tasks", metavar="FILE.jsonl", type=Path, help="default: built-in questions")
    common.add_repeat(parser)
    common.add_plot(parser)
    flag("--each", type=common.count, help="the first so many of each workload only")


def _run(args: argparse.Namespace) -> int:
    from redraft.bench import subject, table
    from redraft_bench import workloads

    names = subject.strategies(args.strategies)
    todo = workloads.load(args.tasks) if args.tasks else workloads.built_in()
    if args.each:
        todo = workloads.first_of_each(todo, args.each)
    runs: list[workloads.Ran] = []
    with common.loaded(args) as (model, known):
        for done in workloads.measure(
            model, todo, names, exactness=args.exactness, n_repeats=args.repeat
        ):
            runs += done
            times = ", ".join(f"{one.strategy} {one.decode_s:.1f} s" for one in done)
            output.print_status(f"{done[0].workload}: {times}")
    found = workloads.summary(runs)
    columns = (
        *("tokens_per_s", "speedup", "least_speedup", "most_speedup", "tokens_per_pass"),
        *("acceptance", "differences"),
    )
    rows = [
        (f"{workload}, {name}", *(table.figure(figures[key]) for key in columns))
        for workload, own in found.items()
        for name, figures in own.items()
    ]
    print(table.markdown(("", *(key.replace("_", " ") for key in columns)), rows), end="")
    record = {
        "conditions": known,
        "exactness": args.exactness,
        "repeat": args.repeat,
        "summary": found,
        "runs": [asdict(one) for one in runs],
    }
    common.write(args.json, record)
    common.draw(args.plot, record)
    return 0
