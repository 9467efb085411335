"""`python -m redraft_bench quality` as it is typed, with a scripted model."""

import json
from contextlib import contextmanager

import pytest
from tests.redraft.scripted_model import ScriptedModel

from redraft.cli import bench_options

RECORD = {
    "id": "twice",
    "instruction": "Multiply instead.",
    "before": "def twice(x):\n    return x + 2\n",
    "after": "def twice(x):\n    return x * 2\n",
    "context": "",
    "tests": "def check():\n    assert twice(3) == 6\n",
}
UNFIT = RECORD | {"id": "unfit", "tests": "def check():\n    pass\n"}
FLAGS = ("--set", "editeval", "--data", "set.jsonl", "--json", "out.json")
NAIVE, PRODUCT = f"```python\n{RECORD['before']}```", f"{RECORD['after']}```"


@pytest.fixture
def bench(tmp_path, monkeypatch, run_bench):
    """Run `python -m redraft_bench quality` in a folder of its own with a model that gives `replies`."""
    monkeypatch.chdir(tmp_path)
    records = (RECORD, UNFIT)
    (tmp_path / "set.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))

    def run(*args, replies=()):
        @contextmanager
        def load_engine(flags):
            yield ScriptedModel(replies=replies), bench_options.begin_run(flags)

        monkeypatch.setattr(bench_options, "load_engine", load_engine)
        return run_bench("quality", *args)

    return run


def test_a_run_prints_the_table_and_keeps_its_records(bench, tmp_path):
    ran = bench(*FLAGS, replies=[NAIVE, PRODUCT])
    assert ran.code == 0
    assert "product over naive: +100.0 points on 1 problems" in ran.out
    assert "unfit is left out: its tests pass before the edit" in ran.err
    results = json.loads((tmp_path / "out.json").read_text())
    assert [record["ending"] for record in results["results"]] == ["unchanged", "passed"]
    assert [problem["id"] for problem in results["left_out"]] == ["unfit"]
    assert (results["set"], results["data"]) == ("editeval", "set.jsonl")
    assert "audit hooks" in results["isolation"]


def test_an_interrupted_run_goes_on_where_it_was(bench, tmp_path):
    bench(*FLAGS, "--prompts", "naive", replies=[NAIVE])
    ran = bench(*FLAGS, "--resume", replies=[PRODUCT])
    assert "+100.0 points" in ran.out
    results = json.loads((tmp_path / "out.json").read_text())
    assert [record["prompt"] for record in results["results"]] == ["naive", "product"]
    assert len(results["left_out"]) == 1


@pytest.mark.parametrize(
    ("args", "message"),
    [
        pytest.param(("--prompts", "best"), "no prompt 'best': it is one of naive, product",
                     id="an unknown prompt"),
        pytest.param(("--prompts", ","), "--prompts names none", id="no prompt"),
        pytest.param(("--set", "bench"), "no set 'bench'", id="an unknown set"),
        pytest.param(("--data", "no.jsonl"), "cannot read no.jsonl", id="a missing file"),
        pytest.param(("--resume", "--json", "set.jsonl"), "holds no run of the benchmark quality",
                     id="another file of figures"),
    ],
)  # fmt: skip
def test_a_mistake_ends_the_run_before_it_begins(bench, args, message):
    ran = bench(*FLAGS, *args)
    assert ran.code == 2
    assert message in ran.err


def test_resume_needs_a_file(bench):
    ran = bench("--set", "editeval", "--data", "set.jsonl", "--resume")
    assert ran.code == 2
    assert "--resume goes on from the file that --json names" in ran.err


def test_a_run_of_other_data_is_not_gone_on_with(bench, tmp_path):
    bench(*FLAGS, "--prompts", "naive", replies=[NAIVE])
    (tmp_path / "other.jsonl").write_text(json.dumps(RECORD))
    ran = bench(*FLAGS, "--resume", "--data", "other.jsonl")
    assert ran.code == 2
    assert "out.json holds a run of editeval and set.jsonl: name another file" in ran.err


def test_a_set_that_cannot_be_judged_here_is_an_error(bench, tmp_path):
    (tmp_path / "set.jsonl").write_text(json.dumps(UNFIT) + "\n")
    ran = bench(*FLAGS)
    assert ran.code == 2
    assert "no problem of set.jsonl can be judged here" in ran.err
