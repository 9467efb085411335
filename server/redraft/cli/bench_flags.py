"""The flags of `redraft bench`'s commands that no other command has."""

import argparse
from collections.abc import Mapping
from pathlib import Path

__all__ = ["add"]


def add(made: Mapping[str, argparse.ArgumentParser]) -> None:
    """Add the flags that belong to one command each."""
    flag = made["cost"].add_argument
    flag("--depths", default="0,1024,4096", help="tokens of context (default: %(default)s)")
    flag("--plot", metavar="OUT.svg", type=Path, help="draw the curves here")
    flag = made["edits"].add_argument
    flag("--tasks", metavar="FILE.jsonl", type=Path, help="default: 12 built-in edits")
    flag("--scope", choices=("function", "file"), default="function", help="what is rewritten")
    flag("--repeat", type=_count, default=1, help="decode each answer so often; the median counts")
    flag("--limit", type=_count, help="the first so many tasks only")
    flag = made["workloads"].add_argument
    flag("--tasks", metavar="FILE.jsonl", type=Path, help="default: built-in questions")
    flag("--each", type=_count, help="the first so many of each workload only")
    made["exact"].add_argument(
        "--tokens", type=_count, default=2000, help="plain tokens to compare (default: %(default)s)"
    )
    flag = made["drafter"].add_argument
    flag("--history", type=_count, default=32_000, help="tokens (default: %(default)s)")
    flag("--answer", type=_count, default=4_000, help="tokens to write (default: %(default)s)")
    flag = made["simulate"].add_argument
    flag("--tasks", metavar="FILE.jsonl", type=Path, help="workload, user, reference; or built-in")
    flag(
        "--tokens-per-s", type=float, default=27.0, help="of plain decoding (default: %(default)s)"
    )
    flag("--tile", type=_count, default=32, help="rows computed together (default: %(default)s)")
    flag("--first-tile", type=float, default=2.5, help="its cost, in passes of one row")
    flag("--next-tile", type=float, default=1.5, help="what each further tile adds")


def _count(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"a whole number of at least 1, not {text!r}")
    return int(text)
