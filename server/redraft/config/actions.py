"""Actions: the named instructions that editors and `redraft codemod --action` offer.

They come in layers: the built-in ones, then the user's own file, the project's pyproject.toml and
redraft.toml, then the editor's settings. Each layer may add actions, change single keys of known
ones, and switch them off. An entry that is wrong is left out and reported with its place; the
others work. Knows nothing of how an action is offered or run.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, get_args

from redraft.config import settings
from redraft.errors import InputError
from redraft.syntax import LANGUAGES

__all__ = [
    "BUILT_IN",
    "DIAGNOSTIC",
    "EDIT_ACTION",
    "FIX_ACTION",
    "SELECTION",
    "Action",
    "Layer",
    "Scope",
    "load_actions",
    "merge_layers",
]

Scope: TypeAlias = Literal["function", "selection", "file"]

# Placeholders in an instruction: the problem under the cursor and the selected text.
DIAGNOSTIC: Final = "{diagnostic}"
SELECTION: Final = "{selection}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """An instruction with a name.

    `scope` None means the selection, or the function where nothing is selected. An action that
    `needs_lines` makes no sense for a part of a line: it is about the function then. One that
    `needs_code` is offered only where more than a word is selected.
    """

    name: str
    title: str
    instruction: str
    scope: Scope | None = None
    needs_lines: bool = False
    needs_code: bool = False
    languages: tuple[str, ...] = ()  # names of `redraft.syntax`; empty: every language
    enabled: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """A table of actions as a file or the editor has it; `place` names it in messages."""

    place: str
    table: object


EDIT_ACTION: Final = "edit"  # asks the user what to do: its instruction is the question
FIX_ACTION: Final = "fix"  # offered for each diagnostic under the cursor

BUILT_IN: Final = (
    Action(
        name=EDIT_ACTION,
        title="Edit with instruction...",
        instruction="What shall be changed?",
    ),
    Action(
        name=FIX_ACTION,
        title="Fix this problem",
        instruction=f"Fix this problem: {DIAGNOSTIC}",
    ),
    Action(
        name="add-docstring",
        title="Add a docstring",
        needs_lines=True,
        instruction="Add a docstring or doc comment that says what this does, what its parameters "
        "mean and what it returns. Do not change the code.",
    ),
    Action(
        name="add-types",
        title="Add type annotations",
        needs_lines=True,
        instruction="Add type annotations to all parameters and to the return value. "
        "Do not change what the code does.",
    ),
    Action(
        name="simplify",
        title="Simplify",
        instruction="Simplify this code without changing what it does.",
    ),
    Action(
        name="add-error-handling",
        title="Add error handling",
        needs_lines=True,
        instruction="Handle the errors that can occur here: check the inputs, and raise or return "
        "clear errors.",
    ),
    Action(
        name="extract-function",
        title="Extract function",
        scope="function",
        needs_code=True,
        instruction="Move the following code into a new function with a fitting name, placed right "
        f"before this one, and call it instead:\n{SELECTION}",
    ),
)

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


def load_actions(
    folder: Path, *, editor: object = None, trust_project: bool = True
) -> tuple[tuple[Action, ...], tuple[str, ...]]:
    """Return the actions for files in `folder`, and what is wrong in the layers.

    `editor` is the table in the editor's settings. A project that is not trusted has no layer.
    """
    files = [settings.user_file()] if settings.user_file().is_file() else []
    if trust_project:
        files += settings.project_files(folder)
    layers: list[Layer] = []
    problems: list[str] = []
    for file in files:
        prefix = "" if file.name == settings.FILE_NAME else "tool.redraft."
        try:
            table = settings.read_table(file).get(settings.ACTIONS, {})
        except InputError as error:
            problems.append(str(error))
        else:
            layers.append(Layer(place=f"{file}: {prefix}{settings.ACTIONS}", table=table))
    if editor is not None:
        layers.append(Layer(place=f"redraft.{settings.ACTIONS}", table=editor))
    actions, wrong = merge_layers(layers)
    return actions, (*problems, *wrong)


def merge_layers(layers: Iterable[Layer]) -> tuple[tuple[Action, ...], tuple[str, ...]]:
    """Return the actions that are switched on, in the order they first appear, and the problems."""
    actions = {action.name: action for action in BUILT_IN}
    problems: list[str] = []
    for layer in layers:
        if not isinstance(layer.table, Mapping):
            problems.append(f"{layer.place} must be a table, not {layer.table!r}")
            continue
        for name, entry in layer.table.items():
            try:
                actions[name] = _override(actions.get(name), str(name), entry, layer.place)
            except InputError as error:  # noqa: PERF203 - a table has few entries
                problems.append(str(error))
    return tuple(action for action in actions.values() if action.enabled), tuple(problems)


def _override(action: Action | None, name: str, entry: object, table: str) -> Action:
    """Return `action` with the keys of `entry`, or a new action where there is none of that name.

    Raises InputError that says what is wrong, and where: `table` is the place of the entry.
    """
    place = f"{table}.{name}"
    if not _NAME.fullmatch(name):
        raise InputError(f"{place}: a name consists of letters, digits, - and _")
    if not isinstance(entry, Mapping):
        raise InputError(f"{place} must be a table, not {entry!r}")
    for key, value in entry.items():
        if key not in _CHECKS:
            raise InputError(f"{place}: unknown key {key!r}: the keys are {', '.join(_CHECKS)}")
        is_valid, expected = _CHECKS[key]
        if not is_valid(value):
            raise InputError(f"{place}.{key} must be {expected}, not {value!r}")
    given: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()
    }
    if action:
        return replace(action, **given)
    if "instruction" not in given:
        raise InputError(f"{place}.instruction is missing")
    given.setdefault("title", name.replace("-", " ").replace("_", " ").capitalize())
    return Action(name=name, **given)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _are_languages(value: object) -> bool:
    return isinstance(value, list) and all(name in LANGUAGES for name in value)


_CHECKS: Final[Mapping[str, tuple[Callable[[object], bool], str]]] = {
    "title": (_is_text, "a text"),
    "instruction": (_is_text, "a text"),
    "scope": (lambda value: value in get_args(Scope), f"one of {', '.join(get_args(Scope))}"),
    "languages": (_are_languages, f"a list of names out of {', '.join(LANGUAGES)}"),
    "enabled": (lambda value: isinstance(value, bool), "true or false"),
}
