"""Tables in Markdown, which read well in a terminal too."""

from collections.abc import Sequence

__all__ = ["figure", "markdown"]


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; the first column to the left, the others to the right."""
    cells = [list(head), *map(list, rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    rule = [":" + "-" * (widths[0] - 1), *("-" * (width - 1) + ":" for width in widths[1:])]
    lines = [cells[0], rule, *cells[1:]]
    return "".join(f"| {' | '.join(_padded(line, widths))} |\n" for line in lines)


def _padded(line: Sequence[str], widths: Sequence[int]) -> list[str]:
    first, *others = line
    padded = (text.rjust(width) for text, width in zip(others, widths[1:], strict=True))
    return [first.ljust(widths[0]), *padded]


def figure(value: object) -> str:
    """A value as a table shows it: two decimals, yes or no, and a dash for nothing."""
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.2f}"
    return str(value)
