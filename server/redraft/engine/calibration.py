"""What a pass costs on this machine, and which row counts round alike: measured, kept on disk.

T(rows), the seconds of a pass, depends on the model file, the device, the threads and how much
context a row attends to. Its times come from passes that are run for it and from those of real
requests; only the latest count, so that a busy moment of the machine is forgotten again. Knows
nothing of requests, nor of what the costs are used for.

Row counts: with `invariant`, a token must not depend on how many rows shared its passes. What it is
measured against is the anchor, one row count that is the same on every machine of a kind. Any other
count may be used once all rows of a pass of it were bitwise those of passes of the anchor. So how
far this proof has come decides how fast text is written, never which: the class may grow at any
time, and where it must shrink, no text depends on what it loses but those that were wrong.
"""

import contextlib
import hashlib
import json
import logging
import math
import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from redraft.engine.llama import Context, PassTime, backend, versions
from redraft_lookup import CostCurve

__all__ = ["FIRST_PLAIN_TOKENS", "CalibrationStore", "Measurement", "depth_bucket", "measure"]

log = logging.getLogger("redraft.engine")

FORMAT = 2  # of the file: another one was measured by other rules, and is not read
FIRST_PLAIN_TOKENS = 28  # times one row: the most that a request spends before its first pass
ALWAYS_TIMED = 64  # rows: wider passes only if these bring more rows a second than narrower ones
N_RECENT = 5  # times of a row count that are kept
N_TRUSTED = 3  # times after which even a strange one is believed
N_PROBES = 2  # places at which a row count is compared with the anchor, for each depth
MIN_SPEEDUP = 1.05  # in rows a second, for the next wider pass to be measured too
OUTLIER_FACTOR = 1.1  # times what the neighbours let expect: measured again
IMPOSSIBLE_FACTOR = 2  # times what as many rows take in narrower passes: not believed at all
GROWTH = 0.9  # k times the rows take at most about k ** GROWTH times as long
SHIFT = 3  # rows between the first row of a pass and the first of one that it is compared with

# Row counts in the order in which they are measured. The first ones make a usable curve or class
# in the time of a few tokens written plainly.
SPLIT_ATTENTION_COUNTS = (1, 8, 32, 64, 2, 4, 16, 48, 96, 128)
CPU_COUNTS = (1, 8, 16, 2, 4, 32, 48, 64, 96, 128)
GPU_COUNTS = (1, 32, 64, 128, 2, 4, 8, 16, 48, 96, 192, 256)

_Key: TypeAlias = tuple[bool, int]  # flash attention or not, depth bucket


def anchor_rows() -> int:
    """Return the row count that others are compared with.

    CPU kernels take rows by fours or eights. On a GPU passes of up to 8 rows use kernels of their
    own that cost as much for each row as for one; 32 fill a tile of a matrix kernel.
    """
    return 8 if backend() == "cpu" else 32


def depth_bucket(n_tokens: int) -> int:
    """Return the largest depth that shares a measurement: 512, or else the next power of two."""
    return max(512, 1 << max(0, n_tokens - 1).bit_length())


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """T(rows) in seconds behind about `depth` tokens of context, and which row counts round alike.

    rows: (n,) ascending, from 1 on. seconds: (n,). is_alike: (n,), whether passes of so many rows
    round as those of the anchor do; None where that is not known.
    """

    depth: int
    flash_attention: bool
    rows: tuple[int, ...]
    seconds: tuple[float, ...]
    is_alike: tuple[bool | None, ...]

    @property
    def curve(self) -> CostCurve:
        return CostCurve(self.rows, self.seconds)


class CalibrationStep(NamedTuple):
    """What is measured next: the time of a pass of `rows` rows, and its bits if `is_probe`."""

    rows: int
    is_probe: bool


@dataclass(slots=True)
class _Bucket:
    """times: for each row count its latest seconds; the count that was timed last comes last.

    probes: for each row count, at how many places it rounded as the anchor did.
    """

    times: dict[int, list[float]] = field(default_factory=dict)
    probes: dict[int, int] = field(default_factory=dict)

    def add_time(self, rows: int, seconds: float) -> None:
        self.times[rows] = [*self.times.pop(rows, []), seconds][-N_RECENT:]

    def seconds(self) -> dict[int, float]:
        """Return T. The least of the latest times is the pass itself; more is the machine's."""
        return {rows: min(times) for rows, times in sorted(self.times.items())}


