"""Making a file too long for the context shorter, around the target of an edit.

First by syntax: the bodies of other functions, farthest from the target first. Where that is not
enough, or there is no grammar: a window of whole lines around the target. What was left out is said
in the text the model reads, in its language's own comment, and in notes for the user.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import accumulate

from redraft import syntax
from redraft.records import EditRequest, Span
from redraft.text.lines import split_lines, to_lf

__all__ = ["TruncatedFile", "truncate"]

_SHRINK = 0.85  # the next guess, when a text that should have fitted by its length did not


@dataclass(frozen=True, slots=True, kw_only=True)
class TruncatedFile:
    """The file as the model reads it (LF only), and sentences on what is missing from it."""

    text: str
    notes: tuple[str, ...] = ()


def truncate(request: EditRequest, *, budget: int, count: Callable[[str], int]) -> TruncatedFile:
    """As much of the request's file as `budget` tokens hold; `count` counts the tokens of a text.

    Characters are the yardstick for what to cut; tokens are counted once for each text tried, and
    once is the rule. A budget too small even for the target alone leaves an empty text: the request
    repeats the target anyway.
    """
    whole = to_lf(request.text)
    n_tokens = count(whole)
    if n_tokens <= budget:
        return TruncatedFile(text=whole)
    size = f"The file is too long for the context ({n_tokens:,} tokens, room for {budget:,})"
    room = int(len(request.text) * budget / n_tokens)
    bodies = _other_bodies(request)
    while room > len(request.target):
        text, what = _elide(request, bodies, room) or _window(request, room)
        if count(text) <= budget:
            return TruncatedFile(text=text, notes=(f"{size}: {what}.",))
        room = int(room * _SHRINK)
    return TruncatedFile(text="", notes=(f"{size}: the model saw only the target.",))


def _other_bodies(request: EditRequest) -> list[Span]:
    """The bodies of three lines and more that are apart from the target, farthest first."""
    if request.language is None:
        return []
    target = request.target
    apart = [
        body
        for body in syntax.bodies(request.text, request.language)
        if (body.stop <= target.start or target.stop <= body.start)
        and _n_lines(body.of(request.text)) >= 3
    ]
    return sorted(apart, key=lambda body: _distance(body, target), reverse=True)


def _elide(request: EditRequest, bodies: list[Span], room: int) -> tuple[str, str] | None:
    """The text with as many bodies cut as bring it down to `room` characters; None if all do not.

    Returns the text and a clause for the user.
    """
    cuts: list[Span] = []
    length = len(request.text)
    for body in bodies:
        if length <= room:
            break
        cuts.append(body)
        length -= len(body)
    if length > room or not cuts:
        return None
    n_lines = sum(_n_lines(cut.of(request.text)) for cut in cuts)
    what = f"the bodies of {len(cuts):,} other functions ({n_lines:,} lines) were left out"
    return _without(request, sorted(cuts)), what


def _window(request: EditRequest, room: int) -> tuple[str, str]:
    """The whole lines around the target that fit into `room` characters, half on each side.

    What one side cannot use goes to the other. Returns the text and a clause for the user.
    """
    text, target = request.text, request.target
    line_starts = [0, *accumulate(map(len, split_lines(text)))]
    spare = room - len(target)
    above = max(spare // 2, spare - (len(text) - target.stop))
    start = line_starts[bisect_left(line_starts, target.start - above)]
    start = min(start, target.start)
    stop = target.stop + spare - (target.start - start)
    stop = max(target.stop, line_starts[bisect_right(line_starts, stop) - 1])
    cuts = [cut for cut in (Span(0, start), Span(stop, len(text))) if len(cut)]
    first, last = _n_lines(text[:start] + "."), _n_lines(text[:stop])
    what = f"the model saw only lines {first:,} to {last:,} of {_n_lines(text):,}"
    return _without(request, cuts), what


def _without(request: EditRequest, cuts: Iterable[Span]) -> str:
    """The text, LF only, with a comment in place of each of the ascending `cuts`."""
    parts: list[str] = []
    end = 0
    for cut in cuts:
        removed = to_lf(cut.of(request.text))
        comment = syntax.comment(request.language, f"... ({_n_lines(removed):,} lines omitted)")
        newline = "\n" if removed.endswith("\n") else ""
        parts += (to_lf(request.text[end : cut.start]), comment, newline)
        end = cut.stop
    parts.append(to_lf(request.text[end:]))
    return "".join(parts)


def _distance(span: Span, target: Span) -> int:
    return max(target.start - span.stop, span.start - target.stop)


def _n_lines(text: str) -> int:
    return len(to_lf(text).removesuffix("\n").split("\n"))
