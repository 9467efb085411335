"""The costs of a pass on this machine: measured once, then kept on disk.

T(rows), the seconds of a pass, depends on the model file, the device, the threads and how much
context a row attends to. It is measured on the text of the first file or request, behind its cells,
pass by pass, so that the caller can stop in between. A complete measurement is kept as JSON in the
user's cache directory. Knows nothing of requests, nor of what the costs are used for.
"""

import hashlib
import json
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from redraft.engine.llama import Context, backend, versions
from redraft_lookup import CostCurve

__all__ = ["CalibrationStore", "Measurement", "depth_bucket", "measure"]

# Row counts of the passes, in this order. The first two already make a usable curve. Short times
# matter most and are measured again later, so that one hiccup of the machine decides nothing.
ROW_COUNTS = (1, 64, 8, 32, 2, 4, 16, 48, 1, 2, 4, 8, 1, 1)
WIDE_ROW_COUNTS = (96, 128, 192, 256)
OUTLIER_FACTOR = 1.1  # times what the neighbours let expect: measured again
MIN_SPEEDUP = 1.05  # in rows a second, for the next of WIDE_ROW_COUNTS to be measured too

_Key: TypeAlias = tuple[bool, int]  # flash attention or not, depth bucket


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """T(rows) in seconds behind `depth` tokens of context, and which row counts round alike.

    rows: (n,) ascending, from 1 on. seconds: (n,). classes: (n,), equal for row counts that gave
    bitwise equal logits for the same tokens.
    """

    depth: int
    flash_attention: bool
    rows: tuple[int, ...]
    seconds: tuple[float, ...]
    classes: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.classes) != len(self.curve.rows):
            raise ValueError("a measurement has one class for each row count")

    @property
    def curve(self) -> CostCurve:
        return CostCurve(self.rows, self.seconds)

    def interpolate(self, deeper: "Measurement", depth: int) -> "Measurement":
        """Return the costs at a `depth` between this and a deeper one, for the rows of both.

        Attention takes longer in proportion to the cells it reads; all else takes as long.
        """
        share = (depth - self.depth) / (deeper.depth - self.depth)
        rows = [n for n in self.rows if n in deeper.rows]
        near_s, deep_s = (dict(zip(m.rows, m.seconds, strict=True)) for m in (self, deeper))
        classes = dict(zip(self.rows, self.classes, strict=True))
        return Measurement(
            depth=depth,
            flash_attention=self.flash_attention,
            rows=tuple(rows),
            seconds=tuple(near_s[n] + share * (deep_s[n] - near_s[n]) for n in rows),
            classes=tuple(classes[n] for n in rows),
        )


def measure(context: Context, tokens: Sequence[int], *, max_rows: int) -> Iterator[Measurement]:
    """Time passes over repetitions of `tokens` behind what sequence 0 of `context` holds.

    Yields after each pass what is known by then; the last measurement is complete. All passes
    together take about as long as decoding 30 tokens plainly. At each yield the cache is as it was.
    """
    n_past = context.n_past()
    text = [tokens[i % len(tokens)] for i in range(max_rows)]
    seconds: dict[int, float] = {}
    logits: dict[int, npt.NDArray[np.float32]] = {}
    for n_rows in _row_counts_to_time(max_rows, seconds):
        start = time.perf_counter()
        positions = list(range(n_past, n_past + n_rows))
        output = context.run(text[:n_rows], positions, [(0,)] * n_rows, n_outputs=n_rows)
        logits[n_rows] = output[0].copy()
        # The least time is the pass itself; anything more is the machine doing something else.
        seconds[n_rows] = min(time.perf_counter() - start, seconds.get(n_rows, math.inf))
        context.remove(0, n_past)
        rows = sorted(seconds)
        yield Measurement(
            depth=n_past,
            flash_attention=context.flash_attention,
            rows=tuple(rows),
            seconds=tuple(seconds[n] for n in rows),
            # The index of the first row count with the same bits stands for the class.
            classes=tuple(
                next(i for i, n in enumerate(rows) if np.array_equal(logits[n], logits[n_rows]))
                for n_rows in rows
            ),
        )


