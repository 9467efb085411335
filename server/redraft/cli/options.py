"""Add the flags that say which model decodes and how, and load the settings they end up as.

Flags stay text here: `redraft.config.settings` checks every value, whatever it came from.
"""

import argparse
import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final, TypeAlias, get_args

import platformdirs

from redraft import models
from redraft.cli.completion import complete_model
from redraft.config import settings
from redraft.config.settings import Settings
from redraft.records import AllowedReason, Model, Strategy

__all__ = ["Subparsers", "add_allow_flag", "add_flag", "add_model_flags", "load", "open_model"]

# argparse has no public name for what add_subparsers returns.
Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001

_FLAGS: Final[Mapping[str, tuple[str | None, str]]] = {  # no metavar: a switch
    "model": ("NAME|PATH", "a model of `redraft models list`, or a GGUF file"),
    "draft_model": ("NAME|PATH", "a small one that guesses; `redraft models draft` makes one"),
    "strategy": ("NAME", f"how to guess ahead: {', '.join(get_args(Strategy))}"),
    "exactness": ("LEVEL", "fast, or invariant: the same text to the bit, whatever was guessed"),
    "max_tokens": ("N", "refuse an answer longer than this; sized from the target by default"),
    "timeout": ("SECONDS", "give up after this long; no limit by default"),
    "temperature": ("T", "0, the default, always takes the likeliest token"),
    "top_k": ("K", "draw from the K likeliest tokens only; 0, the default, from all"),
    "top_p": ("P", "draw from the likeliest tokens that add up to P; 1, the default, from all"),
    "min_p": ("P", "leave out tokens less than P times as likely as the likeliest; 0 by default"),
    "seed": ("N", "seed of the sampling at a temperature above 0"),
    "n_ctx": ("N", "the longest prompt and answer together, in tokens"),
    "threads": ("N", "CPU threads"),
    "imports": (None, "leave the file's imports as they are, whatever the edit needs"),
    "save_states": (None, "keep what was read of large files on disk, for the next start"),
}


def add_model_flags(parser: argparse.ArgumentParser) -> None:
    """Add a flag for each key of `Settings`."""
    group = parser.add_argument_group(
        "model and decoding",
        "Each is also a REDRAFT_* variable (REDRAFT_MAX_TOKENS) and a key (max_tokens) of the\n"
        "nearest redraft.toml, of [tool.redraft] in pyproject.toml, and of your own settings file\n"
        "(`redraft doctor` shows where that is).\n"
        "Strategies change the speed only: copy (the default) drafts from the text being edited,\n"
        "lookup repeats n-grams, jacobi and lookahead guess in parallel, draft asks the draft\n"
        "model, lookup+draft does where copying finds nothing, auto goes by what was accepted.",
    )
    for key in _FLAGS:
        add_flag(group, key)


def add_flag(parser: argparse._ActionsContainer, key: str) -> None:
    """Add the flag for one key of `Settings`."""
    metavar, text = _FLAGS[key]
    flag = f"--{key.replace('_', '-')}"
    if getattr(Settings(), key) is True:
        parser.add_argument(f"--no-{key}", dest=key, action="store_const", const=False, help=text)
    elif metavar is None:
        parser.add_argument(flag, action="store_const", const=True, help=text)
    else:
        action = parser.add_argument(flag, metavar=metavar, help=text)
        if metavar == "NAME|PATH":
            action.completer = complete_model  # type: ignore[attr-defined]  # for argcomplete


def add_allow_flag(parser: argparse._ActionsContainer) -> None:
    """Add the flag for the refusals that the user overrides."""
    parser.add_argument(
        "--allow",
        metavar="REASON",
        action="append",
        choices=get_args(AllowedReason),
        default=[],
        help=f"edit in spite of this: {', '.join(get_args(AllowedReason))}; may be repeated",
    )


def load(args: argparse.Namespace, folder: Path, **defaults: object) -> Settings:
    """Return the settings for a file in `folder`.

    `defaults` hold where neither flag, variable nor file says anything. Raises InputError on a
    wrong value.
    """
    flags = {key: getattr(args, key) for key in _FLAGS}
    return settings.load(folder, flags, os.environ, defaults=defaults)


def open_model(config: Settings) -> AbstractContextManager[Model]:
    """Load the model the settings name. Raises ModelError where it is missing or damaged."""
    from redraft.engine import Engine  # loads the native library: not for `redraft --help`

    path = models.resolve(config.model)
    draft = models.resolve(config.draft_model) if config.draft_model else None
    states = platformdirs.user_cache_path("redraft") / "states" if config.save_states else None
    return Engine.open(
        path, n_ctx=config.n_ctx, n_threads=config.threads, draft=draft, state_folder=states
    )
