"""Lines, columns, line endings and indentation of a text, counted as editors count them.

A line ends at LF, CRLF or CR and nowhere else (as in the language server protocol): form feed,
U+2028 and the like are ordinary characters, so `str.splitlines` must not be used on a document.
Offsets are code points. Pure; knows nothing of files or of the protocol's types.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from itertools import accumulate, pairwise
from typing import Literal, TypeAlias

from redraft.records import Span

__all__ = [
    "LineIndex",
    "Unit",
    "detect_indentation",
    "find_filled_line",
    "find_line_numbers",
    "line_ending",
    "line_ending_at",
    "read_indent",
    "split_lines",
    "to_lf",
]

Unit: TypeAlias = Literal["utf-8", "utf-16", "utf-32"]

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_ENDING = re.compile(r"\r\n|\r|\n")


class LineIndex:
    """Converts between offsets and (line, column) in one text, in O(log lines + line length).

    Lines and columns count from 0. A text that ends in a line ending has one more, empty line, and
    the empty text has one line. A document keeps one index and replaces it when its text changes:
    building it is one pass.
    """

    __slots__ = ("_starts", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        lines = split_lines(text)
        self._starts = list(accumulate(map(len, lines), initial=0))
        if lines and not line_ending(lines[-1]):
            self._starts.pop()

    @property
    def n_lines(self) -> int:
        return len(self._starts)

    def offset(self, line: int, column: int, unit: Unit) -> int:
        """Return the offset of `column`, counted in `unit`, on `line`.

        A column past the line's end means the end, before its line ending; a line past the last
        means the document's end. A column inside a character means that character's start.
        """
        if line >= self.n_lines:
            return len(self.text)
        content = self._content(line)
        characters = content.of(self.text)
        if unit == "utf-32" or characters.isascii():
            return content.start + min(column, len(characters))
        # The longest prefix that is at most `column` units wide; a part of a character is left out.
        lengths = range(len(characters) + 1)
        n_whole = bisect_right(lengths, column, key=lambda n: _width(characters[:n], unit)) - 1
        return content.start + n_whole

    def position(self, offset: int, unit: Unit) -> tuple[int, int]:
        """Return the line and the column, counted in `unit`, of `offset`.

        An offset past the document's end means the end. One between the CR and the LF of a CRLF
        means the end of that line, because no cursor can be placed there.
        """
        line = self.line_at(offset)
        content = self._content(line)
        stop = min(offset, content.stop)
        return line, _width(self.text[content.start : stop], unit)

    def line_at(self, offset: int) -> int:
        """Return the line that holds the character at `offset`; past the end, the last line."""
        return bisect_right(self._starts, offset) - 1

    def line_span(self, line: int) -> Span:
        """Return the span of `line` with its ending. Raises IndexError if there is no such line."""
        if not 0 <= line < self.n_lines:
            raise IndexError(f"line {line} of {self.n_lines}")
        last = line + 1 == self.n_lines
        return Span(self._starts[line], len(self.text) if last else self._starts[line + 1])

    def _content(self, line: int) -> Span:
        """Return the span of `line` without its ending."""
        span = self.line_span(line)
        return Span(span.start, span.stop - len(line_ending(span.of(self.text))))


def split_lines(text: str) -> list[str]:
    """Return the lines of `text`, each with its own ending; joined they are `text` again."""
    return _LINE.findall(text)


def to_lf(text: str) -> str:
    """Return `text` with every CRLF and CR turned into LF."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def line_ending(line: str) -> str:
    """Return the ending of `line`: LF, CRLF, CR, or "" where it has none."""
    if line.endswith("\r\n"):
        return "\r\n"
    return line[-1:] if line.endswith(("\n", "\r")) else ""


def line_ending_at(text: str, offset: int) -> str:
    """Return the ending for a new line at `offset`: that of the line there, or of the one before.

    LF in a text without line endings.
    """
    # Between the CR and the LF of a CRLF the search starts at the CR, so that it finds both.
    after = _ENDING.search(text, offset - (text[offset - 1 : offset + 1] == "\r\n"))
    if after:
        return after.group()
    last_two = split_lines(text[:offset])[-2:]
    return next((ending for line in reversed(last_two) if (ending := line_ending(line))), "\n")


def find_line_numbers(text: str, span: Span) -> range:
    """Return the numbers, from 0, of the lines that `span` touches in a text with LF endings."""
    return range(text.count("\n", 0, span.start), text.count("\n", 0, span.stop) + 1)


def find_filled_line(lines: Iterable[str]) -> str:
    """Return the first of `lines` that is not blank; "" if all are."""
    return next((line for line in lines if line.strip()), "")


def read_indent(line: str) -> str:
    """Return the spaces and tabs that `line` begins with."""
    return line[: len(line) - len(line.lstrip(" \t"))]


def detect_indentation(text: str) -> str | None:
    """Return one step of the indentation of `text`: a tab, or some spaces; None if there is none.

    The step in spaces is the commonest growth from one line to the next; a growth of 1 counts as
    alignment (as in block comments) unless nothing else is seen.
    """
    lines = [line for line in split_lines(text) if line.strip()]
    margins = [read_indent(line) for line in lines]
    n_tabs = sum(margin.startswith("\t") for margin in margins)
    n_spaces = sum(margin.startswith(" ") for margin in margins)
    if not n_tabs and not n_spaces:
        return None
    if n_tabs >= n_spaces:
        return "\t"
    widths = [0, *(len(margin) for margin in margins if not margin.startswith("\t"))]
    steps = Counter(after - before for before, after in pairwise(widths) if after > before)
    return " " * max(steps, key=lambda step: (step > 1, steps[step], -step))


def _width(characters: str, unit: Unit) -> int:
    """Return how many `unit` code units `characters` take."""
    # A client may send a lone surrogate; it is one UTF-16 unit there and must not raise here.
    match unit:
        case "utf-8":
            return len(characters.encode("utf-8", "surrogatepass"))
        case "utf-16":
            return len(characters.encode("utf-16-le", "surrogatepass")) // 2
        case "utf-32":
            return len(characters)
