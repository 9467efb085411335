"""The named instructions that editors offer, and the layers they come from.

Built-in actions, then the user's own file, the project's pyproject.toml and redraft.toml, then the
editor's settings: each layer may add actions, change single keys of known ones, and switch them
off. What is wrong with a layer's action is told with its place, and that entry alone is left out.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias, get_args

from redraft.syntax import LANGUAGES

__all__ = [
    "ASK",
    "BUILT_IN",
    "DIAGNOSTIC",
    "FIX",
    "SELECTION",
    "Action",
    "Layer",
    "Scope",
    "layered",
]

Scope: TypeAlias = Literal["function", "selection", "file"]

# In an instruction, what stands for the problem under the cursor and for the selected text.
DIAGNOSTIC: Final = "{diagnostic}"
SELECTION: Final = "{selection}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """An instruction with a name. `scope` None: the selection, else the function.

    `needs_lines`: it has no sense on a part of a line, which then stands for the function.
    """

    name: str
    title: str
    instruction: str
    scope: Scope | None = None
    needs_lines: bool = False
    languages: tuple[str, ...] = ()  # names of `redraft.syntax`; none: every language
    enabled: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """Actions as a file or the editor's settings give them; `place` says where."""

    place: str
    table: object


ASK: Final = "edit"  # asks the user what to do: its instruction is the question
FIX: Final = "fix"  # offered for each diagnostic under the cursor

BUILT_IN: Final = (
    Action(
        name=ASK,
        title="Edit with instruction...",
        instruction="What shall be changed?",
    ),
    Action(
        name=FIX,
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
        instruction="Move the following code into a new function with a fitting name, placed right "
        f"before this one, and call it instead:\n{SELECTION}",
    ),
)

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


def layered(layers: Iterable[Layer]) -> tuple[tuple[Action, ...], tuple[str, ...]]:
    """The actions that result, in the order they first appeared, and what was wrong."""
    actions = {action.name: action for action in BUILT_IN}
    problems: list[str] = []
    for layer in layers:
        if not isinstance(layer.table, Mapping):
            problems.append(f"{layer.place} must be a table, not {layer.table!r}")
            continue
        for name, entry in layer.table.items():
            problem, merged = _merged(str(name), entry, actions.get(name))
            if merged:
                actions[name] = merged
            else:
                problems.append(f"{layer.place}.{name}{problem}")
    return tuple(action for action in actions.values() if action.enabled), tuple(problems)


def _merged(name: str, entry: object, known: Action | None) -> tuple[str, Action | None]:
    """`entry` over the action it changes, or what is wrong, going on from the entry's place."""
    if not _NAME.fullmatch(name):
        return ": a name consists of letters, digits, - and _", None
    if not isinstance(entry, Mapping):
        return f" must be a table, not {entry!r}", None
    for key, value in entry.items():
        if key not in _CHECKS:
            return f": unknown key {key!r}: the keys are {', '.join(_CHECKS)}", None
        if not _CHECKS[key][0](value):
            return f".{key} must be {_CHECKS[key][1]}, not {value!r}", None
    given: dict[str, Any] = {
        key: tuple(v) if isinstance(v, list) else v for key, v in entry.items()
    }
    if known:
        return "", replace(known, **given)
    if "instruction" not in given:
        return ".instruction is missing", None
    given.setdefault("title", name.replace("-", " ").replace("_", " ").capitalize())
    return "", Action(name=name, **given)


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
