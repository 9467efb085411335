"""A small model drafts, its cache rolled back in step with the text."""

import random

import pytest
from tests.redraft_lookup.fakes import (
    SLOPE_CURVE,
    STAIRCASE_CURVE,
    FixedDrafter,
    Markov,
    Small,
    edited,
    run,
    written,
)

from redraft_lookup.draft import EMPTY, Draft, Observation
from redraft_lookup.model_draft import ModelCosts, ModelDrafter
from redraft_lookup.testing import ScriptedTarget

PROMPT = [4, 5]


def small(*answer: int) -> ScriptedTarget:
    return ScriptedTarget(PROMPT, answer, n_vocab=20)


@pytest.mark.parametrize(
    ("answer", "n_draft", "budget", "drafted"),
    [
        pytest.param((6, 7, 8), 2, 100, (6, 7), id="as many tokens as asked for"),
        pytest.param((6, 7, 8), 9, 2, (6, 7), id="no more than the budget"),
        pytest.param((6, 7, 8), 9, 100, (6, 7, 8), id="up to its end"),
        pytest.param((), 9, 100, (), id="nothing where it would end at once"),
        pytest.param((6, 7, 8), 9, 0, (), id="nothing without a budget"),
    ],
)
def test_a_small_model_drafts(answer: tuple, n_draft: int, budget: int, drafted: tuple):
    drafter = ModelDrafter(small(*answer), PROMPT, n_draft=n_draft, end_ids=frozenset({0}))
    assert drafter.propose(budget) == Draft.chain(drafted, "model")


@pytest.mark.parametrize(
    ("tokens", "n_right", "cache"),
    [
        pytest.param((6, 7, 8, 9), 3, [4, 5, 6, 7], id="all right: two tokens are to be taken in"),
        pytest.param((6, 7, 1), 2, [4, 5, 6, 7], id="the last one wrong: nothing to take back"),
        pytest.param((6, 1), 1, [4, 5, 6], id="the second one wrong: one taken back"),
        pytest.param((1,), 0, [4, 5], id="all wrong: all taken back"),
        pytest.param((), 0, [4], id="a near-tie: the last token must be seen again"),
        pytest.param((6,), 1, [4, 5], id="a near-tie behind a right one"),
    ],
)
def test_its_cache_holds_committed_text_only(tokens: tuple, n_right: int, cache: list[int]):
    target = small(6, 7, 8, 9)
    drafter = ModelDrafter(target, PROMPT, n_draft=3)
    draft = drafter.propose(100)
    assert target.cache == [4, 5, 6, 7]  # the third guess has not been fed
    path = tuple(range(n_right))
    drafter.observe(Observation(tokens=tokens, draft=draft, path=path))
    assert target.cache == cache
    if tokens[:n_right] == (6, 7, 8, 9)[: len(tokens)]:
        assert drafter.propose(1).tokens == ((6, 7, 8, 9, 0)[len(tokens)],)


def test_text_that_others_wrote_is_taken_in_within_the_small_models_rows():
    target = ScriptedTarget(PROMPT, range(1, 12), max_rows=4)
    drafter = ModelDrafter(target, PROMPT, n_draft=2)
    drafter.observe(Observation(tokens=(1, 2, 3), draft=EMPTY, path=()))
    drafter.observe(Observation(tokens=(4, 5, 6), draft=EMPTY, path=()))
    assert target.passes == []  # not before a draft is wanted
    # A part in each step, so that nobody waits for all of it.
    assert drafter.propose(100) == EMPTY
    assert target.passes == [4]
    assert drafter.propose(100).tokens == (7, 8)
    assert target.passes == [4, 3, 1]


def test_the_prompt_is_read_at_the_first_guess_and_in_parts():
    target, parts = small(6, 7, 8), []

    def read():
        for n_read in (0, 1):
            parts.append(n_read)
            yield n_read

    costs = ModelCosts(curve=SLOPE_CURVE, small=Small(0.01))
    drafter = ModelDrafter(target, PROMPT, reading=read(), n_draft=2, costs=costs)
    assert parts == []
    unread = [drafter.unread_s]
    drafter.observe(Observation(tokens=(6,), draft=EMPTY, path=()))
    for n_parts in (1, 2):
        assert drafter.propose(9) == EMPTY
        assert len(parts) == n_parts
        unread.append(drafter.unread_s)
    assert target.passes == []
    assert drafter.propose(9).tokens == (7, 8)
    assert drafter.unread_s == 0 < unread[2] < unread[1]


def test_nothing_is_read_where_no_draft_pays():
    def read():
        raise AssertionError("read for nothing")
        yield 0

    costs = ModelCosts(curve=SLOPE_CURVE, small=Small(5.0))
    drafter = ModelDrafter(small(6, 7, 8), PROMPT, reading=read(), costs=costs)
    assert drafter.propose(9) == EMPTY
    assert drafter.expected_gain == 1


