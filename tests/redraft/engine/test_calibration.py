"""Measurements stay within their time, correct themselves, and prove which row counts are alike."""

import json
import logging
import math
from collections import deque
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from redraft.engine import calibration
from redraft.engine.calibration import (
    FIRST_PLAIN_TOKENS,
    CalibrationStore,
    Measurement,
    depth_bucket,
    measure,
)
from redraft.engine.drafters import build_cost_curve
from redraft.engine.llama import Context, PassTime


def open_store(folder: Path, model: Path, *, n_threads: int = 2) -> CalibrationStore:
    return CalibrationStore(folder, model, n_threads=n_threads)


def make_passes(depth: int = 500, **seconds: float) -> list[PassTime]:
    """Passes of a request: `rows_8=0.3` took 0.3 s."""
    return [
        PassTime(rows=int(name.removeprefix("rows_")), depth=depth, seconds=s)
        for name, s in seconds.items()
    ]


def record(store: CalibrationStore, *, flash_attention: bool = False, **more) -> None:
    store.record(make_passes(**more), flash_attention=flash_attention)


class FakeContext:
    """A context on a clock of its own, whose kernels are given.

    seconds: of a pass of so many rows. kernel: what rounds a row, from the rows of the pass, the
    row's index and the number of tokens before it.
    """

    n_ctx = 100_000

    def __init__(
        self,
        monkeypatch: pytest.MonkeyPatch,
        *,
        seconds: Callable[[int], float] = lambda rows: 0.9 + rows / 10,
        kernel: Callable[[int, int, int], object] = lambda rows, row, depth: "same",
        flash_attention: bool = True,
    ) -> None:
        self.seconds = seconds
        self.kernel = kernel
        self.flash_attention = flash_attention
        self.n_tokens = 0
        self.now = 0.0
        self.n_passes = 0
        self.pass_times: deque[PassTime] = deque()
        monkeypatch.setattr("redraft.engine.calibration.time.perf_counter", lambda: self.now)

    def run(self, tokens, positions, sequences, *, n_outputs) -> np.ndarray:
        assert positions == list(range(self.n_tokens, self.n_tokens + len(tokens)))
        assert len(tokens) == len(sequences) == n_outputs
        self.n_tokens += len(tokens)
        self.n_passes += 1
        self.now += self.seconds(len(tokens))
        time = PassTime(rows=len(tokens), depth=positions[0], seconds=self.seconds(len(tokens)))
        self.pass_times.append(time)
        return np.zeros((n_outputs, 4), np.float32)

    def run_for_bits(self, tokens, positions, sequences) -> np.ndarray:
        self.run(tokens, positions, sequences, n_outputs=len(tokens))
        kernels = [hash(self.kernel(len(tokens), i, p)) for i, p in enumerate(positions)]
        rows = zip(tokens, positions, [k % 1000 for k in kernels], strict=True)
        return np.array(list(rows), np.float32)

    def n_past(self) -> int:
        return self.n_tokens

    def remove(self, sequence, start) -> None:
        self.n_tokens = min(self.n_tokens, start)


@pytest.fixture
def store(tmp_path: Path, tiny_path: Path) -> CalibrationStore:
    return open_store(tmp_path / "costs", tiny_path)


def measure_all(store: CalibrationStore, context, *, max_rows: int = 128, **more) -> int:
    """Measure to the end; return the number of passes."""
    return sum(1 for _ in measure(store, context, [4, 5, 6], max_rows=max_rows, **more))


