"""`redraft bench edits`: strategies on edits, beside plain decoding and an oracle that copies."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from redraft.cli import options, output
from redraft.cli.bench import common

if TYPE_CHECKING:
    from redraft.bench.edits import EditRecord, SkippedTask

__all__ = ["add_parser"]

_SHOWN = (
    *("tokens_per_pass", "tokens_per_s", "speedup", "least_speedup", "most_speedup"),
    *("copied_median_speedup", "oracle_ratio", "oracle_time_ratio", "equal_to_plain"),
    *("differences_per_1000_tokens", "near_tie_redecodes"),
)


def add_parser(verbs: options.Subparsers) -> None:
    """Add the command `edits`."""
    parser = common.command(
        verbs,
        "edits",
        "compare strategies on edits with plain decoding and with an oracle that copies",
        _run,
    )
    common.add_model(parser)
    common.add_decoding(parser, "fast", f"plain,lookup,copy,{','.join(common.RESTATED)}")
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--tasks", metavar="FILE.jsonl", type=Path, help="default: 12 built-in edits"
    )
    which.add_argument(
        "--verbatim",
        metavar="FILE",
        type=Path,
        nargs="+",
        help="ask for these files as they are: the most that copying can bring",
    )
    flag = parser.add_argument
    flag("--scope", choices=("function", "file"), default="function", help="what is rewritten")
    common.add_repeat(parser)
    common.add_plot(parser)
    flag("--limit", type=common.count, help="the first so many tasks only")


def _run(args: argparse.Namespace) -> int:
    from redraft.bench import edits, subject, table, tasks

    names = subject.strategies(args.strategies)
    if args.verbatim:
        todo = tuple(map(tasks.verbatim, args.verbatim))
    else:
        todo = tasks.load(args.tasks) if args.tasks else tasks.built_in()
    todo = todo[: args.limit]
    results: list[edits.EditRecord] = []
    skipped: list[edits.SkippedTask] = []
    with common.loaded(args) as (model, known):
        for done in edits.measure(
            model,
            todo,
            names,
            scope=args.scope,
            exactness=args.exactness,
            n_repeats=args.repeat,
        ):
            if isinstance(done, edits.SkippedTask):
                skipped.append(done)
                output.print_status(f"{done.id} is left out: {done.reason}")
                continue
            results += done
            output.print_status(
                f"{done[0].id}: " + ", ".join(f"{r.strategy} {r.decode_s:.1f} s" for r in done)
            )
            # Written after each task, so that a run that is interrupted is not lost.
            common.write(args.json, _record(args, known, results, skipped))
    record = _record(args, known, results, skipped)
    common.write(args.json, record)
    figures = record["summary"]
    rows = [(name, *(table.figure(own[key]) for key in _SHOWN)) for name, own in figures.items()]
    print(table.markdown(("strategy", *(key.replace("_", " ") for key in _SHOWN)), rows), end="")
    common.draw(args.plot, record)
    return 0


def _record(
    args: argparse.Namespace,
    known: Mapping[str, Any],
    results: "Sequence[EditRecord]",
    skipped: "Sequence[SkippedTask]",
) -> dict[str, Any]:
    from redraft.bench import edits

    return {
        "conditions": known,
        "scope": args.scope,
        "exactness": args.exactness,
        "repeat": args.repeat,
        "summary": edits.summary(results),
        "results": [asdict(one) for one in results],
        "skipped": [asdict(one) for one in skipped],
    }
