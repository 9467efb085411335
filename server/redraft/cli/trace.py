"""`redraft trace`: make an edit, leave the file alone, and show where each token came from."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Final

from rich.console import Console

from redraft.cli import edit, options, output, trace_view
from redraft.errors import RedraftError
from redraft.records import Refused

__all__ = ["add_parser", "handler"]

_EPILOG: Final = """\
What can be edited is told as `redraft edit --help` says. The file is never written.
exit codes: 0 the model answered, with an edit or without; 2 it was not asked, or failed.
"""


def add_parser(subparsers: options.Subparsers) -> None:
    """Add the verb `trace`."""
    parser = subparsers.add_parser(
        "trace",
        description="Make an edit and show its answer: tokens that were copied, learned, drafted"
        " from elsewhere or decoded afresh in colours of their own, and where each pass begins.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    edit.add_target_flags(parser)
    parser.add_argument("--html", metavar="OUT", type=Path, help="write a page instead of printing")
    options.add_model_flags(parser)
    parser.set_defaults(handler=handler)


def handler(args: argparse.Namespace) -> int:
    """Ask the model and show how it answered; return the exit code."""
    job = edit.read_edit_job(args)
    settings = options.load(args, job.document.path.parent)
    request = replace(job.request, adds_imports=settings.imports)
    if args.html:
        edit.check_writable(args.html)
    outcome, completions = edit.ask_model(request, settings)
    if isinstance(outcome, Refused):
        if not completions:
            raise RedraftError(outcome.message)
        output.print_status(f"no edit would come of this: {outcome.message}")
    if args.html:
        edit.write_trace_page(args.html, completions[-1], job.request)
        print(trace_view.format_totals(completions[-1]))
    else:
        Console(highlight=False).print(
            trace_view.render_text(completions[-1]), end="", soft_wrap=True
        )
    return 0
