"""Align a reply with the lines that the model was shown: what was kept, changed, left out, added.

The one thing that white space, narrowing, elision and the guards are decided by. Lines are compared
without the white space at their ends and at their start, since models get that wrong more often
than anything else. Lines found once on both sides are the anchors (patience diff, as in
`redraft.text.diff`), so that the work grows with the length of the texts. Pure.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from redraft.interruption import check_interruption
from redraft.text.diff import changed_stretches

__all__ = ["Alignment", "Hunk", "align", "is_significant", "signature"]


def is_significant(line: str) -> bool:
    """Return True where a line says something that others do not: not a bracket, not a blank."""
    return any(map(str.isalnum, line)) and line.strip() not in _COMMON


def signature(line: str) -> str:
    """Return the line of a definition without a body on the same line."""
    return _BODY.split(line.strip(), maxsplit=1)[0]


_BODY = re.compile(r"\s*\{|\)\s*(?:->[^:]*)?:(?!:)")
# Lines that are found everywhere: that a reply has one, too, proves nothing.
_COMMON = frozenset(
    {"end", "else", "else:", "try:", "try {", "finally:", "do", "done", "fi", "esac", "pass"}
    | {"break", "break;", "continue", "continue;", "return", "return;", "} else {", "begin", "then"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """Shown lines [shown, shown_stop) became reply lines [reply, reply_stop); one may be empty."""

    shown: int
    shown_stop: int
    reply: int
    reply_stop: int


@dataclass(frozen=True)
class Alignment:
    """Pairs of shown lines and the reply lines that stand for them.

    shown, reply: lines without their endings. kept: for each reply line the index of the shown line
    that it repeats, ascending, or None for a new one.
    """

    shown: tuple[str, ...]
    reply: tuple[str, ...]
    kept: tuple[int | None, ...]

    @cached_property
    def hunks(self) -> tuple[Hunk, ...]:
        """The stretches that differ, ascending."""
        return tuple(self._hunks())

    def _hunks(self) -> Iterator[Hunk]:
        shown = reply = 0
        ends = [*enumerate(self.kept), (len(self.reply), len(self.shown))]
        for at, source in ends:
            if source is None:
                continue
            if source > shown or at > reply:
                yield Hunk(shown=shown, shown_stop=source, reply=reply, reply_stop=at)
            shown, reply = source + 1, at + 1

    @cached_property
    def left_out(self) -> tuple[int, ...]:
        """The shown lines, blank ones aside, that no reply line repeats, wherever it stands."""
        new_lines = Counter(
            line.strip() for line, at in zip(self.reply, self.kept, strict=True) if at is None
        )
        missing: list[int] = []
        repeated = {at for at in self.kept if at is not None}
        for at, line in enumerate(self.shown):
            words = line.strip()
            if at in repeated or not words:
                continue
            if new_lines[words] > 0:
                new_lines[words] -= 1  # moved
            else:
                missing.append(at)
        return tuple(missing)

    @property
    def n_kept(self) -> int:
        """The number of kept lines that say something."""
        return sum(at is not None and is_significant(self.shown[at]) for at in self.kept)


def align(shown: Sequence[str], reply: Sequence[str], *, keeps_trailing: bool = False) -> Alignment:
    """Align the lines of a `reply` with those that were `shown`, both without line endings.

    Of two ways to pair a line that stands several times, the one is taken that keeps runs of lines
    together; a blank or a lone bracket is paired only beside a line that says something.
    keeps_trailing: two spaces at a line's end are text, as in Markdown.
    """
    old, new = ([_key(line, keeps_trailing) for line in lines] for lines in (shown, reply))
    kept: list[int | None] = []
    end = 0
    for change in changed_stretches(old, new):
        kept += range(end, change.a)
        kept += [None] * (change.b_stop - change.b)
        end = change.a_stop
    kept += range(end, len(old))
    return Alignment(tuple(shown), tuple(reply), tuple(_without_chance_pairs(old, kept)))


def _key(line: str, keeps_trailing: bool) -> str:  # noqa: FBT001 - a pair of one meaning
    words = line.strip()
    return f"{words}  " if keeps_trailing and words and line.endswith("  ") else words


def _without_chance_pairs(shown: Sequence[str], kept: list[int | None]) -> list[int | None]:
    """Undo runs of pairs between two changes that consist of brackets and blanks only.

    In `}` between two rewritten blocks nothing was kept: taken for an anchor it would fix the
    indentation and the place of what has nothing to do with it.
    """
    result = list(kept)
    start = 0
    while start < len(kept):
        check_interruption()
        stop = start
        while (
            stop < len(kept)
            and kept[stop] == (kept[start] or 0) + stop - start
            and kept[start] is not None
        ):
            stop += 1
        run = kept[start:stop]
        if run:
            inner = start > 0 and stop < len(kept)
            if inner and not any(is_significant(shown[at]) for at in run if at is not None):
                result[start:stop] = [None] * len(run)
        start = max(stop, start + 1)
    return result