def _row_counts_to_time(max_rows: int, seconds: Mapping[int, float]) -> Iterator[int]:
    """Yield the next row count to time; `seconds` holds the least times so far."""
    yield from (n for n in ROW_COUNTS if n <= max_rows)
    for n_rows in (n for n in WIDE_ROW_COUNTS if n <= max_rows):
        yield n_rows
        best_rate = max(n / seconds[n] for n in seconds if n != n_rows)
        if n_rows / seconds[n_rows] < MIN_SPEEDUP * best_rate:
            break
    for _ in range(2):
        yield from _find_outliers(seconds)


def _find_outliers(seconds: Mapping[int, float]) -> list[int]:
    """Return the row counts that took longer than their neighbours let expect.

    That is a real step of the hardware or a hiccup of the machine, and only measuring again tells.
    A hiccup that is believed would keep drafts from that size for good.
    """
    rows = sorted(seconds)
    return [
        n
        for before, n, after in zip(rows, rows[1:], rows[2:], strict=False)
        if seconds[n]
        > OUTLIER_FACTOR * np.interp(n, (before, after), (seconds[before], seconds[after]))
    ]


def depth_bucket(n_tokens: int) -> int:
    """Return the largest depth that shares a measurement: 1,024, or else the next power of two."""
    return max(1024, 1 << max(0, n_tokens - 1).bit_length())


class CalibrationStore:
    """The measurements of one model on this machine, on disk in `folder`."""

    def __init__(self, folder: Path, model: Path, *, n_threads: int) -> None:
        stat = model.stat()
        key = [model.name, stat.st_size, backend(), versions(), n_threads]
        name = hashlib.sha256(json.dumps(key).encode()).hexdigest()[:16]
        self._path = folder / f"{name}.json"
        self._measurements = self._read()
        self._partial: dict[_Key, Measurement] = {}  # of this process, never on disk

    def get(self, depth: int, *, flash_attention: bool) -> Measurement | None:
        """Return what passes behind `depth` tokens cost; None if nothing near was measured yet.

        Between two measured depths it is interpolated.
        """
        measurements = self._sorted_by_depth(flash_attention=flash_attention)
        above = next((i for i, m in enumerate(measurements) if m.depth > depth), 0)
        if above:
            return measurements[above - 1].interpolate(measurements[above], depth)
        return self._measurements.get((flash_attention, depth_bucket(depth)))

    def get_deeper(self, depth: int, *, flash_attention: bool) -> Measurement | None:
        """Return the shallowest measurement behind at least `depth` tokens; None if there is none.

        It is not interpolated, so its classes were seen at that depth.
        """
        measurements = self._sorted_by_depth(flash_attention=flash_attention)
        return next((m for m in measurements if m.depth >= depth), None)

    def put(self, measurement: Measurement) -> None:
        """Keep a complete measurement; a folder that cannot be written costs only time."""
        self._measurements[_key(measurement)] = measurement
        data = [asdict(kept) for _, kept in sorted(self._measurements.items())]
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            scratch = self._path.with_suffix(".tmp")
            scratch.write_text(json.dumps(data))
            scratch.replace(self._path)
        except OSError:
            return

    def get_partial(self, depth: int, *, flash_attention: bool) -> Measurement | None:
        """Return a measurement near `depth` that was interrupted in this process, if any."""
        return self._partial.get((flash_attention, depth_bucket(depth)))

    def put_partial(self, measurement: Measurement) -> None:
        """Keep an interrupted measurement until the process ends; one time makes no curve."""
        if len(measurement.rows) > 1:
            self._partial[_key(measurement)] = measurement

    def _sorted_by_depth(self, *, flash_attention: bool) -> list[Measurement]:
        """Return the measurements of one kind of attention, the shallowest first."""
        items = sorted(self._measurements.items())
        return [m for _, m in items if m.flash_attention == flash_attention]

    def _read(self) -> dict[_Key, Measurement]:
        try:
            measurements = [
                Measurement(
                    depth=entry["depth"],
                    flash_attention=entry["flash_attention"],
                    rows=tuple(entry["rows"]),
                    seconds=tuple(entry["seconds"]),
                    classes=tuple(entry["classes"]),
                )
                for entry in json.loads(self._path.read_text())
            ]
            return {_key(measurement): measurement for measurement in measurements}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return {}  # missing or damaged: measured again


def _key(measurement: Measurement) -> _Key:
    return measurement.flash_attention, depth_bucket(measurement.depth)
