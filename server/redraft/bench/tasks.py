"""Edits to measure on: a dozen that are built in, or those of a JSON-lines file.

A record has `id`, `lang`, `path`, `instruction`, `before` and `max_tokens`; more keys are ignored.
"""

import json
import re
import sys
from collections import Counter
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from redraft.errors import InputError
from redraft.records import EditRequest, Span
from redraft.syntax import LANGUAGES, Target, language_of, targets
from redraft.text import files

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["Scope", "Task", "built_in", "load", "request", "verbatim"]

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


def built_in() -> tuple[Task, ...]:
    """Twelve edits in six languages."""
    text = resources.files("redraft.bench").joinpath("edits.toml").read_text("utf-8")
    tasks = tomllib.loads(text)["task"]
    return tuple(_task(record, f"built-in task {i}") for i, record in enumerate(tasks))


def load(path: Path) -> tuple[Task, ...]:
    """The tasks of a JSON-lines file. Raises InputError naming the line that is wrong."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the tasks in {path}: {error}") from error
    tasks = [
        _task(_record(line, f"{path}:{number}"), f"{path}:{number}")
        for number, line in enumerate(lines, 1)
        if line.strip()
    ]
    if not tasks:
        raise InputError(f"{path} holds no tasks")
    counts = Counter(task.id for task in tasks)
    if twice := [name for name, count in counts.items() if count > 1]:
        raise InputError(f"{path}: more than one task is called {twice[0]!r}: give each its own id")
    return tuple(tasks)


def verbatim(path: Path) -> Task:
    """A file to be written again as it is. Raises InputError where it cannot be read."""
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


def _record(line: str, place: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except ValueError as error:
        raise InputError(f"{place}: not a line of JSON: {error}") from error
    if not isinstance(record, dict):
        raise InputError(f"{place}: a task is an object, not {record!r}")
    return record


def _task(record: dict[str, Any], place: str) -> Task:
    for key, kind in _FIELDS.items():
        if not isinstance(record.get(key), kind):
            raise InputError(f"{place}: {key} must be a {kind.__name__}, not {record.get(key)!r}")
    after = record.get("after")
    if "changes" in record:
        after = record["before"]
        for old, new in record["changes"]:
            after = after.replace(old, new)
    return Task(**{key: record[key] for key in _FIELDS}, after=after)


def request(task: Task, scope: Scope) -> EditRequest:
    """The request for a task: for its whole file, or for the function it is about.

    That is the function or method which the instruction names, else the largest; the whole file
    where there is none or its language has no grammar.
    """
    lang = task.lang if task.lang in LANGUAGES else language_of(task.path, task.before)
    whole = Span(0, len(task.before))
    target = _function(task, lang) if scope == "function" and lang else None
    return EditRequest(
        path=task.path,
        text=task.before,
        target=target.span if target else whole,
        instruction=task.instruction,
        language=lang,
    )


def _function(task: Task, lang: str) -> Target | None:
    found = [t for t in targets(task.before, lang) if t.kind in ("function", "method")]
    named = [(place, t) for t in found if (place := _mentioned(t, task.instruction)) is not None]
    if named:
        return min(named, key=lambda pair: (pair[0], -len(pair[1].span)))[1]
    return max(found, key=lambda target: len(target.span), default=None)


def _mentioned(target: Target, instruction: str) -> int | None:
    """Where the instruction first has the target's own name, as a word."""
    name = target.name.rpartition(".")[2]
    match = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", instruction)
    return match.start() if match else None
