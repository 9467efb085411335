"""`redraft edit`: edit one file, or standard input.

Everything that can be wrong with the request is found before a model is loaded; a file is written
only when the whole edit succeeded, and only if it is still what was read.
"""

import argparse
import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from redraft.cli import options, output, trace_view
from redraft.cli.completion import complete_target
from redraft.cli.saved_reply import read_reply, write_reply
from redraft.cli.target_spec import TargetSpec
from redraft.config.settings import Settings
from redraft.edit import describe_override, replay, rewrite
from redraft.errors import InputError
from redraft.records import (
    Completion,
    EditRequest,
    Outcome,
    Refused,
    Rewritten,
    Unchanged,
)
from redraft.syntax import LANGUAGES, language_of
from redraft.text import files
from redraft.text.diff import unified_diff
from redraft.text.files import Document

__all__ = [
    "EditJob",
    "add_parser",
    "add_target_flags",
    "ask_model",
    "check_writable",
    "handler",
    "read_edit_job",
    "write_trace_page",
]

STDIN: Final = "-"

_EPILOG: Final = """\
what is edited:
  FILE                 the whole file
  FILE::NAME           a function, method or class: FILE::total, FILE::Cart.total
  FILE:L, FILE:L:C     the function, or else the class, around line L (and column C)
  FILE:L1-L2           lines L1 to L2, both included
  FILE:L1:C1-L2:C2     from before column C1 of L1 to before column C2 of L2
  -                    the text on standard input, or the part of it that --stdin-path names
Lines and columns count from 1, columns in code points, as an editor's status line shows a caret.
Where a file's own name holds colons, the longest name that exists is meant.

An edit changes its target, adds the imports that it needs to the file's (--no-imports: it does
not), and is refused where it would not parse or leaves out code without being asked to. The lines
that it would lose are named; --allow makes it all the same, for each REASON that is given:
  deletion             it leaves out code that nobody asked to remove
  parse_broken         the file parsed before the edit, and would not after it
  elision              it says "... rest unchanged ..." and what that stands for is not certain

--json prints {outcome, reason, path, diff, edits, lost, withheld_diff, callers, stats}. outcome is
rewritten, unchanged or refused. Each of edits puts new_text from start_line:start_col to before
end_line:end_col of the text before the edit, counted as above. lost are the lines that a refused
edit leaves out, withheld_diff is that edit, where there is one. callers are {line, text,
definition, path} of lines, after the edit, that still use what it renamed or gave other parameters.
Times are in seconds.

--save-reply keeps what the model wrote, with the request, for a bug report; --reply makes the edit
from that without a model. docs/replies.md has the format.

exit codes: 0 edited, or nothing to change; 1 --check would change the file;
2 failed or refused, and one line on stderr says why; 130 interrupted.
"""


