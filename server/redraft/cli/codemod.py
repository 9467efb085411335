"""`redraft codemod`: one instruction over many files.

The command line's side of it: flags, what they amount to together with a recipe, a named action
or the settings, and everything that can be wrong with them before a file is opened.
"""

import argparse
import hashlib
import json
import secrets
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, get_args

import platformdirs

from redraft import models
from redraft.cli import options
from redraft.cli.codemod_reporter import CodemodReporter, InterruptHandler, Output, reviewer
from redraft.cli.edit import check_writable
from redraft.cli.output import pluralize, print_json, print_status
from redraft.codemod import programs
from redraft.codemod.discover import Rules, root_of
from redraft.codemod.journal import Journal, Log, Started, folder_of, logs
from redraft.codemod.plan import Estimate, Plan, estimate, plan
from redraft.codemod.programs import Command
from redraft.codemod.ray import connected
from redraft.codemod.recipe import Recipe, load
from redraft.codemod.replies import Cache
from redraft.codemod.run import RunContext, run
from redraft.codemod.select import Scope, Selection
from redraft.codemod.write import Writer, undo
from redraft.config.actions import DIAGNOSTIC, EDIT_ACTION, SELECTION, load_actions
from redraft.config.settings import Settings
from redraft.errors import InputError
from redraft.records import DecodeOptions, Model
from redraft.syntax import LANGUAGES

__all__ = [
    "RunOptions",
    "add_parser",
    "execute",
    "handler",
    "log_or_undo",
    "model_sha256",
    "model_size",
]

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


_BESIDE_MODEL: Final = 2**30  # bytes of a worker's contexts, and of all else that is not the model

Mode: TypeAlias = Literal["plan", "diff", "check", "write", "interactive"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """Everything the user asked for, checked."""

    recipe: Recipe
    root: Path
    paths: tuple[Path, ...]
    rules: Rules
    selection: Selection
    limit: int | None
    settings: Settings
    jobs: int | None  # None: as many as pay
    ray: str | None
    formatter: Command | None
    verifier: Command | None
    mode: Mode
    resume: bool
    fail_fast: bool
    allow_dirty: bool
    commit: bool
    output: Output
    report: Path | None

    @property
    def writes(self) -> bool:
        return self.mode in ("write", "interactive")

    @property
    def decoding(self) -> DecodeOptions:
        return replace(self.settings.decode_options, route="codemod")

    @property
    def parameters(self) -> dict[str, Any]:
        """What decides the results, the instruction and the model aside."""
        decoding = asdict(self.decoding)
        del decoding["timeout_s"]
        return {
            "paths": sorted(str(path.resolve()) for path in self.paths),
            "rules": asdict(self.rules),
            "selection": asdict(self.selection),
            "limit": self.limit,
            "decoding": decoding,
            "format_with": self.formatter.words if self.formatter else None,
            "verify_with": self.verifier.words if self.verifier else None,
        }


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
        return log_or_undo(args.words[0], args.words[1:], as_json=args.output == "json")
    return execute(_order(args))


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
    actions, problems = load_actions(Path.cwd())
    known = {action.name: action for action in actions}
    if name not in known:
        wrong = "".join(f"; {problem}" for problem in problems)
        raise InputError(f"there is no action {name!r}: there are {', '.join(known)}{wrong}")
    action = known[name]
    if DIAGNOSTIC in action.instruction or SELECTION in action.instruction or name == EDIT_ACTION:
        raise InputError(f"the action {name!r} needs an editor: it is about what is selected there")
    scope: Scope = "file" if action.scope == "file" else "function"
    return Recipe(instruction=action.instruction, scope=scope, lang=action.languages)


def _command(line: str | None, flag: str) -> Command | None:
    return None if line is None else Command.of(line, flag)


def _whole(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"a whole number of at least 1, not {text!r}")
    return int(text)


def execute(order: RunOptions) -> int:
    """Plan, run, tell; the exit code."""
    start = time.monotonic()
    started = _started(order)
    log = _to_resume(order, started.identity)
    if order.writes:
        _check_git(order, log)
    planned = _left(order, log) if log else _planned(order, order.paths)
    shown = CodemodReporter(
        order.output, planned, started.instruction, keeps=order.report is not None
    )
    if order.mode == "plan":
        shown.plan(_foreseen(order, planned))
        return 2 if planned.broken else 0
    broken = tuple(one.path for one in planned.broken)
    started = log.started if log else replace(started, files=planned.files, broken=broken)
    with InterruptHandler() as stopper:
        _carry_out(order, planned, started, log, shown, stopper)
    if order.commit and not stopper.asked:
        _commit(order, started)
    shown.end(time.monotonic() - start, run=started.run if order.writes else "")
    if order.report:
        order.report.write_text(shown.page(), encoding="utf-8")
    if stopper.asked:
        return 130
    return (
        2 if shown.is_failed else int(order.mode == "check" and shown.summary.files["changed"] > 0)
    )


def model_sha256(chosen: Settings) -> str:
    """The sha256 of the model file that the settings name. Raises ModelError without one."""
    return models.cached_sha256(models.resolve(chosen.model), models.ModelFolders.of_user().cache)


def model_size(chosen: Settings) -> int:
    """The bytes of the model file that the settings name. Raises ModelError without one."""
    return models.resolve(chosen.model).stat().st_size


def _started(order: RunOptions) -> Started:
    """The first record of a run's journal, its files still to come."""
    now = datetime.now(timezone.utc)
    model = model_sha256(order.settings)
    told = [order.recipe.asked, model, order.parameters]
    return Started(
        run=f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}",
        at=now.isoformat(timespec="seconds"),
        root=str(order.root),
        instruction=order.recipe.asked,
        identity=hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest(),
        model=model,
        parameters=order.parameters,
        files=(),
    )


