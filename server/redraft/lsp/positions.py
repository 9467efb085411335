"""Positions as the client counts them, and as the product does.

Knows the protocol's ranges and `redraft.text.lines`; no documents.
"""

from collections.abc import Iterable
from typing import get_args

from lsprotocol import types

from redraft.records import Replacement, Span
from redraft.text.lines import LineIndex, Unit

__all__ = ["range_of", "span_of", "text_edits", "unit_of"]


def span_of(given: types.Range, index: LineIndex, unit: Unit) -> Span:
    """The span a client's range names; a reversed range is taken the right way round."""
    ends = sorted(
        index.offset(place.line, place.character, unit) for place in (given.start, given.end)
    )
    return Span(*ends)


def range_of(span: Span, index: LineIndex, unit: Unit) -> types.Range:
    """The span as the client counts."""
    start, stop = (
        types.Position(*index.position(offset, unit)) for offset in (span.start, span.stop)
    )
    return types.Range(start, stop)


def text_edits(
    replacements: Iterable[Replacement], index: LineIndex, unit: Unit
) -> list[types.TextEdit]:
    """The replacements as the client takes them, in the order they come."""
    return [
        types.TextEdit(range=range_of(each.span, index, unit), new_text=each.new_text)
        for each in replacements
    ]


def unit_of(encoding: object) -> Unit:
    """The unit of the negotiated position encoding; UTF-16 where none was."""
    value = getattr(encoding, "value", encoding)
    return value if value in get_args(Unit) else "utf-16"  # type: ignore[return-value]
