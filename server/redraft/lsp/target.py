"""Which part of a document an edit is to rewrite: the scope's rules, and nothing else."""

from redraft.errors import InputError
from redraft.lsp.params import EditCommand
from redraft.lsp.positions import span_of
from redraft.records import Span
from redraft.syntax import target_at
from redraft.text.lines import LineIndex, Unit, line_ending

__all__ = ["target_of"]


def target_of(asked: EditCommand, index: LineIndex, language: str | None, unit: Unit) -> Span:
    """The span `asked` means in the document `index` is of.

    A selection is exactly the selection; a function is the innermost around the range's start, and
    where a range is in none, its lines. Raises InputError saying what to select instead.
    """
    if asked.scope == "file":
        return Span(0, len(index.text))
    if asked.range is None:
        raise InputError("give a position or a range, or the scope file")
    span = span_of(asked.range, index, unit)
    if asked.scope == "selection" or (asked.scope is None and len(span)):
        return span
    try:
        return _function(index, language, index.line_at(span.start))
    except InputError:
        if not len(span):
            raise
    return _lines(span, index)


def _function(index: LineIndex, language: str | None, line: int) -> Span:
    if language is None:
        raise InputError("redraft cannot find functions in this language: select what to edit")
    return target_at(index.text, language, line).span


def _lines(span: Span, index: LineIndex) -> Span:
    """The whole lines `span` lies on, without the last one's ending."""
    first = index.line_span(index.line_at(span.start))
    last = index.line_span(index.line_at(max(span.start, span.stop - 1)))
    return Span(first.start, last.stop - len(line_ending(last.of(index.text))))
