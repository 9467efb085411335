from pathlib import Path

import pytest
from tests.redraft.codemod.rule_model import BatchRuleModel

from redraft.codemod.discover import FileRules
from redraft.codemod.plan import choose_jobs, estimate, plan, predict_tokens_per_s
from redraft.codemod.select import Selection
from redraft.records import Exactness
from redraft_lookup import CostCurve

STEEP = CostCurve.of({k: k / 10 for k in range(1, 101)})  # another row costs as much as the first
FLAT = CostCurve.of({1: 0.1, 100: 0.11})
PADDED = CostCurve.of({1: 0.15, 8: 0.15, 9: 0.19, 16: 0.19, 17: 0.32, 32: 0.32, 48: 0.44})


class SupportsCosts(BatchRuleModel):
    def costs(self, depth: int, exactness: Exactness) -> CostCurve:
        return PADDED if exactness == "invariant" else CostCurve.of({1: 0.1, 48: 0.4})


def test_an_estimate_is_near_what_a_run_then_takes(repo: Path, codemod):
    model = SupportsCosts()
    planned = plan(repo, [repo], FileRules(), Selection())
    expected = estimate(planned, model, "rename old", "invariant", jobs=2)
    codemod("rename old", ".", model=model)
    n_prompt = sum(
        model.count_tokens(piece.text)
        for file in {prompt.file for prompt in model.prompts}
        for piece in file
    ) + sum(model.count_tokens(piece.text) for prompt in model.prompts for piece in prompt.request)
    n_source = sum(model.count_tokens(prompt.source) for prompt in model.prompts)
    assert n_prompt / 2 < expected.prompt_tokens < 2 * n_prompt
    assert n_source / 2 < expected.output_tokens < 2 * n_source
    prefill = expected.prompt_tokens / 48 * 0.44
    seconds = prefill + expected.output_tokens / predict_tokens_per_s(PADDED, 2)
    assert expected.seconds == pytest.approx(seconds)
    assert (expected.jobs, expected.plain_s) == (2, 0.1)
    two = estimate(planned, model, "rename old", "invariant", jobs=2, n_workers=2)
    assert two.seconds == pytest.approx(seconds / 2)


def test_without_measured_costs_there_is_no_time(repo: Path):
    planned = plan(repo, [repo], FileRules(), Selection())
    assert estimate(planned, BatchRuleModel(), "x", "fast", jobs=None).seconds is None
    nothing = plan(repo, [repo / "README.md"], FileRules(), Selection())
    assert estimate(nothing, BatchRuleModel(), "x", "fast", jobs=None).output_tokens == 0


@pytest.mark.parametrize(
    ("costs", "jobs"),
    [
        pytest.param(STEEP, [1], id="rows that cost as much each: one after another"),
        pytest.param(FLAT, [5, 6], id="rows that are free: as many as there may be"),
        pytest.param(PADDED, [3, 4, 5, 6], id="passes padded to 8 rows: several"),
        pytest.param(CostCurve.of({1: 1.0}), [1], id="one row at a time"),
    ],
)
def test_as_many_replies_are_written_at_once_as_pay(costs: CostCurve, jobs: list[int]):
    assert choose_jobs(costs) in jobs


@pytest.mark.parametrize("costs", [STEEP, FLAT, PADDED], ids=["steep", "flat", "padded"])
def test_by_its_costs_the_choice_is_never_slower_than_one_after_another(costs: CostCurve):
    assert predict_tokens_per_s(costs, choose_jobs(costs)) >= 0.97 * predict_tokens_per_s(costs, 1)


def test_the_number_is_chosen_unless_it_is_given(repo: Path, codemod):
    for args, chosen in ([], choose_jobs(PADDED)), (["--jobs", "3"], 3):
        err = codemod("rename old", ".", "--plan", *args, model=SupportsCosts()).err
        assert f" to write, {chosen} at once, 1 min\n" in err


def test_the_time_and_the_speed_up_are_told(repo: Path, codemod):
    err = codemod("rename old", ".", model=SupportsCosts()).err
    assert " at once, 1 min\n" in err
    assert " times plain decoding\n" in err
