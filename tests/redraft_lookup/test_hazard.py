"""Runs break as often as seen, by their age, and as often as expected before anything is seen."""

import numpy as np
import pytest

from redraft_lookup.hazard import (
    COPY_RUNS,
    LOOKUP_RUNS,
    MAX_AGE,
    Hazard,
    Odds,
    make_copy_odds,
    make_lookup_odds,
)
from redraft_lookup.prompt_lookup import MAX_LENGTH


@pytest.mark.parametrize("priors", [COPY_RUNS, LOOKUP_RUNS], ids=["copy", "lookup"])
def test_before_anything_is_seen_the_priors_hold(priors):
    keep = Hazard(priors).survival_probabilities(0, 600)
    for bucket, prior in enumerate(priors):
        age = 0 if bucket == 0 else 2 ** (bucket - 1)
        assert keep[age] == pytest.approx(1 - prior)


def test_survival_starts_at_the_age_given():
    hazard = Hazard(COPY_RUNS)
    assert np.array_equal(
        hazard.survival_probabilities(5, 20), hazard.survival_probabilities(0, 25)[5:]
    )


@pytest.mark.parametrize("age", [0, 300, MAX_AGE - 1, MAX_AGE, 10 * MAX_AGE])
def test_any_age_has_a_chance(age: int):
    keep = Hazard(COPY_RUNS).survival_probabilities(age, 50)
    assert keep.shape == (50,)
    assert np.all((keep > 0) & (keep < 1))


def test_no_tokens_give_no_probabilities():
    assert Hazard(COPY_RUNS).survival_probabilities(3, 0).shape == (0,)


def test_survival_makes_its_age_surer_and_no_other():
    hazard = Hazard(COPY_RUNS)
    before = hazard.survival_probabilities(0, 100)
    hazard.record_survival(16, 16)
    after = hazard.survival_probabilities(0, 100)
    assert np.all(after[16:32] > before[16:32])
    assert np.array_equal(after[:16], before[:16])
    assert np.array_equal(after[32:], before[32:])


def test_a_break_makes_its_age_less_sure_and_no_other():
    hazard = Hazard(COPY_RUNS)
    before = hazard.survival_probabilities(0, 100)
    hazard.record_break(5)
    after = hazard.survival_probabilities(0, 100)
    assert np.all(after[4:8] < before[4:8])
    assert np.array_equal(after[8:], before[8:])


@pytest.mark.parametrize("true", [0.05, 0.3])
def test_in_the_long_run_it_is_what_was_seen(true: float):
    hazard = Hazard(COPY_RUNS)
    rng = np.random.default_rng(0)
    for _ in range(3000):
        if rng.random() < true:
            hazard.record_break(5)
        else:
            hazard.record_survival(5, 1)
    assert 1 - hazard.survival_probabilities(5, 1)[0] == pytest.approx(true, rel=0.15)


def test_odds_are_counted():
    odds = Odds(2, 2)
    assert odds.mean == 0.5
    for right in (True, True, False, True):
        odds.update(right=right)
    assert odds.mean == 5 / 8


def test_there_are_odds_for_every_first_guess():
    assert len(make_copy_odds()) == 11
    assert len(make_lookup_odds()) == MAX_LENGTH + 1
    for table in (make_copy_odds(), make_lookup_odds()):
        means = [odds.mean for odds in table]
        assert means == sorted(means)
        assert all(0 < mean < 1 for mean in means)
    assert make_copy_odds()[0] is not make_copy_odds()[0], "each drafter learns for itself"
