"""Giving a reply the white space of the text it replaces.

Works on lines without their endings (a reply, LF only) against a source with its original endings.
Lines the reply kept come out byte for byte as they were; new ones take after their neighbours.
Knows nothing of models, prompts or syntax.
"""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import accumulate

from redraft.text.lines import detect_indentation, line_ending, split_lines

__all__ = ["reindent", "restore_lines"]

_INDENT = re.compile(r"[ \t]*")


def restore_lines(source: str, lines: Sequence[str], *, ending: str, exact: bool) -> str:
    """`lines` joined as an edited copy of `source`.

    A changed line keeps the ending of the line it replaces, an added one takes the ending before it
    (or after it, at the top; `ending` where there is none). The final line ending of `source`, or
    the lack of it, stays. Unless `exact`, so do the blank lines at its ends, and a line equal to
    one of `source` but for white space at its end is that line.
    """
    old = split_lines(source)
    head, tail = (0, 0) if exact else _blank_ends(old)
    core = old[head : len(old) - tail]
    key = _content if exact else str.rstrip
    matches = list(_matches([key(line) for line in core], [key(line) for line in lines]))
    endings = _fill([line_ending(core[i]) if i is not None else "" for i, _ in matches])
    texts = [
        _content(core[i]) if i is not None and kept else line
        for (i, kept), line in zip(matches, lines, strict=True)
    ]
    middle = [text + (own or ending) for text, own in zip(texts, endings, strict=True)]
    if middle and core and not line_ending(old[-1]) and not tail:
        middle[-1] = _content(middle[-1])
    return "".join([*old[:head], *middle, *old[len(old) - tail :]])


def _matches(old: list[str], new: list[str]) -> Iterator[tuple[int | None, bool]]:
    """For each new line: the old line it stands for, if any, and whether it is the same."""
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for tag, i, i_stop, j, j_stop in matcher.get_opcodes():
        for offset in range(j_stop - j):
            at = i + offset
            yield (at if at < i_stop else None), tag == "equal"


def _fill(endings: list[str]) -> list[str]:
    """Each missing ending taken from the line before, or else from the one after."""
    return _carry(_carry(endings)[::-1])[::-1]


def _carry(endings: list[str]) -> list[str]:
    def carry(before: str, own: str) -> str:
        return own or before

    return list(accumulate(endings, carry))


def _blank_ends(lines: Sequence[str]) -> tuple[int, int]:
    """How many blank lines stand at the start and at the end; none where all are blank."""
    filled = [index for index, line in enumerate(lines) if line.strip()]
    return (filled[0], len(lines) - 1 - filled[-1]) if filled else (0, 0)


def _content(line: str) -> str:
    return line[: len(line) - len(line_ending(line))]


def reindent(lines: Sequence[str], source: Sequence[str], *, style: str | None) -> list[str]:
    """`lines` moved so that the first begins in the column where `source` begins.

    Where only the first line lost its indentation only that one is moved; otherwise all of them by
    the same amount, so that strings over several lines keep their shape where they can. `style` is
    one step of the wanted indentation (as of `detect_indentation`).
    """
    styled = _restyle(lines, source, style)
    ours, theirs = _first_indent(source), _first_indent(styled)
    if ours == theirs or not styled:
        return styled
    first = next((index for index, line in enumerate(styled) if line.strip()), 0)
    rest = styled[first + 1 :]
    moved = ours + styled[first][len(theirs) :]
    if _margin(rest) == _margin(_after_first(source)) != "":
        return [*styled[:first], moved, *rest]
    return [*styled[:first], moved, *(_move(line, theirs, ours) for line in rest)]


def _move(line: str, theirs: str, ours: str) -> str:
    if not line.strip():
        return line
    if line.startswith(theirs):
        return ours + line[len(theirs) :]
    return line


def _first_indent(lines: Sequence[str]) -> str:
    return next((_indent(line) for line in lines if line.strip()), "")


def _after_first(lines: Sequence[str]) -> Sequence[str]:
    first = next((index for index, line in enumerate(lines) if line.strip()), 0)
    return lines[first + 1 :]


def _margin(lines: Sequence[str]) -> str:
    """The smallest indentation among the filled `lines`."""
    return min((_indent(line) for line in lines if line.strip()), key=len, default="")


def _indent(line: str) -> str:
    found = _INDENT.match(line)
    return found.group() if found else ""


def _restyle(lines: Sequence[str], source: Sequence[str], style: str | None) -> list[str]:
    """`lines` with tabs for spaces, or the reverse, where `source` is of the other kind only."""
    theirs = detect_indentation("\n".join(lines))
    is_mixed = len({kind for line in source for kind in _indent(line)}) > 1
    if style is None or theirs is None or is_mixed or (style == "\t") == (theirs == "\t"):
        return list(lines)
    return [_with_style(line, style, len(theirs)) for line in lines]


def _with_style(line: str, style: str, n_spaces: int) -> str:
    """`line` indented by tabs that were `n_spaces` each, or with each tab as `style` spaces."""
    indent = _indent(line)
    if style != "\t":
        return indent.expandtabs(len(style)) + line[len(indent) :]
    n_tabs, n_rest = divmod(len(indent.expandtabs(n_spaces)), n_spaces)
    return "\t" * n_tabs + " " * n_rest + line[len(indent) :]
