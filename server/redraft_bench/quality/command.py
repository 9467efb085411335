"""`python -m redraft_bench quality`: how many edits are right, beside a naive prompt's."""

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from redraft.cli import options, output
from redraft.cli.bench import common
from redraft.errors import InputError

if TYPE_CHECKING:
    from redraft_bench.quality.measure import LeftOut, QualityRecord

__all__ = ["add_parser"]


def add_parser(verbs: options.Subparsers) -> None:
    """Add the command `quality`."""
    parser = common.command(
        verbs,
        "quality",
        "run the tests of edits that the model makes, beside those of a naive prompt",
        _run,
    )
    common.add_model(parser)
    flag = parser.add_argument
    flag("--set", required=True, help="canitedit, canitedit-lazy, humanevalfix or editeval")
    flag("--data", metavar="FILE.jsonl", type=Path, required=True, help="the records of the set")
    flag("--limit", type=common.count, help="the first so many records only")
    flag(
        "--prompts",
        metavar="A,B",
        default="naive,product",
        help="the ways of asking; differences are against the first (default: %(default)s)",
    )
    flag(
        "--resume",
        action="store_true",
        help="go on with the run that the file of --json holds, if there is one",
    )


def _run(args: argparse.Namespace) -> int:
    from redraft_bench.quality import measure as quality
    from redraft_bench.quality import sandbox as quality_sandbox
    from redraft_bench.quality import sets as quality_sets
    from redraft_bench.quality import summary as quality_report

    prompts = _prompts(args.prompts)
    problems = quality_sets.load(args.set, args.data)[: args.limit]
    sandbox = quality_sandbox.Sandbox()
    results, left_out = _so_far(args)
    done = {(one.id, one.prompt) for one in results}
    done |= {(one.id, name) for one in left_out for name in prompts}
    with common.loaded(args) as (model, known):
        for one in quality.measure(model, problems, prompts, sandbox, done=done):
            if isinstance(one, quality.LeftOut):
                left_out.append(one)
                output.print_status(f"{one.id} is left out: {one.why}")
            else:
                results.append(one)
                output.print_status(f"{one.id}, {one.prompt}: {one.ending} {one.detail}".rstrip())
            # Written after each problem, so that --resume can go on from there.
            common.write(args.json, _record(args, known, sandbox.isolation, results, left_out))
    if not results:
        raise InputError(f"no problem of {args.data} can be judged here: see what was left out")
    print(quality_report.table(quality_report.summary(results)), end="")
    return 0


def _prompts(names: str) -> tuple[str, ...]:
    from redraft_bench.quality.measure import PROMPTS

    found = tuple(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
    for name in found:
        if name not in PROMPTS:
            raise InputError(f"no prompt {name!r}: it is one of {', '.join(PROMPTS)}")
    if not found:
        raise InputError("--prompts names none")
    return found


def _so_far(args: argparse.Namespace) -> tuple[list["QualityRecord"], list["LeftOut"]]:
    """The results that --resume goes on from; none without it or without a file."""
    from redraft_bench.quality.measure import LeftOut, QualityRecord

    if not args.resume:
        return [], []
    if args.json is None:
        raise InputError("--resume goes on from the file that --json names: name one")
    if not args.json.exists():
        return [], []
    try:
        held = json.loads(args.json.read_text("utf-8"))
        results = [QualityRecord(**one) for one in held["results"]]
        left_out = [LeftOut(**one) for one in held["left_out"]]
        asked = (held["set"], held["data"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{args.json} does not hold a run of bench quality: {error!r}") from error
    if asked != (args.set, args.data.name):
        raise InputError(f"{args.json} holds a run of {' and '.join(asked)}: name another file")
    return results, left_out


def _record(
    args: argparse.Namespace,
    known: dict[str, Any],
    isolation: str,
    results: Sequence["QualityRecord"],
    left_out: Sequence["LeftOut"],
) -> dict[str, Any]:
    from redraft_bench.quality.summary import summary

    return {
        "conditions": known,
        "set": args.set,
        "data": args.data.name,
        "isolation": isolation,
        "summary": summary(results),
        "results": [asdict(one) for one in results],
        "left_out": [asdict(one) for one in left_out],
    }
