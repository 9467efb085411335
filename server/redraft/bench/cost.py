"""Costs of passes by their rows, as records and as a table.

Pure: measurements in, figures and Markdown out.
"""

from typing import Any, Final

from redraft.bench.results import markdown_table
from redraft.engine.calibration import Measurement

__all__ = ["cost_records", "cost_table"]

_CLASS_NAMES: Final = {True: "a", False: "other", None: ""}
BAR_LENGTH = 20  # characters, for the best row count


def cost_records(measurement: Measurement) -> list[dict[str, Any]]:
    """Return for each row count its time, alone and against one row, and its numeric class.

    Row counts of class a gave the same results to the bit; "other" ones differ from those, and
    those of class "" were not compared.
    """
    one_row_s = measurement.seconds[0]
    counts = zip(measurement.rows, measurement.seconds, measurement.is_alike, strict=True)
    return [
        {
            "depth": measurement.depth,
            "rows": rows,
            "ms": 1000 * seconds,
            "relative": seconds / one_row_s,
            "tokens_per_s": rows / seconds,
            "speedup": rows * one_row_s / seconds,
            "class": _CLASS_NAMES[is_alike],
        }
        for rows, seconds, is_alike in counts
    ]


def cost_table(measurement: Measurement) -> str:
    """Return a line for each row count; a bar shows the gain where all its rows are accepted."""
    records = cost_records(measurement)
    best = max(record["speedup"] for record in records)
    head = ("rows", "ms", "times one row", "tokens/s", "class", "at best, times plain decoding")
    rows = []
    for record in records:
        bar = "█" * round(BAR_LENGTH * record["speedup"] / best)
        rows.append(
            (
                str(record["rows"]),
                f"{record['ms']:.1f}",
                f"{record['relative']:.2f}",
                f"{record['tokens_per_s']:.1f}",
                record["class"],
                f"{record['speedup']:.2f} {bar.ljust(BAR_LENGTH)}",
            )
        )
    return f"{measurement.depth} tokens of context\n\n{markdown_table(head, rows)}"
