"""Lines that stand for code a reply left out: "# rest unchanged", "// ... existing code ...".

A line the source holds as well is no elision. What was left out is put back where the lines around
it leave no doubt which stretch of the source it was. Knows lines of text only, in any language.
"""

import re
from collections import Counter
from collections.abc import Sequence

__all__ = ["find_elisions", "restore_elisions"]

_COMMENT = r"(?://+|\#+|--+|/\*+|\*+|<!--|\{/\*|;+|%+)"
_CLOSE = r"\s*(?:\*+/\}?|-->|[\])>])?\s*"
_DOTS = r"(?:\.\.\.+|…)"
_CODE = r"(?:code|imports?|functions?|methods?|class|file|implementation|body|logic|content|text)"
_SAME = r"(?:unchanged|the\ same|same|as\ (?:it\ )?(?:is|before)|omitted|here)"
_LEFT_OUT = rf"""(?:
    (?:the\ )?(?:rest|remainder)\ of\ (?:the\ |your\ |this\ )?(?:\w+\ )?{_CODE}\b.*
    | (?:the\ )?rest\ (?:(?:is|are|remains?|stays?)\ )?{_SAME}.*
    | (?:(?:the|your|all)\ )?(?:existing|previous|original|remaining|other|same)\ (?:\w+\ )?
      {_CODE}\ (?:(?:is|are|remains?|stays?|goes|go|continues?)\ )?{_SAME}.*
    | (?:(?:the|your)\ )?(?:existing|previous|original|unchanged|same)\ (?:\w+\ )?{_CODE}\W*
    | (?:the\ )?{_CODE}\ (?:(?:is|are|remains?|stays?)\ )?{_SAME}.*
    | same\ as\ (?:before|above|the\ original).*
    | (?:unchanged|omitted)(?:\ for\ \w+)?\W*
    | no\ changes?(?:\ here|\ needed|\ necessary)?\W*
)"""
_ELISION = re.compile(
    rf"""\s*(?:
        {_DOTS}
        | {_COMMENT}\s*{_DOTS}.*
        | [\[(<]\s*{_DOTS}
        | (?:(?:{_COMMENT}|[\[(<])\s*{_DOTS}?|{_DOTS})\s*{_LEFT_OUT}
    ){_CLOSE}""",
    re.VERBOSE | re.IGNORECASE,
)
_LONGEST = 200  # characters; a longer line is never a remark, and the pattern would be slow on it


def find_elisions(lines: Sequence[str], source: Sequence[str]) -> list[int]:
    """Which of a reply's `lines` stand for code of `source` that was left out.

    A stub's own body, a lone `...` below a line ending in a colon that `source` does not hold, is
    none.
    """
    held = Counter(line.strip() for line in source)
    found: list[int] = []
    for index, line in enumerate(lines):
        words = line.strip()
        if len(line) > _LONGEST or not _ELISION.fullmatch(line) or _is_stub(lines, index, held):
            continue
        if held[words] > 0:
            held[words] -= 1
        else:
            found.append(index)
    return found


def _is_stub(lines: Sequence[str], index: int, held: Counter[str]) -> bool:
    above = [line.strip() for line in lines[:index] if line.strip()]
    # The first line is the target's own header, changed or not: its body is not nothing.
    is_new_header = len(above) > 1 and above[-1].endswith(":") and above[-1] not in held
    return is_new_header and lines[index].strip() == "..."


def restore_elisions(
    lines: Sequence[str], source: Sequence[str], elisions: Sequence[int]
) -> list[str] | None:
    """`lines` with the stretches of `source` the `elisions` stand for; None if any is unsure.

    A stretch is sure when it lies between two lines that `source` holds once each, in this order,
    or reaches from what the reply copied of the source's start, or up to what it copied of its end.
    """
    restored: list[str] = []
    done = 0
    for index in elisions:
        above = _last_filled(lines[:index])
        below = _first_filled(lines, index + 1)
        start = _anchor_above(lines[:above], source)
        stop = _anchor_below(lines[below:], source)
        if start is None or stop is None or start > stop or above < done:
            return None
        restored += (*lines[done:above], *source[start:stop])
        done = below
    return [*restored, *lines[done:]]


def _last_filled(lines: Sequence[str]) -> int:
    """Just past the last filled line; 0 where there is none."""
    return next((i + 1 for i in reversed(range(len(lines))) if lines[i].strip()), 0)


def _first_filled(lines: Sequence[str], start: int) -> int:
    return next((i for i in range(start, len(lines)) if lines[i].strip()), len(lines))


def _anchor_above(above: Sequence[str], source: Sequence[str]) -> int | None:
    """Where in `source` the stretch below the lines `above` begins."""
    if _same(above, source[: len(above)]):
        return len(above)
    at = _only(above[-1], source)
    return None if at is None else at + 1


def _anchor_below(below: Sequence[str], source: Sequence[str]) -> int | None:
    """Where in `source` the stretch above the lines `below` ends."""
    if len(below) <= len(source) and _same(below, source[len(source) - len(below) :]):
        return len(source) - len(below)
    return _only(below[0], source)


def _same(a: Sequence[str], b: Sequence[str]) -> bool:
    return [line.rstrip() for line in a] == [line.rstrip() for line in b]


def _only(line: str, source: Sequence[str]) -> int | None:
    """Where `source` holds `line`, if it does exactly once."""
    found = [index for index, other in enumerate(source) if other.rstrip() == line.rstrip()]
    return found[0] if len(found) == 1 else None
