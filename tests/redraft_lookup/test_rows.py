"""Which guesses get the rows of a pass, of one text or of several."""

import itertools
import random

import numpy as np
import pytest
from tests.redraft_lookup.fakes import SLOPE_CURVE, STAIRCASE_CURVE, Bytes

from redraft_lookup.copying import CopyDrafter
from redraft_lookup.cost import CostCurve
from redraft_lookup.decoding import Decoding, Limits, decode_many
from redraft_lookup.rows import Guess, RowAllocator, RowPolicy, best_chain
from redraft_lookup.testing import ScriptedTarget

FLAT = CostCurve.of({1: 1.0, 64: 1.001})
STEEP = CostCurve.of({k: float(k) for k in range(1, 65)})


def falling(chance: float, n: int) -> list[float]:
    return [chance**k for k in range(1, n + 1)]


def guess(tokens: list[int], survival: list[float], *, n_matched: int = 0) -> Guess:
    origin = "lookup" if n_matched else "copied"
    return Guess(tokens, [origin] * len(tokens), np.array(survival), n_matched=n_matched)


SURE, DOUBTFUL = guess([1, 2, 3], [0.6, 0.6, 0.5]), guess([1, 4], [0.3, 0.2])


@pytest.mark.parametrize(
    ("guesses", "tokens", "survival"),
    [
        pytest.param([DOUBTFUL], (1, 4), (0.3, 0.2), id="the only one"),
        pytest.param([DOUBTFUL, SURE], (1, 2, 3), (0.9, 0.6, 0.5), id="copies add up"),
        pytest.param(
            [SURE, guess([1, 2], [0.8, 0.5], n_matched=3)],
            (1, 2, 3), (0.8, 0.6, 0.5), id="a lookup is another witness",
        ),
        pytest.param(
            [DOUBTFUL, guess([1, 2], [0.8, 0.7], n_matched=3)],
            (1, 2), (0.8, 0.7), id="the likeliest may be a lookup",
        ),
    ],
)  # fmt: skip
def test_the_likeliest_guess_is_drafted(guesses, tokens: tuple, survival: tuple):
    for order in itertools.permutations(guesses):
        draft = best_chain(order, RowPolicy(curve=FLAT, rate=None))
        assert (draft.tokens, draft.survival) == (tokens, pytest.approx(survival))
        assert draft.is_chain


@pytest.mark.parametrize(
    ("curve", "chances", "rows"),
    [
        pytest.param(FLAT, {1: falling(0.9, 9), 2: falling(0.5, 9)}, {1: 9, 2: 9}, id="free rows"),
        pytest.param(STEEP, {1: falling(0.5, 9), 2: []}, {1: 0, 2: 0}, id="rows that never pay"),
        pytest.param(FLAT, {7: []}, {7: 0}, id="nothing guessed"),
        pytest.param(FLAT, {1: [1.0] * 99}, {1: 63}, id="no more than a pass holds"),
    ],
)
def test_as_many_guesses_get_a_row_as_pay(curve, chances, rows):
    assert RowAllocator(curve).allot(chances, 64) == rows


@pytest.mark.parametrize("curve", [FLAT, STEEP, SLOPE_CURVE, STAIRCASE_CURVE], ids=range(4))
@pytest.mark.parametrize("seed", range(30))
def test_the_rows_are_the_best_that_any_allotment_gives(curve: CostCurve, seed: int):
    rng = random.Random(seed)
    chances = {key: falling(rng.random(), rng.randrange(7)) for key in range(3)}
    allocator = RowAllocator(curve)
    found = allocator.allot(chances, curve.max_rows)

    def worth(rows: dict[int, int]) -> float:
        gain = sum(sum(chances[key][: rows[key]]) for key in rows)
        return gain - allocator.rate * curve.seconds(3 + sum(rows.values()))

    every = itertools.product(*(range(len(one) + 1) for one in chances.values()))
    best = max(worth(dict(zip(chances, rows, strict=True))) for rows in every)
    assert worth(found) == pytest.approx(best)


@pytest.mark.parametrize("max_rows", [3, 4, 8, 17])
def test_no_pass_is_larger_than_it_may_be(max_rows: int):
    chances = {key: [1.0] * 20 for key in range(3)}
    allotted = RowAllocator(FLAT).allot(chances, max_rows)
    assert sum(allotted.values()) == max_rows - 3


def test_what_a_second_is_worth_is_learnt():
    allocator = RowAllocator(SLOPE_CURVE)
    for _ in range(20_000):
        allocator.update(SLOPE_CURVE.best_rows, 1)
    assert allocator.rate == pytest.approx(1 / SLOPE_CURVE.seconds(SLOPE_CURVE.best_rows), rel=0.1)


class ScriptedBatch:
    """Several scripted texts in one pass, and what the passes cost."""

    def __init__(self, targets: dict[int, ScriptedTarget], curve: CostCurve) -> None:
        self.targets, self.curve, self.seconds = targets, curve, 0.0

    @property
    def max_rows(self) -> int:
        return self.curve.max_rows

    def forward(self, texts):
        self.seconds += self.curve.seconds(sum(1 + len(draft) for _, draft in texts.values()))
        return {key: self.targets[key].forward(*text) for key, text in texts.items()}

    def commit(self, rows):
        for key, kept in rows.items():
            self.targets[key].commit(kept)


def seconds(n_parallel: int, curve: CostCurve) -> float:
    """What twelve edits cost, so many at once."""
    rng = np.random.default_rng(0)
    waiting: list[tuple[bytes, bytes]] = []
    for n in range(12):
        lines = [f"    total_{i} = price_{i} * count + {n}\n" for i in range(12)]
        source = "".join(lines)
        for i in rng.choice(12, 4, replace=False):
            lines[i] = f"    amount = lookup({i})  # {rng.integers(1000)}\n"
        waiting.append((source.encode(), "".join(lines).encode()))
    total = 0.0
    for start in range(0, 12, n_parallel):
        targets, decodings = {}, {}
        for key, (source, answer) in enumerate(waiting[start : start + n_parallel]):
            prompt = [*b"Edit:\n", *source]
            targets[key] = ScriptedTarget(prompt, list(answer), max_rows=200)
            drafter = CopyDrafter(
                prompt, list(source), curve=curve, vocabulary=Bytes(), shared=True
            )
            limits = Limits(max_tokens=2000, end_ids=frozenset({0}))
            decodings[key] = Decoding(prompt, drafter, limits)
        scripts = ScriptedBatch(targets, curve)
        for _ in decode_many(scripts, decodings, RowAllocator(curve)):
            pass
        total += scripts.seconds
    return total


# Of the 2-core machine in docs/benchmarks.md, in passes padded to counts that round alike.
PADDED = CostCurve.of(
    {1: 0.153, 8: 0.153, 9: 0.188, 16: 0.188, 17: 0.32, 32: 0.32, 33: 0.44, 48: 0.44}
)


@pytest.mark.parametrize("curve", [PADDED, STAIRCASE_CURVE, SLOPE_CURVE], ids=range(3))
def test_by_its_costs_four_texts_at_once_are_quicker_than_one_after_another(curve: CostCurve):
    assert seconds(1, curve) > 1.3 * seconds(4, curve)
