"""What drafting by copying could reach at best: a drafter that knows the answer.

Pure: token ids and a cost curve.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from redraft_lookup import CostCurve

__all__ = ["Oracle", "copied_spans", "oracle"]

MIN_SPAN = 2  # tokens: a shorter stretch is not worth a draft


@dataclass(frozen=True, slots=True, kw_only=True)
class Oracle:
    """The oracle's decode of one answer. seconds: by the cost curve. copied: tokens of spans."""

    tokens: int
    passes: int
    seconds: float
    copied: int

    @property
    def copied_share(self) -> float:
        return self.copied / self.tokens if self.tokens else 0.0


def oracle(answer: Sequence[int], source: Sequence[int], curve: CostCurve) -> Oracle:
    """Decode `answer` by copying from `source` every span of two or more tokens that stands there.

    A span is copied at the cost-optimal draft length: in passes of `curve.best_rows` rows, of
    which k rows commit k tokens, and a shorter last one. Each other token is a plain pass.
    """
    passes, seconds, copied = 0, 0.0, 0
    for length in copied_spans(answer, source):
        if length >= MIN_SPAN:
            copied += length
        for start in range(0, length, curve.best_rows):
            passes += 1
            seconds += curve.seconds(min(curve.best_rows, length - start))
    return Oracle(tokens=len(answer), passes=passes, seconds=seconds, copied=copied)


def copied_spans(answer: Sequence[int], source: Sequence[int]) -> Iterator[int]:
    """`answer` cut into the longest spans that stand in `source`, greedily; lengths, at least 1."""
    places: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for place in range(len(source) - 1):
        places[tuple(source[place : place + MIN_SPAN])].append(place)
    start = 0
    while start < len(answer):
        found = places.get(tuple(answer[start : start + MIN_SPAN]), ())
        length = max((_common(answer, start, source, place) for place in found), default=1)
        yield length
        start += length


def _common(answer: Sequence[int], start: int, source: Sequence[int], place: int) -> int:
    limit = min(len(answer) - start, len(source) - place)
    pairs = (i for i in range(limit) if answer[start + i] != source[place + i])
    return next(pairs, limit)
