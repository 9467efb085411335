"""Edit requests and prompts, for the tests of several modules."""

from redraft import syntax
from redraft.records import EditRequest, Prompt, Span

__all__ = ["part_of_file", "part_texts", "whole_file"]


def whole_file(text, instruction, *, language="python"):
    """Return the request to edit all of a file with `text`."""
    return EditRequest(
        path="f.py",
        text=text,
        target=Span(0, len(text)),
        instruction=instruction,
        language=language,
    )


def part_of_file(text, target, *, instruction="Say hi", path="box.py"):
    """Return the request to edit the first occurrence of `target` in `text`."""
    start = text.index(target)
    return EditRequest(
        path=path,
        text=text,
        target=Span(start, start + len(target)),
        instruction=instruction,
        language=syntax.language_of(path, text),
    )


def part_texts(prompt):
    """Return the text of each part of `prompt`: the file's, and the request's."""
    assert isinstance(prompt, Prompt)
    return tuple("".join(p.text for p in part) for part in (prompt.file, prompt.request))
