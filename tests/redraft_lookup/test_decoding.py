"""Whatever is drafted, the tokens are those of plain decoding, and the cache holds them."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from tests.redraft_lookup.fakes import (
    DRAFTERS,
    END,
    SLOPE_CURVE,
    FixedDrafter,
    Markov,
    edited,
    run,
    written,
)

from redraft_lookup.decoding import Decoding, Limits, Step, decode, decode_many
from redraft_lookup.draft import EMPTY, Draft, Observation
from redraft_lookup.rows import RowAllocator
from redraft_lookup.sampling import BadLogitsError, Chooser, Greedy, Sampler
from redraft_lookup.testing import ScriptedTarget

every_drafter = pytest.mark.parametrize("make", DRAFTERS.values(), ids=DRAFTERS)
seeds = pytest.mark.parametrize("seed", range(6))

SYMBOLS = range(1, 12)
LETTERS = b"aabcxyz__  \n\n()=.,"
SOURCE = random.Random(5).choices(SYMBOLS, k=60)
PROMPT = [1, 2, 3, *SOURCE, 4, 5]


def texts(seed: int, alphabet: Sequence[int]) -> tuple[list[int], list[int], list[int]]:
    """A prompt, the source in its midst, and an edited source."""
    rng = random.Random(seed)
    source = rng.choices(alphabet, k=rng.choice([0, 1, 5, 60, 150]))
    prompt = [*rng.choices(alphabet, k=20), *source, *rng.choices(alphabet, k=5)]
    return prompt, source, [t for t in edited(source, rng, max(alphabet) + 1) if t != END]


@every_drafter
@seeds
@pytest.mark.parametrize("alphabet", [SYMBOLS, LETTERS], ids=["symbols", "letters"])
def test_a_scripted_model_writes_its_script(make, seed: int, alphabet: Sequence[int]):
    prompt, source, answer = texts(seed, alphabet)
    target = ScriptedTarget(prompt, answer, n_vocab=256, max_rows=[64, 2, 17][seed % 3])
    steps = run(target, prompt, make(prompt, source), max_tokens=len(answer) + 5)
    assert written(steps) == answer
    assert steps[-1].finish == "stop"


@every_drafter
@seeds
def test_greedy_text_is_that_of_plain_decoding(make, seed: int):
    prompt, source, _ = texts(seed, SYMBOLS)
    plain = run(Markov(prompt), prompt)
    assert written(run(Markov(prompt), prompt, make(prompt, source))) == written(plain)


@every_drafter
@seeds
def test_sampled_text_depends_on_the_seed_only(make, seed: int):
    prompt, source, _ = texts(seed, SYMBOLS)
    sampler = Sampler(temperature=1.3, seed=seed, top_k=8, top_p=0.95, min_p=0.01)
    plain = run(Markov(prompt), prompt, chooser=sampler)
    drafted = run(Markov(prompt), prompt, make(prompt, source), chooser=sampler)
    assert written(drafted) == written(plain)


@every_drafter
def test_another_sampling_seed_gives_another_text(make):
    prompt, source, _ = texts(3, SYMBOLS)
    one, other = (
        run(Markov(prompt), prompt, make(prompt, source), chooser=Sampler(temperature=1, seed=n))
        for n in (1, 2)
    )
    assert written(one) != written(other)


class Rounding(Markov):
    """Rounds differently when a pass has several rows, as kernels do."""

    def forward(self, token: int, draft: Draft) -> np.ndarray:
        logits = super().forward(token, draft)
        if len(draft):
            logits += np.random.default_rng(len(self.cache)).uniform(-0.1, 0.1, logits.shape)
        return logits


@every_drafter
@seeds
def test_near_ties_are_decided_as_plain_decoding_does(make, seed: int):
    prompt, source, _ = texts(seed, SYMBOLS)
    plain = run(Markov(prompt), prompt, max_tokens=400)
    redecoded = run(Rounding(prompt), prompt, make(prompt, source), max_tokens=400, min_margin=0.2)
    assert written(redecoded) == written(plain)


def test_without_min_margin_rounding_changes_the_text():
    changed = 0
    for seed in range(20):
        prompt, source, _ = texts(seed, SYMBOLS)
        plain = written(run(Markov(prompt), prompt, max_tokens=400))
        unprotected = run(
            Rounding(prompt), prompt, DRAFTERS["jacobi"](prompt, source), max_tokens=400
        )
        changed += written(unprotected) != plain
    assert changed


@every_drafter
@pytest.mark.parametrize("control", [{3}, {1, 2, 5}, set(range(12))], ids=str)
def test_control_ids_are_never_drafted(make, control: set[int]):
    answer = SOURCE[:20] + SOURCE[25:]
    drafts: list[Draft] = []

    class Watched(ScriptedTarget):
        def forward(self, token: int, draft: Draft) -> np.ndarray:
            drafts.append(draft)
            return super().forward(token, draft)

    steps = run(Watched(PROMPT, answer), PROMPT, make(PROMPT, SOURCE), control_ids=control)
    assert written(steps) == answer
    assert not control.intersection(token for draft in drafts for token in draft.tokens)


@every_drafter
@pytest.mark.parametrize("max_tokens", [1, 2, 3, 10, 37])
def test_a_text_ends_at_max_tokens_inside_a_draft(make, max_tokens: int):
    answer = SOURCE * 2
    steps = run(ScriptedTarget(PROMPT, answer), PROMPT, make(PROMPT, SOURCE), max_tokens=max_tokens)
    assert written(steps) == answer[:max_tokens]
    assert steps[-1].finish == "length"


@every_drafter
def test_a_text_ends_inside_a_draft_that_would_go_on(make):
    answer = SOURCE[:30]
    steps = run(ScriptedTarget(PROMPT, answer), PROMPT, make(PROMPT, SOURCE))
    assert written(steps) == answer
    assert steps[-1].finish == "stop"


@every_drafter
def test_an_empty_answer_is_empty(make):
    steps = run(ScriptedTarget(PROMPT, []), PROMPT, make(PROMPT, SOURCE))
    assert (written(steps), steps[-1].finish) == ([], "stop")


@every_drafter
@pytest.mark.parametrize(
    "source",
    [
        pytest.param([], id="no source"),
        pytest.param([7], id="a source of one token"),
        pytest.param([9, 9, 8, 9, 9, 7] * 9, id="a source that is not in the prompt"),
    ],
)
def test_an_odd_source_does_not_change_the_text(make, source: list[int]):
    prompt, answer = [1, 2, 3, 4], [5, 6, 5, 6, 9, 9, 8, 9, 9, 7, 1]
    assert written(run(ScriptedTarget(prompt, answer), prompt, make(prompt, source))) == answer


@every_drafter
def test_a_prompt_of_one_token_is_enough(make):
    assert written(run(ScriptedTarget([1], [2, 3, 2, 3]), [1], make([1], []))) == [2, 3, 2, 3]


@every_drafter
@pytest.mark.parametrize("budget", [0, 1, 2, 5, 1000])
def test_a_draft_keeps_to_its_budget(make, budget: int):
    drafter = make(PROMPT, SOURCE)
    inner = drafter.propose
    sizes: list[int] = []

    def propose(_: int) -> Draft:
        draft = inner(budget)
        sizes.append(len(draft))
        return draft

    drafter.propose = propose
    run(ScriptedTarget(PROMPT, SOURCE[:20] + SOURCE[25:]), PROMPT, drafter)
    assert max(sizes) <= budget


@every_drafter
@pytest.mark.parametrize(
    ("row", "greedy"),
    [
        pytest.param(slice(None), True, id="nothing but NaN, greedy"),
        pytest.param(slice(None), False, id="nothing but NaN, sampled"),
        pytest.param(3, True, id="one NaN, greedy"),
        pytest.param(3, False, id="one NaN, sampled"),
    ],
)
def test_unusable_logits_are_an_error(make, row: slice | int, greedy: bool):
    class Broken(ScriptedTarget):
        def forward(self, token: int, draft: Draft) -> np.ndarray:
            logits = super().forward(token, draft)
            if len(self.cache) > len(PROMPT) + 10:
                logits[:, row] = np.nan
            return logits

    chooser = Greedy() if greedy else Sampler(temperature=0.01, seed=1)
    target = Broken(PROMPT, SOURCE[:20] + SOURCE[25:])
    with pytest.raises(BadLogitsError, match="no usable logits for position"):
        run(target, PROMPT, make(PROMPT, SOURCE), chooser=chooser)


TREE = Draft((6, 9, 7, 7, 8), (-1, -1, 1, 0, 3), ("copied", "guess", "guess", "learned", "copied"))


@pytest.mark.parametrize(
    ("answer", "tokens", "path", "kept"),
    [
        pytest.param([6, 7, 8, 5], (6, 7, 8, 5), (0, 3, 4), [4, 6, 7, 8], id="the longest branch"),
        pytest.param([9, 7, 8], (9, 7, 8), (1, 2), [4, 9, 7], id="another branch"),
        pytest.param([9, 6], (9, 6), (1,), [4, 9], id="not into a sister branch"),
        pytest.param([7, 8], (7,), (), [4], id="not a node whose parent is wrong"),
        pytest.param([6, 7], (6, 7), (0, 3), [4, 6, 7], id="up to the end token"),
    ],
)
def test_verification_follows_ancestors_only(
    answer: list[int], tokens: tuple, path: tuple, kept: list[int]
):
    drafter = FixedDrafter(TREE)
    target = ScriptedTarget([4], answer, n_vocab=10)
    decoding = Decoding([4], drafter, Limits(max_tokens=20, end_ids=frozenset({END})))
    step = next(decode(target, decoding))
    assert step.tokens == tokens
    assert drafter.observed[0].path == path
    assert target.cache == kept
    assert step.origins[: len(path)] == tuple(TREE.origins[node] for node in path)
    assert set(step.origins[len(path) :]) <= {None}


def test_a_step_counts_what_was_drafted_and_accepted():
    steps = run(ScriptedTarget([4], [6, 7, 5]), [4], FixedDrafter(TREE), max_tokens=3)
    steps = [replace(step, runners_up=()) for step in steps]
    assert steps == [
        Step(tokens=(6, 7, 5), runners_up=(), origins=("copied", "learned", None), drafted=4, accepted=2,
             finish="length"),
    ]  # fmt: skip


def others(*rows: list[float], draft: Draft = EMPTY, chooser: Chooser | None = None) -> list:
    """The runners-up of a pass whose logits are `rows`."""
    limits = Limits(max_tokens=9)
    decoding = Decoding([0], FixedDrafter(draft), limits, chooser or Greedy())
    decoding.propose(8)
    step, _ = decoding.receive(np.array(rows, np.float32))
    return list(step.runners_up)


@pytest.mark.parametrize(
    ("row", "other"),
    [
        ([3.0, 1.0, 2.5], (2, 0.5)),
        ([1.0, 3.0, 2.0], (2, 1.0)),
        ([1.0, 2.0, 4.0], (1, 2.0)),
        ([2.0, 2.0, 2.0], (1, 0.0)),
        ([7.0], (0, 0.0)),
    ],
)
def test_the_runner_up_of_a_token_is_the_likeliest_other(row: list[float], other: tuple):
    assert others(row) == [other]


def test_each_token_of_a_pass_has_its_runner_up():
    rows = [0.0, 5.0, 4.0], [1.0, 0.0, 5.0]
    assert others(*rows, draft=Draft.chain([1], "guess")) == [(2, 1.0), (0, 4.0)]


def test_beside_a_sampled_token_the_likeliest_is_runner_up():
    class Third:
        def choose(self, logits, position):
            return 2

    assert others([5.0, 4.0, 1.5], chooser=Third()) == [(0, -3.5)]


@pytest.mark.parametrize("wanted", [True, False])
def test_predictions_go_to_drafters_that_want_them(wanted: bool):
    drafter = FixedDrafter(TREE, wants_predictions=wanted)
    run(ScriptedTarget([4], [6, 7, 8, 5]), [4], drafter)
    assert drafter.observed[0].predictions == ((6, 7, 0, 0, 8, 5) if wanted else ())


def test_a_pass_over_a_near_tie_drafts_nothing():
    prompt = [1, 2]
    # A tree: what stands behind a near-tie in it is not kept.
    drafter = FixedDrafter(Draft.tree([[1, 2, 3], [4]], "guess"))
    steps = run(Markov(prompt), prompt, drafter, min_margin=100.0, max_tokens=3)
    assert [(step.near_tie_redecode, step.drafted) for step in steps] == [
        (True, 3), (False, 0), (True, 2), (False, 0), (False, 0),
    ]  # fmt: skip
    assert len(written(steps)) == 3


class Knowing:
    """Drafts what plain decoding writes."""

    wants_predictions = False

    def __init__(self, answer: Sequence[int]) -> None:
        self.answer = answer
        self.n_known = 0

    def propose(self, budget: int) -> Draft:
        return Draft.chain(self.answer[self.n_known :][: min(budget, 8)], "guess")

    def observe(self, observation: Observation) -> None:
        assert len(observation.tokens) <= len(observation.path) + 1
        self.n_known += len(observation.tokens)


@seeds
def test_what_stands_behind_a_near_tie_is_kept_where_the_lone_pass_agrees(seed: int):
    prompt, _, _ = texts(seed, SYMBOLS)
    plain = written(run(Markov(prompt, seed=seed), prompt, max_tokens=90))
    target = Rounding(prompt, seed=seed)
    steps = run(target, prompt, Knowing(plain), min_margin=0.2, max_tokens=90)
    assert written(steps) == plain
    alone = [after for step, after in pairwise(steps) if step.near_tie_redecode]
    assert alone
    assert all(step.drafted == 0 for step in alone)
    # The lone pass brings its own token, and all that was confirmed behind it.
    assert sum(len(step.tokens) for step in alone) > 2 * len(alone)
    assert sum(step.accepted for step in steps) <= sum(step.drafted for step in steps)


def test_what_stands_behind_a_near_tie_is_dropped_where_the_lone_pass_does_not_agree():
    prompt = [1, 2]
    plain = written(run(Markov(prompt), prompt, max_tokens=20))
    wrong = [token % 10 + 1 for token in plain]
    target = Markov(prompt)
    steps = run(target, prompt, Knowing(wrong), min_margin=100.0, max_tokens=20)
    assert written(steps) == plain
    assert all(len(step.tokens) <= 1 for step in steps)


def test_a_draw_is_not_made_again_at_a_near_tie():
    prompt = [1, 2]
    drafter = FixedDrafter(Draft.chain([1, 2, 3], "guess"))
    sampler = Sampler(temperature=1.0, seed=3)
    steps = run(Markov(prompt), prompt, drafter, min_margin=100.0, max_tokens=9, chooser=sampler)
    assert not any(step.near_tie_redecode for step in steps)
    plain = run(Markov(prompt), prompt, max_tokens=9, chooser=sampler)
    assert written(steps) == written(plain)


@pytest.mark.parametrize(
    ("prompt", "max_tokens"),
    [pytest.param([], 5, id="no prompt"), pytest.param([1], 0, id="no tokens")],
)
def test_a_decoding_of_nothing_is_refused(prompt: list[int], max_tokens: int):
    with pytest.raises(ValueError, match=r"the prompt is empty|at least 1"):
        Decoding(prompt, FixedDrafter(), Limits(max_tokens=max_tokens))


class BatchOfTargets:
    """Several targets that share the rows of a pass."""

    def __init__(self, targets: dict[int, Markov], max_rows: int) -> None:
        self.targets, self.max_rows = targets, max_rows

    def forward(self, texts: Mapping[int, tuple[int, Draft]]) -> dict[int, np.ndarray]:
        assert sum(1 + len(draft) for _, draft in texts.values()) <= self.max_rows
        return {key: self.targets[key].forward(*text) for key, text in texts.items()}

    def commit(self, rows: Mapping[int, Sequence[int]]) -> None:
        for key, kept in rows.items():
            self.targets[key].commit(kept)


@pytest.mark.parametrize("max_rows", [16, 17, 64, 500])
@pytest.mark.parametrize("late", [False, True], ids=["all at once", "one after the other"])
def test_texts_in_shared_passes_are_those_of_plain_decoding(max_rows: int, late: bool):
    limits = Limits(max_tokens=90, end_ids=frozenset({END}), control_ids=frozenset({7}))
    prompts, waiting = {}, {}
    for key, make in enumerate(DRAFTERS.values()):
        prompts[key], source, _ = texts(key, SYMBOLS)
        waiting[key] = Decoding(prompts[key], make(prompts[key], source), limits)
    target = BatchOfTargets({key: Markov(prompt) for key, prompt in prompts.items()}, max_rows)
    text: dict[int, list[int]] = {key: [] for key in prompts}
    running = {} if late else dict(waiting)
    if late:
        running[0] = waiting.pop(0)
    for steps in decode_many(target, running, RowAllocator(SLOPE_CURVE)):
        for key, step in steps.items():
            text[key] += step.tokens
            assert (key in running) is (step.finish is None)
            committed = [*prompts[key], *text[key]]
            assert target.targets[key].cache == committed[: -1 if step.finish != "stop" else None]
        if late and waiting:
            key = min(waiting)
            running[key] = waiting.pop(key)
    for key, prompt in prompts.items():
        assert text[key] == written(run(Markov(prompt), prompt, max_tokens=90))
