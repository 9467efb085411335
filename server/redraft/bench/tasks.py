"""Edits to measure with: twelve that are built in, or those of a JSON-lines file.

A record has `id`, `lang`, `path`, `instruction`, `before` and `max_tokens`; more keys are ignored.
"""

import json
import re
import sys
from collections import Counter
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Final, Literal, TypeAlias

from redraft.errors import InputError
from redraft.records import EditRequest, Span
from redraft.syntax import LANGUAGES, Target, language_of, targets
from redraft.text import files

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["Scope", "Task", "build_request", "built_in_tasks", "load", "verbatim_task"]

_FIELDS: Final[dict[str, type]] = {
    **dict.fromkeys(("id", "lang", "path", "instruction", "before"), str),
    "max_tokens": int,
}

Scope: TypeAlias = Literal["function", "file"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One edit. `after`: a right answer, where one is known; only scripted models need it."""

    id: str
    lang: str
    path: str
    instruction: str
    before: str
    max_tokens: int
    after: str | None = None


def built_in_tasks() -> tuple[Task, ...]:
    """Return twelve edits in six languages."""
    text = resources.files("redraft.bench").joinpath("edits.toml").read_text("utf-8")
    records = tomllib.loads(text)["task"]
    return tuple(_parse_task(record, f"built-in task {i}") for i, record in enumerate(records))


def load(path: Path) -> tuple[Task, ...]:
    """Read the tasks of a JSON-lines file. Raises InputError naming the line that is wrong."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the tasks in {path}: {error}") from error
    tasks = []
    for number, line in enumerate(lines, 1):
        place = f"{path}:{number}"
        try:
            if line.strip():
                tasks.append(_parse_task(json.loads(line), place))
        except ValueError as error:
            raise InputError(f"{place}: not a line of JSON: {error}") from error
    if not tasks:
        raise InputError(f"{path} holds no tasks")
    counts = Counter(task.id for task in tasks)
    if repeated := [name for name, count in counts.items() if count > 1]:
        raise InputError(
            f"{path}: more than one task is called {repeated[0]!r}: give each its own id"
        )
    return tuple(tasks)


def verbatim_task(path: Path) -> Task:
    """Return the task to write a file again as it is. Raises InputError where it is unreadable."""
    text = files.read(path).text
    return Task(
        id=str(path),
        lang=language_of(str(path), text) or "text",
        path=path.name,
        instruction="Reply with this code exactly as it is. Change nothing.",
        before=text,
        max_tokens=len(text.encode()) // 2 + 64,
        after=text,
    )


def _parse_task(record: object, place: str) -> Task:
    if not isinstance(record, dict):
        raise InputError(f"{place}: a task is an object, not {record!r}")
    for key, kind in _FIELDS.items():
        if not isinstance(record.get(key), kind):
            raise InputError(f"{place}: {key} must be a {kind.__name__}, not {record.get(key)!r}")
    after = record.get("after")
    # The built-in tasks say which texts to replace instead of giving the whole file again.
    if "changes" in record:
        after = record["before"]
        for old, new in record["changes"]:
            after = after.replace(old, new)
    return Task(**{key: record[key] for key in _FIELDS}, after=after)


def build_request(task: Task, scope: Scope) -> EditRequest:
    """Return the request for a task: for its whole file, or for the function it is about.

    That is the function or method which the instruction names, else the largest; the whole file
    where there is none or its language has no grammar.
    """
    lang = task.lang if task.lang in LANGUAGES else language_of(task.path, task.before)
    target = _find_function(task, lang) if scope == "function" and lang else None
    return EditRequest(
        path=task.path,
        text=task.before,
        target=target.span if target else Span(0, len(task.before)),
        instruction=task.instruction,
        language=lang,
    )


def _find_function(task: Task, lang: str) -> Target | None:
    functions = [t for t in targets(task.before, lang) if t.kind in ("function", "method")]
    named: list[tuple[int, Target]] = []
    for function in functions:
        own_name = function.name.rpartition(".")[2]  # `pack` of `Box.pack`
        match = re.search(rf"(?<!\w){re.escape(own_name)}(?!\w)", task.instruction)
        if match:
            named.append((match.start(), function))
    if named:  # the first that is named, and of several called the same the largest
        return min(named, key=lambda pair: (pair[0], -len(pair[1].span)))[1]
    return max(functions, key=lambda function: len(function.span), default=None)
