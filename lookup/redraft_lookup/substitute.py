"""What the writer changed once, carried into the rest of the source.

After `total` became `sum` at one place, the remaining source is rewritten so that the copy drafter
copies `sum` at the next one. Works on bytes, at identifier borders, because the tokens of a + b
are not those of a and those of b: the rewritten source is tokenised anew.
"""

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

__all__ = ["RewrittenSource", "Shift", "Substitution", "Vocabulary", "learn"]

AHEAD = 4096  # bytes that are rewritten at once: some twenty drafts
MARGIN = 256  # tokens before the end of what was rewritten at which more of it is
NEWLINE = ord("\n")
MAX_LENGTH = 200  # bytes of a substitution: longer ones do not come back

SURE_SHIFT = 2  # hits: a line that is indented otherwise seldom is the only one

WORD = rb"[A-Za-z0-9_\x80-\xff]"
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

    is_local: ClassVar[bool] = False  # one at a time, and over with its first miss

    def __post_init__(self) -> None:
        self.pattern = self._compiled()

    def places(self, text: bytes, start: int, stop: int) -> Iterator[tuple[int, int, bytes]]:
        """Where `text` from `start` to `stop` says something else than it should, and what."""
        place = text.find(self.old, start, stop)  # far faster than the pattern
        if place >= 0:
            for match in self.pattern.finditer(text, place, stop):
                yield *match.span(), self._instead(match)

    def _instead(self, _: re.Match[bytes]) -> bytes:
        return self.new

    def _compiled(self) -> re.Pattern[bytes]:
        before = rb"(?<!" + WORD + rb")" if _is_word(self.old[:1]) else rb""
        after = rb"(?!" + WORD + rb")" if _is_word(self.old[-1:]) else rb""
        return re.compile(before + re.escape(self.old) + after)

    @property
    def is_over(self) -> bool:
        """Whether it was wrong too often to go on."""
        return self.misses > (0 if self.is_local else self.hits)

    @property
    def probability(self) -> float:
        """That the next occurrence is substituted too (posterior mean of a Beta(2, 1))."""
        return (self.hits + 2) / (self.hits + self.misses + 3)


class Shift(Substitution):
    """Lines are indented by `new` where the source indents them by `old`; one of the two is empty.

    A block that goes into another one or out of it: where one line does not follow suit it ends.
    """

    __slots__ = ()
    is_local = True

    def _instead(self, match: re.Match[bytes]) -> bytes:
        return self.new + match[1]

    def _compiled(self) -> re.Pattern[bytes]:
        # With the line's first character there is always a token to be told right from wrong.
        return re.compile(rb"(?<=\n)" + re.escape(self.old) + rb"([ \t]*[^\s])")


def learn(before: bytes, old: bytes, new: bytes, after: bytes) -> Substitution | None:
    """The substitution that an edit shows: in `before old after`, `old` became `new`.

    Widened to whole identifiers, or to the identifier in front where nothing but punctuation
    changed. None where nothing is left that could occur again.
    """
    shift = _shift(before, old, new)
    if shift:
        return shift
    if _is_word(old[:1] or after[:1]) or _is_word(new[:1]):
        stem = _tail(before)
        old, new = stem + old, stem + new
        before = before[: len(before) - len(stem)]
    if _is_word(old[-1:] or before[-1:]) or _is_word(new[-1:]):
        ending = _head(after)
        old, new = old + ending, new + ending
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


def _shift(before: bytes, old: bytes, new: bytes) -> Shift | None:
    """What the line shows on which the edit ends, if it is indented otherwise and else the same.

    Lines may have been put in front of it; where some were taken away, it is another line.
    """
    n_both = min(len(old), len(new))
    same = next((i for i in range(n_both) if old[i] != new[i]), n_both)
    (_, old_break, old_line), (_, new_break, new_line) = (
        (before + part).rpartition(b"\n") for part in (old, new)
    )
    old_rest, new_rest = old_line.lstrip(b" \t"), new_line.lstrip(b" \t")
    if b"\n" in old[same:] or not old_break or not new_break or old_rest != new_rest:
        return None
    was, now = old_line.removesuffix(old_rest), new_line.removesuffix(new_rest)
    if was != now and was.endswith(now):
        return Shift(was.removesuffix(now), b"", hits=SURE_SHIFT)
    if was != now and now.endswith(was):
        return Shift(b"", now.removesuffix(was), hits=SURE_SHIFT)
    return None


