"""The target of an edit as the model sees it and prints it back.

The model sees LF endings only. A target that begins at its line's first visible character is shown
from the line start, at its original indentation: copying is then exact, token for token, and a
reply can be compared line by line. Knows nothing of prompts.
"""

import re
from dataclasses import dataclass

from redraft import syntax
from redraft.records import EditRequest, Span
from redraft.text.lines import to_lf

__all__ = ["TargetView", "named_target", "view_target"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetView:
    """A target, and the rest of its first and last line, with original line endings."""

    indentation: str  # of the first line, where only that comes before the target; "" otherwise
    target: str
    before: str  # the first line's text to the left of the target
    after: str  # the last line's text to the right of it, without its ending
    first_line: int  # of the target, counted from 1
    last_line: int

    @property
    def text(self) -> str:
        """The target with its indentation, LF only: what the model reads and edits."""
        return to_lf(self.indentation + self.target)

    @property
    def is_fragment(self) -> bool:
        """True where other text shares the first or the last line with the target."""
        return bool(self.before.strip() or self.after.strip(" \t,;"))

    @property
    def is_insertion(self) -> bool:
        return not self.target


def view_target(request: EditRequest) -> TargetView:
    """Return the view of the target of `request`."""
    span = request.target
    target = span.of(request.text)
    above, below = request.text[: span.start], request.text[span.stop :]
    before = above[max(above.rfind("\n"), above.rfind("\r")) + 1 :]
    # A target that includes its last line's ending has nothing to its right.
    after = "" if target.endswith(("\r", "\n")) else re.split(r"[\r\n]", below, maxsplit=1)[0]
    first_line = to_lf(above).count("\n") + 1
    return TargetView(
        indentation="" if before.strip() else before,
        target=target,
        before=before,
        after=after,
        first_line=first_line,
        last_line=first_line + to_lf(target.rstrip("\r\n")).count("\n"),
    )


def named_target(request: EditRequest) -> syntax.Target | None:
    """Return the function, class or the like that the request's target is, or None.

    White space around either does not count.
    """
    if request.language is None:
        return None
    span = _strip(request.text, request.target)
    targets = syntax.targets(request.text, request.language)
    return next((t for t in targets if _strip(request.text, t.span) == span), None)


def _strip(text: str, span: Span) -> Span:
    """Return `span` without the white space at its ends."""
    inside = span.of(text)
    start = span.start + len(inside) - len(inside.lstrip())
    return Span(start, max(start, span.start + len(inside.rstrip())))
