"""`redraft codemod`: apply one instruction to many files; list earlier runs, and undo one.

From flags, a recipe, a named action and the settings to the options of a run, and from those to the
exit code: checks, plan, model, journal, summary. Everything that can be wrong with the options is
found before a file is opened. How files are edited is `redraft.codemod`'s business, how the run
looks that of `codemod_reporter`.
"""

import argparse
import hashlib
import json
import secrets
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, get_args

import platformdirs

from redraft import models
from redraft.cli import options
from redraft.cli.codemod_reporter import (
    CodemodReporter,
    InterruptHandler,
    OutputFormat,
    make_reviewer,
)
from redraft.cli.edit import check_writable
from redraft.cli.output import pluralize, print_json, print_status
from redraft.codemod import programs
from redraft.codemod.discover import FileRules, find_root
from redraft.codemod.journal import Journal, RunLog, RunStarted, journal_folder, read_logs
from redraft.codemod.plan import Estimate, Plan, estimate, plan
from redraft.codemod.programs import Command
from redraft.codemod.ray import connect
from redraft.codemod.recipe import Recipe, read_recipe
from redraft.codemod.replies import ReplyCache
from redraft.codemod.run import RunContext, run
from redraft.codemod.select import CodemodScope, Selection
from redraft.codemod.write import Writer, undo
from redraft.config.actions import DIAGNOSTIC, EDIT_ACTION, SELECTION, load_actions
from redraft.config.settings import Settings
from redraft.errors import InputError
from redraft.records import DecodeOptions, Model
from redraft.syntax import LANGUAGES

__all__ = ["RunOptions", "add_parser", "handler", "model_sha256", "model_size", "run_codemod"]

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


# Bytes of a worker's contexts, and of all else that is not the model.
_WORKER_OVERHEAD: Final = 2**30

