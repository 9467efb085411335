"""`redraft bench latency`: how long an editor waits, the language server driven over its pipes."""

import argparse
import os
from dataclasses import asdict
from pathlib import Path

from redraft import models
from redraft.cli import options
from redraft.cli.bench import common
from redraft.config import settings

__all__ = ["add_parser"]


def add_parser(verbs: options.Subparsers) -> None:
    """Add the command `latency`."""
    parser = common.command(
        verbs,
        "latency",
        "how long an editor waits: the language server driven over its pipes",
        _run,
    )
    options.add_flag(parser, "model")


def _run(args: argparse.Namespace) -> int:
    from redraft.bench import latency, table

    chosen = settings.load(Path.cwd(), {"model": args.model}, os.environ)
    model = models.resolve(chosen.model)
    known = common.begin(args, model)
    found = latency.run(model)
    rows = [(name, f"{seconds:.3g} s", limit) for name, seconds, limit in found.rows()]
    print(table.markdown(("what", "median", "aim"), rows), end="")
    aims = [{"what": name, "seconds": seconds, "aim": aim} for name, seconds, aim in found.rows()]
    common.write(args.json, {"conditions": known, **asdict(found), "rows": aims})
    return 0
