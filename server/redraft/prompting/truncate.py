"""Shortening a file that is too long for the context, around the target of an edit.

First the bodies of other functions are left out, those farthest from the target first. Where that
is not enough, or there is no grammar, a window of whole lines around the target is kept. A comment
in the text's language tells the model what was left out, and notes tell the user. Knows nothing of
prompts.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import accumulate

from redraft import syntax
from redraft.records import EditRequest, Span
from redraft.text.lines import split_lines, to_lf

__all__ = ["TruncatedFile", "truncate"]

_MIN_BODY = 3  # lines; to cut a shorter body saves less than its comment costs
_SHRINK = 0.85  # of the characters tried before, where they had more tokens than estimated


@dataclass(frozen=True, slots=True, kw_only=True)
class TruncatedFile:
    """The file as the model reads it (LF only), and sentences on what is missing from it."""

    text: str
    notes: tuple[str, ...] = ()


def truncate(request: EditRequest, *, budget: int, count: Callable[[str], int]) -> TruncatedFile:
    """Return as much of the request's file as `budget` tokens hold, by `count` of a text.

    What to cut is chosen by characters; tokens are counted once for each text tried, which mostly
    is one. A budget too small even for the target leaves an empty text: the request repeats the
    target anyway.
    """
    whole = to_lf(request.text)
    n_tokens = count(whole)
    if n_tokens <= budget:
        return TruncatedFile(text=whole)
    size = f"The file is too long for the context ({n_tokens:,} tokens, room for {budget:,})"
    # Characters, as if tokens were of the same length all over the file.
    room = int(len(request.text) * budget / n_tokens)
    target = request.target
    bodies = [
        body
        for body in (syntax.bodies(request.text, request.language) if request.language else ())
        if (body.stop <= target.start or target.stop <= body.start)
        and _count_lines(body.of(request.text)) >= _MIN_BODY
    ]
    farthest_first = sorted(
        bodies,
        key=lambda body: max(target.start - body.stop, body.start - target.stop),
        reverse=True,
    )
    while room > len(target):
        text, loss = _cut_bodies(request, farthest_first, room) or _cut_window(request, room)
        if count(text) <= budget:
            return TruncatedFile(text=text, notes=(f"{size}: {loss}.",))
        room = int(room * _SHRINK)
    return TruncatedFile(text="", notes=(f"{size}: the model saw only the target.",))


def _cut_bodies(request: EditRequest, bodies: list[Span], room: int) -> tuple[str, str] | None:
    """Cut the first of `bodies` until `room` characters hold the text.

    Returns the text and a clause for the user, or None where all of them are not enough.
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
    n_lines = sum(_count_lines(cut.of(request.text)) for cut in cuts)
    loss = f"the bodies of {len(cuts):,} other functions ({n_lines:,} lines) were left out"
    return _replace_cuts(request, sorted(cuts)), loss


def _cut_window(request: EditRequest, room: int) -> tuple[str, str]:
    """Cut all but the whole lines around the target that fit into `room` characters.

    Half of them go to each side, and what one cannot use to the other. Returns the text and a
    clause for the user.
    """
    text, target = request.text, request.target
    line_starts = [0, *accumulate(map(len, split_lines(text)))]
    spare = room - len(target)
    # More than half where the text below the target is shorter than the other half.
    above = max(spare // 2, spare - (len(text) - target.stop))
    start = line_starts[bisect_left(line_starts, target.start - above)]
    start = min(start, target.start)
    stop = target.stop + spare - (target.start - start)
    stop = max(target.stop, line_starts[bisect_right(line_starts, stop) - 1])
    cuts = [cut for cut in (Span(0, start), Span(stop, len(text))) if len(cut)]
    first, last = _count_lines(text[:start] + "."), _count_lines(text[:stop])
    loss = f"the model saw only lines {first:,} to {last:,} of {_count_lines(text):,}"
    return _replace_cuts(request, cuts), loss


def _replace_cuts(request: EditRequest, cuts: Iterable[Span]) -> str:
    """Return the text, LF only, with a comment in place of each of the ascending `cuts`."""
    parts: list[str] = []
    end = 0
    for cut in cuts:
        removed = to_lf(cut.of(request.text))
        comment = syntax.comment(request.language, f"... ({_count_lines(removed):,} lines omitted)")
        newline = "\n" if removed.endswith("\n") else ""
        parts += (to_lf(request.text[end : cut.start]), comment, newline)
        end = cut.stop
    parts.append(to_lf(request.text[end:]))
    return "".join(parts)


def _count_lines(text: str) -> int:
    return len(to_lf(text).removesuffix("\n").split("\n"))
