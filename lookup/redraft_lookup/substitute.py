"""Edits made once, carried into the rest of the source.

After `total` became `sum` at one place, the remaining source is rewritten so that the copy drafter
copies `sum` at the next one. Works on bytes, at identifier borders, because the tokens of a + b
are not those of a and those of b: the rewritten source is tokenised anew.

    source        total = price * total
    written       sum =                      the edit shows total -> sum
    rewritten            price * sum         drafted next, in place of price * total

Knows bytes and a `Vocabulary`: nothing of positions being likely, drafts or costs.
"""

import re
import string
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from redraft_lookup.draft import common_prefix_length

__all__ = [
    "IndentShift",
    "RewrittenSource",
    "Substitution",
    "Vocabulary",
    "learn_shift",
    "learn_substitution",
]

REWRITE_BYTES = 4096  # that are rewritten at once: some twenty drafts
REWRITE_MARGIN = 256  # tokens before the end of what was rewritten at which more of it is
NEWLINE = ord("\n")
MAX_LENGTH = 200  # bytes of a substitution: longer ones do not come back

SHIFT_PRIOR_HITS = 2  # a line that is indented otherwise seldom is the only one

# Bytes of identifiers; those above ASCII are parts of letters like ö.
WORD_BYTES = f"{string.ascii_letters}{string.digits}_".encode() + bytes(range(0x80, 0x100))
WORD = rb"[A-Za-z0-9_\x80-\xff]"  # one of them
LAST_WORD = re.compile(rb"(?:" + WORD + rb")+[^A-Za-z0-9_\n\x80-\xff]*\Z")


class Vocabulary(Protocol):
    """Token ids to bytes and back. `tokenize` treats its argument as text on its own."""

    def piece(self, token: int) -> bytes: ...

    def tokenize(self, data: bytes) -> Sequence[int]: ...


@dataclass(slots=True)
class Substitution:
    """`new` stands where the source said `old`. `hits` and `misses` count later occurrences."""

    old: bytes
    new: bytes
    hits: int = 0
    misses: int = 0
    pattern: re.Pattern[bytes] = field(init=False)

    is_local: ClassVar[bool] = False  # one at a time, and refuted by its first miss

    def __post_init__(self) -> None:
        self.pattern = self.compile_pattern()

    def compile_pattern(self) -> re.Pattern[bytes]:
        """Return the pattern of `old` on its own: `total`, not the start of `totals`."""
        before = rb"(?<!" + WORD + rb")" if _is_word(self.old[:1]) else rb""
        after = rb"(?!" + WORD + rb")" if _is_word(self.old[-1:]) else rb""
        return re.compile(before + re.escape(self.old) + after)

    def replacement(self, _: re.Match[bytes]) -> bytes:
        """Return what stands in place of a match of the pattern."""
        return self.new

    def find_occurrences(
        self, text: bytes, start: int, stop: int
    ) -> Iterator[tuple[int, int, bytes]]:
        """Yield first byte, last byte + 1 and replacement of occurrences in text[start:stop]."""
        place = text.find(self.old, start, stop)  # far faster than the pattern
        if place >= 0:
            for match in self.pattern.finditer(text, place, stop):
                yield *match.span(), self.replacement(match)

    @property
    def is_refuted(self) -> bool:
        """True where it was wrong too often to go on."""
        return self.misses > (0 if self.is_local else self.hits)

    @property
    def probability(self) -> float:
        """The chance that the next occurrence is substituted too, from a Beta(2, 1) prior."""
        return (self.hits + 2) / (self.hits + self.misses + 3)


class IndentShift(Substitution):
    """Lines are indented by `new` where the source indents them by `old`; one of the two is empty.

    A block that goes into another one or out of it: the first line that does not follow ends it.
    """

    __slots__ = ()
    is_local = True

    def compile_pattern(self) -> re.Pattern[bytes]:
        # With the line's first character there is always a token to be told right from wrong.
        return re.compile(rb"(?<=\n)" + re.escape(self.old) + rb"([ \t]*[^\s])")

    def replacement(self, match: re.Match[bytes]) -> bytes:
        return self.new + match[1]


