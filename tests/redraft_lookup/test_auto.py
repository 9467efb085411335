"""Lookup before the draft model; and Auto, which must pay or keep out of the way."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import pytest
from tests.redraft_lookup.fakes import (
    EDIT,
    NEW_TEXT,
    SLOPE_CURVE,
    STAIRCASE_CURVE,
    FixedDrafter,
    copying,
    edited,
    run,
    run_steps,
    written,
)

from redraft_lookup.auto import Auto, Candidate, GainTracker, LookupThenModel, PaidDrafter, Prior
from redraft_lookup.cost import CostCurve
from redraft_lookup.draft import EMPTY, Draft, Drafter, Observation
from redraft_lookup.lookahead import JacobiDrafter
from redraft_lookup.prompt_lookup import NgramDrafter
from redraft_lookup.testing import ScriptedTarget

PROMPT = [1, 2]
WRONG = 255
every_prior = pytest.mark.parametrize("prior", [EDIT, NEW_TEXT], ids=lambda p: p.kind)


class Oracle:
    """Knows the text, and drafts it right with some probability, or something wrong."""

    wants_predictions = False

    def __init__(self, text: Sequence[int], right: float, *, length: int = 1000) -> None:
        self.right = right
        self._text, self._length = list(text), length
        self._rng = random.Random(0)
        self.n_proposals = 0
        self.n_observed = 0

    def propose(self, budget: int) -> Draft:
        self.n_proposals += 1
        right = self._rng.random() < self.right
        guesses = self._text[: min(budget, self._length)]
        return Draft.chain(guesses if right else [WRONG] * len(guesses), "lookup")

    def observe(self, observation: Observation) -> None:
        self.n_observed += len(observation.tokens)
        del self._text[: len(observation.tokens)]


def auto(
    *drafters: Drafter, prior: Prior, curve: CostCurve = SLOPE_CURVE,
    gains: GainTracker | None = None, model: PaidDrafter | None = None,
) -> Auto:  # fmt: skip
    candidates = [Candidate(name=str(i), drafter=drafter) for i, drafter in enumerate(drafters)]
    return Auto(candidates, prior=prior, curve=curve, gains=gains or GainTracker(), model=model)


def answer_of(n: int) -> list[int]:
    return random.Random(n).choices(range(1, WRONG), k=n)


def speed(target: ScriptedTarget, n_tokens: int, curve: CostCurve) -> float:
    """Over plain decoding, by the cost curve."""
    return n_tokens * curve.seconds(1) / sum(curve.seconds(rows) for rows in target.passes)


def scripted(answer: Sequence[int], curve: CostCurve = SLOPE_CURVE) -> ScriptedTarget:
    return ScriptedTarget(PROMPT, answer, n_vocab=256, max_rows=curve.max_rows)


def test_the_model_drafts_where_the_lookup_finds_nothing():
    found, guessed = Draft.chain([3, 4], "lookup"), Draft.chain([5], "model")
    lookup, model = FixedDrafter(found, EMPTY), FixedDrafter(guessed)
    both = LookupThenModel(lookup, model)
    assert [both.propose(9) for _ in range(4)] == [found, guessed, found, guessed]
    assert model.budgets == [9, 9]


def test_both_see_what_was_committed():
    lookup, model = FixedDrafter(), FixedDrafter()
    seen = Observation(tokens=(1,), draft=EMPTY, path=())
    LookupThenModel(lookup, model).observe(seen)
    assert lookup.observed == model.observed == [seen]


@pytest.mark.parametrize("first", [True, False])
def test_predictions_are_wanted_when_one_of_them_wants_them(first: bool):
    pair = [JacobiDrafter(PROMPT), NgramDrafter(PROMPT)]
    lookup, model = pair if first else reversed(pair)
    assert LookupThenModel(lookup, model).wants_predictions
    assert auto(lookup, model, prior=NEW_TEXT).wants_predictions
    assert not auto(NgramDrafter(PROMPT), prior=NEW_TEXT).wants_predictions


@pytest.mark.parametrize("curve", [SLOPE_CURVE, STAIRCASE_CURVE], ids=["slope", "staircase"])
@pytest.mark.parametrize("right", [0.0, 0.02, 0.1, 0.3, 0.6])
@pytest.mark.parametrize("length", [1, 3, 8, 1000])
def test_new_text_is_never_slower_than_097_of_plain(curve: CostCurve, right: float, length: int):
    """At no point of the text, whatever the drafts are worth."""
    answer = answer_of(600)
    target = scripted(answer, curve)
    drafter = auto(Oracle(answer, right, length=length), prior=NEW_TEXT, curve=curve)
    steps = run(target, PROMPT, drafter, max_tokens=600)
    n_tokens = accumulate(len(step.tokens) for step in steps)
    spent = accumulate(curve.seconds(rows) for rows in target.passes)
    for tokens, seconds in zip(n_tokens, spent, strict=True):
        assert tokens * curve.seconds(1) / seconds >= 0.97


@pytest.mark.parametrize("n_tokens", [1, 5, 20, 50, 100, 300])
def test_a_short_text_is_not_slower_either(n_tokens: int):
    answer = answer_of(n_tokens)
    drafter = auto(Oracle(answer, 0.0), prior=NEW_TEXT)
    run(target := scripted(answer), PROMPT, drafter, max_tokens=n_tokens)
    assert speed(target, n_tokens, SLOPE_CURVE) >= 0.97


def test_new_text_that_copies_gets_faster():
    answer = answer_of(600)
    drafter = auto(Oracle(answer, 0.95), prior=NEW_TEXT)
    run(target := scripted(answer), PROMPT, drafter, max_tokens=600)
    assert speed(target, 600, SLOPE_CURVE) > 3


@every_prior
def test_drafts_that_do_not_pay_are_switched_off(prior: Prior):
    answer = answer_of(600)
    drafter = auto(Oracle(answer, 0.0), prior=prior)
    steps = run(scripted(answer), PROMPT, drafter, max_tokens=600)
    assert sum(step.drafted > 0 for step in steps) < 40
    assert any(step.drafted for step in steps)


@every_prior
def test_what_has_paid_for_long_is_given_up_soon(prior: Prior):
    answer = answer_of(1200)
    oracle = Oracle(answer, 1.0)
    drafter = auto(oracle, prior=prior)
    wrong: list[int] = []  # after so many tokens
    for step in run_steps(scripted(answer), PROMPT, drafter, max_tokens=1200):
        if oracle.right == 0 and step.drafted:
            wrong.append(oracle.n_observed)
        oracle.right = float(oracle.n_observed < 600)
    soon = [place for place in wrong if place < wrong[0] + 30]
    assert 3 <= len(soon) < 15
    assert len(wrong) - len(soon) < 600 / 20  # tried again now and then


def test_what_did_not_pay_is_tried_again():
    answer = answer_of(1200)
    oracle = Oracle(answer, 0.0)
    drafter = auto(oracle, prior=NEW_TEXT)
    target = scripted(answer)
    for _ in run_steps(target, PROMPT, drafter, max_tokens=1200):
        oracle.right = float(oracle.n_observed > 500)
    assert speed(target, 1200, SLOPE_CURVE) > 1.5


def test_an_edit_is_drafted_from_its_first_token():
    source = answer_of(300)
    drafter = auto(copying(SLOPE_CURVE)([*source, *PROMPT], source), prior=EDIT)
    steps = run(ScriptedTarget(PROMPT, source), PROMPT, drafter)
    assert steps[0].accepted > 10
    assert len(steps) < 12


def test_a_chat_is_not():
    answer = answer_of(300)
    steps = run(scripted(answer), PROMPT, auto(Oracle(answer, 1.0), prior=NEW_TEXT), max_tokens=300)
    assert [step.drafted for step in steps[:10]] == [0] * 10
    assert sum(step.drafted for step in steps) > 200


def test_what_paid_in_one_text_is_tried_first_in_the_next():
    gains = GainTracker()
    for n in range(3):
        answer = answer_of(200 + n)
        poor, good = Oracle(answer, 0.1), Oracle(answer, 0.95)
        drafter = auto(poor, good, prior=EDIT, gains=gains)
        run(scripted(answer), PROMPT, drafter, max_tokens=len(answer))
    assert poor.n_proposals < good.n_proposals / 4
    assert gains.gain(EDIT, "1") > 4 > 2 > gains.gain(EDIT, "0")


def test_kinds_of_text_are_tracked_apart():
    gains = GainTracker()
    gains.record(EDIT, "copy", 1, 10.0)
    gains.fade(EDIT)
    assert gains.gain(EDIT, "copy") < 3.0
    assert gains.gain(NEW_TEXT, "copy") == 1.5


def test_what_did_not_pay_is_forgotten():
    gains = GainTracker()
    gains.record(NEW_TEXT, "copy", 1, 30.0)
    assert gains.gain(NEW_TEXT, "copy") < 1
    for _ in range(400):
        gains.fade(NEW_TEXT)
    assert gains.gain(NEW_TEXT, "copy") == pytest.approx(1.5, rel=0.05)


@dataclass
class ScriptedModel:
    """A draft model that knows the text, and reads what it has not read in parts."""

    oracle: Oracle
    unread_s: float = 0.0
    guess_s: float = 0.0
    expected_gain: float = 2.0
    part_s: float = 1.0
    read_s: float = 0.0
    wants_predictions = False

    def propose(self, budget: int) -> Draft:
        part_s = min(self.part_s, self.unread_s)
        self.unread_s -= part_s
        self.read_s += part_s
        return EMPTY if self.unread_s else self.oracle.propose(budget)

    def observe(self, observation: Observation) -> None:
        self.oracle.observe(observation)


def test_guesses_that_cost_time_are_charged():
    answer = answer_of(400)
    for guess_s, pays in ((0.01, True), (2.0, False)):
        model = ScriptedModel(Oracle(answer, 0.9, length=7), guess_s=guess_s)
        drafter = auto(prior=NEW_TEXT, model=model)
        steps = run(scripted(answer), PROMPT, drafter, max_tokens=400)
        assert (len(steps) < 200) is pays


def test_nothing_is_read_where_copying_never_runs_dry():
    answer = answer_of(600)
    model = ScriptedModel(Oracle(answer, 1.0), unread_s=1.0)
    drafter = auto(Oracle(answer, 1.0), prior=EDIT, model=model)
    run(scripted(answer), PROMPT, drafter, max_tokens=600)
    assert model.read_s == 0


@pytest.mark.parametrize(
    ("unread_s", "n_tokens", "reads"),
    [
        pytest.param(5.0, 300, True, id="a short prompt before much new text"),
        pytest.param(5.0, 8, False, id="too little new text"),
        pytest.param(500.0, 300, False, id="a long prompt"),
    ],
)
def test_the_text_is_read_once_that_would_have_paid(unread_s: float, n_tokens: int, reads: bool):
    answer = answer_of(n_tokens)
    model = ScriptedModel(Oracle(answer, 1.0), unread_s=unread_s)
    steps = run(scripted(answer), PROMPT, auto(prior=EDIT, model=model), max_tokens=n_tokens)
    assert model.read_s == (unread_s if reads else 0)
    assert (len(steps) < n_tokens) is reads


@pytest.mark.parametrize("right", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("unread_s", [1.0, 5.0, 15.0])
def test_reading_is_within_what_may_be_lost(right: float, unread_s: float):
    """At no point of a text without a head start, however poor the draft model is."""
    answer = answer_of(1200)
    model = ScriptedModel(Oracle(answer, right), unread_s=unread_s, guess_s=0.05)
    target = scripted(answer)
    n_tokens = guesses_s = 0.0
    for step in run_steps(target, PROMPT, auto(prior=NEW_TEXT, model=model), max_tokens=1200):
        n_tokens += len(step.tokens)
        guesses_s += 0.05 * step.drafted
        passes_s = sum(SLOPE_CURVE.seconds(rows) for rows in target.passes)
        assert n_tokens / (passes_s + guesses_s + model.read_s) >= 0.97
    assert model.read_s == unread_s


@pytest.mark.parametrize("curve", [SLOPE_CURVE, STAIRCASE_CURVE], ids=["slope", "staircase"])
def test_an_edit_takes_no_more_passes_than_copying_alone(curve: CostCurve):
    """A long draft that turned out wrong early must not end the drafting of an edit."""
    gains = GainTracker()
    rng = random.Random(0)
    n_auto = n_copy = 0
    for _ in range(12):
        source = rng.choices(range(1, WRONG), k=400)
        answer = edited(source, rng, WRONG)
        make = copying(curve)
        prompt = [*source, *PROMPT]
        drafter = auto(make(prompt, source), prior=EDIT, curve=curve, gains=gains)
        limits = {"max_tokens": len(answer)}
        target = ScriptedTarget(prompt, answer, n_vocab=256, max_rows=curve.max_rows)
        n_auto += len(run(target, prompt, drafter, **limits))
        target = ScriptedTarget(prompt, answer, n_vocab=256, max_rows=curve.max_rows)
        n_copy += len(run(target, prompt, make(prompt, source), **limits))
    assert n_auto <= 1.03 * n_copy


def test_the_second_candidate_is_tried_where_the_first_has_nothing():
    second = FixedDrafter(Draft.chain([5], "model"))
    drafter = auto(FixedDrafter(), second, prior=EDIT)
    assert drafter.propose(9).tokens == (5,)


def test_all_candidates_see_what_was_committed():
    one, other = FixedDrafter(), FixedDrafter()
    seen = Observation(tokens=(1,), draft=EMPTY, path=())
    auto(one, other, prior=NEW_TEXT).observe(seen)
    assert one.observed == other.observed == [seen]


def test_without_candidates_decoding_is_plain():
    answer = answer_of(20)
    steps = run(scripted(answer), PROMPT, auto(prior=EDIT), max_tokens=20)
    assert written(steps) == answer
    assert len(steps) == 20


@pytest.mark.parametrize(
    "wrong",
    [{"gain": 0.0}, {"gain": -1.0}, {"gain": 3.0, "head_start": -1.0}, {"gain": float("nan")}],
    ids=str,
)
def test_a_prior_that_makes_no_sense_is_refused(wrong: dict[str, float]):
    with pytest.raises(ValueError, match=r"need gain > 0 and head_start >= 0, not .* for 'poem'"):
        Prior(kind="poem", **wrong)
