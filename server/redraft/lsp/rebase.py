"""Where a target lies after the document went on changing, or that its place is not certain.

Pure. A change elsewhere in the document moves a target exactly; a change that touches it widens it,
and only a target that still reads as it did is a target at all. Nothing is ever searched for.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from redraft.records import Replacement, Span

__all__ = ["DocumentChange", "difference", "placed", "shift", "step"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentChange:
    """One change as far as it moves what lies around it.

    `span` of the text before it became `n_new` code points. `ends_on_line_start` and
    `starts_on_line_end` say what stands next to the new text in the text after the change.
    """

    span: Span
    n_new: int
    ends_on_line_start: bool
    starts_on_line_end: bool


def placed(target: Span, steps: Iterable[DocumentChange], old: str, new: str) -> Span | None:
    """Where `target` of `old` lies in `new`, which `steps` led to; None if it was touched.

    A target that was changed and changed back is found: its text is what counts.
    """
    now = target
    for each in steps:
        now = _moved(now, each)
    return now if now.of(new) == target.of(old) else None


def step(change: Replacement, after: str) -> DocumentChange:
    """What `change`, which led to the text `after`, does to places around it."""
    start = change.span.start
    stop = start + len(change.new_text)
    return DocumentChange(
        span=change.span,
        n_new=len(change.new_text),
        ends_on_line_start=stop == 0 or after[stop - 1] in "\r\n",
        starts_on_line_end=start == len(after) or after[start] in "\r\n",
    )


def difference(old: str, new: str) -> Replacement:
    """The one change between two whole texts: all between their common start and common end."""
    start = _n_common(old, new)
    rest = _n_common(old[start:][::-1], new[start:][::-1])
    return Replacement(span=Span(start, len(old) - rest), new_text=new[start : len(new) - rest])


def shift(replacements: Iterable[Replacement], by: int) -> tuple[Replacement, ...]:
    """The same replacements `by` code points further on."""
    return tuple(
        Replacement(span=Span(r.span.start + by, r.span.stop + by), new_text=r.new_text)
        for r in replacements
    )


def _moved(span: Span, change: DocumentChange) -> Span:
    by = change.n_new - len(change.span)
    start, stop = change.span.start, change.span.stop
    # Text written right before or after a target belongs to it unless a line break divides them:
    # "async " typed before "def", or " + 1" behind the last line of a function.
    if stop < span.start or (stop == span.start and change.ends_on_line_start):
        return Span(span.start + by, span.stop + by)
    if start > span.stop or (start == span.stop and change.starts_on_line_end):
        return span
    return Span(min(span.start, start), max(span.stop, stop) + by)


def _n_common(a: str, b: str) -> int:
    """The length of the common start, by halving: slices compare at the speed of memory."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
