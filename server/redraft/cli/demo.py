"""`redraft demo`: edit a copy of a small file, and show what the copying decoder gains.

The same request is decoded twice with one loaded model: as the product does it, then plainly. The
figures compare the two decodes; prefill is left out, since the second reuses the first's.
"""

import argparse
import os
import tempfile
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Final

from redraft import models
from redraft.cli import options, output, start
from redraft.cli.models import show_fetch_progress
from redraft.config import settings
from redraft.edit import rewrite
from redraft.errors import RedraftError
from redraft.records import DecodeOptions, EditRequest, Model, Rewritten
from redraft.syntax import target_named
from redraft.text import files
from redraft.text.diff import unified_diff

__all__ = ["add_parser", "handler"]

FILE: Final = "shop.py"
TARGET: Final = "invoice"
INSTRUCTION: Final = "Add a parameter `tax_free: bool = False`; no tax is due when it is true."


def add_parser(subparsers: options.Subparsers) -> None:
    """Add the verb `demo`."""
    parser = subparsers.add_parser(
        "demo",
        description="Fetch the model where it is missing, edit a copy of a small file with it, "
        "show the diff, and compare the speed with plain decoding in the same run.",
    )
    parser.add_argument("--model", metavar="NAME|PATH", help="a model other than the default")
    parser.set_defaults(handler=handler)


def handler(args: argparse.Namespace) -> int:
    """Edit a copy of the packaged file twice; print the diff and the figures."""
    config = settings.load(Path.cwd(), {"model": args.model}, os.environ)
    name = config.model or models.DEFAULT.name
    if any(model.name == name for model in models.MODELS):
        with show_fetch_progress() as report:
            file = models.fetch(models.find_model(name, models.MODELS), on_progress=report)
    else:
        file = models.resolve(config.model)
    config = replace(config, model=str(file))
    with tempfile.TemporaryDirectory(prefix="redraft-demo-") as folder:
        path = Path(folder) / FILE
        path.write_bytes(resources.files("redraft.cli").joinpath("demo_shop.txt").read_bytes())
        document = files.read(path)
        request = EditRequest(
            path=FILE,
            text=document.text,
            target=target_named(document.text, "python", TARGET).span,
            instruction=INSTRUCTION,
            language="python",
        )
        output.print_status(f'redraft edit {FILE}::{TARGET} "{INSTRUCTION}"')
        with options.open_model(config) as model:
            edit = _edit(request, model, config.decode_options)
            new = replace(document, text=edit.new_text)
            files.write_atomic(path, new.encode(), expected=document.encode())
            output.print_diff(unified_diff(document.text, files.read(path).text, FILE))
            plain = _edit(request, model, replace(config.decode_options, strategy="plain"))
    speed, plain_speed = edit.stats.tokens_per_s, plain.stats.tokens_per_s
    same = "the same text" if edit.new_text == plain.new_text else "another text"
    print(
        f"{output.format_stats(edit.stats)}, {speed / plain_speed:.1f} times plain decoding"
        f" ({plain_speed:.1f} tokens/s, {same})"
    )
    print(f"\nOn a file of your own:\n\n{start.format_commands(start.NEXT_COMMANDS)}")
    return 0


def _edit(request: EditRequest, model: Model, decode: DecodeOptions) -> Rewritten:
    """Return the edit. Raises RedraftError where the model makes none."""
    with output.show_progress() as on_progress:
        outcome = rewrite(request, model, decode, on_progress=on_progress)
    if isinstance(outcome, Rewritten):
        return outcome
    reason = getattr(outcome, "message", "it left the code as it was")
    raise RedraftError(f"this model did not make the edit of the demo: {reason}")
