"""Requests that tests of several modules make."""

from redraft.records import EditRequest, Span

__all__ = ["whole_file"]


def whole_file(text, instruction, *, language="python"):
    """The request to edit all of a file that holds `text`."""
    return EditRequest(
        path="f.py",
        text=text,
        target=Span(0, len(text)),
        instruction=instruction,
        language=language,
    )
