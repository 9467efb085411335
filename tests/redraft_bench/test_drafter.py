"""Costs of drafting, measured without a model."""

import json
from pathlib import Path

from redraft_bench.drafter import build_scripted_edit, measure


def test_the_scripted_edit_is_as_long_as_asked_and_mostly_copied():
    source, answer, _ = build_scripted_edit(3000, 500)
    assert len(source) == 3000
    assert 400 <= len(answer) <= 500
    assert answer != source[: len(answer)]


def test_drafting_costs_are_counted():
    cost = measure(600, 200)
    assert cost.history_tokens == 600
    assert 0 < cost.median_ms <= cost.p99_ms <= cost.max_ms
    assert cost.passes > 5
    assert cost.bytes_per_10k > 1000


def test_drafter_prints_time_and_memory(tmp_path: Path, run_bench):
    lengths = ("--history", "500", "--answer", "100")
    ran = run_bench("drafter", *lengths, f"--json={tmp_path / 'out.json'}")
    conditions = json.loads((tmp_path / "out.json").read_text())["conditions"]
    assert (
        conditions["command"]
        == f"python -m redraft_bench drafter {' '.join(lengths)} --json=out.json"
    )
    assert conditions["bench"] == "drafter"
    assert conditions["seconds"] > 0
    assert "passes behind 500 tokens, drafting:" in ran.out
    assert "kB for 10,000 tokens" in ran.out
