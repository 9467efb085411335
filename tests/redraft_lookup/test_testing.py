"""The fakes behave: a wrong draft, a wrong rollback and too many rows show."""

import numpy as np
import pytest

from redraft_lookup.draft import EMPTY, Draft
from redraft_lookup.testing import ScriptedTarget


def predictions(logits: np.ndarray) -> list[int]:
    return [int(token) for token in np.argmax(logits, axis=1)]


@pytest.mark.parametrize(
    ("draft", "expected"),
    [
        pytest.param(EMPTY, [6], id="the script goes on"),
        pytest.param(Draft.chain([6, 7], "guess"), [6, 7, 8], id="along a right draft"),
        pytest.param(Draft.chain([6, 9, 8], "guess"), [6, 7, 0, 0], id="ends behind a wrong one"),
        pytest.param(
            Draft.tree([[9, 7], [6, 7]], "guess"), [6, 0, 0, 7, 8], id="along each branch"
        ),
        pytest.param(Draft.chain([6, 7, 8], "guess"), [6, 7, 8, 0], id="then the end"),
    ],
)
def test_a_scripted_target_predicts_its_script(draft: Draft, expected: list[int]):
    target = ScriptedTarget([4, 5], [6, 7, 8], n_vocab=10)
    assert predictions(target.forward(5, draft)) == expected
    assert target.passes == [1 + len(draft)]


def test_rows_that_are_not_kept_are_forgotten():
    target = ScriptedTarget([4, 5], [6, 7, 8], n_vocab=10)
    target.forward(5, Draft.tree([[9], [6]], "guess"))
    target.commit([0, 2])
    assert target.cache == [4, 5, 6]
    assert predictions(target.forward(7, EMPTY)) == [8]


def test_a_wrong_commit_gives_wrong_tokens():
    target = ScriptedTarget([4, 5], [6, 7, 8], n_vocab=10)
    target.forward(5, Draft.chain([9], "guess"))
    target.commit([0, 1])
    assert predictions(target.forward(6, EMPTY)) == [0]


def test_committed_tokens_can_be_taken_back():
    target = ScriptedTarget([4, 5], [6, 7, 8], n_vocab=10)
    target.forward(5, Draft.chain([9], "guess"))
    target.commit([0, 1])
    target.rewind(1)
    target.rewind(0)
    assert target.cache == [4, 5]
    assert predictions(target.forward(6, EMPTY)) == [7]


def test_more_rows_than_allowed_are_refused():
    target = ScriptedTarget([4, 5], [6, 7, 8], max_rows=2)
    with pytest.raises(ValueError, match="3 rows, but max_rows is 2"):
        target.forward(5, Draft.chain([6, 7], "guess"))
