"""The command line: run one verb, print failures in one line, return the exit code.

    0  done, or nothing to do
    1  `--check` found something to change
    2  something failed or was refused; stderr has one line that says what to do
  130  interrupted; 141 the reader of stdout went away

Each verb lives in its own module and adds a parser whose `handler` default does the work. Without a
verb `redraft` says what to do next.
"""

import argparse
import io
import logging
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from typing import Final

from redraft import __version__
from redraft.cli import bench, codemod, completion, demo, doctor, edit, models, serve, start, trace
from redraft.cli.output import print_error
from redraft.errors import RedraftError

__all__ = ["main", "run"]

_OVERVIEW: Final[Mapping[str, Mapping[str, str]]] = {
    "edit code": {
        "edit": "a function, a range or a file, as an instruction says",
        "codemod": "many files, as one instruction says",
        "serve": "the language server, which editors start",
    },
    "see what it does": {
        "demo": "one edit of a small file, with its speed beside plain decoding",
        "trace": "which tokens of an edit were copied, and in which passes",
        "bench": "speed, exactness and costs on this machine",
    },
    "set up": {
        "models": "list, fetch, find, verify and remove models",
        "doctor": "check this installation with one real decode",
        "completion": "make the Tab key of your shell complete commands and names",
    },
}

_EXAMPLES: Final = """\
examples:
  redraft edit shop.py::total 'round to whole cents'           print the diff
  redraft edit shop.py:24-27 'use a table of prices' --write   change lines 24 to 27
  redraft codemod 'Use pathlib' src --select '/os\\.path/'      plan and diffs; --write saves

REDRAFT_DEBUG=1 shows the traceback of an error."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; `argv` defaults to the process's arguments."""
    parser = _build_parser()
    completion.answer_shell(parser)
    return run(parser, argv)


def run(parser: argparse.ArgumentParser, argv: Sequence[str] | None = None) -> int:
    """Run the `handler` of the command that `argv` names, as `main` does for redraft's own."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    logging.basicConfig(format="redraft: %(message)s", level=logging.WARNING)
    words = sys.argv[1:] if argv is None else list(argv)
    command_line = [*parser.prog.split(), *words]
    args = parser.parse_args(words, argparse.Namespace(command_line=command_line))
    try:
        code = int(args.handler(args))
        sys.stdout.flush()
    except BrokenPipeError:
        # The interpreter flushes stdout once more on its way out: let that go nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except KeyboardInterrupt:
        return _fail("interrupted", 130)
    except (RedraftError, OSError) as error:
        return _fail(str(error), 2)
    except Exception as error:  # noqa: BLE001 - the outermost loop: a traceback would exit with 1
        return _fail(f"internal error, please report it: {type(error).__name__}: {error}", 2)
    return code


def _fail(message: str, code: int) -> int:
    if os.environ.get("REDRAFT_DEBUG") == "1":
        traceback.print_exc()
    print_error(message)
    return code


def _build_parser() -> argparse.ArgumentParser:
    groups = [
        f"{title}:\n" + "".join(f"  {name:<11} {text}\n" for name, text in verbs.items())
        for title, verbs in _OVERVIEW.items()
    ]
    parser = argparse.ArgumentParser(
        prog="redraft",
        usage="redraft COMMAND ...  (redraft COMMAND --help says more)",
        description="\n".join(["Edit code with a local model.\n", *groups]),
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"redraft {__version__}")
    parser.set_defaults(handler=start.handler)
    verbs = parser.add_subparsers(metavar="COMMAND", help=argparse.SUPPRESS)
    for verb in (edit, codemod, serve, demo, trace, bench, models, doctor, completion):
        verb.add_parser(verbs)
    return parser
