"""The smallest edits between two texts, and the unified diff people read.

Deterministic: no clock is asked, only sizes, so the same texts give the same edits on any machine.
Knows lines and words, nothing of languages. Lines are compared first and unchanged lines are never
touched; inside changed lines words are compared, so that edits stay readable.
"""

import difflib
import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from diff_match_patch import diff_match_patch

from redraft.records import Replacement, Span
from redraft.text.lines import split_lines

__all__ = ["apply_replacements", "minimal_replacements", "unified_diff"]

# Myers' method takes up to the square of this in steps of Python: 0.1 s at worst for one stretch.
_MAX_COMPARED = 1_000

# Private use code points stand for the compared items: to diff-match-patch they are neither
# letters nor white space, so it judges an edit by its length in items alone.
_FIRST_PRIVATE = 0xE000

# Whatever is not ASCII counts as a letter, and marks stay with the sign they sit on: "#\ufe0f".
_WORD = re.compile(
    r"\r\n|[ \t]+|[\w\x80-\U0010ffff]+|.[\u0300-\u036f\u20d0-\u20ff\ufe00-\ufe0f]*", re.DOTALL
)

_LF_LINE = re.compile(r"[^\n]*\n|[^\n]+")

_ZERO_WIDTH_JOINER = "\u200d"


class _Change(NamedTuple):
    """Items [a, a_stop) of the old sequence became items [b, b_stop) of the new one."""

    a: int
    a_stop: int
    b: int
    b_stop: int

    def shifted(self, a: int, b: int) -> "_Change":
        return _Change(self.a + a, self.a_stop + a, self.b + b, self.b_stop + b)


def minimal_replacements(old: str, new: str, *, offset: int = 0) -> tuple[Replacement, ...]:
    """The smallest edits that turn `old` into `new`, ascending and apart from each other.

    `apply_replacements(old, minimal_replacements(old, new)) == new`. Spans count from the start of
    `old` plus `offset`. No edit begins or ends inside a CRLF, or between a letter and its combining
    marks.
    """
    old_lines, new_lines = split_lines(old), split_lines(new)
    a_starts, b_starts = _starts(old_lines), _starts(new_lines)
    changes: list[_Change] = []
    for lines in _changes(old_lines, new_lines):
        words = _word_changes(old_lines[lines.a : lines.a_stop], new_lines[lines.b : lines.b_stop])
        for change in words:
            placed = change.shifted(a_starts[lines.a], b_starts[lines.b])
            if changes and changes[-1].a_stop == placed.a:
                placed = placed._replace(a=changes[-1].a, b=changes.pop().b)
            changes.append(placed)
    return tuple(
        Replacement(span=Span(c.a + offset, c.a_stop + offset), new_text=new[c.b : c.b_stop])
        for c in (_trimmed(change, old, new) for change in changes)
    )


def _word_changes(old_lines: list[str], new_lines: list[str]) -> Iterator[_Change]:
    """What changed inside a stretch of changed lines, in characters of that stretch."""
    if len(old_lines) == len(new_lines) > 1:
        # Line by line the comparison stays small, and a word never pairs with one lines away.
        a = b = 0
        for old_line, new_line in zip(old_lines, new_lines, strict=True):
            yield from (c.shifted(a, b) for c in _word_changes([old_line], [new_line]))
            a += len(old_line)
            b += len(new_line)
        return
    old_words, new_words = _WORD.findall("".join(old_lines)), _WORD.findall("".join(new_lines))
    a_starts, b_starts = _starts(old_words), _starts(new_words)
    for c in _changes(old_words, new_words, readable=True):
        yield _Change(a_starts[c.a], a_starts[c.a_stop], b_starts[c.b], b_starts[c.b_stop])


def _changes(
    old: Sequence[str], new: Sequence[str], *, readable: bool = False
) -> Iterator[_Change]:
    """The changed stretches of two sequences, ascending, with equal items between them.

    Stretches too long to compare are cut at items found exactly once on both sides (patience
    diff); where there is none, the stretch is one change. `readable` gives up equal items between
    changes that are longer than they.
    """
    todo = [_Change(0, len(old), 0, len(new))]
    while todo:
        whole = _without_common_ends(todo.pop(), old, new)
        a_items, b_items = old[whole.a : whole.a_stop], new[whole.b : whole.b_stop]
        if not a_items and not b_items:
            continue
        if len(a_items) + len(b_items) <= _MAX_COMPARED:
            for change in _compared(a_items, b_items, readable=readable):
                yield change.shifted(whole.a, whole.b)
            continue
        anchors = _anchors(a_items, b_items)
        if not anchors:
            yield whole
            continue
        ends = [(-1, -1), *anchors, (len(a_items), len(b_items))]
        gaps = [
            _Change(a + 1, a_next, b + 1, b_next).shifted(whole.a, whole.b)
            for (a, b), (a_next, b_next) in pairwise(ends)
        ]
        todo += reversed(gaps)


