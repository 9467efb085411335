"""The target of an edit as the model sees it and prints it back.

The model sees whole characters of the document with LF endings only. A target that begins at its
line's first visible character is printed from the line start, at its original indentation: copying
is then exact, token for token, and a reply can be compared line by line. Knows nothing of prompts.
"""

from dataclasses import dataclass

from redraft import syntax
from redraft.records import EditRequest, Span
from redraft.text.lines import to_lf

__all__ = ["TargetView", "named_target", "view_target"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetView:
    """A target and its surroundings on its first and last line, original line endings."""

    indentation: (
        str  # indentation between the line start and the target; "" when other text comes first
    )
    target: str  # the target as it stands in the document
    before: str  # the rest of the first line to the left of the target
    after: str  # the rest of the last line to the right of it, ending excluded
    first_line: int  # of the target, counted from 1
    last_line: int

    @property
    def text(self) -> str:
        """What the model is shown and a good reply starts from: LF only, lead included."""
        return to_lf(self.indentation + self.target)

    @property
    def is_fragment(self) -> bool:
        """Whether other text shares the first or the last line with the target."""
        return bool(self.before.strip() or self.after.strip())

    @property
    def is_insertion(self) -> bool:
        return not self.target


def view_target(request: EditRequest) -> TargetView:
    """How the target of `request` is shown."""
    text, span = request.text, request.target
    target = span.of(text)
    left = _since_line_start(text[: span.start])
    # A target that takes its last line's ending with it has nothing to its right.
    right = "" if target.endswith(("\r", "\n")) else _until_line_end(text[span.stop :])
    first = to_lf(text[: span.start]).count("\n") + 1
    return TargetView(
        indentation="" if left.strip() else left,
        target=target,
        before=left,
        after=right,
        first_line=first,
        last_line=first + max(0, to_lf(target.rstrip("\r\n")).count("\n")),
    )


def _since_line_start(text: str) -> str:
    return text[max(text.rfind("\n"), text.rfind("\r")) + 1 :]


def _until_line_end(text: str) -> str:
    ends = [end for end in (text.find("\n"), text.find("\r")) if end >= 0]
    return text[: min(ends, default=len(text))]


def named_target(request: EditRequest) -> syntax.Target | None:
    """The function, class or the like that the request's target is, blanks around it aside."""
    if request.language is None:
        return None
    own = _filled(request.text, request.target)
    known = syntax.targets(request.text, request.language)
    return next((t for t in known if _filled(request.text, t.span) == own), None)


def _filled(text: str, span: Span) -> Span:
    """`span` without the white space at its ends."""
    inside = span.of(text)
    start = span.start + len(inside) - len(inside.lstrip())
    return Span(start, max(start, span.start + len(inside.rstrip())))
