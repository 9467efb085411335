"""The parts of a text, in code points, that guards and merges ask about.

All of it is error tolerant: a broken text has statements and imports as far as the parser sees
them. Finding what to edit is `redraft.syntax.targets`.
"""

from collections.abc import Collection, Mapping
from functools import lru_cache

from redraft.records import Span
from redraft.syntax.source import Statement, Use, parse
from redraft.syntax.usage import Parameter

__all__ = [
    "captured",
    "import_statements",
    "parameters",
    "parse_errors",
    "parse_problems",
    "prose",
    "statements",
    "uses",
    "verbatim_lines",
    "verbatim_spans",
]


def captured(text: str, language: str, query: str) -> tuple[Span, ...]:
    """Return what the captures of a tree-sitter query name in `text`, in the order they begin.

    Raises InputError where the language's grammar does not know such a query.
    """
    return tuple(parse(text, language).captured(query))


@lru_cache(maxsize=8)
def prose(text: str, language: str) -> tuple[Span, ...]:
    """Return the comments and docstrings of `text`, in the order they begin."""
    return tuple(parse(text, language).prose())


def parse_problems(text: str, language: str) -> tuple[Span, ...]:
    """Return the places the parser could not understand, in the order they begin.

    One may lie within another. Where the parser missed something and went on as if it were there,
    such as a bracket, the span is empty.
    """
    return tuple(parse(text, language).problems())


def parse_errors(text: str, language: str) -> int:
    """Return the number of syntax errors the parser met in `text`; 0 for a clean text."""
    return len(parse(text, language).problems())


def verbatim_spans(text: str, language: str) -> tuple[Span, ...]:
    """Return the stretches whose white space is content, not indentation, ascending and apart.

    They are the strings and templates of several lines, from quote to quote; heredocs with the
    line that ends them, raw blocks and recipes, from the start of their first line; and
    preprocessor lines, all of each. Comments are none.
    """
    return tuple(parse(text, language).verbatim())


def verbatim_lines(text: str, language: str) -> frozenset[int]:
    """Return the numbers, from 0, of the lines whose leading white space is content.

    The first line of a string is none of them, for the string begins behind the indentation.
    """
    return frozenset(parse(text, language).verbatim_lines())


def import_statements(text: str, language: str) -> tuple[Span, ...]:
    """Return the imports, includes, usings, requires and uses of the top level, in order.

    Each is whole, without its line ending. Inside of a namespace or an include guard counts as top
    level, inside of a function, `try` or `#ifdef` does not.
    """
    return tuple(parse(text, language).imports())


def statements(text: str, language: str) -> tuple[Statement, ...]:
    """Return every statement of `text`, in the order they begin, outer before inner.

    Declarations, definitions, decorators, comments and the branches of a statement (`else`, `case`,
    `catch`) count as well, nested ones too. None holds white space at its end.
    """
    return tuple(parse(text, language).statements())


def uses(text: str, language: str, name: str) -> tuple[Use, ...]:
    """Return where `name` (without a dot) stands in the code, not in strings and comments."""
    return tuple(parse(text, language).uses(name))


def parameters(
    text: str, language: str, names: Collection[str]
) -> Mapping[str, tuple[Parameter, ...] | None]:
    """Return the parameters of the functions that have one of `names`, qualified as a target's.

    None where the grammar does not show them. Of two of one name the last one counts.
    """
    return parse(text, language).parameters(names)