def _to_resume(order: RunOptions, identity: str) -> Log | None:
    """The last run of the same order, where it is to be resumed."""
    if not order.resume:
        return None
    same = [log for log in logs(folder_of(order.root)) if log.started.identity == identity]
    return same[-1] if same and not same[-1].undone else None


def _left(order: RunOptions, log: Log) -> Plan:
    """What `log` leaves to do; files that could not be read or written then are tried again."""
    broken = (order.root / path for path in log.started.broken if path not in log.closed)
    again = _planned(replace(order, limit=None), [path for path in broken if path.exists()])
    return Plan(root=order.root, files=(*log.left, *again.files), broken=again.broken)


def _planned(order: RunOptions, paths: Sequence[Path]) -> Plan:
    return plan(
        order.root,
        paths,
        order.rules,
        order.selection,
        limit=order.limit,
        writable=order.writes,
    )


def _check_git(order: RunOptions, log: Log | None) -> None:
    """Refuse to mix edits with work that is not committed yet."""
    is_repository = programs.toplevel(order.root) == order.root
    if order.commit and not is_repository:
        raise InputError(f"--commit: {order.root} is no git repository")
    if not is_repository or order.allow_dirty:
        return
    own = log.announced if log else {}
    if changed := [path for path in programs.dirty(order.root) if path not in own]:
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        raise InputError(
            f"{order.root} has uncommitted changes ({changed[0]}{more}): commit or stash them, "
            "or give --allow-dirty"
        )


def _carry_out(
    order: RunOptions,
    planned: Plan,
    started: Started,
    log: Log | None,
    shown: CodemodReporter,
    stopper: InterruptHandler,
) -> None:
    with ExitStack() as stack:
        writer: Writer | None = None
        if order.writes:
            journal = stack.enter_context(Journal(_path(order.root, started.run)))
            writer = Writer(root=order.root, journal=journal, verify=order.verifier)
            if log is None:
                journal.append(started)
            else:
                shown.resumed(log)
                for announced in log.unsettled:
                    shown.add(writer.settle(announced))
        if planned.files and not stopper.asked:
            model, n_workers = _model(order, stack)
            expected = _estimate(order, planned, model, n_workers)
            is_bar = sys.stderr.isatty() and order.mode != "interactive"
            stack.enter_context(shown.progress(expected, is_bar=is_bar))
            n_parallel = expected.jobs * n_workers
            task = _task(order, started, writer, shown, stopper, n_parallel)
            for result in run(planned, model, task):
                shown.add(result)
                if order.fail_fast and shown.is_failed:
                    return


def _foreseen(order: RunOptions, planned: Plan) -> Estimate | None:
    """What a run would take of one machine, None where there is nothing to do."""
    if not planned.files:
        return None
    with options.open_model(order.settings) as model:
        return _estimate(order, planned, model, 1)


def _estimate(order: RunOptions, planned: Plan, model: Model, n_workers: int) -> Estimate:
    exactness = order.decoding.exactness
    asked = order.recipe.asked
    return estimate(planned, model, asked, exactness, jobs=order.jobs, n_workers=n_workers)