def _compared(old: Sequence[str], new: Sequence[str], *, readable: bool) -> Iterator[_Change]:
    """The changes that Myers' method, as diff-match-patch has it, finds."""
    private = {item: chr(_FIRST_PRIVATE + n) for n, item in enumerate(dict.fromkeys([*old, *new]))}
    dmp = diff_match_patch()
    dmp.Diff_Timeout = 0  # no limit: a clock would make the result depend on the machine
    old_private, new_private = ("".join(map(private.__getitem__, items)) for items in (old, new))
    diffs = dmp.diff_main(old_private, new_private, checklines=False)
    if readable:
        dmp.diff_cleanupSemantic(diffs)
    a = b = a_equal = b_equal = 0
    for operation, items in [*diffs, (dmp.DIFF_EQUAL, "")]:
        if operation == dmp.DIFF_EQUAL:
            if (a, b) != (a_equal, b_equal):
                yield _Change(a_equal, a, b_equal, b)
            a_equal = a = a + len(items)
            b_equal = b = b + len(items)
        elif operation == dmp.DIFF_DELETE:
            a += len(items)
        else:
            b += len(items)


def _anchors(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """The longest ascending pairs of positions of items that are unique on both sides."""
    n_old, n_new = Counter(old), Counter(new)
    a_of = {item: a for a, item in enumerate(old) if n_old[item] == 1 == n_new[item]}
    pairs = [(a_of[item], b) for b, item in enumerate(new) if item in a_of]
    tops: list[int] = []  # the smallest end of an ascending run of each length, and its pair
    runs: list[int] = []
    before: list[int] = []
    for n, (a, _) in enumerate(pairs):
        length = bisect_left(tops, a)
        before.append(runs[length - 1] if length else -1)
        tops[length : length + 1] = [a]
        runs[length : length + 1] = [n]
    anchors: list[tuple[int, int]] = []
    n = runs[-1] if runs else -1
    while n >= 0:
        anchors.append(pairs[n])
        n = before[n]
    return anchors[::-1]


def _without_common_ends(change: _Change, old: Sequence[str], new: Sequence[str]) -> _Change:
    a, a_stop, b, b_stop = change
    while a < a_stop and b < b_stop and old[a] == new[b]:
        a, b = a + 1, b + 1
    while a < a_stop and b < b_stop and old[a_stop - 1] == new[b_stop - 1]:
        a_stop, b_stop = a_stop - 1, b_stop - 1
    return _Change(a, a_stop, b, b_stop)


def _trimmed(change: _Change, old: str, new: str) -> _Change:
    """`change` without the characters it keeps at its ends, as far as editors can stand there.

    Whole words are left where most of them changed: `return` to `raise`, not `eturn` to `aise`.
    """
    a, a_stop, b, b_stop = _without_common_ends(change, old, new)
    longer = max(change.a_stop - change.a, change.b_stop - change.b)
    if a < a_stop and b < b_stop and 2 * max(a_stop - a, b_stop - b) > longer:
        return change
    while a > change.a and (_inside(old, a) or _inside(new, b)):
        a, b = a - 1, b - 1
    while a_stop < change.a_stop and (_inside(old, a_stop) or _inside(new, b_stop)):
        a_stop, b_stop = a_stop + 1, b_stop + 1
    return _Change(a, a_stop, b, b_stop)


def _inside(text: str, offset: int) -> bool:
    """Whether `offset` lies inside what a user sees as one character."""
    if not 0 < offset < len(text):
        return False
    before, after = text[offset - 1], text[offset]
    return (
        before + after == "\r\n"
        or _ZERO_WIDTH_JOINER in (before, after)
        or unicodedata.category(after).startswith("M")
    )


def _starts(items: Sequence[str]) -> list[int]:
    starts = [0]
    for item in items:
        starts.append(starts[-1] + len(item))
    return starts


def apply_replacements(text: str, replacements: Sequence[Replacement]) -> str:
    """Apply ascending, non-overlapping `replacements` to `text`.

    Raises ValueError where they overlap, are out of order, or reach past the text.
    """
    parts: list[str] = []
    end = 0
    for replacement in replacements:
        span = replacement.span
        if span.start < end or span.stop > len(text):
            raise ValueError(f"replacement {span} overlaps its neighbour or leaves the text")
        parts += (text[end : span.start], replacement.new_text)
        end = span.stop
    parts.append(text[end:])
    return "".join(parts)


def unified_diff(old: str, new: str, path: str) -> str:
    """The unified diff of `old` and `new` that `git apply` and `patch -p1` accept; "" if equal.

    Lines break at LF alone, as these programs have it: the CR of a CRLF stays in its line.
    """
    diff = difflib.unified_diff(
        _LF_LINE.findall(old),
        _LF_LINE.findall(new),
        _header("a", path),
        _header("b", path),
    )
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in diff
    )


def _header(side: str, path: str) -> str:
    """A file name of a diff header, quoted as git quotes it where it holds odd characters."""
    name = f"{side}/{path.lstrip('/')}"
    if not re.search(r'["\\\x00-\x1f\x7f]', name):
        # The tab tells `patch` where a name that holds a space ends.
        return name + "\t" if " " in name else name
    quoted = "".join(
        f"\\{c}" if c in '"\\' else f"\\{ord(c):03o}" if c < " " or c == "\x7f" else c for c in name
    )
    return f'"{quoted}"'
