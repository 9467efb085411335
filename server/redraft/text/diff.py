"""Differences of two texts: the smallest readable edits, and the unified diff.

Lines are compared first, and an unchanged line is never touched; inside changed lines words are
compared, so that an edit replaces `return`, not three letters of it. The same texts give the same
edits on any machine: work is limited by size, never by a clock. Knows nothing of languages.
"""

import difflib
import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from diff_match_patch import diff_match_patch

from redraft.interruption import check_interruption
from redraft.records import Replacement, Span
from redraft.text.lines import split_lines

__all__ = [
    "Change",
    "apply_replacements",
    "changed_stretches",
    "minimal_replacements",
    "unified_diff",
]

# Items of both sides that are compared at once. Myers' method takes up to the square of this in
# steps of Python, so that there is also a limit for all stretches of a text together: 0.1 s at
# worst. Beyond that only short stretches are compared.
_MAX_COMPARED = 1_000
_MAX_COMPARED_BEYOND = 100
_MAX_STEPS = 1_000_000

# diff-match-patch compares characters, so a private use code point stands for each distinct item.
# To its clean-up these are neither letters nor white space: it goes by the number of items alone.
_FIRST_PRIVATE = 0xE000

# Whatever is not ASCII counts as a letter, and marks stay with the character before: "#\ufe0f".
_WORD = re.compile(
    r"\r\n|[ \t]+|[\w\x80-\U0010ffff]+|.[\u0300-\u036f\u20d0-\u20ff\ufe00-\ufe0f]*", re.DOTALL
)

_LF_LINE = re.compile(r"[^\n]*\n|[^\n]+")

_ZERO_WIDTH_JOINER = "\u200d"


class Change(NamedTuple):
    """Items [a, a_stop) of the old sequence became items [b, b_stop) of the new one.

    The names are those of difflib: a is the old side, b the new one.
    """

    a: int
    a_stop: int
    b: int
    b_stop: int

    def shift(self, a: int, b: int) -> "Change":
        return Change(self.a + a, self.a_stop + a, self.b + b, self.b_stop + b)


def minimal_replacements(old: str, new: str, *, offset: int = 0) -> tuple[Replacement, ...]:
    """Return the smallest edits that turn `old` into `new`, ascending and apart from each other.

    `apply_replacements(old, minimal_replacements(old, new)) == new`. Spans count from the start of
    `old` plus `offset`. No edit begins or ends inside a CRLF, or between a letter and its combining
    marks.
    """
    old_lines, new_lines = split_lines(old), split_lines(new)
    a_starts, b_starts = _offsets(old_lines), _offsets(new_lines)
    changes: list[Change] = []
    effort = _Effort()
    for lines in changed_stretches(old_lines, new_lines):
        old_part, new_part = old_lines[lines.a : lines.a_stop], new_lines[lines.b : lines.b_stop]
        for words in _diff_words(old_part, new_part, effort):
            change = words.shift(a_starts[lines.a], b_starts[lines.b])
            if changes and changes[-1].a_stop == change.a:
                change = change._replace(a=changes[-1].a, b=changes.pop().b)
            changes.append(change)
    return tuple(
        Replacement(span=Span(c.a + offset, c.a_stop + offset), new_text=new[c.b : c.b_stop])
        for c in (_trim(change, old, new) for change in changes)
    )


class _Effort:
    """The steps that comparing the stretches of one text may still take."""

    def __init__(self) -> None:
        self._left = _MAX_STEPS

    def allows(self, n_items: int) -> bool:
        """Return True where a stretch may be compared whole, and count what that takes."""
        check_interruption()
        if n_items > (_MAX_COMPARED if self._left > 0 else _MAX_COMPARED_BEYOND):
            return False
        self._left -= n_items**2
        return True


def _diff_words(old_lines: list[str], new_lines: list[str], effort: _Effort) -> Iterator[Change]:
    """Yield the changes inside a stretch of changed lines, in characters from its start."""
    if len(old_lines) == len(new_lines) > 1:
        # Line by line the comparison stays small, and a word never pairs with one lines away.
        a = b = 0
        for old_line, new_line in zip(old_lines, new_lines, strict=True):
            for change in _diff_words([old_line], [new_line], effort):
                yield change.shift(a, b)
            a += len(old_line)
            b += len(new_line)
        return
    old_words, new_words = _WORD.findall("".join(old_lines)), _WORD.findall("".join(new_lines))
    a_starts, b_starts = _offsets(old_words), _offsets(new_words)
    for c in changed_stretches(old_words, new_words, readable=True, effort=effort):
        yield Change(a_starts[c.a], a_starts[c.a_stop], b_starts[c.b], b_starts[c.b_stop])


