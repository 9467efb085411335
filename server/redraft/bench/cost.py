"""What a pass costs by its rows, as a table and as a picture.

Pure: measurements in, Markdown and SVG out.
"""

import html
from collections.abc import Iterator, Sequence
from math import log2
from string import ascii_lowercase
from typing import Any, Final

from redraft.bench.table import markdown
from redraft.engine.calibrate import Measurement

__all__ = ["plot", "records", "table"]


def records(measured: Measurement) -> list[dict[str, Any]]:
    """For each row count its time, in itself and against one row, and its numeric class.

    Row counts of one class (a, b, ...) gave the same logits to the bit.
    """
    names = dict(zip(dict.fromkeys(measured.classes), ascii_lowercase, strict=False))
    alone = measured.seconds[0]
    counts = zip(measured.rows, measured.seconds, measured.classes, strict=True)
    return [
        {
            "depth": measured.depth,
            "rows": rows,
            "ms": 1000 * seconds,
            "relative": seconds / alone,
            "tokens_per_s": rows / seconds,
            "speedup": rows * alone / seconds,
            "class": names[group],
        }
        for rows, seconds, group in counts
    ]


def table(measured: Measurement) -> str:
    """One line for each row count; a bar shows what a pass that copies it all would gain."""
    lines = records(measured)
    most = max(line["speedup"] for line in lines)
    head = ("rows", "ms", "times one row", "tokens/s", "class", "at best, times plain decoding")
    rows = [
        (
            str(line["rows"]),
            f"{line['ms']:.1f}",
            f"{line['relative']:.2f}",
            f"{line['tokens_per_s']:.1f}",
            line["class"],
            f"{line['speedup']:.2f} " + ("█" * round(20 * line["speedup"] / most)).ljust(20),
        )
        for line in lines
    ]
    return f"{measured.depth} tokens of context\n\n{markdown(head, rows)}"


_WIDTH, _HEIGHT, _MARGIN = 640, 400, 56
_COLOURS: Final = ("#0969da", "#cf222e", "#1a7f37", "#8250df", "#bf8700", "#57606a")


def plot(measured: Sequence[Measurement], title: str) -> str:
    """T(k) / T(1) over k, both axes in powers of two, one line for each depth; an SVG document."""
    points = [_relative(one) for one in measured]
    x_ticks = _powers(max(x for line in points for x, _ in line))
    y_ticks = _powers(max(y for line in points for _, y in line))
    parts = (*_grid(x_ticks, y_ticks), *_lines(measured, points, x_ticks[-1], y_ticks[-1]))
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" \
font-family="system-ui, sans-serif" font-size="12">
<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>
<text x="{_WIDTH / 2}" y="20" text-anchor="middle">{html.escape(title)}</text>
{"".join(parts)}</svg>
"""


def _relative(one: Measurement) -> list[tuple[int, float]]:
    return [(rows, t / one.seconds[0]) for rows, t in zip(one.rows, one.seconds, strict=True)]


def _powers(most: float) -> list[int]:
    return [2**i for i in range(int(log2(most) + 0.999) + 1)]


def _at(value: float, most: int, *, vertical: bool) -> float:
    share = log2(value) / max(1.0, log2(most))
    if vertical:
        return round(_HEIGHT - _MARGIN - share * (_HEIGHT - 2 * _MARGIN), 1)
    return round(_MARGIN + share * (_WIDTH - 2 * _MARGIN), 1)


def _grid(x_ticks: Sequence[int], y_ticks: Sequence[int]) -> Iterator[str]:
    bottom, left, right = _HEIGHT - _MARGIN, _MARGIN, _WIDTH - _MARGIN
    for tick in x_ticks:
        x = _at(tick, x_ticks[-1], vertical=False)
        yield f'<path d="M{x} {_MARGIN}V{bottom}" stroke="#d0d7de"/>'
        yield f'<text x="{x}" y="{bottom + 18}" text-anchor="middle">{tick}</text>\n'
    for tick in y_ticks:
        y = _at(tick, y_ticks[-1], vertical=True)
        yield f'<path d="M{left} {y}H{right}" stroke="#d0d7de"/>'
        yield f'<text x="{left - 8}" y="{y + 4}" text-anchor="end">{tick}</text>\n'
    yield f'<text x="{_WIDTH / 2}" y="{_HEIGHT - 16}" text-anchor="middle">rows in a pass</text>\n'
    yield f'<text x="{left}" y="{_MARGIN - 12}">times the cost of one row</text>\n'


def _lines(
    measured: Sequence[Measurement],
    points: Sequence[Sequence[tuple[int, float]]],
    most_x: int,
    most_y: int,
) -> Iterator[str]:
    for i, (one, line) in enumerate(zip(measured, points, strict=True)):
        colour = _COLOURS[i % len(_COLOURS)]
        places = [(_at(x, most_x, vertical=False), _at(y, most_y, vertical=True)) for x, y in line]
        path = " ".join(f"{x},{y}" for x, y in places)
        yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
        yield from (f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>' for x, y in places)
        label = _MARGIN + 18 * (i + 1)
        yield f'<text x="{_MARGIN + 12}" y="{label}" fill="{colour}">{one.depth} deep</text>\n'
