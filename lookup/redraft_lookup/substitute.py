"""What the writer changed once, carried into the rest of the source.

After `total` became `sum` at one place, the remaining source is rewritten so that the copy drafter
copies `sum` at the next one. Works on bytes, at identifier borders, because the tokens of a + b
are not those of a and those of b: the rewritten source is tokenised anew.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

__all__ = ["Source", "Substitution", "Vocabulary", "learn"]

MAX_LENGTH = 200  # bytes of a substitution: longer ones do not come back

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

    def __post_init__(self) -> None:
        before = rb"(?<!" + WORD + rb")" if _is_word(self.old[:1]) else rb""
        after = rb"(?!" + WORD + rb")" if _is_word(self.old[-1:]) else rb""
        self.pattern = re.compile(before + re.escape(self.old) + after)

    @property
    def probability(self) -> float:
        """That the next occurrence is substituted too (posterior mean of a Beta(2, 1))."""
        return (self.hits + 2) / (self.hits + self.misses + 3)


def learn(before: bytes, old: bytes, new: bytes, after: bytes) -> Substitution | None:
    """The substitution that an edit shows: in `before old after`, `old` became `new`.

    Widened to whole identifiers, or to the identifier in front where nothing but punctuation
    changed. None where nothing is left that could occur again.
    """
    if _is_word(old[:1] or after[:1]) or _is_word(new[:1]):
        stem = _tail(before)
        old, new = stem + old, stem + new
        before = before[: len(before) - len(stem)]
    if _is_word(old[-1:] or before[-1:]) or _is_word(new[-1:]):
        ending = _head(after)
        old, new = old + ending, new + ending
    while old and old[:1] == new[:1] and not _is_word(old[:1]):
        old, new = old[1:], new[1:]
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


class Source:
    """The text to copy, from some byte on, with substitutions carried out.

    `ids` are its tokens. For each of them `offsets` has the byte of the original text where it
    starts and `owners` the substitution it belongs to, or None.
    """

    def __init__(self, ids: Sequence[int], vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        pieces = [vocabulary.piece(token) for token in ids]
        self.text = b"".join(pieces)
        self.ids: list[int] = list(ids)
        self.offsets = _offsets(pieces)
        self.owners: list[Substitution | None] = [None] * len(ids)
        self.substitutions: list[Substitution] = []

    def rewrite(
        self, start: int, substitutions: Sequence[Substitution], *, untouched: int = 0
    ) -> None:
        """Begin at byte `start` of the original and carry these substitutions.

        What begins before byte `untouched` stays as it is.
        """
        self.substitutions = list(substitutions)
        spans = self._spans(max(start, untouched))
        parts: list[bytes] = []
        marks: list[tuple[int, int, Substitution | None]] = []  # new byte, old byte, owner
        new_end, old_end = 0, start
        for first, last, owner in spans:
            marks.append((new_end, old_end, None))
            parts += (self.text[old_end:first], owner.new)
            new_end += first - old_end
            marks.append((new_end, first, owner))
            new_end += len(owner.new)
            old_end = last
        marks.append((new_end, old_end, None))
        parts.append(self.text[old_end:])
        self.ids = list(self._vocabulary.tokenize(b"".join(parts)))
        self._locate(marks)

    def occurrence(self, substitution: Substitution, start: int) -> tuple[int, int] | None:
        """The first bytes [start, stop) left to substitute from byte `start` on."""
        found = substitution.pattern.search(self.text, start)
        return found.span() if found else None

    def _spans(self, start: int) -> list[tuple[int, int, Substitution]]:
        found = [
            (match.start(), match.end(), substitution)
            for substitution in self.substitutions
            for match in substitution.pattern.finditer(self.text, start)
        ]
        found.sort(key=lambda span: (span[0], -span[1]))
        apart: list[tuple[int, int, Substitution]] = []
        for span in found:
            if not apart or span[0] >= apart[-1][1]:
                apart.append(span)
        return apart

    def _locate(self, marks: list[tuple[int, int, Substitution | None]]) -> None:
        """Fill `offsets` and `owners` for the new `ids`."""
        self.offsets, self.owners = [], []
        position, mark = 0, 0
        for token in self.ids:
            end = position + len(self._vocabulary.piece(token))
            while mark + 1 < len(marks) and marks[mark + 1][0] <= position:
                mark += 1
            new_byte, old_byte, owner = marks[mark]
            self.offsets.append(old_byte if owner else old_byte + position - new_byte)
            nearest = marks[mark + 1] if mark + 1 < len(marks) else None
            if owner is None and nearest and nearest[2] and nearest[0] < end:
                owner = nearest[2]
            self.owners.append(owner)
            position = end


def _is_word(byte: bytes) -> bool:
    return re.match(WORD, byte) is not None


def _tail(data: bytes) -> bytes:
    found = re.search(rb"(?:" + WORD + rb")+\Z", data[-MAX_LENGTH:])
    return found[0] if found else b""


def _head(data: bytes) -> bytes:
    found = re.match(rb"(?:" + WORD + rb")+", data[:MAX_LENGTH])
    return found[0] if found else b""


def _offsets(pieces: Sequence[bytes]) -> list[int]:
    offsets, position = [], 0
    for piece in pieces:
        offsets.append(position)
        position += len(piece)
    return offsets