def learn_substitution(before: bytes, old: bytes, new: bytes, after: bytes) -> Substitution | None:
    """Return the substitution that an edit shows: in `before old after`, `old` became `new`.

    It is widened to whole identifiers, or to the identifier in front where nothing but punctuation
    changed, and None where nothing is left that could occur again. Tokens seldom end where an edit
    does, so `old` and `new` are any bytes:

        before   old     new      after     substitution
        x = to   tal     ken      + 1       total -> token   (to belongs to both words)
        x =      total   sum      + 1       total -> sum
        f(x              , y      )         x -> x, y        (nothing was there: the word in front)
        f        (       [        0]        f( -> f[         (punctuation alone is everywhere)
        (        (       [        0]        None

    A line that is indented otherwise and else the same gives an `IndentShift`.
    """
    shift = learn_shift(before, old, new)
    if shift:
        return shift
    # The part of an identifier in front of the edit, and then the part behind it.
    if _is_word(old[:1] or after[:1]) or _is_word(new[:1]):
        tail = before[-MAX_LENGTH:]
        stem = tail[len(tail.rstrip(WORD_BYTES)) :]
        old, new = stem + old, stem + new
        before = before[: len(before) - len(stem)]
    if _is_word(old[-1:] or before[-1:]) or _is_word(new[-1:]):
        head = after[:MAX_LENGTH]
        ending = head[: len(head) - len(head.lstrip(WORD_BYTES))]
        old, new = old + ending, new + ending
    # Signs that both begin or end with are no part of the change: `(a)` -> `(b)` is `a` -> `b`.
    while old and old[:1] == new[:1] and not _is_word(old[:1]):
        before, old, new = before + old[:1], old[1:], new[1:]
    while old and old[-1:] == new[-1:] and not _is_word(old[-1:]):
        old, new = old[:-1], new[:-1]
    if not re.search(WORD, old):
        context = LAST_WORD.search(before[-MAX_LENGTH:])
        if context is None:
            return None
        old, new = context[0] + old, context[0] + new
    if old == new or max(len(old), len(new)) > MAX_LENGTH:
        return None
    return Substitution(old, new)


def learn_shift(before: bytes, old: bytes, new: bytes) -> IndentShift | None:
    """Return the shift of the line on which the edit ends, if only its indentation changed.

    Lines may have been put in front of it; where some were taken away, it is another line.
    """
    n_same = common_prefix_length(old, new)
    (_, old_break, old_line), (_, new_break, new_line) = (
        (before + part).rpartition(b"\n") for part in (old, new)
    )
    old_rest, new_rest = old_line.lstrip(b" \t"), new_line.lstrip(b" \t")
    if b"\n" in old[n_same:] or not old_break or not new_break or old_rest != new_rest:
        return None
    old_indent, new_indent = old_line.removesuffix(old_rest), new_line.removesuffix(new_rest)
    # From 8 to 4 blanks, 4 go away; tabs to blanks is no shift: neither ends with the other.
    if old_indent != new_indent and old_indent.endswith(new_indent):
        return IndentShift(old_indent.removesuffix(new_indent), b"", hits=SHIFT_PRIOR_HITS)
    if old_indent != new_indent and new_indent.endswith(old_indent):
        return IndentShift(b"", new_indent.removesuffix(old_indent), hits=SHIFT_PRIOR_HITS)
    return None


