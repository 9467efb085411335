"""FILE::NAME, FILE:L1-L2 and their kind: which file is meant, and which part of its text.

Lines and columns count from 1 here, columns in code points, for that is what people read off
their editors; everything behind this module counts offsets.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from redraft.errors import InputError
from redraft.records import Span
from redraft.syntax import LANGUAGES, target_at, target_named
from redraft.text.lines import LineIndex

__all__ = ["TargetSpec", "parse", "span"]

_RANGE: Final = re.compile(r":(\d+)(?::(\d+))?(?:-(\d+)(?::(\d+))?)?")
_PART: Final = re.compile(r"::.*|:\d[\d:-]*(?:::.*)?", re.DOTALL)
_NAME_AND_RANGE: Final = re.compile(r"::.+:\d[\d:-]*|:\d[\d:-]*::.+", re.DOTALL)
_FORMS: Final = "::NAME, :LINE, :LINE:COLUMN, :FIRST-LAST or :LINE:COLUMN-LINE:COLUMN"


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetSpec:
    """`path` as the user typed it; `part` from its colon on, "" for the whole file."""

    path: str
    part: str


def parse(argument: str, exists: Callable[[str], bool]) -> TargetSpec:
    """Split `argument` where its file name ends: at the longest prefix that `exists`.

    So a file whose own name holds colons is found. Where no prefix exists the argument is split
    by its looks, and reading the file will say that it is missing.
    """
    cuts = [len(argument), *(i for i in range(len(argument) - 1, 0, -1) if argument[i] == ":")]
    by_looks = (cut for cut in reversed(cuts) if _PART.fullmatch(argument, cut))
    cut = next(filter(lambda cut: exists(argument[:cut]), cuts), next(by_looks, len(argument)))
    return TargetSpec(path=argument[:cut], part=argument[cut:])


def span(place: TargetSpec, text: str, language: str | None) -> Span:
    """The part of `text` that `place` means. Raises InputError saying what there is instead."""
    if not place.part:
        return Span(0, len(text))
    if _NAME_AND_RANGE.fullmatch(place.part):
        raise InputError(f"{place.part!r} is both a name and a range: give only one of them")
    if place.part.startswith("::") and len(place.part) > len("::"):
        return target_named(text, _known(language, place), place.part.removeprefix("::")).span
    found = _RANGE.fullmatch(place.part)
    ends = [int(number) if number else None for number in found.groups()] if found else []
    match ends:
        case [int(line), column, None, None]:
            _line(LineIndex(text), line)
            at = None if column is None else column - 1
            return target_at(text, _known(language, place), line - 1, at).span
        case [int(first), None, int(last), None]:
            return _lines(LineIndex(text), first, last)
        case [int(line), int(column), int(end_line), int(end_column)]:
            index = LineIndex(text)
            start, stop = _offset(index, line, column), _offset(index, end_line, end_column)
            if stop < start:
                raise InputError(f"the range {place.part!r} ends before it starts")
            return Span(start, stop)
    raise InputError(f"cannot read {place.part!r} after {place.path}: give {_FORMS}")


def _known(language: str | None, place: TargetSpec) -> str:
    if language is None:
        raise InputError(
            f"what {place.path} is written in is not known: name it with --lang"
            f" ({', '.join(LANGUAGES)}), or give a range of lines"
        )
    return language


def _lines(index: LineIndex, first: int, last: int) -> Span:
    if last < first:
        raise InputError(f"the range of lines {first}-{last} ends before it starts")
    return Span(_line(index, first).start, _line(index, last).stop)


def _line(index: LineIndex, line: int) -> Span:
    # The empty line after the last line ending is none that an editor's user would count.
    n_lines = index.n_lines - (index.text.endswith(("\n", "\r")))
    if not 1 <= line <= n_lines:
        raise InputError(f"there is no line {line}: the file has {n_lines}, counted from 1")
    return index.line_span(line - 1)


def _offset(index: LineIndex, line: int, column: int) -> int:
    if not (1 <= line <= index.n_lines and column >= 1):
        raise InputError(f"there is no {line}:{column} in a file of {index.n_lines} lines")
    offset = index.offset(line - 1, column - 1, "utf-32")
    last_column = index.position(offset, "utf-32")[1] + 1
    if last_column < column:
        raise InputError(f"there is no {line}:{column}: line {line} ends at column {last_column}")
    return offset
