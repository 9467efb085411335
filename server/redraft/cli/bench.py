"""What the commands of `redraft bench` share: flags, the loaded model, the file of figures."""

import argparse
import importlib.util
import json
import os
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args

from redraft import models
from redraft.cli import options, output
from redraft.cli.doctor import describe_cpu
from redraft.config import settings
from redraft.records import Exactness

if TYPE_CHECKING:
    from redraft.bench.subject import Subject

__all__ = [
    "RESTATED",
    "add_decoding",
    "add_model",
    "add_plot",
    "add_repeat",
    "begin",
    "command",
    "count",
    "draw",
    "loaded",
    "write",
]

RESTATED: Final = ("ngram-simple", "ngram-map-k", "ngram-mod")  # rules of llama.cpp's


def command(
    verbs: options.Subparsers,
    name: str,
    what: str,
    handler: Callable[[argparse.Namespace], int],
) -> argparse.ArgumentParser:
    """A command's parser, with the flag that every one of them has."""
    parser = verbs.add_parser(name, help=what, description=f"{what}.")
    parser.set_defaults(handler=handler, bench=name)
    parser.add_argument("--json", metavar="OUT", type=_file, help="write all figures here")
    return parser


def add_model(parser: argparse.ArgumentParser) -> None:
    """The flags that `loaded` reads."""
    for key in ("model", "draft_model", "n_ctx", "threads"):
        options.add_flag(parser, key)


def add_decoding(parser: argparse.ArgumentParser, exactness: Exactness, strategies: str) -> None:
    """The flags for the strategies to compare, with their defaults."""
    parser.add_argument(
        "--exactness",
        choices=get_args(Exactness),
        default=exactness,
        help="default: %(default)s",
    )
    parser.add_argument(
        "--strategies",
        metavar="A,B,...",
        default=strategies,
        help=f"as --strategy of edit, {', '.join(RESTATED)}; copy@6 drafts 6 tokens at most"
        " (default: %(default)s)",
    )


def add_repeat(parser: argparse.ArgumentParser) -> None:
    """The flag for decoding each answer more than once."""
    parser.add_argument(
        "--repeat",
        type=count,
        default=1,
        help="decode each answer so often; the median counts",
    )


def add_plot(parser: argparse.ArgumentParser) -> None:
    """The flag for a picture of the figures, for `draw`."""
    parser.add_argument("--plot", metavar="OUT", type=_picture, help="draw them: .svg or .png")


def _picture(text: str) -> Path:
    # Asked before anything is measured, so that no run is lost for want of a library.
    if Path(text).suffix not in (".svg", ".png"):
        raise argparse.ArgumentTypeError(f"a file that ends in .svg or .png, not {text!r}")
    if importlib.util.find_spec("matplotlib") is None:
        raise argparse.ArgumentTypeError(
            "matplotlib, which draws, is not installed: pip install 'redraft[bench]'"
        )
    return _file(text)


def _file(text: str) -> Path:
    if not Path(text).parent.is_dir():
        raise argparse.ArgumentTypeError(f"there is no folder {Path(text).parent}")
    return Path(text)


def count(text: str) -> int:
    """A whole number of at least 1."""
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"a whole number of at least 1, not {text!r}")
    return int(text)


@contextmanager
def loaded(args: argparse.Namespace) -> Iterator[tuple["Subject", dict[str, Any]]]:
    """The loaded model, and the conditions of the run."""
    from redraft.bench.subject import Subject

    flags = {key: getattr(args, key) for key in ("model", "draft_model", "n_ctx", "threads")}
    chosen = settings.load(Path.cwd(), flags, os.environ)
    path = models.resolve(chosen.model)
    draft = models.resolve(chosen.draft_model) if chosen.draft_model else None
    subject = Subject.load(path, n_ctx=chosen.n_ctx, n_threads=chosen.threads, draft=draft)
    with subject:
        yield subject, begin(args, path, n_threads=subject.n_threads)


def begin(
    args: argparse.Namespace, model: Path | None = None, *, n_threads: int | None = None
) -> dict[str, Any]:
    """The conditions of a run that begins now; says so where the machine is not idle."""
    from redraft.bench.conditions import conditions, warning

    words = map(_without_folder, args.command_line)
    known = conditions(model, cpu=describe_cpu(), n_threads=n_threads)
    if said := warning(known):
        output.print_status(f"note: {said}")
    return {"bench": args.bench, "command": shlex.join(words), **known}


def _without_folder(argument: str) -> str:
    """Where a file lies is nobody's business; its name tells what was measured."""
    flag, equals, value = argument.rpartition("=")
    path = Path(value).expanduser()
    is_elsewhere = path.is_absolute() or ".." in path.parts
    return f"{flag}{equals}{path.name}" if is_elsewhere else argument


def write(path: Path | None, record: dict[str, Any]) -> None:
    """Write the figures, where a file was named for them, with how the run went until now."""
    from redraft.bench.conditions import ended

    if path:
        record = record | {"conditions": ended(record["conditions"])}
        path.write_text(json.dumps(record, indent=1) + "\n", "utf-8")


def draw(path: Path | None, record: Mapping[str, Any]) -> None:
    """Draw the figures, where a file was named for that with `add_plot`'s flag."""
    if path:
        from redraft.bench import plots

        plots.draw(record, path)
