"""Under which conditions a benchmark ran: machine, versions, model, and what else kept it busy."""

import os
import platform
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final

import psutil

from redraft import __version__
from redraft.engine import backend, versions
from redraft.models import ModelFolders, cached_sha256

__all__ = ["conditions", "ended", "warning"]

BUSY: Final = 0.1  # of all cores, by others: what is measured then is not the machine alone

_CLOCKS: Final = "clocks"  # only while the run goes on


def conditions(
    model: Path | None = None, *, cpu: str, n_threads: int | None = None
) -> dict[str, Any]:
    """What to keep beside figures. Looks for a second how busy the machine is: ask before a run.

    `model` and `n_threads` are for runs that decode with one.
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
        "load_average": list(os.getloadavg()),
        _CLOCKS: (time.monotonic(), _others_s()),
    }


def ended(known: Mapping[str, Any]) -> dict[str, Any]:
    """What `conditions` gave, and what is known at the end of the run, or so far.

    `busy_during` is the share of all cores that others had during the run: other programs, and
    other machines on the same hardware as far as the system tells.
    """
    began, others_s = known[_CLOCKS]
    seconds = time.monotonic() - began
    return {
        **{key: value for key, value in known.items() if key != _CLOCKS},
        "seconds": seconds,
        "busy_during": max(0.0, _others_s() - others_s) / seconds / (psutil.cpu_count() or 1),
        "load_average_after": list(os.getloadavg()),
    }


def _others_s() -> float:
    """Seconds of all cores since the system's start that were neither idle nor this process's.

    Its child processes are its own, running ones (a peer that is measured) as well as ended ones.
    """
    every, own_s = psutil.cpu_times(), sum(os.times()[:4])
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):  # it has ended, and counts among the ended ones next time
            own_s += sum(child.cpu_times()[:4])
    idle_s = every.idle + getattr(every, "iowait", 0.0)
    counted_twice_s = getattr(every, "guest", 0.0) + getattr(every, "guest_nice", 0.0)
    return float(sum(every) - counted_twice_s - idle_s - own_s)


def warning(known: Mapping[str, Any]) -> str | None:
    """A sentence where others kept the machine busy when a run began, or since then."""
    advice = "take the times for what they are, and repeat it alone"
    during, load, cores = known.get("busy_during", 0.0), known["load_average"][0], known["cores"]
    if during > BUSY:
        return f"others kept {during:.0%} of this machine busy during the run: {advice}"
    if known["busy"] <= BUSY and load <= (cores or 1) / 2:
        return None
    return (
        f"this machine was not idle when the run began ({known['busy']:.0%} busy, load average"
        f" {load:.1f} on {cores} cores): {advice}"
    )
