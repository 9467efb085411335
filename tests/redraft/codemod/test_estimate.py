from pathlib import Path

from tests.redraft.codemod.editing import Together

from redraft.codemod.estimate import estimate
from redraft.codemod.plan import plan
from redraft.codemod.select import Selection
from redraft.codemod.walk import Rules
from redraft_lookup import CostCurve


class Timed(Together):
    def costs(self, depth: int) -> CostCurve:
        return CostCurve.of({1: 0.1, 4: 0.2, 100: 1.0})


def test_an_estimate_is_near_what_a_run_then_takes(repo: Path, codemod):
    model = Timed()
    planned = plan(repo, [repo], Rules(), Selection())
    expected = estimate(planned, model, "rename old")
    codemod("rename old", ".", model=model)
    n_prompt = sum(
        model.count_tokens(piece.text)
        for file in {prompt.file for prompt in model.asked}
        for piece in file
    ) + sum(model.count_tokens(piece.text) for prompt in model.asked for piece in prompt.request)
    n_source = sum(model.count_tokens(prompt.source) for prompt in model.asked)
    assert n_prompt / 2 < expected.prompt_tokens < 2 * n_prompt
    assert n_source / 2 < expected.output_tokens < 2 * n_source
    seconds = expected.prompt_tokens / 100 * 1.0 + expected.output_tokens / 4 * 0.2
    assert expected.seconds is not None
    assert abs(expected.seconds - seconds) < 1e-9


def test_without_measured_costs_there_is_no_time(repo: Path):
    planned = plan(repo, [repo], Rules(), Selection())
    assert estimate(planned, Together(), "x").seconds is None
    nothing = plan(repo, [repo / "README.md"], Rules(), Selection())
    assert estimate(nothing, Together(), "x").prompt_tokens == 0


def test_the_time_and_the_speed_up_are_told(repo: Path, codemod):
    err = codemod("rename old", ".", model=Timed()).err
    assert " to write, 1 min\n" in err
    assert " times plain decoding\n" in err
