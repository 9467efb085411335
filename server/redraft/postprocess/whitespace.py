"""Give the lines of a reply the white space of the text they go into.

Kept lines come out byte for byte as the file has them, whatever white space the reply gave them,
unless the alignment shows that their block moved. Only new and changed lines are indented anew, by
what the kept lines around them say. Lines inside strings, heredocs and their kind are content: they
are never indented, and taken as the reply has them where they are new. Pure; knows no language: the
caller says which lines are content.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import accumulate

from redraft.postprocess.alignment import Alignment
from redraft.text.lines import detect_indentation, line_ending, split_lines

__all__ = ["Indentation", "fit_lines", "join_lines", "move_lines", "repair_first_line"]

_INDENT = re.compile(r"[ \t]*")
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

    def width(self, white_space: str) -> int:
        """Return the columns that leading white space takes; a tab counts as one step."""
        return len(white_space.expandtabs(4 if self.step in ("", "\t") else len(self.step)))

    @property
    def columns(self) -> int:
        """Columns of one step."""
        return 4 if self.step in ("", "\t") else len(self.step)

    def render(self, columns: int) -> str:
        """Return white space of so many columns, in this text's way."""
        if self.step != "\t":
            return " " * max(0, columns)
        n_tabs, n_spaces = divmod(max(0, columns), 4)
        return "\t" * n_tabs + " " * n_spaces


def repair_first_line(
    lines: Sequence[str], shown: Sequence[str], content: Collection[int] = ()
) -> list[str]:
    """Return `lines` with the first one's indentation, where the model lost that one alone.

    A reply is opened for the model right in front of its first token, and some begin with the code
    itself: the first line stands in column 0, the others where they stood. A reply that is dedented
    as a whole has its second line further left as well.
    """
    own = [i for i, line in enumerate(lines) if line.strip() and i not in content]
    old = [line for line in shown if line.strip()]
    if len(own) < 2 or len(old) < 2:
        return list(lines)
    base, first = _indent(old[0]), own[0]
    margin = min(len(_indent(lines[i])) for i in own[1:])
    stayed = _indent(lines[own[1]]) == _indent(old[1]) and margin >= len(base)
    if stayed and len(_indent(lines[first])) < len(base):
        return [*lines[:first], base + lines[first].lstrip(" \t"), *lines[first + 1 :]]
    return list(lines)


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
    reply = alignment.reply
    style = Indentation.of("\n".join(line for at, line in enumerate(reply) if at not in content))
    levels = _Levels(alignment, style, target, frozenset(content), base)
    fitted = [levels.fit(at) for at in range(len(reply))]
    if keeps_trailing:
        for at, (line, kept) in enumerate(zip(reply, alignment.kept, strict=True)):
            fitted[at] += "  " if kept is None and line.strip() and line.endswith("  ") else ""
    return fitted


