"""Draft lengths on a recorded CPU curve and on a tile staircase like that of Apple GPUs."""

import random

import numpy as np
import pytest
from tests.redraft_lookup.fakes import SLOPE_CURVE, STAIRCASE_CURVE

from redraft_lookup.cost import CostCurve


def surviving(acceptance: float, n: int = 200) -> np.ndarray:
    """The probability that the first 1, 2, ... n guesses are right, each with `acceptance`."""
    return acceptance ** np.arange(1, n + 1)


@pytest.mark.parametrize(
    ("curve", "needed", "submitted", "seconds"),
    [
        pytest.param(SLOPE_CURVE, 1, 1, 1.0, id="CPU: one row is what plain decoding pays"),
        pytest.param(SLOPE_CURVE, 2, 2, 1.5, id="CPU: two rows are cheapest as they are"),
        pytest.param(SLOPE_CURVE, 3, 4, 1.6, id="CPU: three rows cost more than four"),
        pytest.param(SLOPE_CURVE, 5, 5, 1.9, id="CPU: between measurements the cost is linear"),
        pytest.param(SLOPE_CURVE, 12, 16, 3.6, id="CPU: twelve rows cost more than sixteen"),
        pytest.param(SLOPE_CURVE, 128, 128, 19.9, id="CPU: the last measured count"),
        pytest.param(STAIRCASE_CURVE, 2, 2, 1.81, id="tiles: two rows go without a tile"),
        pytest.param(STAIRCASE_CURVE, 3, 9, 3.0, id="tiles: three rows are dearer than a tile"),
        pytest.param(STAIRCASE_CURVE, 20, 20, 3.0, id="tiles: inside a tile all cost the same"),
        pytest.param(STAIRCASE_CURVE, 33, 33, 6.0, id="tiles: one row more is a tile more"),
    ],
)
def test_a_pass_is_padded_where_that_is_cheaper(
    curve: CostCurve, needed: int, submitted: int, seconds: float
):
    assert curve.padded(needed) == submitted
    assert curve.seconds(needed) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("curve", "rows"),
    [
        pytest.param(SLOPE_CURVE, 64, id="CPU"),
        pytest.param(STAIRCASE_CURVE, 32, id="tiles: the smallest of equally good counts"),
        pytest.param(CostCurve.of({1: 1.0}), 1, id="nothing but one row measured"),
        pytest.param(CostCurve.of({1: 1.0, 2: 2.0, 4: 4.0}), 1, id="rows that save nothing"),
        pytest.param(CostCurve.of({1: 1.0, 128: 1.0}), 128, id="rows that cost nothing"),
    ],
)
def test_a_sure_copy_uses_the_rows_that_are_cheapest_each(curve: CostCurve, rows: int):
    assert curve.best_rows == rows


# The rate beside each acceptance is the best that any draft length reaches, in tokens a T(1).
@pytest.mark.parametrize(
    ("curve", "acceptance", "rate", "length"),
    [
        pytest.param(SLOPE_CURVE, 0.0, 1.0, 0, id="CPU: no hope, no draft"),
        pytest.param(SLOPE_CURVE, 0.3, 1.0, 0, id="CPU: too little hope"),
        pytest.param(SLOPE_CURVE, 0.5, 1.17, 3, id="CPU: even odds fill 4 rows"),
        pytest.param(SLOPE_CURVE, 0.8, 1.84, 3, id="CPU: 0.8 fills 4 rows"),
        pytest.param(SLOPE_CURVE, 0.9, 2.26, 15, id="CPU: 0.9 fills 16 rows"),
        pytest.param(SLOPE_CURVE, 0.98, 3.90, 31, id="CPU: 0.98 fills 32 rows"),
        pytest.param(SLOPE_CURVE, 0.99, 4.79, 63, id="CPU: 0.99 fills 64 rows"),
        pytest.param(SLOPE_CURVE, 1.0, 6.46, 63, id="CPU: certainty fills no more than 64"),
        pytest.param(STAIRCASE_CURVE, 0.5, 1.0, 0, id="tiles: even odds do not pay for a tile"),
        pytest.param(STAIRCASE_CURVE, 0.7, 1.11, 31, id="tiles: a tile is filled or not begun"),
        pytest.param(STAIRCASE_CURVE, 0.9, 3.22, 31, id="tiles: 0.9 fills the same tile"),
        pytest.param(STAIRCASE_CURVE, 0.99, 9.17, 31, id="tiles: a second tile costs too much"),
        pytest.param(STAIRCASE_CURVE, 0.95, 1.0, 63, id="tiles: unless decoding is slow so far"),
        pytest.param(STAIRCASE_CURVE, 0.99, 1.0, 95, id="tiles: no draft exceeds the measurement"),
    ],
)
def test_the_draft_is_as_long_as_pays(
    curve: CostCurve, acceptance: float, rate: float, length: int
):
    assert curve.best_draft(surviving(acceptance), rate) == length


@pytest.mark.parametrize("seed", range(50))
def test_at_the_best_rate_the_best_draft_reaches_it(seed: int):
    rng = random.Random(seed)
    rows = sorted({1, *rng.sample(range(2, 100), 6)})
    curve = CostCurve.of({k: rng.uniform(0.5, 1) * (1 + k * rng.random() / 4) for k in rows})
    survival = np.cumprod([rng.uniform(0.6, 1) for _ in range(rng.randrange(1, 120))])
    speeds = [
        (1 + survival[:k].sum()) / curve.seconds(1 + k)
        for k in range(min(len(survival), curve.max_rows - 1) + 1)
    ]
    assert speeds[curve.best_draft(survival, max(speeds))] == pytest.approx(max(speeds))


@pytest.mark.parametrize("seed", range(50))
def test_cost_never_falls_and_no_padding_is_cheaper(seed: int):
    rng = random.Random(seed)
    measured = {k: rng.uniform(0.1, 5) for k in (1, 2, 3, 5, 8, 13, 30)}
    curve = CostCurve.of(measured)
    costs = [curve.seconds(k) for k in range(1, 31)]
    assert costs == sorted(costs)
    for k in range(1, 31):
        submitted = curve.padded(k)
        assert submitted >= k
        raw = float(np.interp(submitted, list(measured), list(measured.values())))
        assert curve.seconds(k) == pytest.approx(raw)
        assert curve.padded(submitted) == submitted


@pytest.mark.parametrize(
    "times",
    [
        pytest.param({}, id="nothing measured"),
        pytest.param({2: 1.0, 4: 2.0}, id="one row not measured"),
        pytest.param({1: 1.0, 2: 0.0}, id="a pass without cost"),
        pytest.param({1: -1.0}, id="a pass before its time"),
    ],
)
def test_an_impossible_curve_is_refused(times: dict[int, float]):
    with pytest.raises(ValueError, match=r"a cost curve starts at 1 row|must ascend"):
        CostCurve.of(times)


def test_row_counts_out_of_order_are_refused():
    with pytest.raises(ValueError, match="row counts must ascend"):
        CostCurve((1, 4, 2), (1.0, 2.0, 1.5))
