"""The command line: run one verb, print failures in one line, return the exit code.

    0  done, or nothing to do
    1  `--check` found something to change
    2  something failed or was refused; stderr has one line that says what to do
  130  interrupted; 141 the reader of stdout went away

Each verb lives in its own module and adds a parser whose `handler` default does the work.
"""

import argparse
import io
import logging
import os
import sys
import traceback
from collections.abc import Sequence

from redraft import __version__
from redraft.cli import bench, codemod, demo, doctor, edit, models, serve, trace
from redraft.cli.output import print_error
from redraft.errors import RedraftError

__all__ = ["main", "run"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; `argv` defaults to the process's arguments."""
    return run(_build_parser(), argv)


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
    parser = argparse.ArgumentParser(
        prog="redraft",
        description="Edit code with a local model that copies what it does not change.",
        epilog="REDRAFT_DEBUG=1 shows the traceback of an error.",
    )
    parser.add_argument("--version", action="version", version=f"redraft {__version__}")
    verbs = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for verb in (edit, codemod, serve, demo, trace, models, doctor, bench):
        verb.add_parser(verbs)
    return parser
