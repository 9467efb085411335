"""What a pass costs on this machine, measured once and kept.

T(rows) depends on the model file, the device, the threads and how much context a row attends to.
It is measured on the text of the first file or request of that kind, behind it, pass by pass, so
that whoever measures can stop; once whole it lies as JSON in the user's cache directory.
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

# Row counts of the passes, in this order: the first two make a curve that will do, and the times
# that are short and count most are taken again later, lest a hiccup decides.
ROW_COUNTS = (1, 64, 8, 32, 2, 4, 16, 48, 1, 2, 4, 8, 1, 1)
WIDE_ROW_COUNTS = (96, 128, 192, 256)
BUMP = 1.1  # times what lies between the neighbours: timed again
WORTH = 1.05  # of the wide ones, one that copies less than this much faster is the last


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """T(rows) in seconds at one depth, and which row counts round alike.

    fused: the kind of attention. classes[i] is equal for row counts whose logits were bitwise equal
    on the same tokens.
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


def measure(context: Context, tokens: Sequence[int], *, max_rows: int) -> Iterator[Measurement]:
    """Time passes over repetitions of `tokens` behind what sequence 0 of `context` holds.

    Yields after each pass what is known by then; the last one is whole. All together take about as
    long as decoding 30 tokens plainly. At each yield the cache is as it was.
    """
    n_past = context.n_past()
    text = [tokens[i % len(tokens)] for i in range(max_rows)]
    seconds: dict[int, float] = {}
    logits: dict[int, npt.NDArray[np.float32]] = {}
    for k in _passes(max_rows, seconds):
        start = time.perf_counter()
        positions = list(range(n_past, n_past + k))
        logits[k] = context.run(text[:k], positions, [(0,)] * k, n_outputs=k)[0].copy()
        seconds[k] = min(time.perf_counter() - start, seconds.get(k, math.inf))
        context.remove(0, n_past)
        rows = sorted(seconds)
        yield Measurement(
            depth=n_past,
            flash_attention=context.flash_attention,
            rows=tuple(rows),
            seconds=tuple(seconds[k] for k in rows),
            classes=_classes([logits[k] for k in rows]),
        )


def _passes(max_rows: int, seconds: Mapping[int, float]) -> Iterator[int]:
    """The row counts to time; `seconds` holds the least times so far."""
    yield from (k for k in ROW_COUNTS if k <= max_rows)
    for k in (k for k in WIDE_ROW_COUNTS if k <= max_rows):
        yield k
        if k / seconds[k] < WORTH * max(n / seconds[n] for n in seconds if n != k):
            break
    for _ in range(2):
        yield from _bumps(seconds)


def _bumps(seconds: Mapping[int, float]) -> list[int]:
    """The row counts that took longer than the ones beside them let expect.

    A real step of the hardware, or a hiccup of the machine: only another look can tell, and a
    hiccup that is believed would keep drafts from that size for good.
    """
    rows = sorted(seconds)
    return [
        k
        for before, k, after in zip(rows, rows[1:], rows[2:], strict=False)
        if seconds[k] > BUMP * np.interp(k, (before, after), (seconds[before], seconds[after]))
    ]


def depth_bucket(n_tokens: int) -> int:
    """Depths that share a measurement: up to 1,024 tokens, then each power of two."""
    return max(1024, 1 << max(0, n_tokens - 1).bit_length())


class CalibrationStore:
    """The measurements of one model on this machine, on disk in `folder`."""

    def __init__(self, folder: Path, model: Path, *, n_threads: int) -> None:
        stat = model.stat()
        key = [model.name, stat.st_size, backend(), versions(), n_threads]
        name = hashlib.sha256(json.dumps(key).encode()).hexdigest()[:16]
        self._path = folder / f"{name}.json"
        self._known = self._read()
        self._begun: dict[_Key, Measurement] = {}  # in this process, and not whole

    def get(self, depth: int, *, flash_attention: bool) -> Measurement | None:
        """What passes cost behind `depth` tokens; None where nothing near was measured yet.

        Between two measured depths it is interpolated: attention takes as much longer as it has
        more to look at.
        """
        known = self._of(flash_attention=flash_attention)
        below = [one for one in known if one.depth <= depth]
        above = [one for one in known if one.depth > depth]
        if below and above:
            return _between(below[-1], above[0], depth)
        return self._known.get((flash_attention, depth_bucket(depth)))

    def begun(self, depth: int, *, flash_attention: bool) -> Measurement | None:
        """What is known of passes behind `depth` tokens where measuring was broken off."""
        return self._begun.get((flash_attention, depth_bucket(depth)))

    def note(self, measurement: Measurement) -> None:
        """Remember one that was broken off, until the process ends; one time makes no curve."""
        if len(measurement.rows) > 1:
            self._begun[_key(measurement)] = measurement

    def first(self, depth: int, *, flash_attention: bool) -> Measurement | None:
        """The shallowest one behind at least `depth` tokens; None where there is none yet."""
        return next(
            (one for one in self._of(flash_attention=flash_attention) if one.depth >= depth), None
        )

    def put(self, measurement: Measurement) -> None:
        """Remember a measurement; a cache directory that cannot be written costs only time."""
        self._known[_key(measurement)] = measurement
        data = [asdict(one) for _, one in sorted(self._known.items())]
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            scratch = self._path.with_suffix(".tmp")
            scratch.write_text(json.dumps(data))
            scratch.replace(self._path)
        except OSError:
            return

    def _of(self, *, flash_attention: bool) -> list[Measurement]:
        """Those of one kind of attention, the shallowest first."""
        return [
            one for _, one in sorted(self._known.items()) if one.flash_attention == flash_attention
        ]

    def _read(self) -> "dict[_Key, Measurement]":
        try:
            found = [
                Measurement(
                    depth=one["depth"],
                    flash_attention=one["flash_attention"],
                    rows=tuple(one["rows"]),
                    seconds=tuple(one["seconds"]),
                    classes=tuple(one["classes"]),
                )
                for one in json.loads(self._path.read_text())
            ]
            return {_key(one): one for one in found}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return {}  # no book yet, or a damaged one: measured anew


_Key: TypeAlias = tuple[bool, int]


def _key(measurement: Measurement) -> _Key:
    return measurement.flash_attention, depth_bucket(measurement.depth)


def _between(near: Measurement, far: Measurement, depth: int) -> Measurement:
    """The costs at a depth between those of two measurements, for the row counts of both."""
    share = (depth - near.depth) / (far.depth - near.depth)
    rows = [k for k in near.rows if k in far.rows]
    first, last = (dict(zip(one.rows, one.seconds, strict=True)) for one in (near, far))
    classes = dict(zip(near.rows, near.classes, strict=True))
    return Measurement(
        depth=depth,
        flash_attention=near.flash_attention,
        rows=tuple(rows),
        seconds=tuple(first[k] + share * (last[k] - first[k]) for k in rows),
        classes=tuple(classes[k] for k in rows),
    )


def _classes(logits: Sequence[npt.NDArray[np.float32]]) -> tuple[int, ...]:
    """For each row count the index of the first one with the same bits."""
    return tuple(
        next(i for i, other in enumerate(logits) if np.array_equal(other, one)) for one in logits
    )
