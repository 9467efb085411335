"""Give the lines of a reply the white space of the text they go into.

Kept lines come out byte for byte as the file has them, whatever white space the reply gave them,
unless the alignment shows that their block moved. Only new and changed lines are indented anew, by
what the kept lines around them say. Lines inside strings, heredocs and their kind are content: they
are never indented, and taken as the reply has them where they are new. Pure; knows no language: the
caller says which lines are content.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, takewhile

from redraft.interruption import check_interruption
from redraft.postprocess.alignment import Alignment
from redraft.text.lines import (
    detect_indentation,
    find_filled_line,
    line_ending,
    read_indent,
    split_lines,
)

__all__ = ["Indentation", "fit_lines", "join_lines", "move_lines", "repair_first_line"]

# Lines of a block comment, such as ` * @param n`.
_ALIGNED = re.compile(r"^[ \t]+\*.*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Indentation:
    """One step of indentation in a text: a tab or so many spaces; "" where nothing is indented."""

    step: str

    @classmethod
    def of(cls, *texts: str) -> "Indentation":
        """Return the step of the first text that is indented at all.

        Lines that go on with a block comment say nothing: ` * @param` is aligned, not indented.
        """
        plain = (_ALIGNED.sub("", text) for text in texts)
        return cls(next((step for text in plain if (step := detect_indentation(text))), ""))

    @property
    def columns(self) -> int:
        """Return the columns of one step."""
        return 4 if self.step in ("", "\t") else len(self.step)

    def width(self, white_space: str) -> int:
        """Return the columns that leading white space takes; a tab counts as one step."""
        return len(white_space.expandtabs(self.columns))

    def render(self, columns: int) -> str:
        """Return white space of so many columns, in tabs where the text is indented with tabs."""
        if self.step != "\t":
            return " " * max(0, columns)
        n_tabs, n_spaces = divmod(max(0, columns), self.columns)
        return "\t" * n_tabs + " " * n_spaces


def repair_first_line(
    lines: Sequence[str], target_lines: Sequence[str], content: Collection[int] = ()
) -> list[str]:
    """Return `lines` with the first one's indentation, where the model lost that one alone.

    A reply is opened for the model right in front of its first token, and some begin with the code
    itself: the first line stands in column 0, the others where they stood. A reply that is dedented
    as a whole has its second line further left as well.
    """
    filled = [at for at, line in enumerate(lines) if line.strip() and at not in content]
    target_indents = [read_indent(line) for line in target_lines if line.strip()]
    if len(filled) < 2 or len(target_indents) < 2:
        return list(lines)
    first, second = filled[:2]
    base = target_indents[0]
    if len(read_indent(lines[first])) >= len(base):
        return list(lines)
    # `def take(self):` in column 0, and its body eight columns in, as it was.
    second_stayed = read_indent(lines[second]) == target_indents[1]
    margin = min(len(read_indent(lines[at])) for at in filled[1:])
    if not second_stayed or margin < len(base):
        return list(lines)
    return [*lines[:first], base + lines[first].lstrip(" \t"), *lines[first + 1 :]]


def fit_lines(
    alignment: Alignment,
    *,
    target: Indentation,
    content: Collection[int] = (),
    base: str | None = None,
    keeps_trailing: bool = False,
) -> list[str]:
    """Return the reply's lines as they go into the file, without line endings.

    content: the reply lines that lie inside a string or the like. base: where the first line
    belongs; None: where the first shown line stands. keeps_trailing: as of `align`.
    """
    alignment = _strip_common_prefix(alignment)
    if not content:
        alignment = _restore_common_prefix(alignment)
    reply = alignment.reply
    style = Indentation.of("\n".join(line for at, line in enumerate(reply) if at not in content))
    mapping = _IndentMapping(alignment, style, target, frozenset(content), base)
    fitted = [mapping.fit(at) for at in range(len(reply))]
    if keeps_trailing:
        # Two spaces at the end of a new line are a line break in Markdown.
        for at, (line, source) in enumerate(zip(reply, alignment.kept, strict=True)):
            if source is None and line.strip() and line.endswith("  "):
                fitted[at] = f"{fitted[at].rstrip(' ')}  "
    return fitted


def _strip_common_prefix(alignment: Alignment) -> Alignment:
    """Return the alignment without the white space that all of the reply has in front.

    Where each kept line is the file's behind the same prefix, no columns have to be counted: in
    code that mixes tabs and spaces they would not tell.
    """
    prefixes = {
        line.removesuffix(alignment.shown[source])
        for line, source in zip(alignment.reply, alignment.kept, strict=True)
        if source is not None and line.strip()
    }
    prefix = prefixes.pop() if len(prefixes) == 1 else ""
    is_common = all(line.startswith(prefix) for line in alignment.reply if line.strip())
    if not prefix or prefix.strip() or not is_common:
        return alignment
    return replace(alignment, reply=tuple(line.removeprefix(prefix) for line in alignment.reply))


def _restore_common_prefix(alignment: Alignment) -> Alignment:
    """Return the alignment with the white space that all of the target has in front.

    The other way round: a reply that was dedented as text, where tabs and spaces are mixed.
    """
    kept = [
        (line, alignment.shown[source])
        for line, source in zip(alignment.reply, alignment.kept, strict=True)
        if source is not None and line.strip()
    ]
    prefixes = {target_line.removesuffix(line) for line, target_line in kept}
    prefix = prefixes.pop() if len(prefixes) == 1 else ""
    # Kept lines in column 0 do not tell whether the rest is indented as the file is.
    is_told = any(read_indent(line) for line, _ in kept)
    if not prefix or prefix.strip() or not is_told:
        return alignment
    reply = tuple(f"{prefix}{line}" if line.strip() else line for line in alignment.reply)
    return replace(alignment, reply=reply)


class _IndentMapping:
    """A mapping of the reply's indentation to the file's, in columns.

    reply_style, file_style: the indentation of either. content, base: as of `fit_lines`.
    """

    def __init__(
        self,
        alignment: Alignment,
        reply_style: Indentation,
        file_style: Indentation,
        content: frozenset[int],
        base: str | None,
    ) -> None:
        self._alignment = alignment
        self._reply_style = reply_style
        self._file_style = file_style
        self._content = content
        # The shown line that each changed line replaces, where as many replace as many or fewer.
        self._replaced = {
            at: source
            for hunk in alignment.hunks
            for at, source in zip(
                range(hunk.reply, hunk.reply_stop), range(hunk.shown, hunk.shown_stop), strict=False
            )
        }
        self._file_indents = {read_indent(line) for line in alignment.shown if line.strip()}
        self._file_indents |= {base} if base is not None else set()
        self._edges = {
            at for hunk in alignment.hunks for at in range(hunk.reply, hunk.reply_stop + 1)
        }
        kept_lines = [
            (line, alignment.shown[source])
            for line, source in zip(alignment.reply, alignment.kept, strict=True)
            if source is not None and line.strip()
        ]
        # Each kept line is the file's to the last blank: whatever tabs may count, nothing moved.
        is_verbatim = bool(kept_lines) and all(line == target for line, target in kept_lines)
        self._scale = 1.0 if is_verbatim else self._choose_scale()
        self._shift = 0 if is_verbatim else self._measure_shift(base)
        self._moves = {} if is_verbatim else self._find_moves()

    def fit(self, at: int) -> str:
        """Return line `at` of the reply as it goes into the file."""
        line, source = self._alignment.reply[at], self._alignment.kept[at]
        target_line = None if source is None else self._alignment.shown[source]
        if at in self._content:
            return self._fit_content(at) if target_line is None else target_line
        if not line.strip():
            return target_line or ""
        if target_line is None:
            code = line.strip(" \t\r")
            return self._indent_new_line(at) + code + self._find_trailing_space(at)
        move = self._moves.get(at, 0)
        return move_lines([target_line], move, self._file_style)[0] if move else target_line

    def _indent_new_line(self, at: int) -> str:
        """Return the white space before a new line: as the file has it, where it mixes tabs."""
        line = self._alignment.reply[at]
        indent = read_indent(line)
        if at in self._replaced:
            target_line = self._alignment.shown[self._replaced[at]]
            if self._measure_offset(target_line, line, self._scale) == self._shift:
                return read_indent(target_line)
        if self._shift == 0 and self._scale == 1.0 and indent in self._file_indents:
            return indent
        columns = self._scale_indent(line, self._scale) + self._shift
        rendered = self._file_style.render(columns)
        if rendered in self._file_indents:
            return rendered
        alike = (own for own in self._file_indents if self._file_style.width(own) == columns)
        return min(alike, default=rendered)

    def _choose_scale(self) -> float:
        """Return the columns of the file for one of the reply: 0.5 where four spaces become two.

        The scale is right with which more lines keep their distance to the file. Where the lines do
        not tell, steps of two and four columns are believed.
        """
        reply_style, file_style = self._reply_style, self._file_style
        if not reply_style.step or not file_style.step or reply_style.columns == file_style.columns:
            return 1.0
        scale = file_style.columns / reply_style.columns
        # With the wrong factor each depth of nesting is off by another number of columns.
        n_offsets = {
            factor: len({*self._measure_kept(factor).values(), *self._measure_changed(factor)})
            for factor in (scale, 1.0)
        }
        if n_offsets[scale] != n_offsets[1.0]:
            return min(n_offsets, key=n_offsets.__getitem__)
        has_whole_steps = not any(
            reply_style.width(read_indent(line)) % reply_style.columns
            for at, line in enumerate(self._alignment.reply)
            if line.strip() and at not in self._content
        )
        return scale if has_whole_steps and reply_style.columns in (2, 4) else 1.0

    def _scale_indent(self, line: str, scale: float) -> int:
        """Return the columns in the file for the indentation of a reply line, before any shift."""
        step = self._reply_style.columns
        n_steps, n_aligned = divmod(self._reply_style.width(read_indent(line)), step)
        # Columns beyond whole steps align with something above, as in `f(a,` and `  b)`.
        return round(n_steps * step * scale) + n_aligned

    def _measure_offset(self, target_line: str, line: str, scale: float) -> int:
        """Return by how many columns the file has a line further right than the reply."""
        check_interruption()
        return self._file_style.width(read_indent(target_line)) - self._scale_indent(line, scale)

    def _measure_kept(self, scale: float) -> dict[int, int]:
        """Return the offset of each reply line that was kept, by its number."""
        return {
            at: self._measure_offset(self._alignment.shown[source], line, scale)
            for at, (line, source) in enumerate(
                zip(self._alignment.reply, self._alignment.kept, strict=True)
            )
            if source is not None and line.strip() and at not in self._content
        }

    def _measure_changed(self, scale: float) -> Iterator[int]:
        """Yield the offsets of changed lines, where as many replace as many."""
        for hunk in self._alignment.hunks:
            target_lines = self._alignment.shown[hunk.shown : hunk.shown_stop]
            reply_lines = self._alignment.reply[hunk.reply : hunk.reply_stop]
            if len(target_lines) != len(reply_lines):
                continue
            for target_line, line in zip(target_lines, reply_lines, strict=True):
                if target_line.strip() and line.strip():
                    yield self._measure_offset(target_line, line, scale)

    def _measure_shift(self, base: str | None) -> int:
        """Return by how many columns the reply moves right for its first line to be in place."""
        first_line = find_filled_line(self._alignment.reply)
        if not first_line:
            return 0
        if base is None:
            base = read_indent(find_filled_line(self._alignment.shown))
        return self._measure_offset(base, first_line, self._scale)

    def _find_moves(self) -> dict[int, int]:
        """Return by how many columns each kept line moved whose block moved.

        A block moves where something around it was added or taken away: only a run of lines that
        begins or ends at such a place can have moved. Elsewhere other white space is the model's.
        """
        offsets = self._measure_kept(self._scale)
        moves = {at: self._shift - offset for at, offset in offsets.items()}
        runs: list[list[int]] = []
        for at, move in moves.items():
            # Lines that moved alike, with nothing between them, are one block.
            before = runs[-1][-1] if runs else None
            if before is not None and move == moves[before] and self._are_adjacent(before, at):
                runs[-1].append(at)
            else:
                runs.append([at])
        return {
            at: moves[at]
            for run in runs
            if moves[run[0]] and self._has_edit_beside(run[0], run[-1])
            for at in run
        }

    def _are_adjacent(self, first: int, second: int) -> bool:
        """Return True where two kept lines have only blanks between them, in reply and file."""
        start, stop = self._alignment.kept[first], self._alignment.kept[second]
        assert start is not None and stop is not None  # noqa: S101, PT018 - both are kept lines
        between = (
            *self._alignment.shown[start + 1 : stop],
            *self._alignment.reply[first + 1 : second],
        )
        return not any(map(str.strip, between))

    def _has_edit_beside(self, first: int, last: int) -> bool:
        """Return True where a hunk touches the run of reply lines from `first` to `last`."""
        return first in self._edges or last + 1 in self._edges

    def _find_trailing_space(self, at: int) -> str:
        """Return the white space at the end of a changed line that its old form had, too."""
        if at not in self._replaced:
            return ""
        target_line = self._alignment.shown[self._replaced[at]]
        trailing = target_line[len(target_line.rstrip(" \t")) :]
        return trailing if self._alignment.reply[at].endswith(trailing) else ""

    def _fit_content(self, at: int) -> str:
        """Return a new line of a string, moved as the reply moved kept lines of the same string."""
        kept, reply = self._alignment.kept, self._alignment.reply
        line = reply[at]
        if self._shift and at in self._replaced and line.strip():
            target_line = self._alignment.shown[self._replaced[at]]
            # It has moved as all of the reply has: so would a string's line, or a directive.
            if self._measure_offset(target_line, line, self._scale) == self._shift:
                return read_indent(target_line) + line.lstrip(" \t")
        above = takewhile(self._content.__contains__, range(at - 1, -1, -1))
        below = takewhile(self._content.__contains__, range(at + 1, len(reply)))
        for neighbor in (*above, *below):
            source = kept[neighbor]
            if source is None or not reply[neighbor].strip():
                continue
            file_indent = read_indent(self._alignment.shown[source])
            reply_indent = read_indent(reply[neighbor])
            # The reply has the string further left, or where it was; below, further right.
            if file_indent.endswith(reply_indent):
                return file_indent.removesuffix(reply_indent) + line if line.strip() else line
            if reply_indent.endswith(file_indent):
                return line.removeprefix(reply_indent.removesuffix(file_indent))
            return line
        return line


def move_lines(lines: Sequence[str], columns: int, style: Indentation) -> list[str]:
    """Return `lines` moved right by `columns`; blank ones stay."""
    return [
        style.render(style.width(read_indent(line)) + columns) + line.lstrip(" \t")
        if line.strip()
        else line
        for line in lines
    ]


def join_lines(source: str, alignment: Alignment, lines: Sequence[str], *, ending: str) -> str:
    """Return fitted `lines` joined with line endings, as an edited copy of `source`.

    source: the shown text with its own endings. A kept line keeps its ending, a changed one that of
    the line it replaces, an added one takes the ending before it (or after it, at the top; `ending`
    where there is none). The final line ending of `source`, or the lack of it, stays.
    """
    target_lines = split_lines(source)
    if not target_lines:
        return "".join(f"{line}{ending}" for line in lines)
    # For each line of the result, the line whose ending it takes.
    sources = list(alignment.kept)
    for hunk in alignment.hunks:
        replaced, places = range(hunk.shown, hunk.shown_stop), range(hunk.reply, hunk.reply_stop)
        for source_at, at in zip(replaced, places, strict=False):
            sources[at] = source_at
    # The shown lines may end in an empty one, which has no ending to give.
    endings = _fill_endings(
        [
            "" if at is None or at >= len(target_lines) else line_ending(target_lines[at])
            for at in sources
        ]
    )
    joined = [line + (line_end or ending) for line, line_end in zip(lines, endings, strict=True)]
    if joined and not line_ending(target_lines[-1]):
        joined[-1] = joined[-1].removesuffix(line_ending(joined[-1]))
    return "".join(joined)


def _fill_endings(endings: Sequence[str]) -> list[str]:
    """Return each missing ending taken from the line before, or else from the one after."""

    def carry(previous: str, ending: str) -> str:
        return ending or previous

    forward = list(accumulate(endings, carry))
    return list(accumulate(forward[::-1], carry))[::-1]
