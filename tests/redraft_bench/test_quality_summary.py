"""The figures of a quality run, against hand-made counts and published intervals."""

from dataclasses import replace

import pytest

from redraft_bench.quality.summary import (
    QualityRecord,
    mcnemar_p,
    quality_table,
    summarize,
    wilson_interval,
)

PASSED = QualityRecord(
    id="0",
    prompt="naive",
    ending="passed",
    detail="",
    parse_broken=False,
    out_of_target=False,
    changed_lines=3,
    reference_lines=2,
    n_replies=1,
    output_tokens=10,
    seconds=1.0,
)
UNCHANGED = replace(PASSED, ending="unchanged", changed_lines=None)


def run(prompt, *records):
    return [replace(one, id=str(i), prompt=prompt) for i, one in enumerate(records)]


@pytest.mark.parametrize(
    ("n_passed", "n", "low", "high"),
    [(0, 10, 0.0, 0.2775), (5, 10, 0.2366, 0.7634), (10, 10, 0.7225, 1.0), (81, 263, 0.2553, 0.3662)],
)  # fmt: skip
def test_the_interval_is_wilsons(n_passed, n, low, high):
    assert wilson_interval(n_passed, n) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize(
    ("won", "lost", "p"), [(0, 0, 1.0), (1, 0, 1.0), (5, 0, 0.0625), (8, 2, 0.109375), (3, 3, 1.0)]
)
def test_the_paired_test_is_exact(won, lost, p):
    assert mcnemar_p(won, lost) == mcnemar_p(lost, won) == pytest.approx(p)


def test_every_ending_is_counted_once():
    refused = replace(UNCHANGED, ending="refused", detail="elision")
    broken = replace(PASSED, ending="failed", parse_broken=True, out_of_target=True)
    again = replace(PASSED, n_replies=2, changed_lines=1)
    late = replace(PASSED, ending="timeout", changed_lines=5)
    found = summarize(run("naive", PASSED, UNCHANGED, refused, broken, again, late))
    figures = found["prompts"]["naive"]
    assert (figures["n"], figures["passed"], figures["unchanged"]) == (6, 2, 1)
    assert (figures["refused"], figures["timeouts"]) == ({"elision": 1}, 1)
    assert (figures["parse_broken"], figures["out_of_target"]) == (1, 1)
    assert (figures["asked_again"], figures["passed_when_asked_again"]) == (1, 1)
    assert (figures["changed_lines"], figures["reference_lines"]) == (3, 2)
    assert found["differences"] == {}


def test_a_difference_is_of_the_problems_that_both_were_asked():
    naive = run("naive", PASSED, UNCHANGED, UNCHANGED, PASSED)
    product = run("product", UNCHANGED, PASSED, PASSED)
    (difference,) = summarize([*naive, *product])["differences"].values()
    assert (difference["n"], difference["points"]) == (3, pytest.approx(100 / 3))
    assert (difference["only_this_passes"], difference["only_the_other_passes"]) == (2, 1)


def test_the_table_says_it_all():
    found = quality_table(
        summarize([*run("naive", PASSED, UNCHANGED), *run("product", PASSED, PASSED)])
    )
    assert "| naive " in found
    assert "50.0%" in found
    assert "product over naive: +50.0 points on 2 problems (1 won, 0 lost, p = 1.000)" in found


def test_no_accepted_edit_has_no_diff_size():
    assert " - |" in quality_table(summarize(run("naive", UNCHANGED)))
