"""Cut what a reply repeats of its prompt beside the target: quoted code and code around it.

A model may go on with the tests that the instruction quotes, or begin and end with the lines that
stand next to the target. Lines are compared without their indentation. Knows nothing of what the
lines mean, except which are too common to prove anything.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from redraft import syntax
from redraft.postprocess.alignment import align, is_significant
from redraft.postprocess.intent import asks_to_add, asks_to_fix
from redraft.prompting.target_view import TargetView
from redraft.records import EditRequest
from redraft.text.lines import to_lf

__all__ = [
    "cut_surroundings",
    "strip_around_fragment",
    "strip_around_insertion",
    "strip_around_target",
    "strip_quoted_code",
    "strip_surroundings",
]

_QUOTED_SHARE = 2 / 3  # of lines, from which code counts as quoted: models change some
_MAX_CUTS = 6  # at each end of a reply


def strip_quoted_code(request: EditRequest, lines: Sequence[str]) -> Sequence[str]:
    """Return `lines` up to where they go on with code that the instruction quotes, such as tests.

    Only where something is to be fixed and nothing to be added, and no definition of the target
    gets lost.
    """
    if request.language is None or not asks_to_fix(request.instruction):
        return lines
    if asks_to_add(request.instruction):
        return lines
    target_text = to_lf(request.target.of(request.text))
    quoted = _strip_lines(to_lf(request.instruction).split("\n"))
    openings = quoted - _strip_lines(target_text.split("\n"))
    for at, line in enumerate(lines):
        # Quoted code begins in column 0: `def test_take():`, never a line in the target's body.
        if line[:1].isspace() or line.strip() not in openings:
            continue
        tail = _strip_lines(lines[at:])
        if len(tail & quoted) < _QUOTED_SHARE * len(tail):
            continue
        target_names, head_names, tail_names = (
            {definition.name for definition in syntax.targets(code, request.language)}
            for code in (target_text, "\n".join(lines[:at]), "\n".join(lines[at:]))
        )
        if target_names & tail_names <= head_names:
            stop = max((i + 1 for i in range(at) if lines[i].strip()), default=0)
            return lines[:stop]
    return lines


def strip_surroundings(
    request: EditRequest, view: TargetView, lines: Sequence[str]
) -> Sequence[str]:
    """Return `lines` without those at their ends that repeat what stands next to the target.

    They have to say something, and not to be lines of the target: that nothing of it is lost by the
    cut tells them from lines that stand in the target and beside it.
    """
    reply_lines = [line.strip() for line in lines]
    target_lines = view.text.split("\n")

    def count_kept(n_before: int, n_after: int) -> int:
        kept = align(target_lines, lines[n_before : len(lines) - n_after]).kept
        return sum(at is not None for at in kept)

    n_kept = count_kept(0, 0)
    n_before = n_after = 0
    for n in _count_repeated_before(request, view, reply_lines)[::-1][:_MAX_CUTS]:
        if any(map(is_significant, reply_lines[:n])) and count_kept(n, 0) == n_kept:
            n_before = n
            break
    for n in _count_repeated_after(request, reply_lines)[::-1][:_MAX_CUTS]:
        if any(map(is_significant, reply_lines[-n:])) and count_kept(n_before, n) == n_kept:
            n_after = n
            break
    is_all = n_before + n_after >= len(lines)
    return lines if is_all else lines[n_before : len(lines) - n_after]


def strip_around_target(
    request: EditRequest, view: TargetView, lines: Sequence[str]
) -> Sequence[str]:
    """Return `lines` from the target's first to its last, where all others repeat what is around.

    For a target with a name, of which the parser is the better judge wherever there is a doubt.
    """
    reply_lines = [line.strip() for line in lines]
    target_lines = [line.strip() for line in view.text.split("\n") if line.strip()]
    n_before = max(_count_repeated_before(request, view, reply_lines), default=0)
    n_after = max(_count_repeated_after(request, reply_lines), default=0)
    stop = len(lines) - n_after
    cut = (*reply_lines[:n_before], *reply_lines[stop:])
    middle = [line for line in reply_lines[n_before:stop] if line]
    if not any(map(is_significant, cut)) or 2 * len(middle) < max(1, len(target_lines)):
        return lines
    first, last = target_lines[0], target_lines[-1]
    if not _are_alike(first, middle[0]) and len(middle) != len(target_lines):
        return lines
    # Another line such as the last one may close what stands around the target.
    if not _are_alike(last, middle[-1]):
        return lines
    if middle.count(middle[-1]) != target_lines.count(last):
        return lines
    return lines[n_before:stop]


def _are_alike(line: str, other: str) -> bool:
    """Return True where two lines are the same, or have most of their tokens in common."""
    tokens, others = (Counter(_TOKEN.findall(each)) for each in (line, other))
    return line == other or 4 * (tokens & others).total() > (tokens + others).total()


_TOKEN = re.compile(r"\w+|[^\w\s]")


def strip_around_insertion(
    request: EditRequest, view: TargetView, lines: Sequence[str]
) -> Sequence[str]:
    """Return `lines` without those at their ends that stand above and below the place already.

    None are left where nothing is new between the two. What is cut is the most with which the text
    still parses: the bracket at the end of a new block may be that of the text.
    """
    text, place = request.text, request.target.start
    reply_lines = [line.strip() for line in lines]
    before = [0, *_count_repeated_before(request, view, reply_lines)][-_MAX_CUTS:]
    after = [0, *_count_repeated_after(request, reply_lines)][-_MAX_CUTS:]
    n_errors = syntax.parse_errors(to_lf(text), request.language) if request.language else 0
    choices: list[tuple[bool, int, Sequence[str]]] = [(False, 0, lines)]
    for n_before, n_after in ((n, m) for n in before for m in after):
        stop = len(lines) - n_after
        cut = (*reply_lines[:n_before], *reply_lines[stop:])
        # On both sides a word is enough, such as `return` and `else`; all of it may be repeated.
        is_on_both_sides = bool(n_before and n_after) and any(map(str.isalnum, "".join(cut)))
        if n_before > stop or (n_before == stop and not is_on_both_sides):
            continue
        if not (is_on_both_sides or any(map(is_significant, cut))):
            continue
        middle = lines[n_before:stop]
        new_text = "".join(f"{line}\n" for line in middle)
        edited = to_lf(f"{text[:place]}{new_text}{text[place:]}")
        is_worse = (
            request.language is not None
            and syntax.parse_errors(edited, request.language) > n_errors
        )
        choices.append((is_worse, -len(cut), middle))
    return min(choices[1:] or choices, key=lambda choice: choice[:2])[2]


def strip_around_fragment(
    request: EditRequest, view: TargetView, lines: Sequence[str]
) -> Sequence[str]:
    """Return `lines` without those around the fragment and the rest of its first and last line.

    Asked for `qty * 2` in `total = qty * 2  # all`, models write the whole line.
    """
    reply_lines = [line.strip() for line in lines]
    before = [*reversed(_count_repeated_before(request, view, reply_lines)), 0][:_MAX_CUTS]
    after = [*reversed(_count_repeated_after(request, reply_lines)), 0][:_MAX_CUTS]
    head, tail, fragment = view.before.lstrip(), view.after.rstrip(), view.text.strip()
    for n_before, n_after in ((n, m) for n in before for m in after):
        whole = "\n".join(lines[n_before : len(lines) - n_after]).strip()
        cut = (*reply_lines[:n_before], *reply_lines[len(lines) - n_after :])
        if not cut and fragment.startswith(head) and fragment.endswith(tail):
            continue
        is_whole = len(whole) >= len(head) + len(tail)
        if not (is_whole and whole.startswith(head) and whole.endswith(tail)):
            continue
        piece = whole[len(head) : len(whole) - len(tail)].split("\n")
        ends, own_ends = (piece[0], piece[-1]), (fragment.split("\n")[0], fragment.split("\n")[-1])
        # Brackets alone are found around anything: then the fragment has to be in between.
        says = any(map(str.isalnum, "".join((head, tail, *cut))))
        if says or (cut and all(map(_are_alike, own_ends, ends))):
            return piece
    return lines


def cut_surroundings(
    request: EditRequest, view: TargetView, lines: Sequence[str]
) -> Iterator[Sequence[str]]:
    """Yield `lines` without lines that repeat what is around the target, the fewest cut first."""
    reply_lines = [line.strip() for line in lines]
    before = [0, *_count_repeated_before(request, view, reply_lines)][:_MAX_CUTS]
    after = [0, *_count_repeated_after(request, reply_lines)][:_MAX_CUTS]
    cuts = ((n_before, n_after) for n_before in before for n_after in after)
    for n_before, n_after in sorted(cuts, key=sum):
        if 0 < n_before + n_after < len(lines):
            yield lines[n_before : len(lines) - n_after]


def _count_repeated_before(
    request: EditRequest, view: TargetView, reply_lines: Sequence[str]
) -> list[int]:
    """Return each number of first lines of the reply that end the text before the target."""
    before = to_lf(request.text[: request.target.start - len(view.indentation)])
    lines_before = [line.strip() for line in before.split("\n")[:-1]]
    longest = min(len(lines_before), len(reply_lines))
    return [n for n in range(1, longest + 1) if reply_lines[:n] == lines_before[-n:]]


def _count_repeated_after(request: EditRequest, reply_lines: Sequence[str]) -> list[int]:
    """Return each number of last lines of the reply that begin the text after the target."""
    lines_after = [line.strip() for line in to_lf(request.text[request.target.stop :]).split("\n")]
    if to_lf(request.text[: request.target.stop])[-1:] not in ("", "\n"):
        # What is left of the target's own last line.
        del lines_after[0]
    longest = min(len(lines_after), len(reply_lines))
    return [n for n in range(1, longest + 1) if reply_lines[-n:] == lines_after[:n]]


def _strip_lines(lines: Iterable[str]) -> set[str]:
    return {line.strip() for line in lines if line.strip()}