class TestMeasure:
    def test_a_real_context_is_measured_completely(
        self, store: CalibrationStore, make_context: Callable[..., Context]
    ):
        context = make_context()
        context.run([1, 2, 3], [0, 1, 2], [(0,)] * 3, n_outputs=0)
        measure_all(store, context)
        measured = store.get(3, flash_attention=True)
        assert measured is not None
        assert set(measured.rows) >= {1, 2, 4, 8, 16, 32, 48, 64}
        assert min(measured.seconds) > 0
        assert store.anchor in store.row_counts(3)
        alike = dict(zip(measured.rows, measured.is_alike, strict=True))
        assert [n for n in alike if alike[n]] == list(store.row_counts(3))

    def test_no_more_rows_than_max_rows(self, store: CalibrationStore, make_context):
        measure_all(store, make_context(), max_rows=8)
        measured = store.get(0, flash_attention=True)
        assert measured is not None
        assert measured.rows == (1, 2, 4, 8)

    @pytest.mark.parametrize("n_passes", range(1, 12))
    def test_it_can_be_stopped_after_any_pass_and_goes_on_later(
        self, n_passes: int, store: CalibrationStore, make_context: Callable[..., Context]
    ):
        contexts = make_context(), make_context()
        for context in contexts:
            context.run([1, 2, 3], [0, 1, 2], [(0,)] * 3, n_outputs=0)
        passes = measure(store, contexts[0], [4, 5], max_rows=32)
        for _ in range(n_passes):
            next(passes, None)
        passes.close()
        assert contexts[0].n_past() == 3
        answers = [c.run([7, 8], [3, 4], [(0,)] * 2, n_outputs=2).copy() for c in contexts]
        assert np.array_equal(*answers)
        measure_all(store, contexts[1], max_rows=32)
        assert store.row_counts(0) == (2, 4, 8, 16, 32)

    def test_at_the_end_of_a_full_context_it_measures_what_fits(self, store, monkeypatch):
        context = FakeContext(monkeypatch)
        context.n_ctx = 1000
        context.n_tokens = 980
        measure_all(store, context, max_rows=20)
        measured = store.get(980, flash_attention=True)
        assert measured is not None
        assert measured.rows == (1, 2, 4, 8, 16)
        assert context.n_tokens == 980


# T(k)/T(1) as measured on the machines that `redraft` is for.
CURVES = {
    "1.5B, two cores": lambda n: np.interp(
        n, (1, 2, 4, 8, 16, 32, 64, 128), (1, 1.5, 1.6, 2.6, 3.6, 6.1, 9.9, 19.9)
    ),
    "135M, two cores": lambda n: np.interp(
        n, (1, 2, 4, 8, 16, 32, 64, 128), (1, 1.9, 3.1, 4.9, 7.6, 15, 22, 45)
    ),
    "Metal": lambda n: np.interp(n, (1, 2, 4, 8, 9, 32, 33, 64), (1, 1.8, 3.8, 7.4, 6, 6, 9, 9)),
    "hardly any gain": lambda n: max(1.0, 0.8 * n),
    "no cost at all": lambda n: 1.0,
}


