"""What is edited in a file: functions or the whole, narrowed by patterns.

A pattern is a tree-sitter query where it starts with a bracket, a regular expression between
slashes, else a glob for names. It keeps the targets in which it finds something. Of targets inside
each other the outermost is edited, never both: its text holds the inner one anyway.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final, Literal, TypeAlias

from redraft import syntax
from redraft.errors import InputError
from redraft.records import Span
from redraft.syntax import Target

__all__ = ["Scope", "Selection"]

Scope: TypeAlias = Literal["function", "file"]

_FUNCTIONS: Final = frozenset({"function", "method", "macro"})

# From a file's text and language to what it says of one of the file's targets.
_Pattern: TypeAlias = Callable[[str, str | None], Callable[[Target], bool]]


@dataclass(frozen=True, slots=True)
class Selection:
    """`patterns` all have to hold. Raises InputError where one of them is none."""

    scope: Scope = "function"
    patterns: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for pattern in self.patterns:
            _compiled(pattern)

    def targets(self, text: str, language: str | None) -> tuple[Target, ...]:
        """The targets in `text`, ascending and apart.

        Raises InputError where the language's grammar does not know a query.
        """
        if not text.strip() or (self.scope == "function" and language is None):
            return ()
        holds = [_compiled(pattern)(text, language) for pattern in self.patterns]
        if self.scope == "file":
            whole = Target(name="", kind="file", span=Span(0, len(text)))
            return (whole,) if all(check(whole) for check in holds) else ()
        chosen: list[Target] = []
        for target in syntax.targets(text, language or ""):
            is_inner = chosen and target.span.start < chosen[-1].span.stop
            if target.kind in _FUNCTIONS and not is_inner and all(c(target) for c in holds):
                chosen.append(target)
        return tuple(chosen)


def _compiled(pattern: str) -> _Pattern:
    if pattern.startswith(("(", "[")):
        return lambda text, language: _query(pattern, text, language)
    if len(pattern) > 1 and pattern.startswith("/") and pattern.endswith("/"):
        try:
            body = re.compile(pattern[1:-1], re.MULTILINE)
        except re.error as error:
            raise InputError(f"--select {pattern}: not a regular expression: {error}") from error
        return lambda text, _: lambda target: bool(body.search(target.span.of(text)))
    if not pattern.strip():
        raise InputError("--select is empty: give a name such as 'test_*'")
    return lambda text, language: _name(pattern, text, language)


def _name(glob: str, text: str, language: str | None) -> Callable[[Target], bool]:
    """A name fits whole ("Cart.*") or by its last part ("total"); a file by any name in it."""

    def fits(target: Target) -> bool:
        last = target.name.rpartition(".")[2]
        return fnmatchcase(target.name, glob) or fnmatchcase(last, glob)

    def any_fits(_: Target) -> bool:
        return language is not None and any(map(fits, syntax.targets(text, language)))

    return lambda target: any_fits(target) if target.kind == "file" else fits(target)


def _query(query: str, text: str, language: str | None) -> Callable[[Target], bool]:
    found = syntax.captured(text, language, query) if language else ()
    return lambda target: any(span in target.span for span in found)
