"""Select what is edited in a file: its functions or the whole, narrowed by patterns.

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

__all__ = ["CodemodScope", "Selection"]

CodemodScope: TypeAlias = Literal["function", "file"]

_FUNCTIONS: Final = frozenset({"function", "method", "macro", "callback"})
_GROUP: Final = re.compile(
    r"(?:describe|context|suite|group|feature|namespace|define)\b", re.IGNORECASE
)

# From a file's text and language to a test of one of the file's targets. In two steps, so that a
# query runs once a file and not once a target.
_Pattern: TypeAlias = Callable[[str, str | None], Callable[[Target], bool]]


@dataclass(frozen=True, slots=True)
class Selection:
    """Targets of `scope` in which all `patterns` find something.

    Raises InputError where one of them is no pattern.
    """

    scope: CodemodScope = "function"
    patterns: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for pattern in self.patterns:
            _compile(pattern)

    def find_targets(self, text: str, language: str | None) -> tuple[Target, ...]:
        """Return the targets in `text`, ascending and apart.

        Raises InputError where the language's grammar does not know a query.
        """
        if not text.strip() or (self.scope == "function" and language is None):
            return ()
        checks = [_compile(pattern)(text, language) for pattern in self.patterns]
        if self.scope == "file":
            whole = Target(name="", kind="file", span=Span(0, len(text)))
            return (whole,) if all(check(whole) for check in checks) else ()
        chosen: list[Target] = []
        for target in syntax.targets(text, language or ""):
            is_inner = chosen and target.span.start < chosen[-1].span.stop
            # Of `describe(...)` the tests in it are meant, not all of a file of tests at once.
            is_group = target.kind == "callback" and _GROUP.match(target.name.rpartition(".")[2])
            if (
                target.kind in _FUNCTIONS
                and not is_inner
                and not is_group
                and all(check(target) for check in checks)
            ):
                chosen.append(target)
        return tuple(chosen)


def _compile(pattern: str) -> _Pattern:
    """Return `pattern` as a test of targets. Raises InputError where it is none."""
    if pattern.startswith(("(", "[")):
        return lambda text, language: _match_query(pattern, text, language)
    if len(pattern) > 1 and pattern.startswith("/") and pattern.endswith("/"):
        try:
            regex = re.compile(pattern[1:-1], re.MULTILINE)
        except re.error as error:
            raise InputError(f"--select {pattern}: not a regular expression: {error}") from error
        return lambda text, _: lambda target: bool(regex.search(target.span.of(text)))
    if not pattern.strip():
        raise InputError("--select is empty: give a name such as 'test_*'")
    return lambda text, language: _match_name(pattern, text, language)


def _match_name(glob: str, text: str, language: str | None) -> Callable[[Target], bool]:
    """Match a name whole ("Cart.*") or by its last part ("total"), a file by any name in it."""

    def fits(target: Target) -> bool:
        last = target.name.rpartition(".")[2]
        return fnmatchcase(target.name, glob) or fnmatchcase(last, glob)

    def matches(target: Target) -> bool:
        if target.kind != "file":
            return fits(target)
        return language is not None and any(map(fits, syntax.targets(text, language)))

    return matches


def _match_query(query: str, text: str, language: str | None) -> Callable[[Target], bool]:
    """Match a target in which `query` captures something."""
    captures = syntax.captured(text, language, query) if language else ()
    return lambda target: any(span in target.span for span in captures)
