"""`python -m redraft_bench memory`: memory with and without speculation, and the drafter's."""

import argparse
import os
from dataclasses import asdict
from pathlib import Path
from typing import Final

from redraft import models
from redraft.cli import options, output
from redraft.cli.bench import common
from redraft.config import settings
from redraft.errors import InputError

__all__ = ["add_parser"]

HISTORY: Final = 10_000  # tokens that the drafter's own memory is weighed behind


def add_parser(verbs: options.Subparsers) -> None:
    """Add the command `memory`."""
    parser = common.command(
        verbs, "memory", "resident memory with and without speculation, each in a new process", _run
    )
    for key in ("model", "threads"):
        options.add_flag(parser, key)
    flag = parser.add_argument
    flag("--prompts", default="2000,8000", help="tokens, with commas (default: %(default)s)")
    flag("--answer", type=common.count, default=200, help="tokens to write (default: %(default)s)")
    flag("--strategies", default="plain,copy", help="default: %(default)s")


def _run(args: argparse.Namespace) -> int:
    from redraft.bench import subject, table
    from redraft_bench import drafter, memory

    names = subject.strategies(args.strategies)
    lengths = args.prompts.split(",")
    if not all(length.isdecimal() and int(length) for length in lengths):
        raise InputError(f"--prompts takes whole numbers with commas, not {args.prompts!r}")
    flags = {"model": args.model, "threads": args.threads}
    chosen = settings.load(Path.cwd(), flags, os.environ)
    path = models.resolve(chosen.model)
    known = common.begin(args, path, n_threads=chosen.threads)
    held: list[memory.Held] = []
    prompts = [int(length) for length in lengths]
    for done in memory.measure(
        path, names, prompts, n_answer=args.answer, n_threads=chosen.threads
    ):
        held += done
        output.print_status(f"{done[0].strategy}: {done[-1].unique / 1e6:,.0f} MB at the end")
    drafting = drafter.bytes_per_10k(HISTORY, HISTORY // 10)
    rows = [
        (
            one.strategy,
            f"{one.prompt_tokens:,}" if one.prompt_tokens else "loaded",
            f"{one.unique / 1e6:,.0f}",
            f"{one.resident / 1e6:,.0f}",
            "-" if more is None else f"{more / 1e6:+,.1f}",
        )
        for one, more in memory.compared(held)
    ]
    head = ("strategy", "prompt tokens", "MB of its own", "MB resident", "MB more than plain")
    print(table.markdown(head, rows), end="")
    print(f"\nThe drafter's own memory: {drafting / 1e3:,.0f} kB for 10,000 tokens of text.")
    record = {"answer": args.answer, "held": [asdict(one) for one in held]}
    common.write(args.json, {"conditions": known, **record, "drafter_bytes_per_10k": drafting})
    return 0
