"""Shared parts of benchmark commands: flags, the loaded model, the file of results and the plot.

`redraft bench` and `python -m redraft_bench` are both made of these.
"""

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
from redraft.config.settings import Settings
from redraft.errors import InputError
from redraft.records import Exactness

if TYPE_CHECKING:  # loads the native library: not for `redraft --help`
    from redraft.bench.engine import BenchEngine

__all__ = [
    "LLAMA_CPP_RULES",
    "add_command",
    "add_decoding_flags",
    "add_exactness_flag",
    "add_model_flags",
    "add_plot_flag",
    "add_repeat_flag",
    "begin_run",
    "draw_plot",
    "load_engine",
    "load_settings",
    "parse_count",
    "split_numbers",
    "write_results",
]

LLAMA_CPP_RULES: Final = ("ngram-simple", "ngram-map-k", "ngram-mod")


def add_command(
    commands: options.Subparsers,
    name: str,
    help_text: str,
    handler: Callable[[argparse.Namespace], int],
) -> argparse.ArgumentParser:
    """Add a benchmark's command with --json, the flag that they all have; returns its parser."""
    parser = commands.add_parser(name, help=help_text, description=f"{help_text}.")
    parser.set_defaults(handler=handler, bench=name)
    parser.add_argument("--json", metavar="OUT", type=_parse_file, help="write all figures here")
    return parser


def add_model_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags that `load_engine` reads."""
    for key in ("model", "draft_model", "n_ctx", "threads"):
        options.add_flag(parser, key)


def add_decoding_flags(
    parser: argparse.ArgumentParser, exactness: Exactness, strategies: str
) -> None:
    """Add the flags for the strategies to compare, with their defaults."""
    add_exactness_flag(parser, exactness)
    parser.add_argument(
        "--strategies",
        metavar="A,B,...",
        default=strategies,
        help=f"as --strategy of edit, {', '.join(LLAMA_CPP_RULES)}; copy@6 drafts 6 tokens at most"
        " (default: %(default)s)",
    )


def add_exactness_flag(parser: argparse.ArgumentParser, default: Exactness) -> None:
    """Add the flag for how passes are run."""
    parser.add_argument(
        "--exactness", choices=get_args(Exactness), default=default, help="default: %(default)s"
    )


def add_repeat_flag(parser: argparse.ArgumentParser) -> None:
    """Add the flag for decoding each answer more than once."""
    parser.add_argument(
        "--repeat",
        type=parse_count,
        default=1,
        help="decode each answer so often; the median counts",
    )


def add_plot_flag(parser: argparse.ArgumentParser) -> None:
    """Add the flag for a picture of the figures, for `draw_plot`."""
    parser.add_argument("--plot", metavar="OUT", type=_parse_plot, help="draw them: .svg or .png")


def _parse_plot(text: str) -> Path:
    # Checked before anything is measured, so that no run is lost for want of a library.
    if Path(text).suffix not in (".svg", ".png"):
        raise argparse.ArgumentTypeError(f"a file that ends in .svg or .png, not {text!r}")
    if importlib.util.find_spec("matplotlib") is None:
        raise argparse.ArgumentTypeError(
            "matplotlib, which draws, is not installed: pip install 'matplotlib>=3.9,<4'"
        )
    return _parse_file(text)


def _parse_file(text: str) -> Path:
    if not Path(text).parent.is_dir():
        raise argparse.ArgumentTypeError(f"there is no folder {Path(text).parent}")
    return Path(text)


def parse_count(text: str) -> int:
    """Return a whole number of at least 1."""
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"a whole number of at least 1, not {text!r}")
    return int(text)


def split_numbers(flag: str, text: str, *, least: int) -> list[int]:
    """Return the numbers of a comma-separated list; InputError for others or ones under `least`."""
    parts = text.split(",")
    if not all(part.isdecimal() and int(part) >= least for part in parts):
        raise InputError(f"{flag} takes whole numbers with commas, not {text!r}")
    return list(map(int, parts))


def load_settings(args: argparse.Namespace, *keys: str) -> Settings:
    """Return the settings that hold here, with the flags of `keys` above all others."""
    return settings.load(Path.cwd(), {key: getattr(args, key) for key in keys}, os.environ)


@contextmanager
def load_engine(args: argparse.Namespace) -> Iterator[tuple["BenchEngine", dict[str, Any]]]:
    """Load the model that the flags and settings name; yields it with the conditions of the run."""
    from redraft.bench.engine import BenchEngine

    chosen = load_settings(args, "model", "draft_model", "n_ctx", "threads")
    path = models.resolve(chosen.model)
    draft = models.resolve(chosen.draft_model) if chosen.draft_model else None
    engine = BenchEngine.load(path, n_ctx=chosen.n_ctx, n_threads=chosen.threads, draft=draft)
    with engine:
        yield engine, begin_run(args, path, n_threads=engine.n_threads)


def begin_run(
    args: argparse.Namespace, model: Path | None = None, *, n_threads: int | None = None
) -> dict[str, Any]:
    """Return the conditions of a run that begins now; prints a note where the machine is busy."""
    from redraft.bench.results import load_warning, record_conditions

    conditions = record_conditions(model, cpu=describe_cpu(), n_threads=n_threads)
    if warning := load_warning(conditions):
        output.print_status(f"note: {warning}")
    command = shlex.join(map(_without_folder, args.command_line))
    return {"bench": args.bench, "command": command, **conditions}


def _without_folder(argument: str) -> str:
    """Return the argument with a file's name only: its folder is private and tells nothing."""
    flag, equals, value = argument.rpartition("=")
    path = Path(value).expanduser()
    is_elsewhere = path.is_absolute() or ".." in path.parts
    return f"{flag}{equals}{path.name}" if is_elsewhere else argument


def write_results(path: Path | None, record: dict[str, Any]) -> None:
    """Write a record to the file of --json, if any, its conditions completed until now."""
    from redraft.bench.results import complete_conditions

    if path:
        record = record | {"conditions": complete_conditions(record["conditions"])}
        path.write_text(json.dumps(record, indent=1) + "\n", "utf-8")


def draw_plot(path: Path | None, record: Mapping[str, Any]) -> None:
    """Draw a record to the file of --plot, if any."""
    if path:
        from redraft.bench import plots

        plots.draw(record, path)
