"""A codemod kept in a file: what to do, where, and examples that the model is shown.

TOML with the keys of `Recipe`; an example is a table with `before` and `after`.
"""

import difflib
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, get_args

from redraft.codemod.select import Scope
from redraft.errors import InputError
from redraft.syntax import LANGUAGES

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["Example", "Recipe", "load"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One edit as it should be done."""

    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What to do and where. Empty: the command line or the default has its say."""

    instruction: str
    scope: Scope = "function"
    select: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    lang: tuple[str, ...] = ()
    examples: tuple[Example, ...] = ()

    @property
    def asked(self) -> str:
        """The instruction as the model gets it, examples included."""
        shown = "".join(
            f"\n\nFor example, this:\n{_fenced(one.before)}\nbecomes this:\n{_fenced(one.after)}"
            for one in self.examples
        )
        return self.instruction.strip() + shown


def load(path: Path) -> Recipe:
    """Read a recipe. Raises InputError naming the file and the key that is wrong."""
    try:
        table: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the recipe {path}: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is not valid TOML: {error}") from error
    checked = _checked(table, _CHECKS, str(path))
    if "instruction" not in checked:
        raise InputError(f'{path}: instruction is missing: say what to change, as in "add types"')
    return Recipe(**checked)


def _checked(table: Mapping[str, Any], checks: "_Checks", place: str) -> dict[str, Any]:
    """The values of `table`, lists as tuples, each as its check wants it."""
    for key, value in table.items():
        if key not in checks:
            near = difflib.get_close_matches(key, checks, n=1)
            hint = f"did you mean {near[0]}?" if near else f"the keys are {', '.join(checks)}"
            raise InputError(f"{place}: unknown key {key!r}: {hint}")
        fits, what = checks[key]
        if not fits(value):
            raise InputError(f"{place}: {key} must be {what}, not {value!r}")
    return {key: _value(key, value, place) for key, value in table.items()}


def _value(key: str, value: object, place: str) -> object:
    if key == "examples" and isinstance(value, list):
        return tuple(_example(one, f"{place}: examples[{n}]") for n, one in enumerate(value))
    if key in _LISTS and isinstance(value, str):
        return (value,)
    return tuple(value) if isinstance(value, list) else value


def _example(table: Mapping[str, Any], place: str) -> Example:
    checks: _Checks = {
        "before": (_is_text, "a text"),
        "after": (lambda value: isinstance(value, str), "a text, empty where the code goes"),
    }
    if missing := next((key for key in checks if key not in table), None):
        raise InputError(f"{place}: {missing} is missing")
    return Example(**_checked(table, checks, place))


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _are_texts(value: object) -> bool:
    return _is_text(value) or (isinstance(value, list) and all(map(_is_text, value)))


def _are_languages(value: object) -> bool:
    names = value if isinstance(value, list) else [value]
    return all(isinstance(name, str) and name in LANGUAGES for name in names)


def _are_tables(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, Mapping) for one in value)


def _fenced(code: str) -> str:
    longest = max((len(run) for run in re.findall(r"`{3,}", code)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}\n{code.strip(chr(10))}\n{fence}"


_Checks = Mapping[str, tuple[Callable[[object], bool], str]]

_LISTS: Final = frozenset({"select", "include", "exclude", "lang"})

_CHECKS: Final[_Checks] = {
    "instruction": (_is_text, "a text"),
    "scope": (lambda value: value in get_args(Scope), f"one of {', '.join(get_args(Scope))}"),
    "select": (_are_texts, "a pattern or a list of patterns"),
    "include": (_are_texts, "a pattern or a list of patterns"),
    "exclude": (_are_texts, "a pattern or a list of patterns"),
    "lang": (_are_languages, f"one of {', '.join(LANGUAGES)}, or a list of them"),
    "examples": (_are_tables, "a list of tables with before and after"),
}