class TestTime:
    @pytest.mark.parametrize("curve", CURVES.values(), ids=CURVES)
    @pytest.mark.parametrize("kind", ["cpu", "metal"])
    @pytest.mark.parametrize("flash_attention", [True, False])
    def test_a_first_edit_waits_for_30_plain_tokens_at_most(
        self, curve, kind: str, flash_attention: bool, tmp_path, tiny_path, monkeypatch
    ):
        monkeypatch.setattr(calibration, "backend", lambda: kind)
        store = open_store(tmp_path, tiny_path)
        context = FakeContext(monkeypatch, seconds=curve, flash_attention=flash_attention)
        context.n_tokens = 2000
        measure_all(store, context, n_plain_tokens=FIRST_PLAIN_TOKENS)
        assert context.now <= 30
        measured = store.get(2000, flash_attention=flash_attention)
        assert measured is not None
        assert max(measured.rows) >= 8, "copying has something to draft with"
        if flash_attention and curve in (CURVES["1.5B, two cores"], CURVES["135M, two cores"]):
            assert len(store.row_counts(2000)) > 1, "in a class of its row counts, too"

    @pytest.mark.parametrize("flash_attention", [True, False])
    def test_what_is_missing_follows_in_slices(self, flash_attention: bool, store, monkeypatch):
        context = FakeContext(
            monkeypatch,
            seconds=CURVES["135M, two cores"],
            kernel=lambda rows, row, depth: rows >= 64,
            flash_attention=flash_attention,
        )
        credit = 0.0
        for _ in range(600):
            credit += 1.5  # 3 % of 50 tokens
            before = context.now
            measure_all(store, context, n_plain_tokens=credit, is_refresh=True)
            credit -= context.now - before
            assert credit > -5, "a slice takes little more than was saved up for it"
        assert store.is_complete(0, flash_attention=flash_attention, max_rows=128)
        measured = store.get(0, flash_attention=flash_attention)
        assert measured is not None
        assert set(measured.rows) >= {1, 2, 4, 8, 16, 32, 48, 64}

    @pytest.mark.parametrize("slow", [2, 8, 16, 32, 48])
    @pytest.mark.parametrize("flash_attention", [True, False])
    def test_a_busy_moment_is_not_believed(self, slow, flash_attention, store, monkeypatch):
        busy = [slow]

        def seconds(rows: int) -> float:
            return 0.9 + rows / 10 + (2 * rows if rows in busy else 0)

        context = FakeContext(monkeypatch, seconds=seconds, flash_attention=flash_attention)
        for _ in measure(store, context, [4], max_rows=64):
            measured = store.get(0, flash_attention=flash_attention)
            if measured and slow in measured.rows:
                busy.clear()
        measured = store.get(0, flash_attention=flash_attention)
        assert measured is not None
        assert measured.seconds[measured.rows.index(slow)] == 0.9 + slow / 10

    def test_a_curve_measured_under_load_corrects_itself(self, store, monkeypatch):
        """All but one row took ten times as long, so nothing was ever drafted again."""
        load = 10.0
        context = FakeContext(
            monkeypatch,
            seconds=lambda rows: (0.9 + rows / 10) * (load if rows > 1 else 1),
            flash_attention=False,
        )
        measure_all(store, context)
        poisoned = store.get(0, flash_attention=False)
        assert poisoned is not None
        assert poisoned.curve.best_rows == 1
        load = 1.0
        credit = 0.0
        for n_requests in range(400):
            store.record(make_passes(depth=0, rows_1=1.0), flash_attention=False)
            credit += 1
            before = context.now
            measure_all(store, context, n_plain_tokens=credit, is_refresh=True)
            credit -= context.now - before
            measured = store.get(0, flash_attention=False)
            assert measured is not None
            if n_requests == 40:
                assert measured.curve.best_rows > 1, "drafts are made again, and time their passes"
        for rows, seconds in zip(measured.rows, measured.seconds, strict=True):
            assert seconds == pytest.approx(0.9 + rows / 10), rows

    @pytest.mark.parametrize(
        ("seconds", "expected"),
        [
            pytest.param({"rows_1": 1.0, "rows_2": 2.5, "rows_8": 5.0}, True, id="dear passes"),
            pytest.param({"rows_1": 1.0, "rows_2": 11.5}, False, id="one under load"),
            pytest.param({"rows_1": 9.0, "rows_8": 2.0, "rows_16": 36.0}, False, id="one of wide"),
            pytest.param({"rows_8": 2.0}, True, id="one time"),
        ],
    )
    def test_what_no_machine_can_take_is_not_believed(self, seconds, expected, store):
        record(store, **seconds)
        assert store.is_believable(500, flash_attention=False) == expected

    def test_what_it_takes_again_and_again_is_believed(self, store: CalibrationStore):
        for _ in range(calibration.N_RECENT):
            record(store, rows_1=1.0, rows_2=11.5)
        assert store.is_believable(500, flash_attention=False)

    def test_passes_of_requests_tell_that_the_machine_became_slower(self, store: CalibrationStore):
        record(store, rows_1=1.0, rows_8=2.0)
        for _ in range(calibration.N_RECENT):
            record(store, rows_1=3.0, rows_8=6.0)
        measured = store.get(500, flash_attention=False)
        assert measured is not None
        assert measured.seconds == (3.0, 6.0)

    def test_many_passes_of_a_request_are_one_time(self, store: CalibrationStore):
        passes = [PassTime(rows=8, depth=0, seconds=s) for s in (2.0, 2.1, 1.9, 9.0, 2.0)]
        store.record([*passes, *make_passes(depth=0, rows_1=1.0)], flash_attention=False)
        measured = store.get(0, flash_attention=False)
        assert measured is not None
        assert measured.seconds == (1.0, 2.0)


