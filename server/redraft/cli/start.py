"""`redraft` without a command: what to do next on this machine."""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from redraft import models
from redraft.config import settings
from redraft.errors import ModelError

__all__ = ["NEXT_COMMANDS", "format_commands", "handler"]

NEXT_COMMANDS: Final = (
    ("redraft edit FILE:LINE 'what to change'", "the function at that line; prints a diff"),
    ("redraft edit FILE::NAME 'what to change' --write", "a function by its name; saves the file"),
    ("redraft codemod 'what to change' FOLDER", "every function below a folder; prints a plan"),
)
_DEMO: Final = ("redraft demo", "an edit of a small file, made before your eyes")


def handler(_: argparse.Namespace) -> int:
    """Print the next commands, the download of the model first where it is missing."""
    config = settings.load(Path.cwd(), {}, os.environ)
    commands = [_DEMO, *NEXT_COMMANDS]
    try:
        models.resolve(config.model)
    except ModelError:
        name = config.model or models.DEFAULT.name
        known = next((model for model in models.MODELS if model.name == name), None)
        # A wrong name or a damaged file needs more words than fit here.
        cure = (
            (f"redraft models fetch {name}", f"the model, {known.size / 1e9:.1f} GB, once")
            if known
            else ("redraft doctor", f"why the model {name} cannot be used")
        )
        commands.insert(0, cure)
    print("redraft edits code with a model on this machine. Next:\n")
    print(format_commands(commands))
    print("\nIn VS Code and Neovim it is a light bulb and a key: docs/editors.md says how.")
    print("`redraft --help` lists all commands.")
    return 0


def format_commands(commands: Sequence[tuple[str, str]]) -> str:
    """Return a line for each (command, what it does), the second in a column of its own."""
    width = max(len(command) for command, _ in commands)
    return "\n".join(f"  {command:<{width}}  {text}" for command, text in commands)
