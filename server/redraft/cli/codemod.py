"""`redraft codemod`: one instruction over many files.

The command line's side of it: flags, what they amount to together with a recipe, a named action
or the settings, and everything that can be wrong with them before a file is opened.
"""

import argparse
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeAlias, get_args

from redraft.cli import codemod_log, codemod_run, options
from redraft.cli.codemod_run import RunOptions
from redraft.cli.edit import check_writable
from redraft.codemod.discover import Rules, root_of
from redraft.codemod.programs import Command
from redraft.codemod.recipe import Recipe, load
from redraft.codemod.select import Scope, Selection
from redraft.errors import InputError
from redraft.syntax import LANGUAGES

__all__ = ["add_parser", "handler"]

_Parse: TypeAlias = Callable[..., Any]

_USAGE: Final = """\
redraft codemod "INSTRUCTION" PATH... [options]
       redraft codemod (--recipe FILE | --action NAME) [PATH...] [options]
       redraft codemod log [RUN]
       redraft codemod undo RUN"""

_EPILOG: Final = """\
Without --write nothing is changed: the diffs are printed. Files that git ignores, symbolic links,
submodules and files over 1 MB are left alone. docs/codemod.md has the whole story.

--select PATTERN keeps the functions (with --scope file: the files) in which it finds something:
  NAME                 a glob for names: 'test_*', 'Cart.*'
  /REGEX/              a regular expression in the text
  (QUERY)              a tree-sitter query: '(call function: (identifier) @f (#eq? @f "print"))'

exit codes: 0 done, or nothing to do; 1 --check would change a file; 2 something failed or was
refused; 130 interrupted: the first Ctrl-C lets the write in hand finish, the second does not.
"""


