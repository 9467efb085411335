"""`redraft models`: list, fetch, find, check and remove models.

Names and tables go to stdout; progress goes to stderr, and only where that is a terminal.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import psutil
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn
from rich.table import Table

from redraft import models
from redraft.config import settings
from redraft.models import FetchProgress, ModelFile, ModelFolders

__all__ = ["add_parser", "show_fetch_progress"]

_VERBS: Final = {
    "list": "the models redraft knows: what they need, which fit this machine, which are here",
    "fetch": "get a model and print its path; an interrupted fetch goes on where it stopped",
    "path": "print the path of the file a name means; exit code 2 where it is not here",
    "verify": "read a model's whole file again and check its sha256",
    "draft": "make a small copy of a model that is here, for --draft-model, and print its path",
    "remove": "delete a model from redraft's own folder; other programs' files stay",
}

# Deleting what a setting names would surprise: removal wants names.
_COUNTS: Final = {"fetch": "*", "path": "?", "verify": "*", "draft": "?", "remove": "+"}

_EPILOG: Final = (
    "Without NAME: the model that is set (REDRAFT_MODEL, redraft.toml), or else the default. "
    "Models are kept in REDRAFT_MODELS_DIR, or else in the platform's folder for user data."
)


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the `models` command."""
    parser = subparsers.add_parser(
        "models", description="List, fetch, find, verify and remove models."
    )
    verbs = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    handlers = {
        "list": _list_models,
        "fetch": _fetch_models,
        "path": _print_path,
        "verify": _verify_models,
        "draft": _make_draft_model,
        "remove": _remove_models,
    }
    for name, text in _VERBS.items():
        verb = verbs.add_parser(name, help=text, description=f"{text}.", epilog=_EPILOG)
        if name == "list":
            verb.add_argument("--json", action="store_true", help="print one JSON object")
        else:
            verb.add_argument("names", metavar="NAME", nargs=_COUNTS[name])
        if name == "draft":
            verb.add_argument(
                "--kind", default="Q2_K", help="bits of the copy: Q2_K, the default, or Q3_K_S..."
            )
        verb.set_defaults(handler=handlers[name])


def _list_models(args: argparse.Namespace) -> int:
    folders, memory = ModelFolders.of_user(), psutil.virtual_memory().total
    rows = [(model, models.locate(model, folders)) for model in models.MODELS]
    if args.json:
        listed = [_build_record(model, path, memory) for model, path in rows]
        print(json.dumps({"memory": memory, "folder": str(folders.models), "models": listed}))
        return 0
    table = Table("model", "file", "memory", "fits", "here", "licence", box=None, pad_edge=False)
    for model, path in rows:
        name = f"{model.name} (default)" if model is models.DEFAULT else model.name
        fits = "yes" if model.fits(memory) else "no"
        here = "yes" if path else "-"
        table.add_row(name, _gb(model.size), _gb(model.memory), fits, here, model.licence)
    Console().print(table)
    print(f"\nThis machine has {_gb(memory)} of memory; a model may use three quarters of it.")
    print(f"Fetched models are kept in {folders.models}")
    return 0


def _build_record(model: ModelFile, path: Path | None, memory: int) -> dict[str, object]:
    return {
        "name": model.name,
        "default": model is models.DEFAULT,
        "repo": model.repo,
        "file": model.file,
        "size": model.size,
        "sha256": model.sha256,
        "licence": model.licence,
        "context_length": model.context_length,
        "memory": model.memory,
        "fits": model.fits(memory),
        "path": str(path) if path else None,
    }


def _fetch_models(args: argparse.Namespace) -> int:
    for model in _find_named(args):
        with show_fetch_progress() as report:
            path = models.fetch(model, on_progress=report)
        print(path)
    return 0


def _print_path(args: argparse.Namespace) -> int:
    print(models.resolve(args.names or _configured_name()))
    return 0


def _verify_models(args: argparse.Namespace) -> int:
    for model in _find_named(args):
        print(f"{models.verify(model, ModelFolders.of_user())}: sha256 is right")
    return 0


def _make_draft_model(args: argparse.Namespace) -> int:
    from redraft.engine.llama import requantize  # loads the native library

    source = models.resolve(args.names or _configured_name())
    target = ModelFolders.of_user().models / f"{source.stem}.draft-{args.kind}.gguf"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        requantize(source, target, args.kind)
    print(target)
    return 0


def _remove_models(args: argparse.Namespace) -> int:
    for model in _find_named(args):
        print(f"removed {models.remove(model, ModelFolders.of_user())}")
    return 0


def _find_named(args: argparse.Namespace) -> list[ModelFile]:
    """Return the models that are named, or else the one that is set, or else the default."""
    names = args.names or [_configured_name() or models.DEFAULT.name]
    return [models.find_model(name, models.MODELS) for name in names]


def _configured_name() -> str | None:
    return settings.load(Path.cwd(), {}, os.environ).model


@contextmanager
def show_fetch_progress() -> Iterator[models.ReportProgress]:
    """Yield a callback for `models.fetch` that draws a bar on stderr, if that is a terminal."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
    )
    console = Console(stderr=True)
    with Progress(
        *columns, console=console, transient=True, disable=not sys.stderr.isatty()
    ) as bars:
        task = bars.add_task("looking")

        def report(progress: FetchProgress) -> None:
            total = progress.total or None
            bars.update(task, description=progress.step, completed=progress.done, total=total)

        yield report


def _gb(size: int) -> str:
    return f"{size / 1e9:.1f} GB"
