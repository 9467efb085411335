"""The draft model for llama-cpp-python's `Llama`: what it proposes, and one text by a real model."""

import random
from pathlib import Path

import numpy as np
import pytest
from llama_cpp import Llama

from redraft.integrations import SuffixLookupDecoding

FRUIT = "apples, pears, plums, grapes, cherries, lemons, oranges, figs, dates, melons"
COPY_TASK = f"I bought {FRUIT}.\nYou bought {FRUIT}.\nWe bought {FRUIT}.\nThey bought apples,"


def propose(drafter: SuffixLookupDecoding, text: list[int]) -> list[int]:
    ids = drafter(np.array(text, np.intc))
    assert ids.dtype == np.intc
    return ids.tolist()


@pytest.mark.parametrize(
    ("text", "n", "expected"),
    [
        pytest.param([], 10, [], id="nothing to look up"),
        pytest.param([1, 2, 3], 10, [], id="nothing met before"),
        pytest.param([1, 2, 3, 4, 1, 2], 10, [3, 4, 1, 2], id="what followed before"),
        pytest.param([1, 2, 3, 4, 1, 2], 2, [3, 4], id="no more than asked for"),
        pytest.param([1, 2, 3, 1, 2, 4, 1, 2], 1, [4], id="the latest among equals"),
        pytest.param(
            [9, 1, 2, 3, 1, 2, 4, 9, 1, 2], 1, [3], id="a longer match before a later one"
        ),
    ],
)
def test_it_proposes_what_followed_the_longest_match(text: list[int], n: int, expected: list[int]):
    assert propose(SuffixLookupDecoding(n), text) == expected


@pytest.mark.parametrize("seed", range(20))
def test_a_text_that_grows_or_changes_gives_what_a_new_index_gives(seed: int):
    chance = random.Random(seed)
    drafter, text = SuffixLookupDecoding(6), []
    for _ in range(60):
        match chance.randrange(8):
            case 0:
                text = chance.choices(range(5), k=chance.randrange(40))
            case 1:
                text = text[: chance.randrange(len(text) + 1)]
        text += chance.choices(range(5), k=chance.randrange(5))
        assert propose(drafter, text) == propose(SuffixLookupDecoding(6), text)
        assert propose(drafter, text) in list_allowed(text, 6)


def list_allowed(text: list[int], n: int) -> list[list[int]]:
    """Return what follows each of the longest matches of the end, by a slow scan."""
    best: dict[int, list[list[int]]] = {1: [[]]}
    for place in range(1, len(text)):
        length = 0
        while length < place and text[place - 1 - length] == text[-1 - length]:
            length += 1
        best.setdefault(length, []).append(text[place : place + n])
    return best[max(best)]


def test_a_draft_length_of_zero_is_refused():
    with pytest.raises(ValueError, match="at least 1, not 0"):
        SuffixLookupDecoding(0)


def test_a_real_model_copies_the_same_text_in_fewer_passes(small_model_path: Path):
    """Only of copied text: behind it near-ties decide, and kernels round differently."""
    calls = 0

    class CountingLookup(SuffixLookupDecoding):
        def __call__(self, input_ids, /, **kwargs):
            nonlocal calls
            calls += 1
            return super().__call__(input_ids, **kwargs)

    answers = []
    for draft_model in (None, CountingLookup(7)):
        llama = Llama(str(small_model_path), n_ctx=256, verbose=False, draft_model=draft_model)
        answers.append(llama.create_completion(COPY_TASK, temperature=0, stop=".", max_tokens=60))
        llama.close()
    plain, drafted = (answer["choices"][0]["text"] for answer in answers)
    assert plain == drafted == FRUIT.removeprefix("apples,")
    assert 0 < calls < answers[1]["usage"]["completion_tokens"] / 3
