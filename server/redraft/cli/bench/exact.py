"""`redraft bench exact`: do strategies write what plain decoding writes, token by token?"""

import argparse
from dataclasses import asdict

from redraft.cli import options, output
from redraft.cli.bench import common
from redraft.errors import InputError

__all__ = ["add_parser"]


def add_parser(verbs: options.Subparsers) -> None:
    """Add the command `exact`."""
    parser = common.command(
        verbs,
        "exact",
        "check token by token that strategies write what plain decoding writes",
        _run,
    )
    common.add_model(parser)
    common.add_decoding(
        parser, "invariant", "lookup,copy,copy@1,copy@6,copy@20,jacobi,lookahead,auto"
    )
    parser.add_argument(
        "--tokens",
        type=common.count,
        default=2000,
        help="plain tokens to compare (default: %(default)s)",
    )


def _run(args: argparse.Namespace) -> int:
    from redraft.bench import exact, subject, table

    names = subject.strategies(args.strategies)
    if args.draft_model:
        names = tuple(dict.fromkeys((*names, "draft", "lookup+draft")))
    if len(names) == 1:
        raise InputError("--strategies names nothing but plain: there is nothing to compare")
    n_tokens = 0
    tallies: dict[str, exact.Tally] = {}
    with common.loaded(args) as (model, known):
        for tallies in exact.compare(model, names, exactness=args.exactness, n_tokens=args.tokens):
            n_tokens = max(tally.tokens for tally in tallies.values())
            n_parted = sum(len(tally.differences) for tally in tallies.values())
            output.print_status(f"{n_tokens} tokens, {n_parted} differences")
    if n_tokens < args.tokens:
        output.print_status(f"note: the built-in prompts were used up after {n_tokens} tokens")
    rows = [
        (name, str(one.tokens), str(len(one.differences)), f"{one.per_1000_tokens:.2f}")
        for name, one in tallies.items()
    ]
    print(table.markdown(("strategy", "tokens", "differences", "per 1,000 tokens"), rows), end="")
    for name, one in tallies.items():
        for parted in one.differences:
            output.print_status(f"{name} parts after {parted.token} tokens of {parted.case}")
    record = {name: asdict(one) for name, one in tallies.items()}
    common.write(
        args.json, {"conditions": known, "exactness": args.exactness, "strategies": record}
    )
    is_broken = args.exactness == "invariant" and any(one.differences for one in tallies.values())
    return 2 if is_broken else 0