class CalibrationStore:
    """What is known of one model on this machine, on disk in `folder`."""

    def __init__(self, folder: Path, model: Path, *, n_threads: int) -> None:
        stat = model.stat()
        key = [FORMAT, model.name, stat.st_size, backend(), versions(), n_threads]
        name = hashlib.sha256(json.dumps(key).encode()).hexdigest()[:16]
        self._path = folder / f"{name}.json"
        self._anchor = anchor_rows()
        self._buckets, self._refuted = self._read()

    @property
    def anchor(self) -> int:
        return self._anchor

    def get(self, depth: int, *, flash_attention: bool) -> Measurement | None:
        """Return what passes behind `depth` tokens cost; None if nothing was measured yet.

        Where only other depths were, the nearest one stands for this.
        """
        own = self._buckets.get((flash_attention, depth_bucket(depth)), _Bucket()).seconds()
        others = [
            (abs(math.log(bucket / depth_bucket(depth))), self._buckets[kind, bucket].seconds())
            for kind, bucket in sorted(self._buckets)
            if kind == flash_attention
        ]
        complete = [known for _, known in sorted(others, key=lambda o: o[0]) if len(known) > 1]
        near = next((known for known in complete if 1 in known), {})
        # Row counts that were timed at both depths say how much longer a pass takes here.
        ratios = [own[rows] / near[rows] for rows in own if rows in near]
        scale = median(ratios) if ratios else 1.0
        seconds = {rows: scale * time_s for rows, time_s in near.items()} | own
        if not near:
            return None
        rows = tuple(sorted(seconds))
        alike = self.row_counts(depth)
        return Measurement(
            depth=depth,
            flash_attention=flash_attention,
            rows=rows,
            seconds=tuple(seconds[n] for n in rows),
            is_alike=tuple(True if n in alike else self._is_refuted(n) for n in rows),
        )

    def row_counts(self, depth: int) -> tuple[int, ...]:
        """Return the row counts whose passes round alike behind `depth` tokens, ascending.

        That is the anchor, and what was proven equal to it behind as much context or more. Never
        one row beside others: the CPU splits its attention between threads from 512 cells on.
        """
        if self._anchor in self._refuted:
            return (1,)  # not even passes of equally many rows: one row is alone in all of them
        proven = {
            rows
            for (flash_attention, bucket), known in self._buckets.items()
            if flash_attention and bucket >= depth_bucket(depth)
            for rows in known.probes
        }
        return tuple(sorted({self._anchor, *proven} - self._refuted))

    def is_proven(self, depth: int) -> bool:
        """Tell whether row counts were compared behind `depth` tokens or more."""
        return any(
            flash_attention and bucket >= depth_bucket(depth) and known.probes
            for (flash_attention, bucket), known in self._buckets.items()
        )

    def record(self, passes: Iterable[PassTime], *, flash_attention: bool) -> None:
        """Take in what passes took: for each depth and row count one time, their median."""
        seconds: dict[tuple[int, int], list[float]] = {}
        for done in passes:
            if done.rows in _row_counts_to_time(flash_attention=flash_attention):
                seconds.setdefault((depth_bucket(done.depth), done.rows), []).append(done.seconds)
        for (bucket, rows), times in seconds.items():
            self._bucket(bucket, flash_attention=flash_attention).add_time(rows, median(times))

    def record_probe(self, depth: int, rows: int, *, is_alike: bool) -> None:
        """Take in whether a pass of `rows` rows rounded as the anchor did, behind `depth`."""
        if is_alike:
            probes = self._bucket(depth, flash_attention=True).probes
            probes[rows] = probes.get(rows, 0) + 1
            return
        used = any(rows in bucket.probes for bucket in self._buckets.values())
        if used or rows == self._anchor:
            log.warning(
                "passes of %d rows do not round as it seemed they do, behind %d tokens: they are no"
                " longer used where results must not depend on drafts",
                rows,
                depth,
            )
        self._refuted.add(rows)

    def steps(
        self, depth: int, *, flash_attention: bool, max_rows: int, is_refresh: bool = False
    ) -> Iterator[CalibrationStep]:
        """Yield what is to be measured behind `depth` tokens, the most useful first.

        Each step takes into account what was found by then. They end once all is known, unless
        `is_refresh`: then old times follow, the oldest first.
        """
        bucket = self._bucket(depth, flash_attention=flash_attention)
        counts = [n for n in _row_counts_to_time(flash_attention=flash_attention) if n <= max_rows]
        probed = counts if flash_attention else []
        for rows in counts:
            if rows in probed and self._needs_probe(bucket, rows, 1):
                yield CalibrationStep(rows, is_probe=True)
            n_wanted = 2 if rows == 1 else 1  # one row is what all others are held against
            for _ in range(n_wanted if _may_pay(bucket, rows) else 0):
                if len(bucket.times.get(rows, ())) < n_wanted:
                    yield CalibrationStep(rows, is_probe=False)
        yield from (
            CalibrationStep(rows, is_probe=False) for rows in _find_strange_times(bucket, max_rows)
        )
        for rows in probed:
            if self._needs_probe(bucket, rows, N_PROBES):
                yield CalibrationStep(rows, is_probe=True)
        if is_refresh:
            yield from (
                CalibrationStep(n, is_probe=False) for n in list(bucket.times) if n <= max_rows
            )

    def is_complete(self, depth: int, *, flash_attention: bool, max_rows: int) -> bool:
        """Tell whether all is known about passes behind `depth` tokens."""
        steps = self.steps(depth, flash_attention=flash_attention, max_rows=max_rows)
        return next(steps, None) is None

    def is_believable(self, depth: int, *, flash_attention: bool) -> bool:
        """Tell whether no time behind `depth` tokens can but be that of a busy machine."""
        return not _find_impossible_times(self._bucket(depth, flash_attention=flash_attention))

    def n_probes(self, depth: int, rows: int) -> int:
        """Return at how many places behind about `depth` tokens a row count was compared."""
        return self._bucket(depth, flash_attention=True).probes.get(rows, 0)

    def one_row_s(self, depth: int, *, flash_attention: bool) -> float | None:
        """Return T(1) behind `depth` tokens, the time of a plain token; None if it is not known."""
        return self._bucket(depth, flash_attention=flash_attention).seconds().get(1)

    def predict_tokens(self, depth: int, rows: int, *, flash_attention: bool) -> float:
        """Return T(rows) behind `depth` tokens in units of T(1), guessed if it was never timed."""
        known = self._bucket(depth, flash_attention=flash_attention).seconds()
        if 1 not in known:
            return 1.0
        # Passes get cheaper by the row, but not always by much. A time that was taken while the
        # machine was busy with something else says nothing about the next one.
        smaller = max(n for n in known if n <= rows)
        n_tokens: float = known[smaller] / known[1] * (rows / smaller) ** GROWTH
        return min(n_tokens, rows)

    def save(self) -> None:
        """Write the file; a folder that cannot be written costs only time."""
        # Another process may have found out what this one has not.
        self._refuted |= self._read()[1]
        data = {
            "refuted": sorted(self._refuted),
            "buckets": [
                {
                    "flash_attention": flash_attention,
                    "depth": depth,
                    "times": list(known.times.items()),
                    "probes": list(known.probes.items()),
                }
                for (flash_attention, depth), known in sorted(self._buckets.items())
            ],
        }
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            scratch = self._path.with_suffix(".tmp")
            scratch.write_text(json.dumps(data))
            scratch.replace(self._path)

    def _needs_probe(self, bucket: _Bucket, rows: int, n_probes: int) -> bool:
        if rows == 1 or rows in self._refuted or (rows == self._anchor and n_probes == 1):
            return False
        # Wider passes than one that rounds differently use its kernels, as far as anyone knows.
        is_beyond = any(self._anchor < refuted <= rows for refuted in self._refuted)
        return not is_beyond and bucket.probes.get(rows, 0) < n_probes

    def _is_refuted(self, rows: int) -> Literal[False] | None:
        return False if rows in self._refuted else None

    def _bucket(self, depth: int, *, flash_attention: bool) -> _Bucket:
        return self._buckets.setdefault((flash_attention, depth_bucket(depth)), _Bucket())

    def _read(self) -> tuple[dict[_Key, _Bucket], set[int]]:
        try:
            data = json.loads(self._path.read_text())
            buckets = {_read_key(entry): _read_bucket(entry) for entry in data["buckets"]}
            return buckets, set(map(int, data["refuted"]))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return {}, set()  # missing or damaged: measured again


