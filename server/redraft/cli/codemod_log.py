"""`redraft codemod log` and `undo`: what runs did here, and putting it back."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from redraft.cli.output import print_json, say
from redraft.codemod.discover import root_of
from redraft.codemod.journal import Journal, Log, folder_of, logs
from redraft.codemod.output.summary import n_of
from redraft.codemod.write import undo
from redraft.errors import InputError

__all__ = ["handler"]


def handler(verb: str, words: Sequence[str], *, as_json: bool) -> int:
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
        return _undo(found[0])
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


def _undo(log: Log) -> int:
    n_undone = n_failed = 0
    with Journal(log.path) as journal:
        for path, problem in undo(log, journal):
            n_failed += bool(problem)
            n_undone += not problem
            if problem:
                say(f"failed: {problem}")
            else:
                print(path)
    say(
        f"{n_of(n_undone, 'file')} reverted"
        + (f", {n_failed} left as they are" if n_failed else "")
    )
    return 2 if n_failed else 0