class _Levels:
    """Maps columns of the reply's indentation to columns of the file's."""

    def __init__(
        self,
        alignment: Alignment,
        style: Indentation,
        target: Indentation,
        content: frozenset[int],
        base: str | None,
    ) -> None:
        self._alignment = alignment
        self._style = style
        self._target = target
        self._content = content
        self._scale = self._best_scale()
        self._shift = self._common_shift(base)
        self._moves = self._moved_blocks()

    def _best_scale(self) -> float:
        """Columns of the file for one of the reply: 0.5 where four spaces stand for two.

        Kept lines are the witnesses. Without any, steps of two and four columns are believed.
        """
        style, target = self._style, self._target
        if not style.step or not target.step or style.columns == target.columns:
            return 1.0
        scale = target.columns / style.columns
        offsets = {}
        for factor in (scale, 1.0):
            self._scale = factor
            pairs = [*self._pairs(), *self._changed_pairs()]
            offsets[factor] = len({offset for _, offset in pairs})
        if offsets[scale] != offsets[1.0]:
            return scale if offsets[scale] < offsets[1.0] else 1.0
        widths = {
            self._width(line) % style.columns
            for at, line in enumerate(self._alignment.reply)
            if line.strip() and at not in self._content
        }
        return scale if widths <= {0} and style.columns in (2, 4) else 1.0

    def fit(self, at: int) -> str:
        line, source = self._alignment.reply[at], self._alignment.kept[at]
        if at in self._content:
            if source is not None:
                return self._alignment.shown[source]
            return self._content_line(at, line)
        if not line.strip():
            return self._alignment.shown[source] if source is not None else ""
        if source is not None:
            move = self._moves.get(at, 0)
            shown = self._alignment.shown[source]
            if not move:
                return shown
            columns = self._target.width(_indent(shown)) + move
            return self._target.render(columns) + shown.lstrip(" \t")
        return self._target.render(self._columns(line)) + line.strip(" \t\r") + self._trailing(at)

    def _trailing(self, at: int) -> str:
        """The white space at the end of a changed line that its old form had, too."""
        for hunk in self._alignment.hunks:
            if hunk.reply <= at < hunk.reply_stop:
                source = hunk.shown + at - hunk.reply
                if source < hunk.shown_stop:
                    line, shown = self._alignment.reply[at], self._alignment.shown[source]
                    white = shown[len(shown.rstrip(" \t")) :]
                    return white if line.endswith(white) else ""
        return ""

    def _width(self, line: str) -> int:
        return self._style.width(_indent(line))

    def _columns(self, line: str) -> int:
        """The columns in the file for a reply line that is new."""
        return self._scaled(self._width(line)) + self._shift

    def _scaled(self, width: int) -> int:
        steps, rest = divmod(width, self._style.columns)
        return round(steps * self._style.columns * self._scale) + rest

    def _pairs(self) -> list[tuple[int, int]]:
        """(reply line, columns by which the file has it further right) for lines that were kept."""
        shown = self._alignment.shown
        return [
            (at, self._target.width(_indent(shown[source])) - self._scaled(self._width(line)))
            for at, (line, source) in enumerate(
                zip(self._alignment.reply, self._alignment.kept, strict=True)
            )
            if source is not None and line.strip() and at not in self._content
        ]

    def _changed_pairs(self) -> list[tuple[int, int]]:
        """The same for changed lines, where as many stand in the place of as many."""
        shown, reply = self._alignment.shown, self._alignment.reply
        return [
            (
                at,
                self._target.width(_indent(shown[hunk.shown + at - hunk.reply]))
                - self._scaled(self._width(reply[at])),
            )
            for hunk in self._alignment.hunks
            if hunk.shown_stop - hunk.shown == hunk.reply_stop - hunk.reply
            for at in range(hunk.reply, hunk.reply_stop)
            if reply[at].strip() and shown[hunk.shown + at - hunk.reply].strip()
        ]

    def _common_shift(self, base: str | None) -> int:
        """Columns that all of the reply has to move right for its first line to stand in place."""
        own = [line for line in self._alignment.reply if line.strip()]
        old = [line for line in self._alignment.shown if line.strip()]
        if not own:
            return 0
        place = _indent(old[0]) if base is None and old else base or ""
        return self._target.width(place) - self._scaled(self._width(own[0]))

    def _moved_blocks(self) -> dict[int, int]:
        """For kept lines whose block moved, by how many columns.

        A block moves where something around it was added or taken away: only a run of lines that
        begins or ends at such a place can have moved. Elsewhere other white space is the model's.
        """
        pairs = self._pairs()
        moves = {at: self._shift - offset for at, offset in pairs}
        result: dict[int, int] = {}
        run: list[int] = []
        for at, _ in [*pairs, (-1, 0)]:
            joined = (
                bool(run)
                and at >= 0
                and moves[at] == moves[run[-1]]
                and self._adjacent(run[-1], at)
            )
            if not joined:
                if run and moves[run[0]] and self._has_edit_beside(run[0], run[-1]):
                    result |= {line: moves[line] for line in run}
                run = []
            if at >= 0:
                run.append(at)
        return result

    def _adjacent(self, first: int, second: int) -> bool:
        """Whether two kept reply lines also follow each other in the file, blanks aside."""
        a, b = self._alignment.kept[first], self._alignment.kept[second]
        assert a is not None and b is not None  # noqa: S101, PT018 - pairs are kept lines
        between = self._alignment.shown[a + 1 : b]
        own = self._alignment.reply[first + 1 : second]
        return not any(map(str.strip, (*between, *own)))

    def _has_edit_beside(self, first: int, last: int) -> bool:
        for hunk in self._alignment.hunks:
            if hunk.reply_stop == first or hunk.reply == last + 1:
                return True
            if hunk.reply <= first <= hunk.reply_stop or hunk.reply <= last + 1 <= hunk.reply_stop:
                return True
        return False

    def _content_line(self, at: int, line: str) -> str:
        """A new line of a string: as the reply has it, beside kept lines of the same string."""
        kept, shown, reply = self._alignment.kept, self._alignment.shown, self._alignment.reply
        for step in (-1, 1):
            other = at + step
            while other in self._content:
                source = kept[other]
                if source is not None and reply[other].strip():
                    have, had = _indent(shown[source]), _indent(reply[other])
                    if have == had:
                        return line
                    if have.endswith(had):
                        return (have.removesuffix(had) + line) if line.strip() else line
                    if had.endswith(have) and line.startswith(had.removesuffix(have)):
                        return line[len(had) - len(have) :]
                    return line
                other += step
        return line


def move_lines(
    lines: Sequence[str], columns: int, style: Indentation, content: Collection[int]
) -> list[str]:
    """Return `lines` moved right by `columns`; lines of `content` and blank ones stay."""
    return [
        line
        if at in content or not line.strip()
        else style.render(style.width(_indent(line)) + columns) + line.lstrip(" \t")
        for at, line in enumerate(lines)
    ]


def join_lines(source: str, alignment: Alignment, lines: Sequence[str], *, ending: str) -> str:
    """Return fitted `lines` joined with line endings, as an edited copy of `source`.

    source: the shown text with its own endings. A kept line keeps its ending, a changed one that of
    the line it replaces, an added one takes the ending before it (or after it, at the top; `ending`
    where there is none). The final line ending of `source`, or the lack of it, stays.
    """
    old = split_lines(source)
    if not old:
        return "".join(f"{line}{ending}" for line in lines)
    endings = ["" for _ in lines]
    for at, kept in enumerate(alignment.kept):
        if kept is not None and kept < len(old):
            endings[at] = line_ending(old[kept])
    for hunk in alignment.hunks:
        n_both = min(hunk.shown_stop - hunk.shown, hunk.reply_stop - hunk.reply)
        for offset in range(n_both):
            if hunk.shown + offset < len(old):
                endings[hunk.reply + offset] = line_ending(old[hunk.shown + offset])
    filled = _fill(endings)
    joined = [line + (own or ending) for line, own in zip(lines, filled, strict=True)]
    if joined and not line_ending(old[-1]):
        joined[-1] = joined[-1][: len(joined[-1]) - len(line_ending(joined[-1]))]
    return "".join(joined)


def _fill(endings: list[str]) -> list[str]:
    """Return each missing ending taken from the line before, or else from the one after."""

    def carry(before: str, own: str) -> str:
        return own or before

    forward = list(accumulate(endings, carry))
    return list(accumulate(forward[::-1], carry))[::-1]


def _indent(line: str) -> str:
    found = _INDENT.match(line)
    return found.group() if found else ""