def _read_key(entry: Mapping[str, Any]) -> _Key:
    return bool(entry["flash_attention"]), depth_bucket(int(entry["depth"]))


def _read_bucket(entry: Mapping[str, Any]) -> _Bucket:
    """Return a bucket from the file. Raises ValueError or TypeError for what is none."""
    times = {int(rows): [float(seconds) for seconds in times] for rows, times in entry["times"]}
    if not all(rows > 0 and 0 < s < math.inf for rows, ts in times.items() for s in ts or [0]):
        raise ValueError("row counts and times are positive")
    return _Bucket(times, {int(rows): int(n) for rows, n in entry["probes"]})


def _find_strange_times(bucket: _Bucket, max_rows: int) -> Iterator[int]:
    """Yield the row counts that took longer than the others let expect, again if that does not end.

    That is a real step of the hardware or a busy moment of the machine, and only measuring again
    tells. A busy moment that is believed would keep drafts from that size for good.
    """
    for _ in range(N_TRUSTED):
        seconds = bucket.seconds()
        rows = [n for n in seconds if n <= max_rows]
        for before, n, after in zip(rows, rows[1:], rows[2:], strict=False):
            expected = np.interp(n, (before, after), (seconds[before], seconds[after]))
            is_trusted = len(bucket.times[n]) >= N_TRUSTED
            if seconds[n] > OUTLIER_FACTOR * expected and not is_trusted:
                yield n
    yield from (n for n in _find_impossible_times(bucket) if n <= max_rows)


