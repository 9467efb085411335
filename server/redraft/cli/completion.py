"""`redraft completion`: what the Tab key completes in bash, zsh and fish.

The shell runs `redraft` again at each Tab, and argcomplete answers it from the parser itself. Knows
what can stand behind `FILE::`, and the names of models; everything else is argcomplete's, which no
other command loads.
"""

import argparse
import contextlib
import os
from typing import Final

from redraft import models
from redraft.errors import RedraftError
from redraft.syntax import language_of, targets
from redraft.text import files

__all__ = ["add_parser", "answer_shell", "complete_model", "complete_target", "handler"]

SHELLS: Final = ("bash", "zsh", "fish")

_EPILOG: Final = """\
bash, in ~/.bashrc:             eval "$(redraft completion bash)"
zsh, in a folder of $fpath:     redraft completion zsh > ~/.zfunc/_redraft
fish:                           redraft completion fish > ~/.config/fish/completions/redraft.fish"""


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the verb `completion`."""
    parser = subparsers.add_parser(
        "completion",
        description="Print what makes the Tab key of a shell complete commands, flags, models and"
        " the functions of a file (shop.py::to<Tab>).",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("shell", choices=SHELLS, help="the shell to complete in")
    parser.set_defaults(handler=handler)


def handler(args: argparse.Namespace) -> int:
    """Print the script of one shell."""
    from argcomplete.shell_integration import shellcode

    print(shellcode(["redraft"], shell=args.shell))
    return 0


def answer_shell(parser: argparse.ArgumentParser) -> None:
    """Answer a shell that asks what may follow on its line, and end the process.

    Returns at once where no shell asks.
    """
    if "_ARGCOMPLETE" not in os.environ:
        return
    import argcomplete

    argcomplete.autocomplete(parser)


def complete_target(prefix: str, **_: object) -> list[str]:
    """Return the files that `prefix` begins, and behind `FILE::` the names in that file."""
    from argcomplete.completers import FilesCompleter

    path, colons, _name = prefix.partition("::")
    if not colons:
        return list(FilesCompleter()(prefix))
    # A shell has no place for an error: where the file cannot be read, nothing completes.
    with contextlib.suppress(RedraftError, OSError):
        text, language = files.read(path).text, language_of(path)
        return [f"{path}::{each.name}" for each in targets(text, language)] if language else []
    return []


def complete_model(prefix: str, **_: object) -> list[str]:
    """Return the models known by name, and the files that `prefix` begins."""
    from argcomplete.completers import FilesCompleter

    return [*(model.name for model in models.MODELS), *FilesCompleter(["gguf"])(prefix)]
