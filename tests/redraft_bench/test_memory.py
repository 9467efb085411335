"""What processes hold, on a tiny model of random weights."""

import json
from pathlib import Path

import pytest
from tests.redraft.engine.tiny import write_transformer

from redraft_bench.memory import MemoryRecord, compare_with_plain


def build_record(strategy: str, prompt_tokens: int, unique: int) -> MemoryRecord:
    return MemoryRecord(
        strategy=strategy,
        prompt_tokens=prompt_tokens,
        output_tokens=1,
        unique=unique,
        resident=unique + 1,
    )


def test_what_a_strategy_holds_is_compared_with_plain_at_the_same_place():
    plain = [build_record("plain", 0, 100), build_record("plain", 50, 200)]
    copy = [
        build_record("copy", 0, 90),
        build_record("copy", 50, 230),
        build_record("copy", 70, 300),
    ]
    assert [more for _, more in compare_with_plain([*plain, *copy])] == [0, 0, -10, 30, None]


def test_the_command_measures_each_strategy_in_a_process_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_bench
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    write_transformer(tmp_path / "tiny.gguf")
    args = ("--model", "tiny.gguf", "--prompts", "90,180", "--answer", "4", "--json", "o.json")
    args += ("--n-ctx", "1024")
    ran = run_bench("memory", *args)
    assert ran.code == 0, ran.err
    record = json.loads((tmp_path / "o.json").read_text())
    assert [process["strategy"] for process in record["held"]] == ["plain"] * 3 + ["copy"] * 3
    for loaded, short, long in (record["held"][:3], record["held"][3:]):
        assert (loaded["prompt_tokens"], loaded["output_tokens"]) == (0, 0)
        assert 0 < short["prompt_tokens"] < long["prompt_tokens"]
        assert 0 < loaded["unique"] < long["unique"]
        assert loaded["unique"] <= loaded["resident"]
    assert record["drafter_bytes_per_10k"] > 0
    assert "kB for 10,000 tokens" in ran.out
    assert "| plain    |        loaded |" in ran.out
    contexts = record["contexts"]
    assert contexts["cells"] > contexts["n_ctx"] == 1024
    assert contexts["used_cells"] < contexts["old_cells"] < contexts["new_cells"]
    assert contexts["used_cells"] > contexts["old_cells"] / 2  # what has to be saved counts
    assert contexts["bytes_of_limit"] == 1024 * contexts["cell_bytes"]
    assert contexts["peak_bytes"] > 0
    assert "texts at once beside a file that stays" in ran.out


def test_lengths_that_are_no_numbers_are_refused(run_bench):
    ran = run_bench("memory", "--prompts", "2000,x")
    assert ran.code == 2
    assert "--prompts takes whole numbers" in ran.err
