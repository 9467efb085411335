"""Runs of a codemod's prompts in turn, and what is made of their times."""

import json
from pathlib import Path

import pytest
from tests.redraft.codemod.rule_model import BatchRuleModel

from redraft.bench.tasks import built_in_tasks
from redraft.records import DecodeOptions
from redraft_bench.codemod import ThroughputRun, build_prompts, measure, summarize

OPTIONS = DecodeOptions(route="codemod", exactness="invariant", max_tokens=50)


class Forgetful(BatchRuleModel):
    forgotten = 0

    def forget(self) -> None:
        self.forgotten += 1


def test_every_outermost_function_of_the_built_in_files_is_asked_about():
    prompts = build_prompts(BatchRuleModel(), built_in_tasks(), OPTIONS)
    assert len(prompts) > 2 * len(built_in_tasks())
    assert len({prompt.prompt.file for prompt in prompts}) == len(built_in_tasks())
    assert {prompt.max_tokens for prompt in prompts} == {50}


def test_the_numbers_take_turns_and_each_run_begins_with_an_empty_cache():
    model = Forgetful()
    prompts = build_prompts(model, built_in_tasks()[:1], OPTIONS)
    runs = list(measure(model, prompts, (1, 2, 4), OPTIONS, n_repeats=2))
    assert [(run.turn, run.jobs) for run in runs] == [
        *((0, 1), (0, 2), (0, 4)),
        *((1, 2), (1, 4), (1, 1)),
    ]
    assert model.forgotten == 6
    assert all(run.same_text for run in runs)
    assert len({run.output_tokens for run in runs}) == 1


def test_speed_ups_are_of_runs_of_the_same_turn():
    def run(jobs: int, turn: int, wall_s: float, *, same_text: bool = True) -> ThroughputRun:
        return ThroughputRun(
            jobs=jobs,
            turn=turn,
            wall_s=wall_s,
            prefill_s=1.0,
            prefilled_tokens=9,
            output_tokens=100,
            accepted=50,
            same_text=same_text,
        )

    runs = [run(1, 0, 11.0), run(4, 0, 6.0), run(4, 1, 5.0), run(1, 1, 21.0, same_text=False)]
    summary = summarize(runs)
    assert summary[4]["speedup"] == (11 / 6 + 21 / 5) / 2
    assert summary[4]["least_speedup"] == 11 / 6
    assert summary[4]["decode_speedup"] == (10 / 5 + 20 / 4) / 2
    assert summary[1]["speedup"] == 1.0
    assert (summary[1]["same_text"], summary[4]["same_text"]) == (False, True)


def test_it_is_run_from_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_bench, small_model_path: Path
):
    monkeypatch.chdir(tmp_path)
    task = {
        "id": "x",
        "lang": "python",
        "path": "a.py",
        "instruction": "Rename a to b",
        "before": "def f(a):\n    return a\n\n\ndef g(a):\n    return -a\n",
        "max_tokens": 20,
    }
    Path("tasks.jsonl").write_text(json.dumps(task))
    args = ("--tasks", "tasks.jsonl", "--jobs", "2", "--max-tokens", "9", "--json", "o.json")
    ran = run_bench("codemod", "--model", small_model_path, *args)
    assert ran.code == 0, ran.err
    assert "2 functions in 1 files; by its costs redraft takes " in ran.out
    record = json.loads(Path("o.json").read_text())
    assert [run["jobs"] for run in record["runs"]] == [1, 2]
    assert record["summary"]["1"]["speedup"] == 1.0
    assert record["conditions"]["model"] == small_model_path.name


@pytest.mark.parametrize("jobs", ["", "0", "1,x"])
def test_numbers_that_are_none_are_refused(run_bench, jobs: str):
    ran = run_bench("codemod", "--jobs", jobs)
    assert ran.code == 2
    assert "--jobs takes whole numbers with commas" in ran.err