def by_eights(rows: int, row: int, depth: int) -> str:
    """Like the CPU's kernels: what is left over behind groups of eight rounds differently."""
    return "group" if row < rows // 8 * 8 else "left over"


class TestRowCounts:
    @pytest.mark.parametrize(
        ("kernel", "expected"),
        [
            pytest.param(lambda *_: "same", (2, 4, 8, 16, 32, 48, 64, 96, 128), id="all alike"),
            pytest.param(by_eights, (8, 16, 32, 48, 64, 96, 128), id="leftover rows differ"),
            pytest.param(
                lambda rows, row, depth: rows >= 64, (2, 4, 8, 16, 32, 48), id="wide ones differ"
            ),
            pytest.param(lambda rows, row, depth: rows, (8,), id="each count differs"),
            pytest.param(
                lambda rows, row, depth: rows if row else 8, (8,), id="each, but for its first row"
            ),
            pytest.param(
                lambda rows, row, depth: row < 32 < rows,
                (2, 4, 8, 16, 32),
                id="48 rows are a kernel's 32 and another's 16",
            ),
            pytest.param(
                lambda rows, row, depth: 20 <= row < 24,
                (2, 4, 8, 16),
                id="rows in the middle differ",
            ),
            pytest.param(lambda rows, row, depth: row, (1,), id="no two rows of a pass are alike"),
        ],
    )
    @pytest.mark.parametrize("depth", [0, 509, 2000])
    def test_all_rows_of_a_class_round_alike(self, kernel, expected, depth, store, monkeypatch):
        context = FakeContext(monkeypatch, kernel=kernel)
        context.n_tokens = depth
        for _ in range(calibration.N_PROBES):
            measure_all(store, context)
        assert store.row_counts(depth) == expected

    def test_before_anything_is_proven_there_is_one_row_count(self, store: CalibrationStore):
        assert store.row_counts(0) == store.row_counts(5000) == (store.anchor,)
        assert not store.is_proven(0)

    def test_a_class_reaches_as_deep_as_it_was_proven(self, store, monkeypatch):
        context = FakeContext(monkeypatch)
        context.n_tokens = 1000
        measure_all(store, context)
        assert len(store.row_counts(700)) > 2
        assert store.row_counts(1025) == (8,)
        assert (store.is_proven(700), store.is_proven(1025)) == (True, False)

    def test_a_deeper_probe_narrows_the_class_for_good(
        self, store, tmp_path, tiny_path, monkeypatch, caplog
    ):
        context = FakeContext(
            monkeypatch, kernel=lambda rows, row, depth: rows == 16 and depth >= 1024
        )
        measure_all(store, context)
        assert 16 in store.row_counts(0)
        context.n_tokens = 2000
        with caplog.at_level(logging.WARNING, logger="redraft.engine"):
            measure_all(store, context)
        assert "16 rows do not round as it seemed" in caplog.text
        assert 16 not in store.row_counts(0)
        assert store.row_counts(2000) == (2, 4, 8)
        context.n_tokens = 100
        measure_all(store, context)
        assert 16 not in open_store(tmp_path / "costs", tiny_path).row_counts(0)

    def test_another_process_does_not_bring_a_refuted_count_back(
        self, store, tmp_path, tiny_path, monkeypatch
    ):
        other = open_store(tmp_path / "costs", tiny_path)
        measure_all(store, FakeContext(monkeypatch, kernel=by_eights))
        measure_all(other, FakeContext(monkeypatch))
        assert open_store(tmp_path / "costs", tiny_path).row_counts(0)[0] == 8

    def test_times_decide_nothing(self, tmp_path: Path, tiny_path: Path, monkeypatch):
        found = set()
        for i, curve in enumerate(CURVES.values()):
            store = open_store(tmp_path / str(i), tiny_path)
            context = FakeContext(monkeypatch, seconds=curve, kernel=by_eights)
            measure_all(store, context, max_rows=64)
            found.add(store.row_counts(0))
        assert found == {(8, 16, 32, 48, 64)}

    @pytest.mark.parametrize("n_tokens", [5, 10, 20, 40, 80, math.inf])
    def test_how_far_the_proof_came_decides_only_how_many_there_are(
        self, n_tokens, store, monkeypatch
    ):
        context = FakeContext(monkeypatch, kernel=by_eights)
        measure_all(store, context, n_plain_tokens=n_tokens)
        assert {8} <= set(store.row_counts(0)) <= {8, 16, 32, 48, 64, 96, 128}


