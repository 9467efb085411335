"""What stands beside a benchmark's figures: the conditions of its run, and the tables they fill.

Knows the machine, versions and load; does not know what any benchmark measures.
"""

import os
import platform
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final

import psutil

from redraft import __version__
from redraft.engine import backend, versions
from redraft.models import ModelFolders, cached_sha256

__all__ = [
    "complete_conditions",
    "format_figure",
    "load_warning",
    "markdown_table",
    "record_conditions",
]

BUSY: Final = 0.1  # of all cores, by other programs: above it times are not the machine's alone

_CLOCKS: Final = "clocks"  # a key that is there only while the run goes on


def record_conditions(
    model: Path | None = None, *, cpu: str, n_threads: int | None = None
) -> dict[str, Any]:
    """Return the conditions of a run that begins now, for `complete_conditions` to complete.

    Takes a second, to see how busy the machine is. `model`, `n_threads`: of runs that decode.
    """
    return {
        "redraft": __version__,
        "engine": versions(),
        "backend": backend(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpu": cpu,
        "cores": psutil.cpu_count(logical=False),
        "memory": psutil.virtual_memory().total,
        "threads": n_threads,
        "model": model.name if model else None,
        "model_sha256": cached_sha256(model, ModelFolders.of_user().cache) if model else None,
        "started": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "busy": psutil.cpu_percent(interval=1.0) / 100,
        "load_average": list(psutil.getloadavg()),
        _CLOCKS: (time.monotonic(), _busy_seconds_of_others()),
    }


def complete_conditions(conditions: Mapping[str, Any]) -> dict[str, Any]:
    """Return `conditions` with the run's duration and load until now.

    `busy_during` is the share of all cores that others had during the run: other programs, and
    other machines on the same hardware as far as the system tells.
    """
    began, others_s = conditions[_CLOCKS]
    seconds = time.monotonic() - began
    busy_s = max(0.0, _busy_seconds_of_others() - others_s)
    return {
        **{key: value for key, value in conditions.items() if key != _CLOCKS},
        "seconds": seconds,
        "busy_during": busy_s / seconds / (psutil.cpu_count() or 1),
        "load_average_after": list(psutil.getloadavg()),
    }


def _busy_seconds_of_others() -> float:
    """Return seconds of all cores since the system's start that this process did not use.

    Its child processes count as this one: running ones (a peer that is measured) and ended ones.
    """
    total, own_s = psutil.cpu_times(), sum(os.times()[:4])
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):  # it has ended, and counts among the ended ones next time
            own_s += sum(child.cpu_times()[:4])
    idle_s = total.idle + getattr(total, "iowait", 0.0)
    # Linux counts the time of virtual machines in `user` and `nice` as well.
    counted_twice_s = getattr(total, "guest", 0.0) + getattr(total, "guest_nice", 0.0)
    return float(sum(total) - counted_twice_s - idle_s - own_s)


def load_warning(conditions: Mapping[str, Any]) -> str | None:
    """Return a warning where others kept the machine busy during a run.

    Of a run that has not ended, what was seen before it began decides. A load average is of the
    past, and counts the benchmark that ran before this one too, so it says nothing here.
    """
    is_over = "busy_during" in conditions
    share = conditions["busy_during"] if is_over else conditions["busy"]
    if share <= BUSY:
        return None
    when = "during the run" if is_over else "when the run began"
    return (
        f"others kept {share:.0%} of this machine busy {when}:"
        " take the times for what they are, and repeat it alone"
    )


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return an aligned Markdown table; the first column is aligned left, the others right."""
    lines = [list(head), *map(list, rows)]
    first_width, *widths = (max(map(len, column)) for column in zip(*lines, strict=True))
    rule = [":" + "-" * (first_width - 1), *("-" * (width - 1) + ":" for width in widths)]
    lines.insert(1, rule)
    padded = (
        [first.ljust(first_width), *map(str.rjust, others, widths)] for first, *others in lines
    )
    return "".join(f"| {' | '.join(cells)} |\n" for cells in padded)


def format_figure(value: object) -> str:
    """Return a value as tables show it: two decimals, yes or no, and a dash for None."""
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.2f}"
    return str(value)
