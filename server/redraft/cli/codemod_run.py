"""A codemod from its order to its exit code: guards, plan, model, journal, summary.

0  done, or nothing to do        1  --check: a file would change
2  something failed or was refused        130  interrupted
"""

import hashlib
import json
import secrets
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import platformdirs

from redraft import models
from redraft.cli import options
from redraft.cli.codemod_reporter import CodemodReporter, InterruptHandler, Output, reviewer
from redraft.cli.output import say
from redraft.codemod import programs
from redraft.codemod.discover import Rules
from redraft.codemod.journal import Journal, Log, Started, folder_of, logs
from redraft.codemod.output.summary import n_of
from redraft.codemod.plan import Estimate, Plan, estimate, plan
from redraft.codemod.programs import Command
from redraft.codemod.ray import connected
from redraft.codemod.recipe import Recipe
from redraft.codemod.replies import Cache
from redraft.codemod.run import RunContext, run
from redraft.codemod.select import Selection
from redraft.codemod.write import Writer
from redraft.config.settings import Settings
from redraft.errors import InputError
from redraft.models.hashes import known_sha256
from redraft.records import DecodeOptions, Model

__all__ = ["RunOptions", "execute", "model_sha256", "model_size"]

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
    return known_sha256(models.resolve(chosen.model), models.Places.of_user().cache)


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
    say(f"committed {n_of(len(paths), 'file')} as {programs.commit(order.root, message, paths)}")


def _path(root: Path, run: str) -> Path:
    return folder_of(root) / f"{run}.jsonl"