RunMode: TypeAlias = Literal["plan", "diff", "check", "write", "interactive"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """Everything the user asked for, checked."""

    recipe: Recipe
    root: Path
    paths: tuple[Path, ...]
    rules: FileRules
    selection: Selection
    limit: int | None
    settings: Settings
    jobs: int | None  # None: as many as pay
    ray: str | None
    formatter: Command | None
    verifier: Command | None
    mode: RunMode
    resume: bool
    fail_fast: bool
    allow_dirty: bool
    commit: bool
    output: OutputFormat
    report: Path | None

    @property
    def writes(self) -> bool:
        return self.mode in ("write", "interactive")

    @property
    def decoding(self) -> DecodeOptions:
        return replace(self.settings.decode_options, route="codemod")

    @property
    def parameters(self) -> dict[str, Any]:
        """All that decides the results, the instruction and the model aside."""
        decoding = asdict(self.decoding)
        del decoding["timeout_s"]  # a run with more time is to go on with one that had too little
        return {
            "paths": sorted(str(path.resolve()) for path in self.paths),
            "rules": asdict(self.rules),
            "selection": asdict(self.selection),
            "limit": self.limit,
            "decoding": decoding,
            "allow": sorted(self.recipe.allow),
            "imports": self.settings.imports,
            "format_with": self.formatter.words if self.formatter else None,
            "verify_with": self.verifier.words if self.verifier else None,
        }


def add_parser(subparsers: options.Subparsers) -> None:
    """Add the verb `codemod`."""
    parser = subparsers.add_parser(
        "codemod",
        usage=_USAGE,
        description="Edit every function, or every file, under the given paths.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("words", nargs="*", metavar="INSTRUCTION PATH", help=argparse.SUPPRESS)
    _add_target_flags(parser)
    _add_run_flags(parser)
    _add_output_flags(parser)
    options.add_model_flags(parser)
    parser.set_defaults(handler=handler)
    _allow_paths_after_flags(parser)


def _allow_paths_after_flags(parser: argparse.ArgumentParser) -> None:
    """Let `codemod "..." --write src` work: argparse takes all words where the first stands."""
    parse = parser.parse_known_args

    def parse_known_args(*args: Any) -> tuple[argparse.Namespace, list[str]]:  # noqa: ANN401
        namespace, extras = parse(*args)
        namespace.words += [word for word in extras if not word.startswith("-")]
        return namespace, [word for word in extras if word.startswith("-")]

    parser.parse_known_args = parse_known_args  # type: ignore[method-assign, assignment]


def _add_target_flags(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("what is edited").add_argument
    add("--recipe", metavar="FILE", type=Path, help="a codemod kept in a TOML file")
    add("--action", metavar="NAME", help="a named action of the configuration")
    add(
        "--scope",
        choices=get_args(CodemodScope),
        help="edit functions (the default) or whole files",
    )
    add("--select", metavar="PATTERN", action="append", help="narrow the targets; all must hold")
    add("--include", metavar="GLOB", action="append", help="only such files, as in .gitignore")
    add("--exclude", metavar="GLOB", action="append", help="no such files, as in .gitignore")
    add("--lang", metavar="NAME", action="append", help="only files in this language")
    add("--limit", metavar="N", type=_positive_int, help="only the first N targets")
    add("--submodules", action="store_true", help="enter submodules and nested repositories")


def _add_run_flags(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what happens with the edits")
    result = group.add_mutually_exclusive_group()
    result.add_argument("--plan", action="store_true", help="only say what would be edited")
    result.add_argument("--write", action="store_true", help="write the files, with a journal")
    result.add_argument(
        "--check", action="store_true", help="exit with 1 where a file would change"
    )
    result.add_argument("--interactive", action="store_true", help="ask for each edit, and write")
    options.add_allow_flag(group)
    add = group.add_argument
    add("--resume", action="store_true", help="go on with the last such run where it stopped")
    add("--format-with", metavar="CMD", help="formats stdin to stdout; {} is the file's path")
    add("--verify-with", metavar="CMD", help="run after each write; where it fails, put back")
    add("--fail-fast", action="store_true", help="stop at the first refusal or failure")
    add("--allow-dirty", action="store_true", help="write although git has uncommitted changes")
    add("--commit", action="store_true", help="commit the written files with the instruction")
    add(
        "--jobs",
        metavar="N",
        type=_positive_int,
        help="replies at once; by default as many as pay here",
    )
    add(
        "--ray", metavar="ADDRESS", help="write them on a Ray cluster; auto finds one, local is one"
    )


def _add_output_flags(parser: argparse.ArgumentParser) -> None:
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
    """List, show or undo a run, or make one; return the exit code."""
    if args.recipe is None and args.action is None and args.words[:1] in (["log"], ["undo"]):
        return _show_or_undo_runs(args.words[0], args.words[1:], as_json=args.output == "json")
    return run_codemod(_build_options(args))


def _build_options(args: argparse.Namespace) -> RunOptions:
    """Return the options that the flags amount to. Raises InputError where one is wrong."""
    recipe, paths = _choose_recipe(args)
    writes = args.write or args.interactive
    for flag in ("resume", "verify_with", "commit"):
        if getattr(args, flag) and not writes:
            raise InputError(f"--{flag.replace('_', '-')} goes with --write or --interactive")
    if args.report:
        check_writable(args.report)
    if unknown := next((name for name in recipe.lang if name not in LANGUAGES), None):
        raise InputError(f"no grammar for {unknown!r}: the languages are {', '.join(LANGUAGES)}")
    root = find_root(paths)
    return RunOptions(
        recipe=recipe,
        root=root,
        paths=tuple(paths),
        rules=FileRules(
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
        formatter=_parse_command(args.format_with, "--format-with"),
        verifier=_parse_command(args.verify_with, "--verify-with"),
        mode=next((mode for mode in get_args(RunMode) if getattr(args, mode, False)), "diff"),
        resume=args.resume,
        fail_fast=args.fail_fast,
        allow_dirty=args.allow_dirty,
        commit=args.commit,
        output=args.output,
        report=args.report,
    )


def _choose_recipe(args: argparse.Namespace) -> tuple[Recipe, list[Path]]:
    """Return the recipe, its values overridden by flags, and the paths."""
    if args.recipe and args.action:
        raise InputError("--recipe and --action both say what to do: give only one of them")
    if args.recipe or args.action:
        paths = [Path(word) for word in args.words or ["."]]
        recipe = read_recipe(args.recipe) if args.recipe else _read_action(args.action)
    elif len(args.words) < 2 or not args.words[0].strip():
        raise InputError(
            'give an instruction and a path, as in: redraft codemod "add type hints" src'
        )
    else:
        paths = [Path(word) for word in args.words[1:]]
        recipe = Recipe(instruction=args.words[0])
    flags: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value
        for key in ("scope", "select", "include", "exclude", "lang", "allow")
        if (value := getattr(args, key))
    }
    return replace(recipe, **flags), paths


def _read_action(name: str) -> Recipe:
    """Return the named action of the settings as a recipe."""
    actions, problems = load_actions(Path.cwd())
    by_name = {action.name: action for action in actions}
    if name not in by_name:
        hints = "".join(f"; {problem}" for problem in problems)
        raise InputError(f"there is no action {name!r}: there are {', '.join(by_name)}{hints}")
    action = by_name[name]
    if DIAGNOSTIC in action.instruction or SELECTION in action.instruction or name == EDIT_ACTION:
        raise InputError(f"the action {name!r} needs an editor: it is about what is selected there")
    scope: CodemodScope = "file" if action.scope == "file" else "function"
    return Recipe(instruction=action.instruction, scope=scope, lang=action.languages)


def _parse_command(line: str | None, flag: str) -> Command | None:
    return None if line is None else Command.parse(line, flag)


def _positive_int(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"a whole number of at least 1, not {text!r}")
    return int(text)


def run_codemod(run_options: RunOptions) -> int:
    """Plan, edit the files and report; return the exit code."""
    start = time.monotonic()
    started = _build_start_record(run_options)
    log: RunLog | None = None
    if run_options.resume:
        logs = read_logs(journal_folder(run_options.root))
        same = [log for log in logs if log.started.identity == started.identity]
        # To go on with a run that was undone would leave its first files as they were.
        log = same[-1] if same and not same[-1].undone else None
    if run_options.writes:
        _check_git(run_options, log)
    planned = _plan_rest(run_options, log) if log else _plan(run_options, run_options.paths)
    reporter = CodemodReporter(
        run_options.output,
        planned,
        started.instruction,
        keep_results=run_options.report is not None,
    )
    if run_options.mode == "plan":
        expected: Estimate | None = None
        if planned.files:
            with options.open_model(run_options.settings) as model:
                expected = _estimate(run_options, planned, model, n_workers=1)
        reporter.report_plan(expected)
        return 2 if planned.inaccessible else 0
    broken = tuple(file.path for file in planned.inaccessible)
    started = log.started if log else replace(started, files=planned.files, broken=broken)
    with InterruptHandler() as interrupt:
        _edit_files(run_options, planned, started, log, reporter, interrupt)
    # An interrupted run is committed as a whole, by the one that resumes it.
    if run_options.commit and not interrupt.requested:
        _commit(run_options, started)
    reporter.report_end(time.monotonic() - start, run=started.run if run_options.writes else "")
    if run_options.report:
        run_options.report.write_text(reporter.render_page(), encoding="utf-8")
    if interrupt.requested:
        return 130
    if reporter.is_failed:
        return 2
    return int(run_options.mode == "check" and reporter.summary.files["changed"] > 0)


def model_sha256(chosen: Settings) -> str:
    """Return the sha256 of the model file that the settings name. Raises ModelError without one."""
    return models.cached_sha256(models.resolve(chosen.model), models.ModelFolders.of_user().cache)


def model_size(chosen: Settings) -> int:
    """Return the bytes of the model file that the settings name. Raises ModelError without one."""
    return models.resolve(chosen.model).stat().st_size


def _build_start_record(run_options: RunOptions) -> RunStarted:
    """Return the first record of a run's journal, its files still to come."""
    now = datetime.now(timezone.utc)
    model = model_sha256(run_options.settings)
    instruction = run_options.recipe.full_instruction
    identity = json.dumps([instruction, model, run_options.parameters], sort_keys=True)
    return RunStarted(
        run=f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}",
        at=now.isoformat(timespec="seconds"),
        root=str(run_options.root),
        instruction=instruction,
        identity=hashlib.sha256(identity.encode()).hexdigest(),
        model=model,
        parameters=run_options.parameters,
        files=(),
    )


def _plan(run_options: RunOptions, paths: Sequence[Path]) -> Plan:
    return plan(
        run_options.root,
        paths,
        run_options.rules,
        run_options.selection,
        limit=run_options.limit,
        writable=run_options.writes,
    )


def _plan_rest(run_options: RunOptions, log: RunLog) -> Plan:
    """Plan what `log` leaves to do; files that could not be read or written are tried again."""
    broken = (run_options.root / path for path in log.started.broken if path not in log.closed)
    # The limit was applied when the run began, and counted none of these.
    unlimited = replace(run_options, limit=None)
    mended = _plan(unlimited, [path for path in broken if path.exists()])
    files = (*log.remaining_files, *mended.files)
    return Plan(root=run_options.root, files=files, inaccessible=mended.inaccessible)


def _check_git(run_options: RunOptions, log: RunLog | None) -> None:
    """Refuse to mix edits with work that is not committed yet. Raises InputError."""
    root = run_options.root
    is_repository = programs.find_repository(root) == root
    if run_options.commit and not is_repository:
        raise InputError(f"--commit: {root} is no git repository")
    if not is_repository or run_options.allow_dirty:
        return
    edited = log.announced if log else {}  # by the run that is resumed
    if changed := [path for path in programs.uncommitted_files(root) if path not in edited]:
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        raise InputError(
            f"{root} has uncommitted changes ({changed[0]}{more}): commit or stash them, "
            "or give --allow-dirty"
        )


def _edit_files(
    run_options: RunOptions,
    planned: Plan,
    started: RunStarted,
    log: RunLog | None,
    reporter: CodemodReporter,
    interrupt: InterruptHandler,
) -> None:
    """Finish what `log` left unsettled, then edit the files of the plan."""
    with ExitStack() as stack:
        writer: Writer | None = None
        if run_options.writes:
            journal = stack.enter_context(Journal(_journal_path(run_options.root, started.run)))
            writer = Writer(root=run_options.root, journal=journal, verify=run_options.verifier)
            if log is None:
                journal.append(started)
            else:
                reporter.report_resumed(log)
                for announced in log.unsettled_writes:
                    reporter.add(writer.settle(announced))
        if not planned.files or interrupt.requested:
            return
        model, n_workers = _open_model(run_options, stack)
        expected = _estimate(run_options, planned, model, n_workers=n_workers)
        has_bar = sys.stderr.isatty() and run_options.mode != "interactive"
        stack.enter_context(reporter.show_progress(expected, has_bar=has_bar))
        context = RunContext(
            instruction=started.instruction,
            options=run_options.decoding,
            allowed=run_options.recipe.allow,
            adds_imports=run_options.settings.imports,
            n_parallel=expected.jobs * n_workers,
            cache=_open_cache(run_options, started.model),
            formatter=run_options.formatter,
            write=writer.write if writer else lambda result: result,
            review=make_reviewer(interrupt) if run_options.mode == "interactive" else None,
            on_reply=reporter.count_reply,
            cancelled=lambda: interrupt.requested,
        )
        for result in run(planned, model, context):
            reporter.add(result)
            if run_options.fail_fast and reporter.is_failed:
                return


def _estimate(run_options: RunOptions, planned: Plan, model: Model, *, n_workers: int) -> Estimate:
    return estimate(
        planned,
        model,
        run_options.recipe.full_instruction,
        run_options.decoding.exactness,
        jobs=run_options.jobs,
        n_workers=n_workers,
    )


def _open_model(run_options: RunOptions, stack: ExitStack) -> tuple[Model, int]:
    """Return the model that writes the replies, and the number of workers it runs in."""
    # Each file is asked about once: its state would push out those of files that are edited.
    settings = replace(run_options.settings, save_states=False)
    local = stack.enter_context(options.open_model(settings))
    if run_options.ray is None:
        return local, 1
    # Bound here, for a node gets these functions and what they hold on to.
    open_model, identify = options.open_model, model_sha256
    cluster = stack.enter_context(
        connect(
            local,
            run_options.ray,
            lambda: open_model(settings),
            lambda: identify(settings),
            n_cpus=settings.threads,
            n_bytes=model_size(settings) + _WORKER_OVERHEAD,
        )
    )
    return cluster, cluster.n_workers


def _open_cache(run_options: RunOptions, model: str) -> ReplyCache:
    """Return the cache of replies of `model`, the sha256 of its file, without old entries."""
    from redraft.engine import backend, versions  # loads the native library

    folder = platformdirs.user_cache_path("redraft") / "codemod"
    build = json.dumps([backend(), versions(), run_options.settings.threads])
    cache = ReplyCache(folder, model, run_options.decoding, build=build)
    cache.prune()
    return cache


def _commit(run_options: RunOptions, started: RunStarted) -> None:
    """Commit what the whole run wrote, earlier processes of it included."""
    log = RunLog.read(_journal_path(run_options.root, started.run))
    closed = log.closed.values() if log else ()
    paths = [file.path for file in closed if file.written and file.state == "changed"]
    if not paths:
        return
    title = " ".join(run_options.recipe.instruction.split())
    title = title if len(title) <= 72 else f"{title[:71].rstrip()}…"
    listed = "".join(f"- {path}\n" for path in paths)
    message = f"{title}\n\nredraft codemod, run {started.run}:\n\n{started.instruction}\n\n{listed}"
    commit = programs.commit(run_options.root, message, paths)
    print_status(f"committed {pluralize(len(paths), 'file')} as {commit}")


def _journal_path(root: Path, run: str) -> Path:
    return journal_folder(root) / f"{run}.jsonl"


def _show_or_undo_runs(verb: str, words: Sequence[str], *, as_json: bool) -> int:
    """List runs or show one, or revert one; return 2 where a file could not be reverted."""
    logs = read_logs(journal_folder(find_root([Path.cwd()])))
    if verb == "log" and not words:
        for log in logs:
            _print_run(log, as_json=as_json)
        return 0
    if len(words) != 1:
        raise InputError(f"redraft codemod {verb} takes one RUN; `redraft codemod log` lists them")
    chosen = next((log for log in logs if log.started.run == words[0]), None)
    if chosen is None:
        raise InputError(f"there is no run {words[0]!r} here; `redraft codemod log` lists them")
    if verb == "undo":
        return _undo_run(chosen)
    _print_run(chosen, as_json=as_json)
    for path, state in _file_states(chosen).items():
        print_json({"path": path, "state": state}) if as_json else print(f"  {path}  {state}")
    return 0


def _print_run(log: RunLog, *, as_json: bool) -> None:
    started = log.started
    counts = Counter(_file_states(log).values())
    if as_json:
        record = {"run": started.run, "at": started.at, "instruction": started.instruction}
        print_json(record | {"files": counts, "finished": log.is_finished})
        return
    files = ", ".join(f"{n} {state}" for state, n in sorted(counts.items()))
    title = " ".join(started.instruction.split())
    print(f"{started.run}  {files or 'no files'}  {title[:60]}")


def _file_states(log: RunLog) -> dict[str, str]:
    """Return the state of each file of the plan in one word."""
    states = {file.path: "left" for file in log.started.files}
    states |= {write.path: "unsettled" for write in log.unsettled_writes}
    for path, closed in log.closed.items():
        states[path] = "written" if closed.written else closed.state
    return states | dict.fromkeys(log.undone, "undone")


def _undo_run(log: RunLog) -> int:
    """Put back the files of a run; return 2 where one was left as it is, else 0."""
    n_undone = n_failed = 0
    with Journal(log.path) as journal:
        for path, problem in undo(log, journal):
            if problem:
                n_failed += 1
                print_status(f"failed: {problem}")
            else:
                n_undone += 1
                print(path)
    rest = f", {n_failed} left as they are" if n_failed else ""
    print_status(f"{pluralize(n_undone, 'file')} reverted{rest}")
    return 2 if n_failed else 0
