"""Under which conditions a benchmark ran: machine, versions, model, and what else kept it busy."""

import os
import platform
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final

import psutil

from redraft import __version__
from redraft.engine import backend, versions
from redraft.models import Places
from redraft.models.hashes import known_sha256

__all__ = ["conditions", "warning"]

BUSY: Final = 0.1  # of all cores, by others: what is measured then is not the machine alone


def conditions(model: Path, *, cpu: str, n_threads: int) -> dict[str, Any]:
    """What to keep beside figures. Looks for a second how busy the machine is: ask before a run."""
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
        "model": model.name,
        "model_sha256": known_sha256(model, Places.of_user().cache),
        "started": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "busy": psutil.cpu_percent(interval=1.0) / 100,
        "load_average": list(os.getloadavg()),
    }


def warning(known: dict[str, Any]) -> str | None:
    """A sentence where other programs kept the machine busy when a run began."""
    load, cores = known["load_average"][0], known["cores"] or 1
    if known["busy"] <= BUSY and load <= cores / 2:
        return None
    return (
        f"this machine was not idle when the run began ({known['busy']:.0%} busy, load average"
        f" {load:.1f} on {cores} cores): take the times for what they are, and repeat it alone"
    )