def changed_stretches(
    old: Sequence[str],
    new: Sequence[str],
    *,
    readable: bool = False,
    effort: _Effort | None = None,
) -> Iterator[Change]:
    """Yield the changed stretches of two sequences, ascending, with equal items between them.

    Stretches too long to compare are cut at items found exactly once on both sides (Bram Cohen's
    patience diff); where there is none, the stretch is one change. `readable` merges changes that
    are longer than the equal items between them. `effort`: of the text that these are a part of.
    """
    effort = effort or _Effort()
    todo = [Change(0, len(old), 0, len(new))]
    while todo:
        whole = _strip_common_ends(todo.pop(), old, new)
        a_items, b_items = old[whole.a : whole.a_stop], new[whole.b : whole.b_stop]
        if not a_items and not b_items:
            continue
        if effort.allows(len(a_items) + len(b_items)):
            for change in _diff_short(a_items, b_items, readable=readable):
                yield change.shift(whole.a, whole.b)
            continue
        anchors = _pair_unique_items(a_items, b_items)
        if not anchors:
            yield whole
            continue
        ends = [(-1, -1), *anchors, (len(a_items), len(b_items))]
        gaps = [
            Change(a + 1, a_next, b + 1, b_next).shift(whole.a, whole.b)
            for (a, b), (a_next, b_next) in pairwise(ends)
        ]
        todo += reversed(gaps)


def _diff_short(old: Sequence[str], new: Sequence[str], *, readable: bool) -> Iterator[Change]:
    """Yield the changes that diff-match-patch finds, with Myers' O(ND) method (1986)."""
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
                yield Change(a_equal, a, b_equal, b)
            a_equal = a = a + len(items)
            b_equal = b = b + len(items)
        elif operation == dmp.DIFF_DELETE:
            a += len(items)
        else:
            b += len(items)


def _pair_unique_items(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Return the positions, on both sides, of items unique on each, as many as ascend on both.

    The longest increasing subsequence, found by patience sorting.
    """
    n_old, n_new = Counter(old), Counter(new)
    a_of = {item: a for a, item in enumerate(old) if n_old[item] == 1 == n_new[item]}
    pairs = [(a_of[item], b) for b, item in enumerate(new) if item in a_of]
    # Of the ascending runs of each length, the one that ends soonest: its end, and its last pair.
    tops: list[int] = []
    runs: list[int] = []
    before: list[int] = []  # for each pair, the pair before it in its run, or -1
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


def _strip_common_ends(change: Change, old: Sequence[str], new: Sequence[str]) -> Change:
    """Return `change` without the items that are equal at its start and its end."""
    a, a_stop, b, b_stop = change
    while a < a_stop and b < b_stop and old[a] == new[b]:
        a, b = a + 1, b + 1
    while a < a_stop and b < b_stop and old[a_stop - 1] == new[b_stop - 1]:
        a_stop, b_stop = a_stop - 1, b_stop - 1
    return Change(a, a_stop, b, b_stop)


def _trim(change: Change, old: str, new: str) -> Change:
    """Return `change` without the characters it keeps at its ends, unless that splits one.

    A change of which most is new is left whole: `return` to `raise`, not `eturn` to `aise`.
    """
    a, a_stop, b, b_stop = _strip_common_ends(change, old, new)
    longer = max(change.a_stop - change.a, change.b_stop - change.b)
    if a < a_stop and b < b_stop and 2 * max(a_stop - a, b_stop - b) > longer:
        return change
    # Move both ends out again as long as they are inside a character.
    while a > change.a and (_is_inside(old, a) or _is_inside(new, b)):
        a, b = a - 1, b - 1
    while a_stop < change.a_stop and (_is_inside(old, a_stop) or _is_inside(new, b_stop)):
        a_stop, b_stop = a_stop + 1, b_stop + 1
    return Change(a, a_stop, b, b_stop)


def _is_inside(text: str, offset: int) -> bool:
    """Return True where `offset` lies inside what a user sees as one character."""
    if not 0 < offset < len(text):
        return False
    before, after = text[offset - 1], text[offset]
    return (
        before + after == "\r\n"
        or _ZERO_WIDTH_JOINER in (before, after)
        or unicodedata.category(after).startswith("M")
    )


def _offsets(items: Sequence[str]) -> list[int]:
    """Return where each item starts in the joined text, and where the last one ends."""
    return list(accumulate(map(len, items), initial=0))


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
    """Return the unified diff that `git apply` and `patch -p1` accept; "" for equal texts.

    Lines break at LF alone, as these programs have it: the CR of a CRLF stays in its line.
    """
    diff = difflib.unified_diff(
        _LF_LINE.findall(old),
        _LF_LINE.findall(new),
        _quote_name(f"a/{path.lstrip('/')}"),
        _quote_name(f"b/{path.lstrip('/')}"),
    )
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in diff
    )


def _quote_name(name: str) -> str:
    """Return `name` for a diff's header, quoted as git quotes one with control characters."""
    if not re.search(r'["\\\x00-\x1f\x7f]', name):
        # The tab tells `patch` where a name that holds a space ends.
        return name + "\t" if " " in name else name
    quoted = "".join(
        f"\\{c}" if c in '"\\' else f"\\{ord(c):03o}" if c < " " or c == "\x7f" else c for c in name
    )
    return f'"{quoted}"'