def _find_impossible_times(bucket: _Bucket) -> list[int]:
    """Return the row counts that take far longer than as many rows in narrower passes."""
    seconds = bucket.seconds()
    return [
        n
        for n in seconds
        if len(bucket.times[n]) < N_RECENT
        and any(seconds[n] / n > IMPOSSIBLE_FACTOR * seconds[m] / m for m in seconds if m < n)
    ]


def _may_pay(bucket: _Bucket, rows: int) -> bool:
    """Tell whether a pass of `rows` rows may do more rows a second than all narrower ones."""
    seconds = bucket.seconds()
    widest = max(seconds, default=1)
    if rows < widest or widest < ALWAYS_TIMED:
        return True
    best_rate = max(n / seconds[n] for n in seconds if n != widest)
    return widest / seconds[widest] >= MIN_SPEEDUP * best_rate


def _row_counts_to_time(*, flash_attention: bool) -> tuple[int, ...]:
    if backend() != "cpu":
        return GPU_COUNTS
    return CPU_COUNTS if flash_attention else SPLIT_ATTENTION_COUNTS


def measure(
    store: CalibrationStore,
    context: Context,
    tokens: Sequence[int],
    *,
    max_rows: int,
    n_plain_tokens: float = math.inf,
    is_refresh: bool = False,
) -> Generator[None]:
    """Measure passes over repetitions of `tokens` behind what sequence 0 of `context` holds.

    Yields after each pass, and what was found is in `store` then. Closed at any of them, it leaves
    the cache as it was. Ends when all is known. A step that would not fit into the time of
    `n_plain_tokens` passes of one row is left out; with `is_refresh` it is the end. `is_refresh`:
    known times are measured again after all.
    """
    start = time.perf_counter()
    place = _Place(store, context, tokens, max_rows=max_rows)
    depth, flash_attention = place.depth, context.flash_attention
    try:
        for step in store.steps(
            depth, flash_attention=flash_attention, max_rows=max_rows, is_refresh=is_refresh
        ):
            one_row_s = store.one_row_s(depth, flash_attention=flash_attention)
            n_spent = (time.perf_counter() - start) / one_row_s if one_row_s else 0.0
            fits = n_spent + place.predict_tokens(step) <= n_plain_tokens
            if not fits and is_refresh:
                return  # time is saved up for it
            if fits and place.has_room(step):
                yield from place.run(step)
    finally:
        context.remove(0, depth)
        store.save()


