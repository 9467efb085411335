"""The simulation: costs of a chip's passes, scripts, and the command."""

import json
from collections import Counter
from pathlib import Path

import pytest

from redraft.errors import InputError
from redraft_bench import simulate


@pytest.mark.parametrize(
    ("rows", "relative"),
    [(1, 1.0), (2, 1.81), (9, 2.5), (32, 2.5), (33, 4.0), (64, 4.0), (65, 5.5), (128, 7.0)],
)
def test_a_chip_s_passes_cost_tiles(rows: int, relative: float):
    assert simulate.Chip().curve.seconds(rows) * 27 == pytest.approx(relative)


def test_a_drafter_knows_of_a_chip_what_calibration_would_tell():
    chip = simulate.Chip()
    for rows in (1, 16, 32, 48, 64, 128):
        assert chip.calibrated_curve.seconds(rows) == pytest.approx(chip.curve.seconds(rows))
    assert chip.calibrated_curve.seconds(40) < chip.curve.seconds(40)


def test_the_simulation_covers_the_published_workloads_and_gains_most_on_edits():
    speedups = simulate.simulate(simulate.built_in_scripts(), simulate.Chip())
    assert set(speedups) == set(simulate.PUBLISHED)
    assert speedups["code editing"]["copy"] > speedups["code editing"]["lookup"] > 2
    assert all(speed >= 0.97 for speed in speedups["chat"].values())


def test_there_are_at_least_four_scripts_of_each_workload():
    counts = Counter(script.workload for script in simulate.built_in_scripts())
    assert set(counts) == set(simulate.PUBLISHED)
    assert min(counts.values()) >= 4


def test_scripts_are_read_from_a_file(tmp_path: Path):
    path = tmp_path / "bench.jsonl"
    edit = {"workload": "code_edit", "user": "Do\n```py\nx = 1\n```\n", "reference": "x = 2\n"}
    others = [
        {"workload": "chat", "user": "Hello", "reference": None},
        {"workload": "rag_qa", "user": "Why?", "reference": ["So."]},
        {"workload": "extraction", "user": "Log", "reference": [{"a": 1}]},
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in (edit, *others)))
    scripts = simulate.load(path)
    assert [(script.workload, script.source, script.answer) for script in scripts] == [
        ("code editing", "x = 1\n", "x = 2\n"),
        ("retrieval QA", "", "So."),
        ("extraction", "", '[{"a": 1}]'),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "cannot read"),
        ("{", "cannot read"),
        ('{"workload": "chat"}', "cannot read"),
        ('{"workload": "chat", "user": "Hi", "reference": null}', "no record"),
    ],
)
def test_a_file_without_scripts_is_refused(tmp_path: Path, text: str, message: str):
    (tmp_path / "bench.jsonl").write_text(text)
    with pytest.raises(InputError, match=message):
        simulate.load(tmp_path / "bench.jsonl")


def test_simulate_says_that_it_is_a_simulation_and_what_went_in(tmp_path: Path, run_bench):
    ran = run_bench("simulate", "--json", f"{tmp_path}/out.json")
    assert ran.out.startswith("SIMULATION, nothing was measured")
    assert "  1 rows     37 ms" in ran.out
    assert "| code editing" in ran.out
    record = json.loads((tmp_path / "out.json").read_text())
    assert record["simulation"] is True
    assert record["inputs"]["tokens_per_s"] == 27.0


def test_scripts_that_cannot_be_read_are_refused(run_bench):
    ran = run_bench("simulate", "--tasks", "no.jsonl")
    assert ran.code == 2
    assert "cannot read no.jsonl" in ran.err
