"""A measurement of passes as records and as a table."""

import pytest

from redraft.bench import cost
from redraft.engine.calibration import Measurement

MEASURED = Measurement(
    depth=512,
    flash_attention=True,
    rows=(1, 2, 4),
    seconds=(0.1, 0.2, 0.16),
    is_alike=(None, False, True),
)


def test_a_measurement_becomes_figures_and_a_table():
    assert cost.cost_records(MEASURED)[2] == {
        "depth": 512,
        "rows": 4,
        "ms": pytest.approx(160),
        "relative": pytest.approx(1.6),
        "tokens_per_s": pytest.approx(25),
        "speedup": pytest.approx(2.5),
        "class": "a",
    }
    table = cost.cost_table(MEASURED)
    assert table.startswith("512 tokens of context\n\n| rows ")
    assert f"2.50 {'█' * 20}" in table