class _Place:
    """A text behind which steps are run, and the bits that passes of the anchor give its rows.

    Rows 0 to `_n_cells` have cells, with the bits that passes of the anchor make.
    """

    def __init__(
        self, store: CalibrationStore, context: Context, tokens: Sequence[int], *, max_rows: int
    ) -> None:
        self.depth = context.n_past()
        self._store = store
        self._context = context
        n_tokens = max_rows + SHIFT + store.anchor
        self._text = [tokens[i % len(tokens)] for i in range(n_tokens)]
        self._expected: list[npt.NDArray[np.float32]] = []  # of the first rows of the text
        self._n_cells = 0

    def has_room(self, step: CalibrationStep) -> bool:
        n_rows = step.rows
        if step.is_probe:
            n_rows += self._offset(step.rows) + self._store.anchor - 1
        return self.depth + n_rows <= self._context.n_ctx

    def predict_tokens(self, step: CalibrationStep) -> float:
        """Return the time of a step in units of T(1)."""
        rows, anchor = step.rows, self._store.anchor
        n_tokens = self._predict_pass(rows)
        if step.is_probe:
            n_missing = max(0, self._offset(rows) + rows - len(self._expected))
            widest = self._widest_alike(max(anchor, n_missing))
            n_tokens += -(-n_missing // widest) * self._predict_pass(widest)
        return n_tokens

    def run(self, step: CalibrationStep) -> Iterator[None]:
        """Run the passes of a step; yields after each."""
        if step.is_probe:
            yield from self._probe(step.rows)
            return
        self._n_cells = 0
        if step.rows == self._store.anchor and self._context.flash_attention:
            self._add_expected(self._run(step.rows, 0))  # the first that probes need
        else:
            self._run(step.rows, 0, is_probe=False)
        yield

    def _probe(self, rows: int) -> Iterator[None]:
        """Compare all rows of a pass with those of passes that are known to be right."""
        start = self._offset(rows)
        end = start + rows
        while self._n_cells < start:
            self._add_expected(self._run(self._store.anchor, self._n_cells))
            yield
        found = self._run(rows, start)
        yield
        is_alike = _are_equal(found, self._expected[start:end])
        # Rows that are as expected have left the cells that passes of the anchor would have.
        self._n_cells = min(end, len(self._expected)) if is_alike else start
        while is_alike and len(self._expected) < end:
            done = len(self._expected)
            # Passes of 8 and 8 for 16 rows; where those are alike, of 16 and 16 for 32.
            self._add_expected(self._run(self._widest_alike(end - done), done))
            yield
            is_alike = _are_equal(found[done - start :], self._expected[done:end])
        self._store.record_probe(self.depth, rows, is_alike=is_alike)

    def _widest_alike(self, n_rows: int) -> int:
        """Return the largest row count that rounds as the anchor does, `n_rows` at most.

        At the least that is the anchor.
        """
        anchor = self._store.anchor
        return max(anchor, *(n for n in self._store.row_counts(self.depth) if n <= n_rows), 0)

    def _add_expected(self, states: npt.NDArray[np.float32]) -> None:
        """Take in the rows of a pass that began at the first row without cells."""
        self._expected.extend(states[len(self._expected) - self._n_cells :])
        self._n_cells += len(states)

    def _offset(self, rows: int) -> int:
        """Return the row at which a probe begins: row 0 of a pass must be like any other row.

        Short passes are cheap to move; long ones begin elsewhere at every other place.
        """
        n_probes = self._store.n_probes(self.depth, rows)
        return SHIFT if (n_probes % 2 == 0) == (rows <= self._store.anchor) else 0

    def _predict_pass(self, rows: int) -> float:
        return self._store.predict_tokens(
            self.depth, rows, flash_attention=self._context.flash_attention
        )

    def _run(self, rows: int, start: int, *, is_probe: bool = True) -> npt.NDArray[np.float32]:
        """Run a pass over rows of the text from `start` on, and note its time."""
        context = self._context
        context.remove(0, self.depth + start)
        tokens = self._text[start : start + rows]
        positions = list(range(self.depth + start, self.depth + start + rows))
        sequences: list[tuple[int, ...]] = [(0,)] * rows
        if is_probe:
            states = context.run_for_bits(tokens, positions, sequences)
        else:
            states = context.run(tokens, positions, sequences, n_outputs=rows)
        self._store.record(context.pass_times, flash_attention=context.flash_attention)
        context.pass_times.clear()
        return states


def _are_equal(states: npt.NDArray[np.float32], others: Sequence[npt.NDArray[np.float32]]) -> bool:
    """Tell whether rows are bitwise equal, as far as there are others."""
    pairs = zip(states, others, strict=False)
    return all(np.array_equal(a.view(np.uint32), b.view(np.uint32)) for a, b in pairs)