def add_parser(subparsers: options.Subparsers) -> None:
    """Add the verb `edit`."""
    parser = subparsers.add_parser(
        "edit",
        description="Edit a file, a function or a range as an instruction says; print the diff.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add_target_flags(parser, needs_instruction=False)
    result = parser.add_mutually_exclusive_group()
    result.add_argument(
        "--write", action="store_true", help="write the file; with -, print the whole new text"
    )
    result.add_argument(
        "--check", action="store_true", help="exit with 1 where the edit would change the file"
    )
    options.add_allow_flag(parser)
    add(
        "--another-version",
        action="store_true",
        help="where the model leaves the code as it is, take its second choice",
    )
    add("--json", action="store_true", help="print one JSON object instead of the diff")
    add("--trace", metavar="OUT.html", type=Path, help="a page that shows where tokens came from")
    add("--save-reply", metavar="FILE", type=Path, help="keep the model's reply, as JSON")
    add("--reply", metavar="FILE", type=Path, help="a saved reply, or one as text: asks no model")
    options.add_model_flags(parser)
    parser.set_defaults(handler=handler, usage_error=parser.error)


def add_target_flags(parser: argparse.ArgumentParser, *, needs_instruction: bool = True) -> None:
    """Add the flags that say which text is edited, and how."""
    add = parser.add_argument
    target = add("target", metavar="FILE[::NAME|:RANGE]", help="what to edit; - reads stdin")
    target.completer = complete_target  # type: ignore[attr-defined]  # argcomplete looks for it
    nargs = None if needs_instruction else "?"
    add("instruction", nargs=nargs, help="what to change, in your own words")
    add("--lang", metavar="NAME", help="the language, where the file's name does not tell it")
    add("--stdin-path", metavar="FILE", help="what - stands for, a part of it too: a.py::total")


@dataclass(frozen=True, slots=True, kw_only=True)
class EditJob:
    """An edit to make, and the document it is made in."""

    request: EditRequest
    document: Document
    is_stdin: bool


def handler(args: argparse.Namespace) -> int:
    """Make the edit, write it with --write, print it; return the exit code."""
    if args.target == STDIN and args.write and args.json:
        raise InputError("with -, --write and --json both print: give only one of them")
    if args.reply and args.trace:
        raise InputError("--trace shows how a model decoded its reply: --reply asks none")
    saved = read_reply(args.reply) if args.reply else None
    if saved and args.instruction is None:
        args.instruction = saved.instruction or None
    if args.instruction is None:
        args.usage_error("the following arguments are required: instruction")
    job = read_edit_job(args)
    settings = options.load(args, job.document.path.parent)
    request = replace(
        job.request,
        allowed=tuple(args.allow),
        adds_imports=settings.imports,
        wants_another_version=args.another_version,
    )
    job = replace(job, request=request)
    if args.write and not job.is_stdin:
        check_writable(job.document.path)
    for path in filter(None, (args.trace, args.save_reply)):
        check_writable(path)
    if saved:
        saved.check(request, args.reply)
        outcome = replay(request, saved.completions, settings.decode_options)
        completions = list(saved.completions)
    else:
        outcome, completions = ask_model(request, settings)
    if args.trace and completions:
        write_trace_page(args.trace, completions[-1], request)
    if args.save_reply:
        model_name = settings.model if saved is None else None
        decoding = settings.decode_options
        write_reply(args.save_reply, request, decoding, completions, outcome, model=model_name)
    if isinstance(outcome, Rewritten) and args.write and not job.is_stdin:
        old, new = job.document, replace(job.document, text=outcome.new_text)
        files.write_atomic(old.path, new.encode(), expected=old.encode())
    _print_outcome(outcome, job, args)
    if isinstance(outcome, Refused):
        return 2
    return 1 if args.check and isinstance(outcome, Rewritten) else 0


def ask_model(request: EditRequest, settings: Settings) -> tuple[Outcome, list[Completion]]:
    """Return the outcome, and the replies that it was made from; shows progress on stderr."""
    completions: list[Completion] = []
    with options.open_model(settings) as model, output.show_progress() as on_progress:
        outcome = rewrite(
            request,
            model,
            settings.decode_options,
            on_progress=on_progress,
            on_completion=completions.append,
        )
    return outcome, completions


def read_edit_job(args: argparse.Namespace) -> EditJob:
    """Return the edit that the flags ask for. Raises InputError for every mistake in them."""
    if not args.instruction.strip():
        raise InputError('the instruction is empty: say what to change, as in "add type hints"')
    if _replace_surrogates(args.instruction) != args.instruction:
        raise InputError("the instruction is not valid text in this terminal's encoding")
    if args.stdin_path and args.target != STDIN:
        raise InputError("--stdin-path goes with - only: the path of a file is known")
    is_stdin = args.target == STDIN
    spec = TargetSpec.parse(args.stdin_path or args.target, os.path.lexists)
    path = spec.path
    document = files.decode(sys.stdin.buffer.read(), Path(path)) if is_stdin else files.read(path)
    language = args.lang or language_of(path, document.text)
    if language and language not in LANGUAGES:
        raise InputError(f"no grammar for {language!r}: the languages are {', '.join(LANGUAGES)}")
    request = EditRequest(
        path=_replace_surrogates(path),
        text=document.text,
        target=spec.find_span(document.text, language),
        instruction=args.instruction,
        language=language,
    )
    return EditJob(request=request, document=document, is_stdin=is_stdin)


def _replace_surrogates(argument: str) -> str:
    """Put U+FFFD for bytes that are no text, which Python keeps as lone surrogates."""
    return argument.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def write_trace_page(path: Path, completion: Completion, request: EditRequest) -> None:
    """Write the page that shows how `completion` came about. Raises OSError."""
    page = trace_view.render_page(completion, title=request.path, instruction=request.instruction)
    path.write_text(page, encoding="utf-8")


def check_writable(path: Path) -> None:
    """Raise InputError where `path` cannot be written: before the model has worked, not after."""
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise InputError(f"cannot write {path}: there is no folder {target.parent}")
    for needed in (target, target.parent):
        if needed.exists() and not os.access(needed, os.W_OK):
            raise InputError(f"cannot write {path}: no permission to change {needed}")


def _print_outcome(outcome: Outcome, job: EditJob, args: argparse.Namespace) -> None:
    """Print the result on stdout, and what there is to say about it on stderr."""
    request = job.request
    new_text = outcome.new_text if isinstance(outcome, Rewritten) else request.text
    if args.json:
        output.print_json(output.build_record(outcome, request))
    elif job.is_stdin and args.write and not isinstance(outcome, Refused):
        sys.stdout.buffer.write(replace(job.document, text=new_text).encode())
    else:
        output.print_diff(unified_diff(request.text, new_text, request.path))
    for note in outcome.notes:
        output.print_status(f"note: {note}")
    if isinstance(outcome, Refused):
        output.print_error(outcome.message)
        output.print_lost(outcome.lost)
        if clause := describe_override(outcome):
            output.print_status(clause)
    elif isinstance(outcome, Unchanged):
        hint = "; --another-version takes the model's second choice"
        output.print_status(f"no changes{'' if request.wants_another_version else hint}")
    if sys.stderr.isatty():
        output.print_status(output.format_stats(outcome.stats))
