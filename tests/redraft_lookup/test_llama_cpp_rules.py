"""llama.cpp's rules, and that copy-run drafting needs fewer passes than any of them."""

import random

import pytest
from tests.redraft_lookup.fakes import DRAFTERS, run, written

from redraft_lookup.draft import Draft, Drafter, Observation
from redraft_lookup.llama_cpp_rules import NgramMapK, NgramMod, NgramSimple
from redraft_lookup.testing import ScriptedTarget

KEY = list(range(1, 13))
REST = list(range(20, 90))
MOD_KEY = list(range(1, 25))


def drafted(drafter: Drafter, budget: int = 1000) -> list[int]:
    return list(drafter.propose(budget).tokens)


def observe(drafter: Drafter, *tokens: int, draft: Draft | None = None, n_right: int = 0) -> None:
    path = tuple(range(n_right))
    drafter.observe(Observation(tokens=tokens, draft=draft or Draft((), (), ()), path=path))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param([0, *KEY, *REST, *KEY], REST[:48], id="48 tokens behind 12 equal ones"),
        pytest.param([0, *KEY, *REST, *KEY[1:]], [], id="11 equal ones are too few"),
        pytest.param(
            [0, *KEY, *REST, *KEY, *REST[30:], *KEY], [*REST[30:], *KEY][:48], id="the latest place"
        ),
        pytest.param([0, *KEY, *KEY], KEY, id="12 tokens are enough to draft"),
        pytest.param([0, *[7] * 20], [], id="fewer are not"),
        pytest.param([], [], id="no text"),
    ],
)
def test_ngram_simple_drafts(text: list[int], expected: list[int]):
    assert drafted(NgramSimple(text)) == expected


def test_ngram_map_k_wants_a_place_that_48_tokens_follow():
    first = [0, *KEY, *REST, *KEY, *REST[40:], *KEY]
    assert drafted(NgramMapK(first)) == REST[:48]
    assert drafted(NgramMapK([0, *KEY, *REST[:30], *KEY])) == []


@pytest.mark.parametrize(
    ("n_right", "length"),
    [
        pytest.param(48, 48, id="stays when all of the draft was right"),
        pytest.param(10, 10, id="falls to what was right"),
        pytest.param(0, 0, id="and to nothing, for good"),
    ],
)
def test_ngram_map_k_shortens_a_keys_drafts(n_right: int, length: int):
    drafter = NgramMapK([0, *KEY, *REST, *KEY])
    draft = drafter.propose(48)
    observe(drafter, *REST[:n_right], 99, draft=draft, n_right=n_right)
    for _ in range(2):
        observe(drafter, *REST[30:], *KEY)
        assert len(drafted(drafter)) == length


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param([*MOD_KEY, *REST, *MOD_KEY], [*REST, *MOD_KEY][:64], id="64 tokens behind 24"),
        pytest.param([*MOD_KEY, *REST, *MOD_KEY[1:]], [], id="23 equal ones are too few"),
        pytest.param(
            [*MOD_KEY, *REST[:10], *MOD_KEY],
            [*REST[:10], *MOD_KEY, *REST[:10], *MOD_KEY][:64],
            id="a chain may go round",
        ),
        pytest.param(MOD_KEY, [], id="a text of one key"),
    ],
)
def test_ngram_mod_drafts(text: list[int], expected: list[int]):
    assert drafted(NgramMod(text)) == expected


def test_ngram_mod_throws_short_chains_away():
    drafter = NgramMod([*MOD_KEY, *REST[:47]])
    observe(drafter, *MOD_KEY)
    assert drafted(drafter) == []
    drafter = NgramMod([*MOD_KEY, *REST[:48]])
    observe(drafter, *MOD_KEY)
    assert drafted(drafter) == REST[:48]
    assert drafted(drafter, budget=5) == REST[:5]


def test_ngram_mod_learns_written_text_late():
    drafter = NgramMod([0, 0])
    observe(drafter, *MOD_KEY, *REST[:6])
    assert drafted(drafter) == []
    observe(drafter, *REST[6:], *MOD_KEY)
    assert drafted(drafter)[:70] == REST[:64]


@pytest.fixture(scope="module")
def passes() -> dict[str, int]:
    """Passes that each drafter takes to write 4,000 tokens with 5 scattered edits."""
    rng = random.Random(1)
    source = rng.choices(range(1, 256), k=4000)
    answer = list(source)
    for at in (3500, 2700, 1900, 1100, 400):
        answer[at : at + 1] = rng.choices(range(1, 256), k=3)
    prompt = [1, 2, 3, *source, 4]
    counts: dict[str, int] = {}
    for name in ("copy on a slope", "lookup", "ngram-simple", "ngram-map-k", "ngram-mod"):
        target = ScriptedTarget(prompt, answer, max_rows=65, n_vocab=256)
        steps = run(target, prompt, DRAFTERS[name](prompt, source), max_tokens=5000)
        assert written(steps) == answer
        counts[name] = len(target.passes)
    return counts


@pytest.mark.parametrize(
    ("peer", "times"),
    [("lookup", 5.0), ("ngram-mod", 2.5), ("ngram-map-k", 1.9), ("ngram-simple", 1.9)],
)
def test_copying_needs_fewer_passes_for_scattered_edits(
    passes: dict[str, int], peer: str, times: float
):
    assert passes[peer] >= times * passes["copy on a slope"]
