"""The flags that say which model decodes and how, and the settings they end up as.

Flags stay text here: `redraft.settings` checks every value, whatever it came from.
"""

import argparse
import os
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TypeAlias

from redraft import models, settings
from redraft.messages import Model
from redraft.settings import Settings

__all__ = ["Subparsers", "add_model_flags", "load", "open_model"]

# argparse has no public name for what add_subparsers returns.
Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001

_FLAGS = {
    "model": ("NAME|PATH", "a model of `redraft models list`, or a GGUF file"),
    "strategy": ("NAME", "how to decode: plain, lookup or copy (the default)"),
    "max_tokens": ("N", "refuse an answer longer than this; sized from the target by default"),
    "timeout": ("SECONDS", "give up after this long; no limit by default"),
    "temperature": ("T", "0, the default, always takes the likeliest token"),
    "seed": ("N", "seed of the sampling at a temperature above 0"),
    "n_ctx": ("N", "the longest prompt and answer together, in tokens"),
    "threads": ("N", "CPU threads"),
}


def add_model_flags(parser: argparse.ArgumentParser) -> None:
    """Add a flag for each key of `Settings`."""
    group = parser.add_argument_group(
        "model and decoding",
        "Each is also a REDRAFT_* variable (REDRAFT_MAX_TOKENS) and a key (max_tokens) of the\n"
        "nearest redraft.toml, of [tool.redraft] in pyproject.toml, and of your own settings file\n"
        "(`redraft doctor` shows where that is).",
    )
    for key, (metavar, text) in _FLAGS.items():
        group.add_argument(f"--{key.replace('_', '-')}", metavar=metavar, help=text)


def load(args: argparse.Namespace, folder: Path) -> Settings:
    """The settings for a file in `folder`. Raises InputError on a wrong value."""
    flags = {key: getattr(args, key) for key in _FLAGS}
    return settings.load(folder, flags, os.environ)


def open_model(chosen: Settings) -> AbstractContextManager[Model]:
    """Load the model the settings name. Raises ModelError where it is missing or damaged."""
    from redraft.engine import Engine  # loads the native library: not for `redraft --help`

    path = models.resolve(chosen.model)
    return Engine.open(path, n_ctx=chosen.n_ctx, n_threads=chosen.threads)
