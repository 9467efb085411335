"""`python -m redraft_bench codemod`: replies of a codemod, one by one and several at once."""

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import get_args

from redraft.cli import options, output
from redraft.cli.bench import common
from redraft.codemod.plan import best_jobs
from redraft.errors import InputError
from redraft.records import DecodeOptions, Exactness

__all__ = ["add_parser"]


def add_parser(verbs: options.Subparsers) -> None:
    """Add the command `codemod`."""
    parser = common.command(
        verbs,
        "codemod",
        "throughput of codemods: replies one after another and several at once, prefill included",
        _run,
    )
    common.add_model(parser)
    flag = parser.add_argument
    flag("--jobs", default="1,2,4", help="replies at once (default: %(default)s)")
    flag("--exactness", choices=get_args(Exactness), default="invariant", help="as of codemod")
    flag("--tasks", metavar="FILE.jsonl", type=Path, help="default: 12 built-in files")
    flag("--limit", type=common.count, help="the first so many files only")
    flag(
        "--max-tokens",
        type=common.count,
        default=200,
        help="end each reply after N (default: %(default)s)",
    )
    common.add_repeat(parser)


def _run(args: argparse.Namespace) -> int:
    from redraft.bench import table, tasks
    from redraft_bench import codemod as throughput

    counts = _counts(args.jobs)
    todo = (tasks.load(args.tasks) if args.tasks else tasks.built_in())[: args.limit]
    decoding = DecodeOptions(route="codemod", exactness=args.exactness, max_tokens=args.max_tokens)
    runs: list[throughput.ThroughputRun] = []
    with common.loaded(args) as (model, known):
        asked = throughput.prompts(model, todo, decoding)
        if not asked:
            raise InputError("the files have no function to edit: give others")
        depth = sum(model.count_tokens(task.before) for task in todo) // len(todo)
        costs = model.costs(depth, args.exactness)
        chosen = best_jobs(costs) if costs else 1
        for one in throughput.measure(model, asked, counts, decoding, n_repeats=args.repeat):
            runs.append(one)
            output.print_status(
                f"{one.jobs} at once: {one.wall_s:.1f} s, {one.prefill_s:.1f} s of prefill"
            )
    found = throughput.summary(runs)
    columns = (
        *("tokens_per_s", "wall_s", "prefill_s", "speedup", "least_speedup", "decode_speedup"),
        "same_text",
    )
    head = ("at once", *(key.replace("_", " ") for key in columns))
    rows = [(str(n), *(table.figure(one[key]) for key in columns)) for n, one in found.items()]
    print(table.markdown(head, rows), end="")
    print(f"\n{len(asked)} functions in {len(todo)} files; by its costs redraft takes {chosen}.")
    record = {"exactness": args.exactness, "functions": len(asked), "chosen": chosen}
    record |= {"summary": found, "runs": [asdict(one) for one in runs]}
    common.write(args.json, {"conditions": known, **record})
    is_exact = all(one.same_text for one in runs)
    return 0 if is_exact or args.exactness == "fast" else 2


def _counts(text: str) -> tuple[int, ...]:
    """How many replies at once, one among them."""
    names = text.split(",")
    if not all(name.isdecimal() and int(name) for name in names):
        raise InputError(f"--jobs takes whole numbers with commas, not {text!r}")
    return tuple(dict.fromkeys([1, *map(int, names)]))
