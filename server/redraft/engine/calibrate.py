"""What a pass costs on this machine, measured once and kept.

T(rows) depends on the model file, the device, the threads and how much context a row attends to.
It is measured on the text of the first request of that kind, behind its prompt, and lies as JSON
in the user's cache directory afterwards.
"""

import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from redraft.engine.native import Context, backend, versions
from redraft_lookup import CostCurve

__all__ = ["CostBook", "Measurement", "depth_bucket", "measure"]

ROWS = (1, 2, 4, 8, 16, 32, 48, 64, 96, 128, 192, 256)
WORTH = 1.05  # a row count that copies less than this much faster than half as many is the last
REPEATS = {1: 4, 2: 2, 4: 2, 8: 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """T(rows) in seconds at one depth, and which row counts round alike.

    classes[i] is equal for row counts whose logits were bitwise equal on the same tokens.
    """

    depth: int
    rows: tuple[int, ...]
    seconds: tuple[float, ...]
    classes: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.classes) != len(self.curve.rows):
            raise ValueError("a measurement has one class for each row count")

    @property
    def curve(self) -> CostCurve:
        return CostCurve(self.rows, self.seconds)


def measure(context: Context, tokens: Sequence[int], *, max_rows: int) -> Measurement:
    """Time passes over repetitions of `tokens` behind what sequence 0 of `context` holds.

    Takes about as long as decoding 30 tokens plainly. The cache is left as it was.
    """
    n_past = context.n_past()
    text = [tokens[i % len(tokens)] for i in range(max_rows)]
    rows: list[int] = []
    seconds: list[float] = []
    logits: list[npt.NDArray[np.float32]] = []
    for k in (k for k in ROWS if k <= max_rows):
        best, first_row = _time_pass(context, text[:k], n_past)
        rows.append(k)
        seconds.append(best)
        logits.append(first_row)
        rates = [r / s for r, s in zip(rows, seconds, strict=True)]
        if k > 64 and rates[-1] < WORTH * max(rates[:-1]):
            break
    return Measurement(
        depth=n_past, rows=tuple(rows), seconds=tuple(seconds), classes=_classes(logits)
    )


def _time_pass(
    context: Context, tokens: list[int], n_past: int
) -> tuple[float, npt.NDArray[np.float32]]:
    """The least of a few times for one pass, and the logits after its first token."""
    k = len(tokens)
    times: list[float] = []
    first_row = np.empty(0, np.float32)
    for _ in range(REPEATS.get(k, 1)):
        start = time.perf_counter()
        positions = list(range(n_past, n_past + k))
        first_row = context.run(tokens, positions, [(0,)] * k, n_outputs=k)[0].copy()
        times.append(time.perf_counter() - start)
        context.remove(0, n_past)
    return min(times), first_row


def depth_bucket(n_tokens: int) -> int:
    """Depths that share a measurement: up to 1,024 tokens, then each power of two."""
    return max(1024, 1 << max(0, n_tokens - 1).bit_length())


class CostBook:
    """The measurements of one model on this machine, on disk in `folder`."""

    def __init__(self, folder: Path, model: Path, *, n_threads: int) -> None:
        stat = model.stat()
        key = [model.name, stat.st_size, backend(), versions(), n_threads]
        name = hashlib.sha256(json.dumps(key).encode()).hexdigest()[:16]
        self._path = folder / f"{name}.json"
        self._known: dict[int, Measurement] = self._read()

    def get(self, depth: int) -> Measurement | None:
        """What passes cost behind `depth` tokens; None where nothing near was measured yet.

        Between two measured depths it is interpolated: attention takes as much longer as it has
        more to look at.
        """
        known = sorted(self._known.values(), key=lambda one: one.depth)
        below = [one for one in known if one.depth <= depth]
        above = [one for one in known if one.depth > depth]
        if below and above:
            return _between(below[-1], above[0], depth)
        return self._known.get(depth_bucket(depth))

    def first(self, depth: int) -> Measurement | None:
        """The shallowest one behind at least `depth` tokens; None where there is none yet."""
        deep = [one for one in self._known.values() if one.depth >= depth]
        return min(deep, key=lambda one: one.depth, default=None)

    def put(self, measurement: Measurement) -> None:
        """Remember a measurement; a cache directory that cannot be written costs only time."""
        self._known[depth_bucket(measurement.depth)] = measurement
        data = {str(bucket): asdict(one) for bucket, one in sorted(self._known.items())}
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            scratch = self._path.with_suffix(".tmp")
            scratch.write_text(json.dumps(data))
            scratch.replace(self._path)
        except OSError:
            return

    def _read(self) -> dict[int, Measurement]:
        try:
            data = json.loads(self._path.read_text())
            return {
                int(bucket): Measurement(
                    depth=one["depth"],
                    rows=tuple(one["rows"]),
                    seconds=tuple(one["seconds"]),
                    classes=tuple(one["classes"]),
                )
                for bucket, one in data.items()
            }
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return {}  # no book yet, or a damaged one: measured anew


def _between(near: Measurement, far: Measurement, depth: int) -> Measurement:
    """The costs at a depth between those of two measurements, for the row counts of both."""
    share = (depth - near.depth) / (far.depth - near.depth)
    rows = [k for k in near.rows if k in far.rows]
    first, last = (dict(zip(one.rows, one.seconds, strict=True)) for one in (near, far))
    classes = dict(zip(near.rows, near.classes, strict=True))
    return Measurement(
        depth=depth,
        rows=tuple(rows),
        seconds=tuple(first[k] + share * (last[k] - first[k]) for k in rows),
        classes=tuple(classes[k] for k in rows),
    )


def _classes(logits: Sequence[npt.NDArray[np.float32]]) -> tuple[int, ...]:
    """For each row count the index of the first one with the same bits."""
    return tuple(
        next(i for i, other in enumerate(logits) if np.array_equal(other, one)) for one in logits
    )
