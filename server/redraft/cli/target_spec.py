"""Read FILE::NAME, FILE:L1-L2 and their kind: which file is meant, and which part of its text.

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

__all__ = ["TargetSpec"]

_RANGE: Final = re.compile(r":(\d+)(?::(\d+))?(?:-(\d+)(?::(\d+))?)?")
_PART: Final = re.compile(r"::.*|:\d[\d:-]*(?:::.*)?", re.DOTALL)
_NAME_AND_RANGE: Final = re.compile(r"::.+:\d[\d:-]*|:\d[\d:-]*::.+", re.DOTALL)
_FORMS: Final = "::NAME, :LINE, :LINE:COLUMN, :FIRST-LAST or :LINE:COLUMN-LINE:COLUMN"


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetSpec:
    """A target as the user typed it: `path`, and `part` from its colon on ("": the whole file)."""

    path: str
    part: str

    @classmethod
    def parse(cls, argument: str, exists: Callable[[str], bool]) -> "TargetSpec":
        """Split `argument` where its file name ends: at the longest prefix that `exists`.

        So a file whose own name holds colons is found: with a file `a.py:3` there, `a.py:3` is that
        one and not line 3 of `a.py`. Where no prefix exists the argument is split by its looks, and
        reading the file will say that it is missing.
        """
        colons = (i for i in range(len(argument) - 1, 0, -1) if argument[i] == ":")
        cuts = [len(argument), *colons]
        by_looks = (cut for cut in reversed(cuts) if _PART.fullmatch(argument, cut))
        existing = (cut for cut in cuts if exists(argument[:cut]))
        cut = next(existing, next(by_looks, len(argument)))
        return cls(path=argument[:cut], part=argument[cut:])

    def find_span(self, text: str, language: str | None) -> Span:
        """Return the part of `text` that is meant.

        Raises InputError, saying what there is instead, where there is no such part.
        """
        if not self.part:
            return Span(0, len(text))
        if _NAME_AND_RANGE.fullmatch(self.part):
            raise InputError(f"{self.part!r} is both a name and a range: give only one of them")
        if self.part.startswith("::") and len(self.part) > len("::"):
            name = self.part.removeprefix("::")
            return target_named(text, self._require(language), name).span
        match = _RANGE.fullmatch(self.part)
        numbers = [int(number) if number else None for number in match.groups()] if match else []
        index = LineIndex(text)
        match numbers:
            case [int(line), None, None, None]:
                _find_line(index, line)
                return target_at(text, self._require(language), line - 1).span
            case [int(line), int(column), None, None]:
                _find_line(index, line)
                _find_offset(index, line, column)
                return target_at(text, self._require(language), line - 1, column - 1).span
            case [int(first), None, int(last), None]:
                if last < first:
                    raise InputError(f"the range of lines {first}-{last} ends before it starts")
                return Span(_find_line(index, first).start, _find_line(index, last).stop)
            case [int(line), int(column), int(end_line), int(end_column)]:
                start = _find_offset(index, line, column)
                stop = _find_offset(index, end_line, end_column)
                if stop < start:
                    raise InputError(f"the range {self.part!r} ends before it starts")
                return Span(start, stop)
        raise InputError(f"cannot read {self.part!r} after {self.path}: give {_FORMS}")

    def _require(self, language: str | None) -> str:
        if language is None:
            raise InputError(
                f"what {self.path} is written in is not known: name it with --lang"
                f" ({', '.join(LANGUAGES)}), or give a range of lines"
            )
        return language


def _find_line(index: LineIndex, line: int) -> Span:
    """Return the span of a line, its ending included. Raises InputError where there is none."""
    # The empty line after the last line ending is none that an editor's user would count.
    n_lines = index.n_lines - (index.text.endswith(("\n", "\r")))
    if not 1 <= line <= n_lines:
        raise InputError(f"there is no line {line}: the file has {n_lines}, counted from 1")
    return index.line_span(line - 1)


def _find_offset(index: LineIndex, line: int, column: int) -> int:
    """Return the offset of a position. Raises InputError where there is none."""
    if not (1 <= line <= index.n_lines and column >= 1):
        raise InputError(f"there is no {line}:{column} in a file of {index.n_lines} lines")
    offset = index.offset(line - 1, column - 1, "utf-32")
    # `offset` clips to the line: what it gives back for a column too large is another position.
    last_column = index.position(offset, "utf-32")[1] + 1
    if last_column < column:
        raise InputError(f"there is no {line}:{column}: line {line} ends at column {last_column}")
    return offset