@pytest.mark.parametrize("seed", range(20))
def test_its_cache_stays_in_step_over_a_whole_text(seed: int):
    rng = random.Random(seed)
    prompt = rng.choices(range(1, 12), k=10)
    inner = Markov(prompt, twist=rng.choice([1, 2, 5, 0]), max_rows=rng.choice([1, 3, 64]))
    drafter = ModelDrafter(inner, prompt, n_draft=rng.randrange(1, 9))
    text = list(prompt)
    observe = drafter.observe

    def checked(observation: Observation) -> None:
        observe(observation)
        text.extend(observation.tokens)
        assert inner.cache == text[: len(inner.cache)]
        assert len(inner.cache) < len(text)

    drafter.observe = checked  # type: ignore[method-assign]
    plain = run(Markov(prompt), prompt)
    assert written(run(Markov(prompt), prompt, drafter, min_margin=0.3)) == written(plain)


def test_a_model_that_agrees_saves_passes():
    prompt = [1, 2, 3]
    steps = run(Markov(prompt), prompt, ModelDrafter(Markov(prompt), prompt, n_draft=7))
    assert len(steps) == len(written(steps)) / 8


@pytest.mark.parametrize(
    ("curve", "guess_s", "acceptance", "length"),
    [
        pytest.param(SLOPE_CURVE, 0.05, 0.3, 0, id="CPU: a poor model does not pay"),
        pytest.param(SLOPE_CURVE, 0.05, 0.5, 3, id="CPU: a cheap fair one fills 4 rows"),
        pytest.param(SLOPE_CURVE, 0.1, 0.5, 0, id="CPU: a dear fair one does not pay"),
        pytest.param(SLOPE_CURVE, 0.1, 0.7, 3, id="CPU: a good one does"),
        pytest.param(SLOPE_CURVE, 0.1, 0.95, 15, id="CPU: a very good one fills 16 rows"),
        pytest.param(SLOPE_CURVE, 0.5, 0.8, 0, id="CPU: half the large model's time is too much"),
        pytest.param(STAIRCASE_CURVE, 0.1, 0.7, 0, id="tiles: a tile wants a good model"),
        pytest.param(STAIRCASE_CURVE, 0.0, 0.7, 31, id="tiles: free guesses fill it"),
        pytest.param(STAIRCASE_CURVE, 0.1, 0.9, 16, id="tiles: paid guesses fill half of it"),
    ],
)  # fmt: skip
def test_the_draft_is_as_long_as_pays(curve, guess_s: float, acceptance: float, length: int):
    assert ModelCosts(curve=curve, small=Small(guess_s)).best_length(acceptance, 40) == length


def test_a_model_that_does_not_pay_drafts_less_and_less():
    prompt = [1, 2]
    costs = ModelCosts(curve=SLOPE_CURVE, small=Small(0.1))
    inner = Markov(prompt, n_vocab=200, seed=99)
    drafter = ModelDrafter(inner, prompt, n_draft=8, costs=costs)
    steps = run(Markov(prompt, n_vocab=200), prompt, drafter)
    assert sum(step.drafted > 0 for step in steps) < len(steps) / 10
    assert steps[0].drafted == 3


def test_acceptance_is_learnt_from_own_drafts_and_forgotten():
    drafter = ModelDrafter(small(), PROMPT)
    at_first = drafter.acceptance
    copied = Draft.chain([1, 2, 3], "copied")
    drafter.observe(Observation(tokens=(9,), draft=copied, path=()))
    assert drafter.acceptance == at_first
    drafter.observe(Observation(tokens=(9,), draft=Draft.chain([1, 2], "model"), path=()))
    low = drafter.acceptance
    assert low < at_first
    for _ in range(200):
        drafter.observe(Observation(tokens=(9,), draft=EMPTY, path=()))
    assert low < drafter.acceptance == pytest.approx(at_first, rel=0.01)


@pytest.mark.parametrize("seed", range(5))
def test_a_small_model_with_another_script_does_not_change_the_text(seed: int):
    rng = random.Random(seed)
    answer = rng.choices(range(1, 20), k=80)
    theirs = ScriptedTarget(PROMPT, [*answer[:20], *edited(answer[20:], rng, 20)], n_vocab=20)
    steps = run(small(*answer), PROMPT, ModelDrafter(theirs, PROMPT))
    assert written(steps) == answer
    assert len(steps) < len(run(small(*answer), PROMPT, FixedDrafter()))


@pytest.mark.parametrize(
    ("prompt", "n_draft"),
    [
        pytest.param([], 8, id="no prompt"),
        pytest.param([1], 0, id="a draft of nothing"),
        pytest.param([1], -3, id="a negative draft"),
    ],
)
def test_drafts_that_make_no_sense_are_refused(prompt: list[int], n_draft: int):
    with pytest.raises(ValueError, match=r"the prompt is empty|at least 1"):
        ModelDrafter(small(), prompt, n_draft=n_draft)