class RewrittenSource:
    """The text to copy, from some byte on, with substitutions carried out a good way ahead.

    `ids` and `array` are its tokens. For each of them `offsets` has the byte of the original text
    where it starts and `owners` the substitution it belongs to, or None. The first `n_ahead` of
    them were rewritten; what follows is the original, until the next `rewrite`.
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
        self.owners: list[Substitution | None] = [None] * len(ids)
        self.substitutions: list[Substitution] = []
        self.n_ahead = len(ids)

    def rewrite(
        self, start: int, substitutions: Sequence[Substitution], *, untouched: int = 0
    ) -> None:
        """Begin at byte `start` of the original and carry these substitutions.

        What begins before byte `untouched` stays as it is.
        """
        self.substitutions = list(substitutions)
        rest = self._border(max(start, untouched) + AHEAD)
        stop = self._starts[rest] if rest < len(self._starts) else len(self.text)
        parts: list[bytes] = []
        marks: list[_Mark] = []
        new_end, old_end = 0, start
        for first, last, new, owner in self._spans(max(start, untouched), stop):
            marks.append(_Mark(new_end, old_end, first - old_end, None))
            parts += (self.text[old_end:first], new)
            new_end += first - old_end
            marks.append(_Mark(new_end, first, len(new), owner))
            new_end += len(new)
            old_end = last
        marks.append(_Mark(new_end, old_end, stop - old_end, None))
        parts.append(self.text[old_end:stop])
        ahead = list(self._vocabulary.tokenize(b"".join(parts)))
        self.n_ahead = len(ahead)
        offsets, owners = self._locate(ahead, marks)
        self.ids = ahead + self._original[rest:]
        self.array = np.concatenate((np.asarray(ahead, np.int32), self._original_array[rest:]))
        self.offsets = offsets + self._starts[rest:]
        self.owners = owners + [None] * (len(self._original) - rest)

    def is_short(self, position: int) -> bool:
        """Whether copying from `position` will soon leave what was rewritten."""
        return (
            bool(self.substitutions)
            and position + MARGIN > self.n_ahead
            and self.n_ahead < len(self.ids)
            and position < len(self.ids)
        )

    def _border(self, byte: int) -> int:
        """The first original token from `byte` on that begins a line; their number if none does."""
        index = bisect_left(self._starts, byte)
        while index < len(self._starts) and self.text[self._starts[index] - 1] != NEWLINE:
            index += 1
        return index

    def occurrence(self, substitution: Substitution, start: int) -> tuple[int, int] | None:
        """The first bytes [start, stop) left to substitute from byte `start` on."""
        found = next(substitution.places(self.text, start, len(self.text)), None)
        return found and found[:2]

    def _spans(self, start: int, stop: int) -> list[tuple[int, int, bytes, Substitution]]:
        """First byte, last byte, what stands there instead and whose work it is, ascending."""
        found = [
            (*place, substitution)
            for substitution in self.substitutions
            for place in substitution.places(self.text, start, stop)
        ]
        found.sort(key=lambda span: (span[0], -span[1]))
        apart: list[tuple[int, int, bytes, Substitution]] = []
        for span in found:
            if not apart or span[0] >= apart[-1][1]:
                apart.append(span)
        return apart

    def _locate(
        self, ids: Sequence[int], marks: Sequence["_Mark"]
    ) -> tuple["array[int]", list[Substitution | None]]:
        """The offsets and owners of rewritten `ids`."""
        ends = np.cumsum([len(self._vocabulary.piece(token)) for token in ids])
        starts = np.concatenate(([0], ends[:-1]))
        new_bytes = np.array([one.new_byte for one in marks])
        old_bytes = np.array([one.old_byte for one in marks])
        moves = np.array([one.owner is None for one in marks])
        mark = np.searchsorted(new_bytes, starts, side="right") - 1
        offsets = old_bytes[mark] + np.where(moves[mark], starts - new_bytes[mark], 0)
        owners: list[Substitution | None] = [None] * len(ids)
        for one in marks:
            if one.owner is not None:
                first = int(np.searchsorted(ends, one.new_byte, side="right"))
                last = int(np.searchsorted(starts, one.new_byte + one.length, side="left"))
                owners[first:last] = [one.owner] * (last - first)
        return array("i", offsets.astype(np.int32).tobytes()), owners


class _Mark(NamedTuple):
    """A stretch of rewritten bytes: where it begins, there and in the original, and whose it is."""

    new_byte: int
    old_byte: int
    length: int
    owner: Substitution | None


def _is_word(byte: bytes) -> bool:
    return re.match(WORD, byte) is not None


def _tail(data: bytes) -> bytes:
    found = re.search(rb"(?:" + WORD + rb")+\Z", data[-MAX_LENGTH:])
    return found[0] if found else b""


def _head(data: bytes) -> bytes:
    found = re.match(rb"(?:" + WORD + rb")+", data[:MAX_LENGTH])
    return found[0] if found else b""
