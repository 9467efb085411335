"""Measurements are valid, leave the cache as it was, and survive a process and a bad disk."""

import itertools
import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from redraft.engine.calibration import CalibrationStore, Measurement, depth_bucket, measure
from redraft.engine.drafters import build_cost_curve, choose_row_counts
from redraft.engine.llama import Context


def make_measurement(depth: int = 500) -> Measurement:
    return Measurement(
        depth=depth,
        flash_attention=False,
        rows=(1, 2, 4),
        seconds=(1.0, 1.5, 2.0),
        classes=(0, 1, 1),
    )


def open_store(folder: Path, model: Path, *, n_threads: int = 2) -> CalibrationStore:
    return CalibrationStore(folder, model, n_threads=n_threads)


class FakeTimeContext:
    """A context whose passes take 0.9 s and 0.1 s a row, but the first of `hiccup_at` rows more."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, hiccup_at: int) -> None:
        self.flash_attention = True
        self._now = 0.0
        self._hiccups = [hiccup_at]
        monkeypatch.setattr("redraft.engine.calibration.time.perf_counter", lambda: self._now)

    def run(self, tokens, positions, owners, *, n_outputs):
        k = len(tokens)
        self._now = 0.9 + k / 10 + (2 * k if k in self._hiccups else 0)
        self._hiccups = [rows for rows in self._hiccups if rows != k]
        return np.zeros((n_outputs, 4), np.float32)

    def n_past(self) -> int:
        self._now = 0.0
        return 0

    def remove(self, sequence, start) -> None:
        self._now = 0.0


class TestMeasure:
    def test_rows_times_and_classes_fit_together(self, make_context: Callable[..., Context]):
        context = make_context()
        context.run([1, 2, 3], [0, 1, 2], [(0,)] * 3, n_outputs=0)
        *_, measurement = measure(context, [4, 5], max_rows=128)
        assert measurement.depth == 3
        assert measurement.rows[:8] == (1, 2, 4, 8, 16, 32, 48, 64)
        assert measurement.rows[8:] in ((96,), (96, 128))
        assert min(measurement.seconds) > 0
        for i, first in enumerate(measurement.classes):
            assert first <= i
            assert measurement.classes[first] == first, "a class is named after its first member"
        assert measurement.curve.max_rows == measurement.rows[-1]

    def test_no_more_rows_than_max_rows(self, make_context: Callable[..., Context]):
        *_, measurement = measure(make_context(), [4], max_rows=8)
        assert measurement.rows == (1, 2, 4, 8)

    def test_two_passes_make_a_curve_and_more_improve_it(self, make_context):
        measurements = list(measure(make_context(), [4], max_rows=64))
        assert [m.rows for m in measurements[:3]] == [(1,), (1, 64), (1, 8, 64)]
        assert measurements[1].curve.max_rows == 64
        times = [dict(zip(m.rows, m.seconds, strict=True)) for m in measurements]
        for former, later in itertools.pairwise(times):
            assert all(later[k] <= former[k] for k in former)

    @pytest.mark.parametrize("hiccup_at", [2, 8, 16, 32, 48])
    def test_a_hiccup_is_not_believed(self, hiccup_at: int, monkeypatch):
        *_, measurement = measure(FakeTimeContext(monkeypatch, hiccup_at), [4], max_rows=64)
        assert (
            dict(zip(measurement.rows, measurement.seconds, strict=True))[hiccup_at]
            == 0.9 + hiccup_at / 10
        )

    def test_the_cache_is_left_as_it_was(self, make_context: Callable[..., Context]):
        contexts = make_context(), make_context()
        for context in contexts:
            context.run([1, 2, 3], [0, 1, 2], [(0,)] * 3, n_outputs=0)
        for _ in measure(contexts[0], [4, 5], max_rows=16):
            assert contexts[0].n_past() == 3
        answers = [c.run([7, 8], [3, 4], [(0,)] * 2, n_outputs=2).copy() for c in contexts]
        assert np.array_equal(*answers)


@pytest.mark.parametrize(
    ("depth", "bucket"),
    [(0, 1024), (1, 1024), (1024, 1024), (1025, 2048), (2048, 2048), (5000, 8192)],
)
def test_depths_that_share_a_measurement(depth: int, bucket: int):
    assert depth_bucket(depth) == bucket


class TestStore:
    def test_the_next_process_finds_what_was_put(self, tmp_path: Path, tiny_path: Path):
        store = open_store(tmp_path / "new", tiny_path)
        assert store.get(10, flash_attention=False) is None
        store.put(make_measurement(500))
        store.put(make_measurement(3000))
        reopened = open_store(tmp_path / "new", tiny_path)
        assert reopened.get(10, flash_attention=False) == make_measurement(500)
        assert reopened.get(4000, flash_attention=False) == make_measurement(3000)
        assert reopened.get(5000, flash_attention=False) is None

    def test_between_two_depths_costs_are_interpolated(self, tmp_path: Path, tiny_path: Path):
        store = open_store(tmp_path, tiny_path)
        store.put(make_measurement(1000))
        deep = Measurement(
            depth=3000, flash_attention=False, rows=(1, 2), seconds=(2.0, 4.5), classes=(0, 1)
        )
        store.put(deep)
        assert store.get(1500, flash_attention=False) == Measurement(
            depth=1500, flash_attention=False, rows=(1, 2), seconds=(1.25, 2.25), classes=(0, 1)
        )
        assert store.get(3000, flash_attention=False) == deep

    def test_a_partial_measurement_serves_this_process_only(self, tmp_path: Path, tiny_path: Path):
        store = open_store(tmp_path, tiny_path)
        store.put_partial(
            Measurement(depth=500, flash_attention=False, rows=(1,), seconds=(1.0,), classes=(0,))
        )
        assert store.get_partial(10, flash_attention=False) is None, "one time makes no curve"
        store.put_partial(make_measurement(500))
        assert (
            store.get(10, flash_attention=False),
            store.get_partial(10, flash_attention=False),
        ) == (
            None,
            make_measurement(500),
        )
        assert open_store(tmp_path, tiny_path).get_partial(10, flash_attention=False) is None

    def test_each_kind_of_attention_has_costs_of_its_own(self, tmp_path: Path, tiny_path: Path):
        store = open_store(tmp_path, tiny_path)
        flash_attention = replace(make_measurement(), flash_attention=True)
        store.put(flash_attention)
        assert store.get(10, flash_attention=False) is None
        store.put(make_measurement())
        assert (
            store.get(10, flash_attention=True)
            == store.get_deeper(10, flash_attention=True)
            == flash_attention
        )
        assert open_store(tmp_path, tiny_path).get(10, flash_attention=False) == make_measurement()

    def test_another_number_of_threads_has_another_file(self, tmp_path: Path, tiny_path: Path):
        open_store(tmp_path, tiny_path).put(make_measurement())
        assert open_store(tmp_path, tiny_path, n_threads=3).get(10, flash_attention=False) is None

    def test_another_model_has_another_file(
        self, tmp_path: Path, tiny_path: Path, recurrent_path: Path
    ):
        open_store(tmp_path, tiny_path).put(make_measurement())
        assert open_store(tmp_path, recurrent_path).get(10, flash_attention=False) is None

    def damage(self, tmp_path: Path, tiny_path: Path, content: bytes) -> CalibrationStore:
        open_store(tmp_path, tiny_path).put(make_measurement())
        [path] = tmp_path.iterdir()
        path.write_bytes(content)
        return open_store(tmp_path, tiny_path)

    @pytest.mark.parametrize(
        "content",
        [
            pytest.param(b"", id="empty"),
            pytest.param(b'[{"dep', id="cut"),
            pytest.param(b"\xff\xfe", id="no text"),
            pytest.param(b"{}", id="no list"),
            pytest.param(b"[5]", id="a number for a measurement"),
            pytest.param(b"[{}]", id="no depth"),
            pytest.param(b'[{"depth": 5}]', id="no rows"),
        ],
    )
    def test_a_damaged_file_is_measured_again(self, content, tmp_path: Path, tiny_path: Path):
        store = self.damage(tmp_path, tiny_path, content)
        assert store.get(10, flash_attention=False) is None
        store.put(make_measurement())
        assert open_store(tmp_path, tiny_path).get(10, flash_attention=False) == make_measurement()

    @pytest.mark.parametrize(
        "change",
        [
            pytest.param({"rows": []}, id="no row counts"),
            pytest.param({"rows": [2, 4, 8]}, id="not from one row on"),
            pytest.param({"rows": [1, 4, 2]}, id="not ascending"),
            pytest.param({"rows": ["a", "b", "c"]}, id="words"),
            pytest.param({"seconds": [1, 0, 2]}, id="no time"),
            pytest.param({"seconds": [1, float("nan"), 2]}, id="not a number"),
            pytest.param({"seconds": [1, 2]}, id="a time too few"),
            pytest.param({"classes": [0]}, id="a class too few"),
        ],
    )
    def test_so_is_an_invalid_one(self, change, tmp_path: Path, tiny_path: Path):
        good = asdict(make_measurement(5))
        content = json.dumps([{**good, **change}]).encode()
        assert self.damage(tmp_path, tiny_path, content).get(10, flash_attention=False) is None

    def test_a_folder_that_cannot_be_written_costs_only_time(self, tmp_path: Path, tiny_path: Path):
        (tmp_path / "costs").write_text("a file where the folder should be")
        store = open_store(tmp_path / "costs", tiny_path)
        store.put(make_measurement())
        assert store.get(10, flash_attention=False) == make_measurement()
        assert open_store(tmp_path / "costs", tiny_path).get(10, flash_attention=False) is None


def with_classes(*triples: tuple[int, float, int]) -> Measurement:
    rows, seconds, classes = zip(*triples, strict=True)
    return Measurement(depth=0, flash_attention=False, rows=rows, seconds=seconds, classes=classes)


@pytest.mark.parametrize(
    ("measurement", "expected"),
    [
        pytest.param(
            with_classes((1, 1, 0), (2, 1.5, 1), (4, 2, 1), (8, 3, 1)), (2, 4, 8), id="one class"
        ),
        pytest.param(
            with_classes((1, 1, 0), (2, 1.1, 0), (8, 3, 2), (32, 6, 2)),
            (8, 32),
            id="copying fast is worth a dearer single step",
        ),
        pytest.param(
            with_classes((1, 1, 0), (2, 1.1, 0), (4, 1.2, 0), (64, 30, 3), (128, 59, 3)),
            (2, 4),
            id="not any dearer step",
        ),
        pytest.param(
            with_classes((1, 1, 0), (2, 2, 0), (4, 2.1, 2), (8, 2.2, 0), (16, 2.3, 2)),
            (4, 16),
            id="classes that take turns",
        ),
        pytest.param(with_classes((1, 1, 0), (2, 2, 1)), (2,), id="never one row"),
    ],
)
def test_the_class_that_serves_edits_best(measurement: Measurement, expected: tuple[int, ...]):
    assert choose_row_counts(measurement) == expected


def test_the_curve_of_a_class_is_a_staircase():
    measurement = with_classes((1, 1, 0), (4, 2, 1), (8, 3, 1), (16, 4, 2))
    curve = build_cost_curve(measurement, (4, 8))
    assert [curve.seconds(k) for k in range(1, 9)] == [2, 2, 2, 2, 3, 3, 3, 3]
    assert curve.max_rows == 8


def test_row_counts_that_were_not_measured_are_left_out():
    measurement = with_classes((1, 1, 0), (8, 3, 1))
    curve = build_cost_curve(measurement, (8, 128))
    assert (curve.max_rows, curve.seconds(1)) == (8, 3)
    assert build_cost_curve(measurement, (128,)) == measurement.curve


def test_without_a_class_the_curve_is_as_measured():
    measurement = with_classes((1, 1, 0), (4, 2, 1))
    assert build_cost_curve(measurement, ()) == measurement.curve