def _model(order: RunOptions, stack: ExitStack) -> tuple[Model, int]:
    """Who writes the replies: one model in so many workers."""
    # Each file is asked about once: its state would push out those of files that are edited.
    chosen = replace(order.settings, save_states=False)
    local = stack.enter_context(options.open_model(chosen))
    if order.ray is None:
        return local, 1
    # Bound here, for a node gets these functions and what they hold on to.
    open_model, identify = options.open_model, model_sha256
    cluster = stack.enter_context(
        connected(
            local,
            order.ray,
            lambda: open_model(chosen),
            lambda: identify(chosen),
            n_cpus=chosen.threads,
            n_bytes=model_size(chosen) + _BESIDE_MODEL,
        )
    )
    return cluster, cluster.n_workers


def _task(
    order: RunOptions,
    started: Started,
    writer: Writer | None,
    shown: CodemodReporter,
    stopper: InterruptHandler,
    n_parallel: int,
) -> RunContext:
    from redraft.engine import backend, versions  # loads the native library

    folder = platformdirs.user_cache_path("redraft") / "codemod"
    build = json.dumps([backend(), versions(), order.settings.threads])
    cache = Cache(folder, started.model, order.decoding, build=build)
    cache.prune()
    return RunContext(
        instruction=started.instruction,
        options=order.decoding,
        n_parallel=n_parallel,
        cache=cache,
        formatter=order.formatter,
        write=writer.write if writer else lambda result: result,
        review=reviewer(stopper) if order.mode == "interactive" else None,
        on_reply=shown.replied,
        cancelled=lambda: stopper.asked,
    )


def _commit(order: RunOptions, started: Started) -> None:
    log = Log.read(_path(order.root, started.run))
    closed = log.closed.values() if log else ()
    paths = [one.path for one in closed if one.written and one.state == "changed"]
    if not paths:
        return
    title = " ".join(order.recipe.instruction.split())
    title = title if len(title) <= 72 else f"{title[:71].rstrip()}…"
    listed = "".join(f"- {path}\n" for path in paths)
    message = f"{title}\n\nredraft codemod, run {started.run}:\n\n{started.instruction}\n\n{listed}"
    commit = programs.commit(order.root, message, paths)
    print_status(f"committed {pluralize(len(paths), 'file')} as {commit}")


def _path(root: Path, run: str) -> Path:
    return folder_of(root) / f"{run}.jsonl"


def log_or_undo(verb: str, words: Sequence[str], *, as_json: bool) -> int:
    """List runs or show one, or revert one; 2 where a file could not be reverted."""
    known = logs(folder_of(root_of([Path.cwd()])))
    if verb == "log" and not words:
        for log in known:
            _print_run(log, as_json=as_json)
        return 0
    if len(words) != 1:
        raise InputError(f"redraft codemod {verb} takes one RUN; `redraft codemod log` lists them")
    found = [log for log in known if log.started.run == words[0]]
    if not found:
        raise InputError(f"there is no run {words[0]!r} here; `redraft codemod log` lists them")
    if verb == "undo":
        return _undo_run(found[0])
    _print_run(found[0], as_json=as_json)
    for path, state in _states(found[0]).items():
        print_json({"path": path, "state": state}) if as_json else print(f"  {path}  {state}")
    return 0


def _print_run(log: Log, *, as_json: bool) -> None:
    started = log.started
    counts = Counter(_states(log).values())
    if as_json:
        told = {"run": started.run, "at": started.at, "instruction": started.instruction}
        print_json(told | {"files": counts, "finished": log.is_finished})
        return
    files = ", ".join(f"{n} {state}" for state, n in sorted(counts.items()))
    title = " ".join(started.instruction.split())
    print(f"{started.run}  {files or 'no files'}  {title[:60]}")


def _states(log: Log) -> dict[str, str]:
    """How each file of the plan stands."""
    states = {file.path: "left" for file in log.started.files}
    states |= {one.path: "unsettled" for one in log.unsettled}
    for path, closed in log.closed.items():
        states[path] = "written" if closed.written else closed.state
    return states | dict.fromkeys(log.undone, "undone")


def _undo_run(log: Log) -> int:
    n_undone = n_failed = 0
    with Journal(log.path) as journal:
        for path, problem in undo(log, journal):
            n_failed += bool(problem)
            n_undone += not problem
            if problem:
                print_status(f"failed: {problem}")
            else:
                print(path)
    print_status(
        f"{pluralize(n_undone, 'file')} reverted"
        + (f", {n_failed} left as they are" if n_failed else "")
    )
    return 2 if n_failed else 0