@pytest.mark.parametrize(
    ("depth", "bucket"),
    [(0, 512), (1, 512), (512, 512), (513, 1024), (1024, 1024), (1025, 2048), (5000, 8192)],
)
def test_depths_that_share_a_measurement(depth: int, bucket: int):
    assert depth_bucket(depth) == bucket


BUCKET = {"flash_attention": False, "depth": 500, "times": [[1, [1.0]], [8, [2.0]]]}


class TestStore:
    def test_the_next_process_finds_what_was_saved(
        self, store, tmp_path: Path, tiny_path: Path, monkeypatch
    ):
        assert store.get(10, flash_attention=True) is None
        context = FakeContext(monkeypatch, kernel=by_eights)
        measure_all(store, context)
        reopened = open_store(tmp_path / "costs", tiny_path)
        for depth in (10, 3000):
            assert reopened.get(depth, flash_attention=True) == store.get(
                depth, flash_attention=True
            )
        assert reopened.row_counts(0) == store.row_counts(0)
        assert reopened.is_complete(0, flash_attention=True, max_rows=128) == store.is_complete(
            0, flash_attention=True, max_rows=128
        )

    def test_the_nearest_depth_stands_for_one_that_was_not_measured(self, store):
        record(store, depth=500, rows_1=1.0, rows_8=2.0, rows_32=4.0)
        record(store, depth=60_000, rows_1=9.0, rows_8=18.0)
        near, deep = (store.get(d, flash_attention=False) for d in (1000, 33_000))
        assert near is not None
        assert deep is not None
        assert (near.depth, near.rows, near.seconds) == (1000, (1, 8, 32), (1.0, 2.0, 4.0))
        assert (deep.depth, deep.seconds) == (33_000, (9.0, 18.0))

    def test_what_was_timed_here_scales_what_was_timed_elsewhere(self, store: CalibrationStore):
        record(store, depth=500, rows_1=1.0, rows_8=2.0, rows_32=4.0)
        record(store, depth=3000, rows_8=3.0)
        measured = store.get(3000, flash_attention=False)
        assert measured is not None
        assert (measured.rows, measured.seconds) == ((1, 8, 32), (1.5, 3.0, 6.0))

    def test_one_time_makes_no_curve(self, store: CalibrationStore):
        record(store, rows_1=1.0)
        assert store.get(500, flash_attention=False) is None

    def test_each_kind_of_attention_has_costs_of_its_own(self, store: CalibrationStore):
        record(store, flash_attention=True, rows_1=1.0, rows_8=2.0)
        assert store.get(10, flash_attention=False) is None
        assert store.get(10, flash_attention=True) is not None

    def save(self, folder: Path, tiny_path: Path) -> Path:
        saved = open_store(folder, tiny_path)
        record(saved, rows_1=1.0, rows_8=2.0)
        saved.save()
        [path] = folder.iterdir()
        return path

    def test_another_number_of_threads_has_another_file(self, tmp_path: Path, tiny_path: Path):
        self.save(tmp_path, tiny_path)
        other = open_store(tmp_path, tiny_path, n_threads=3)
        assert other.get(10, flash_attention=False) is None

    def test_another_model_has_another_file(
        self, tmp_path: Path, tiny_path: Path, recurrent_path: Path
    ):
        self.save(tmp_path, tiny_path)
        assert open_store(tmp_path, recurrent_path).get(10, flash_attention=False) is None

    def test_a_file_of_other_rules_is_not_believed(self, tmp_path, tiny_path, monkeypatch):
        self.save(tmp_path, tiny_path)
        monkeypatch.setattr(calibration, "FORMAT", calibration.FORMAT + 1)
        assert open_store(tmp_path, tiny_path).get(10, flash_attention=False) is None

    @pytest.mark.parametrize(
        "content",
        [
            pytest.param("", id="empty"),
            pytest.param('{"buck', id="cut"),
            pytest.param("\udcff", id="no text"),
            pytest.param("[]", id="no object"),
            pytest.param("{}", id="no buckets"),
            pytest.param('{"buckets": [5], "refuted": []}', id="a number for a bucket"),
            *(
                pytest.param(
                    json.dumps({"buckets": [{**BUCKET, "probes": [], **change}], "refuted": []}),
                    id=name,
                )
                for name, change in {
                    "no depth": {"depth": None},
                    "no times": {"times": [[1, [1.0]], [8, []]]},
                    "words": {"times": [["a", [1.0]]]},
                    "no time": {"times": [[1, [0]], [8, [2.0]]]},
                    "not a number": {"times": [[1, [math.nan]], [8, [2.0]]]},
                    "no rows": {"times": [[0, [1.0]], [8, [2.0]]]},
                    "probes without a count": {"probes": [[8]]},
                }.items()
            ),
        ],
    )
    def test_a_damaged_file_is_measured_again(self, content, tmp_path: Path, tiny_path: Path):
        path = self.save(tmp_path, tiny_path)
        path.write_bytes(content.encode("utf-8", "surrogateescape"))
        assert open_store(tmp_path, tiny_path).get(10, flash_attention=False) is None
        self.save(tmp_path, tiny_path)
        assert open_store(tmp_path, tiny_path).get(10, flash_attention=False) is not None

    def test_a_folder_that_cannot_be_written_costs_only_time(self, tmp_path: Path, tiny_path: Path):
        (tmp_path / "costs").write_text("a file where the folder should be")
        store = open_store(tmp_path / "costs", tiny_path)
        record(store, rows_1=1.0, rows_8=2.0)
        store.save()
        assert store.get(10, flash_attention=False) is not None
        assert open_store(tmp_path / "costs", tiny_path).get(10, flash_attention=False) is None


def with_times(*pairs: tuple[int, float]) -> Measurement:
    rows, seconds = zip(*pairs, strict=True)
    return Measurement(
        depth=512, flash_attention=False, rows=rows, seconds=seconds, is_alike=(None,) * len(rows)
    )


def test_the_curve_of_a_class_is_a_staircase():
    measurement = with_times((1, 1), (4, 2), (8, 3), (16, 4))
    curve = build_cost_curve(measurement, (4, 8))
    assert [curve.seconds(k) for k in range(1, 9)] == [2, 2, 2, 2, 3, 3, 3, 3]
    assert curve.max_rows == 8


def test_row_counts_that_were_not_measured_are_left_out():
    measurement = with_times((1, 1), (8, 3))
    curve = build_cost_curve(measurement, (8, 128))
    assert (curve.max_rows, curve.seconds(1)) == (8, 3)
    assert build_cost_curve(measurement, (128,)) == measurement.curve


def test_without_a_class_the_curve_is_as_measured():
    measurement = with_times((1, 1), (4, 2))
    assert build_cost_curve(measurement, ()) == measurement.curve
