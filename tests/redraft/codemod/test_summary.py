"""The sums of a run, and how they are put into words."""

from dataclasses import fields
from pathlib import Path

import pytest

from redraft.codemod.output.summary import format_summary
from redraft.codemod.plan import InaccessibleFile, Plan
from redraft.codemod.results import FileResult, Summary, TargetResult
from redraft.records import Refused, Span, Stats, Unchanged
from redraft.syntax import Target

PLAN = Plan(root=Path("/r"), files=())
TARGET = Target(name="f", kind="function", span=Span(0, 5))
STATS = Stats(
    prompt_tokens=100,
    reused_tokens=40,
    output_tokens=50,
    accepted=20,
    passes=10,
    decode_s=3.0,
    prefill_s=2.0,
)


def target(*, is_cached: bool = False) -> TargetResult:
    outcome = Unchanged(stats=STATS, notes=())
    return TargetResult(target=TARGET, line=1, last_line=2, outcome=outcome, is_cached=is_cached)


def summary_of(*targets: TargetResult) -> Summary:
    summary = Summary()
    summary.add(FileResult(path="a.py", state="unchanged", targets=targets))
    return summary


def test_sums_count_each_reply_but_those_known_from_earlier_runs():
    summary = summary_of(target(), target(is_cached=True), target())
    assert summary.targets == {"unchanged": 3}
    sums = {
        "prompt_tokens": 200,
        "reused_tokens": 80,
        "output_tokens": 100,
        "accepted": 40,
        "passes": 20,
        "decode_s": 6.0,
        "prefill_s": 4.0,
    }
    expected = {"files": {"unchanged": 1}, "targets": {"unchanged": 3}, **sums}
    assert summary.as_dict() | expected == summary.as_dict()
    assert set(sums) <= {stat.name for stat in fields(Stats)}, "so that they are summed"


@pytest.mark.parametrize(
    ("run_s", "plain_s", "speed"),
    [
        # Plain decoding would have read for 2 s and written 50 tokens at 0.1 s each: 7 s.
        pytest.param(3.5, 0.1, "14.3 tokens/s, 2.0 times plain decoding", id="prefill counts"),
        pytest.param(7.0, 0.1, "7.1 tokens/s, 1.0 times plain decoding", id="no gain"),
        pytest.param(3.5, None, "14.3 tokens/s", id="nobody knows what plain decoding takes"),
    ],
)
def test_the_speed_up_is_over_plain_decoding_that_reads_as_much(
    run_s: float, plain_s: float | None, speed: str
):
    lines = dict(
        format_summary(summary_of(target()), PLAN, wall_s=9.0, run_s=run_s, plain_s=plain_s)
    )
    assert lines["time"] == f"9.0 s, {speed}"


def test_without_a_reply_there_is_no_speed():
    lines = dict(
        format_summary(summary_of(target(is_cached=True)), PLAN, wall_s=9.0, run_s=3.0, plain_s=0.1)
    )
    assert lines["time"] == "9.0 s"
    assert "tokens" not in lines


def test_files_that_could_not_be_edited_count_as_failed():
    plan = Plan(
        root=Path("/r"), files=(), inaccessible=(InaccessibleFile(path="b.py", message="m"),)
    )
    lines = dict(format_summary(Summary(), plan, wall_s=1.0, run_s=0.0, plain_s=None))
    assert lines["files"] == "1 failed"
    assert lines["targets"] == "none"


def test_a_refusal_fails_the_run():
    refused = Refused(reason="elision", message="m", stats=Stats())
    result = TargetResult(target=TARGET, line=1, last_line=2, outcome=refused)
    assert summary_of(result).is_failed
    assert not summary_of(target()).is_failed
