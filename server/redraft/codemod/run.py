"""A run, top to bottom: read, ask (twice, if need be), merge, format, write, tell.

All targets of a file are edited on the same text and independently of each other, so neither their
order nor how many replies are written at once can show in the result. A file is done as a whole or
not at all. Knows no terminal, journal or clock.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from redraft.codemod.edit import FileEdit
from redraft.codemod.plan import Plan, PlannedFile
from redraft.codemod.results import FileResult
from redraft.codemod.retry import answered
from redraft.codemod.task import PreparedFile, RunContext, opened
from redraft.records import Model

__all__ = ["run"]

_WINDOW: Final = 8  # replies asked for at once, for each that is written at the same time


def run(plan: Plan, model: Model, task: RunContext) -> Iterator[FileResult]:
    """Edit the files of `plan` in their order, a result for each.

    Ends early once `task.cancelled`, or the reviewer, says so: then the last file's writes are
    complete, and no other file was touched.
    """
    for window in _windows(plan.files, task):
        if task.cancelled():
            return
        read = [opened(plan.root, file, model, task) for file in window]
        asked = [file for file in read if isinstance(file, PreparedFile)]
        replied = iter(answered(asked, model, task))
        for file in read:
            if isinstance(file, FileResult):
                yield task.write(file)
                continue
            done, answers = next(replied)
            result, goes_on = FileEdit(plan.root, done, model, task).result(answers)
            if result is not None:
                yield task.write(result)
            if not goes_on:
                return


def _windows(planned: Sequence[PlannedFile], task: RunContext) -> Iterator[list[PlannedFile]]:
    """`planned` in groups that keep so many replies busy as can be written at once."""
    enough = 1 if task.n_parallel == 1 or task.review else task.n_parallel * _WINDOW
    window: list[PlannedFile] = []
    for file in planned:
        window.append(file)
        if sum(len(one.targets) for one in window) >= enough:
            yield window
            window = []
    if window:
        yield window