def add_parser(subparsers: options.Subparsers) -> None:
    """Add the verb `codemod`."""
    parser = subparsers.add_parser(
        "codemod",
        help="edit many files as one instruction says",
        usage=_USAGE,
        description="Edit every function, or every file, under the given paths.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("words", nargs="*", metavar="INSTRUCTION PATH", help=argparse.SUPPRESS)
    _add_what(parser)
    _add_how(parser)
    _add_shown(parser)
    options.add_model_flags(parser)
    parser.set_defaults(handler=handler)
    parser.parse_known_args = _gathering(parser.parse_known_args)  # type: ignore[method-assign]


def _gathering(parse: _Parse) -> _Parse:
    """`parse`, but a path may follow an option: argparse takes all words where the first stands."""

    def parse_known_args(*args: object) -> tuple[argparse.Namespace, list[str]]:
        known, extras = parse(*args)
        known.words += [word for word in extras if not word.startswith("-")]
        return known, [word for word in extras if word.startswith("-")]

    return parse_known_args


def _add_what(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("what is edited").add_argument
    add("--recipe", metavar="FILE", type=Path, help="a codemod kept in a TOML file")
    add("--action", metavar="NAME", help="a named action of the configuration")
    add("--scope", choices=get_args(Scope), help="edit functions (the default) or whole files")
    add("--select", metavar="PATTERN", action="append", help="narrow the targets; all must hold")
    add("--include", metavar="GLOB", action="append", help="only such files, as in .gitignore")
    add("--exclude", metavar="GLOB", action="append", help="no such files, as in .gitignore")
    add("--lang", metavar="NAME", action="append", help="only files in this language")
    add("--limit", metavar="N", type=_whole, help="only the first N targets")
    add("--submodules", action="store_true", help="enter submodules and nested repositories")


def _add_how(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what happens with the edits")
    result = group.add_mutually_exclusive_group()
    result.add_argument("--plan", action="store_true", help="only say what would be edited")
    result.add_argument("--write", action="store_true", help="write the files, with a journal")
    result.add_argument(
        "--check", action="store_true", help="exit with 1 where a file would change"
    )
    result.add_argument("--interactive", action="store_true", help="ask for each edit, and write")
    add = group.add_argument
    add("--resume", action="store_true", help="go on with the last such run where it stopped")
    add("--format-with", metavar="CMD", help="formats stdin to stdout; {} is the file's path")
    add("--verify-with", metavar="CMD", help="run after each write; where it fails, put back")
    add("--fail-fast", action="store_true", help="stop at the first refusal or failure")
    add("--allow-dirty", action="store_true", help="write although git has uncommitted changes")
    add("--commit", action="store_true", help="commit the written files with the instruction")
    add("--jobs", metavar="N", type=_whole, help="replies at once; by default as many as pay here")
    add(
        "--ray", metavar="ADDRESS", help="write them on a Ray cluster; auto finds one, local is one"
    )


def _add_shown(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what is printed")
    result = group.add_mutually_exclusive_group()
    for output in ("json", "jsonl", "sarif"):
        text = {
            "json": "one JSON object",
            "jsonl": "a JSON object a line: each file, then the summary",
            "sarif": "refusals and failures as SARIF, for CI to annotate",
        }[output]
        result.add_argument(
            f"--{output}", dest="output", action="store_const", const=output, help=text
        )
    group.add_argument("--report", metavar="FILE", type=Path, help="write an HTML page as well")
    parser.set_defaults(output="diff")


def handler(args: argparse.Namespace) -> int:
    """Show or undo a run, or make one."""
    if args.recipe is None and args.action is None and args.words[:1] in (["log"], ["undo"]):
        return codemod_log.handler(args.words[0], args.words[1:], as_json=args.output == "json")
    return codemod_run.execute(_order(args))


def _order(args: argparse.Namespace) -> RunOptions:
    recipe, paths = _what(args)
    writes = args.write or args.interactive
    for flag in ("resume", "verify_with", "commit"):
        if getattr(args, flag) and not writes:
            raise InputError(f"--{flag.replace('_', '-')} goes with --write or --interactive")
    if args.report:
        check_writable(args.report)
    if unknown := next((name for name in recipe.lang if name not in LANGUAGES), None):
        raise InputError(f"no grammar for {unknown!r}: the languages are {', '.join(LANGUAGES)}")
    root = root_of(paths)
    return RunOptions(
        recipe=recipe,
        root=root,
        paths=tuple(paths),
        rules=Rules(
            include=recipe.include,
            exclude=recipe.exclude,
            languages=recipe.lang,
            submodules=args.submodules,
        ),
        selection=Selection(recipe.scope, recipe.select),
        limit=args.limit,
        # The same text whatever --jobs is: only "invariant" promises that.
        settings=options.load(args, root, exactness="invariant"),
        jobs=args.jobs,
        ray=args.ray,
        formatter=_command(args.format_with, "--format-with"),
        verifier=_command(args.verify_with, "--verify-with"),
        mode=next(
            (m for m in ("plan", "check", "write", "interactive") if getattr(args, m)), "diff"
        ),
        resume=args.resume,
        fail_fast=args.fail_fast,
        allow_dirty=args.allow_dirty,
        commit=args.commit,
        output=args.output,
        report=args.report,
    )


def _what(args: argparse.Namespace) -> tuple[Recipe, list[Path]]:
    """The recipe, with what the flags say in place of its own words, and the paths."""
    if args.recipe and args.action:
        raise InputError("--recipe and --action both say what to do: give only one of them")
    if args.recipe or args.action:
        paths = [Path(word) for word in args.words or ["."]]
        recipe = load(args.recipe) if args.recipe else _action(args.action)
    elif len(args.words) < 2 or not args.words[0].strip():
        raise InputError(
            'give an instruction and a path, as in: redraft codemod "add type hints" src'
        )
    else:
        paths = [Path(word) for word in args.words[1:]]
        recipe = Recipe(instruction=args.words[0])
    given: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value
        for key in ("scope", "select", "include", "exclude", "lang")
        if (value := getattr(args, key))
    }
    return replace(recipe, **given), paths


def _action(name: str) -> Recipe:
    from redraft.config.actions import DIAGNOSTIC, SELECTION  # the language server: slow to import
    from redraft.lsp.server_config import ServerConfig

    actions, problems = ServerConfig({}, os.environ).actions(Path.cwd() / "any")
    known = {action.name: action for action in actions}
    if name not in known:
        wrong = "".join(f"; {problem}" for problem in problems)
        raise InputError(f"there is no action {name!r}: there are {', '.join(known)}{wrong}")
    action = known[name]
    if DIAGNOSTIC in action.instruction or SELECTION in action.instruction or name == "edit":
        raise InputError(f"the action {name!r} needs an editor: it is about what is selected there")
    scope: Scope = "file" if action.scope == "file" else "function"
    return Recipe(instruction=action.instruction, scope=scope, lang=action.languages)


def _command(line: str | None, flag: str) -> Command | None:
    return None if line is None else Command.of(line, flag)


def _whole(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"a whole number of at least 1, not {text!r}")
    return int(text)
