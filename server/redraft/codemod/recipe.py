"""Read a codemod kept in a file: what to do, where, and examples that the model is shown.

TOML with the keys of `Recipe`; an example is a table with `before` and `after`.
"""

import difflib
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias, get_args

from redraft.codemod.select import CodemodScope
from redraft.errors import InputError
from redraft.records import AllowedReason
from redraft.syntax import LANGUAGES

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["Example", "Recipe", "read_recipe"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One edit as it should be done."""

    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """An instruction and where it applies. Empty: the command line or the default decides."""

    instruction: str
    scope: CodemodScope = "function"
    select: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    lang: tuple[str, ...] = ()
    allow: tuple[AllowedReason, ...] = ()  # reasons for refusing that are overridden
    examples: tuple[Example, ...] = ()

    @property
    def full_instruction(self) -> str:
        """The instruction as the model gets it, examples included."""
        examples = "".join(
            f"\n\nFor example, this:\n{_fence(example.before)}\n"
            f"becomes this:\n{_fence(example.after)}"
            for example in self.examples
        )
        return self.instruction.strip() + examples


def _fence(code: str) -> str:
    """Return `code` as a Markdown block, its fence longer than any in it."""
    longest = max((len(run) for run in re.findall(r"`{3,}", code)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}\n{code.strip(chr(10))}\n{fence}"


def read_recipe(path: Path) -> Recipe:
    """Read a recipe. Raises InputError naming the file and the key that is wrong."""
    try:
        table: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the recipe {path}: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is not valid TOML: {error}") from error
    values = _check_table(table, _RECIPE_CHECKS, str(path))
    if "instruction" not in values:
        raise InputError(f'{path}: instruction is missing: say what to change, as in "add types"')
    for key in ("select", "include", "exclude", "lang", "allow"):
        if isinstance(values.get(key), str):
            values[key] = (values[key],)
    for n, example in enumerate(examples := values.get("examples", ())):
        place = f"{path}: examples[{n}]"
        if missing := next((key for key in _EXAMPLE_CHECKS if key not in example), None):
            raise InputError(f"{place}: {missing} is missing")
        _check_table(example, _EXAMPLE_CHECKS, place)
    if examples:
        values["examples"] = tuple(Example(**example) for example in examples)
    return Recipe(**values)


# From a key to a test of its value, and what the value has to be, in words.
_Checks: TypeAlias = Mapping[str, tuple[Callable[[object], bool], str]]


def _check_table(table: Mapping[str, Any], checks: _Checks, place: str) -> dict[str, Any]:
    """Return the values of `table`, lists as tuples. Raises InputError where one is wrong."""
    for key, value in table.items():
        if key not in checks:
            near = difflib.get_close_matches(key, checks, n=1)
            hint = f"did you mean {near[0]}?" if near else f"the keys are {', '.join(checks)}"
            raise InputError(f"{place}: unknown key {key!r}: {hint}")
        is_valid, description = checks[key]
        if not is_valid(value):
            raise InputError(f"{place}: {key} must be {description}, not {value!r}")
    return {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_text_or_list(value: object) -> bool:
    return _is_text(value) or (isinstance(value, list) and all(map(_is_text, value)))


_SCOPES: Final[tuple[str, ...]] = get_args(CodemodScope)

_RECIPE_CHECKS: Final[_Checks] = {
    "instruction": (_is_text, "a text"),
    "scope": (
        lambda value: value in get_args(CodemodScope),
        f"one of {', '.join(get_args(CodemodScope))}",
    ),
    "select": (_is_text_or_list, "a pattern or a list of patterns"),
    "include": (_is_text_or_list, "a pattern or a list of patterns"),
    "exclude": (_is_text_or_list, "a pattern or a list of patterns"),
    "lang": (
        lambda value: all(
            isinstance(name, str) and name in LANGUAGES
            for name in (value if isinstance(value, list) else [value])
        ),
        f"one of {', '.join(LANGUAGES)}, or a list of them",
    ),
    "allow": (
        lambda value: all(
            reason in get_args(AllowedReason)
            for reason in (value if isinstance(value, list) else [value])
        ),
        f"one of {', '.join(get_args(AllowedReason))}, or a list of them",
    ),
    "examples": (
        lambda value: (
            isinstance(value, list) and all(isinstance(example, Mapping) for example in value)
        ),
        "a list of tables with before and after",
    ),
}

_EXAMPLE_CHECKS: Final[_Checks] = {
    "before": (_is_text, "a text"),
    "after": (lambda value: isinstance(value, str), "a text, empty where the code goes"),
}
