"""What a pass costs by its rows, as records and as a table.

Pure: measurements in, figures and Markdown out.
"""

from string import ascii_lowercase
from typing import Any

from redraft.bench.table import markdown
from redraft.engine.calibration import Measurement

__all__ = ["records", "table"]


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