class RewrittenSource:
    """The text to copy, from some byte on, with substitutions carried out a good way ahead.

    `ids` and `array` are its tokens. For each of them `offsets` has the byte of the original text
    where it starts and `applied` the substitution that wrote it, or None. The first `n_rewritten`
    of them were rewritten; what follows is the original, until the next `rewrite`.
    """

    def __init__(self, ids: Sequence[int], vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        pieces = [vocabulary.piece(token) for token in ids]
        self.text = b"".join(pieces)
        self._original = list(ids)
        lengths = accumulate(map(len, pieces), initial=0)
        self._starts = array("i", lengths)[: len(ids)]
        self.ids = self._original
        self.array: npt.NDArray[np.int32] = np.asarray(ids, np.int32)
        self._original_array = self.array
        self.offsets = self._starts
        self.applied: list[Substitution | None] = [None] * len(ids)
        self.substitutions: list[Substitution] = []
        self.n_rewritten = len(ids)

    def rewrite(
        self, start: int, substitutions: Sequence[Substitution], *, untouched: int = 0
    ) -> None:
        """Begin at byte `start` of the original and carry these substitutions.

        What begins before byte `untouched` stays as it is. Tokenising takes time, so only some
        `REWRITE_BYTES` are rewritten, up to an original token that begins a line: a cut there
        changes the tokens around it least.
        """
        self.substitutions = list(substitutions)
        rest = bisect_left(self._starts, max(start, untouched) + REWRITE_BYTES)
        while rest < len(self._starts) and self.text[self._starts[rest] - 1] != NEWLINE:
            rest += 1
        stop = self._starts[rest] if rest < len(self._starts) else len(self.text)
        parts: list[bytes] = []
        segments: list[_Segment] = []
        new_end, old_end = 0, start
        # Original and substituted segments alternate.
        for first, last, new, substitution in self._find_spans(max(start, untouched), stop):
            segments.append(_Segment(new_end, old_end, first - old_end, None))
            parts += (self.text[old_end:first], new)
            new_end += first - old_end
            segments.append(_Segment(new_end, first, len(new), substitution))
            new_end += len(new)
            old_end = last
        segments.append(_Segment(new_end, old_end, stop - old_end, None))
        parts.append(self.text[old_end:stop])
        rewritten = list(self._vocabulary.tokenize(b"".join(parts)))
        self.n_rewritten = len(rewritten)
        offsets, applied = self._locate(rewritten, segments)
        self.ids = rewritten + self._original[rest:]
        self.array = np.concatenate((np.asarray(rewritten, np.int32), self._original_array[rest:]))
        self.offsets = offsets + self._starts[rest:]
        self.applied = applied + [None] * (len(self._original) - rest)

    def needs_rewrite(self, position: int) -> bool:
        """Return whether copying from `position` will soon leave what was rewritten."""
        return (
            bool(self.substitutions)
            and position + REWRITE_MARGIN > self.n_rewritten
            and self.n_rewritten < len(self.ids)
            and position < len(self.ids)
        )

    def next_occurrence(self, substitution: Substitution, start: int) -> tuple[int, int] | None:
        """Return the bytes [first, last) of the first occurrence from byte `start` on, or None."""
        occurrence = next(substitution.find_occurrences(self.text, start, len(self.text)), None)
        return occurrence and occurrence[:2]

    def _find_spans(self, start: int, stop: int) -> list[tuple[int, int, bytes, Substitution]]:
        """Return first byte, last byte + 1, replacement and substitution of spans to replace.

        They ascend and do not overlap: of two that do, the earlier one stays, and of two that begin
        together the longer one.
        """
        spans = [
            (*occurrence, substitution)
            for substitution in self.substitutions
            for occurrence in substitution.find_occurrences(self.text, start, stop)
        ]
        spans.sort(key=lambda span: (span[0], -span[1]))
        disjoint: list[tuple[int, int, bytes, Substitution]] = []
        for span in spans:
            if not disjoint or span[0] >= disjoint[-1][1]:
                disjoint.append(span)
        return disjoint

    def _locate(
        self, ids: Sequence[int], segments: Sequence["_Segment"]
    ) -> tuple["array[int]", list[Substitution | None]]:
        """Return the offsets in the original and the applied substitutions of rewritten `ids`.

        A token belongs to a substitution when it holds one of its bytes: of `price| *| su|m` the
        last two do. ` su` begins at the original blank, `m` counts as beginning where `total` does.
        """
        ends = np.cumsum([len(self._vocabulary.piece(token)) for token in ids])
        starts = np.concatenate(([0], ends[:-1]))
        new_starts = np.array([segment.new_start for segment in segments])
        old_starts = np.array([segment.old_start for segment in segments])
        is_original = np.array([segment.substitution is None for segment in segments])
        index = np.searchsorted(new_starts, starts, side="right") - 1
        # Inside a substitution no byte of the original corresponds to one of the rewritten text.
        offsets = old_starts[index] + np.where(is_original[index], starts - new_starts[index], 0)
        applied: list[Substitution | None] = [None] * len(ids)
        for segment in segments:
            if segment.substitution is not None:
                new_end = segment.new_start + segment.length
                first = int(np.searchsorted(ends, segment.new_start, side="right"))
                last = int(np.searchsorted(starts, new_end, side="left"))
                applied[first:last] = [segment.substitution] * (last - first)
        return array("i", offsets.astype(np.int32).tobytes()), applied


class _Segment(NamedTuple):
    """A stretch of rewritten bytes: its start there and in the original, and who wrote it."""

    new_start: int
    old_start: int
    length: int
    substitution: Substitution | None


def _is_word(byte: bytes) -> bool:
    return re.match(WORD, byte) is not None
