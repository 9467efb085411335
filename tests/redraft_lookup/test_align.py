"""Where copying goes on after an edit, as far as the tokens written so far tell."""

import random

import numpy as np
import pytest

from redraft_lookup.align import WINDOW, Aligner

# Letters are common tokens, and each capital stands once.
SOURCE = "abcabcXabcabcYabcabcZabcabc"


def ids(text: str) -> list[int]:
    return [ord(letter) for letter in text]


def after(written: str, *, source: str = SOURCE, copied: int = 0) -> Aligner:
    aligner = Aligner(ids(source))
    aligner.advance(copied)
    for token in ids(written):
        aligner.emit(token)
    return aligner


def best(aligner: Aligner) -> int:
    return aligner.candidates(1)[0][0]


@pytest.mark.parametrize(
    ("copied", "written", "expected"),
    [
        pytest.param(0, "", 0, id="nothing written: the start"),
        pytest.param(0, "a", 1, id="a copied token"),
        pytest.param(6, "Q", 7, id="a substitution: one token on"),
        pytest.param(6, "Qa", 8, id="a substitution, confirmed"),
        pytest.param(6, "PQRX", 7, id="an insertion before a rare token"),
        pytest.param(0, "Y", 14, id="a deletion up to a rare token"),
        pytest.param(6, "abc", 10, id="a deletion of one token"),
        pytest.param(7, "Z", 21, id="a rare token far ahead"),
        pytest.param(21, "QXabcabcY", 14, id="rare tokens behind, in their order"),
        pytest.param(3, "Qc", 6, id="a common token: the nearest ahead"),
    ],
)
def test_the_likeliest_position(copied: int, written: str, expected: int):
    assert best(after(written, copied=copied)) == expected


def test_the_way_ahead_is_likelier_than_the_way_back():
    chances = dict(
        after("QQa", source="a" + "x" * 20 + "yy" + "z" * 20 + "a", copied=21).candidates(99)
    )
    assert chances.get(44, 0) < 1  # behind the end there is nothing to copy
    ahead, back = (
        dict(after("QQ", source="xxabxxxxyyabxx", copied=8).candidates(99)).get(i, 0)
        for i in (10, 2)
    )
    assert ahead > 5 * back


def test_a_rare_token_proves_more_than_a_common_one():
    common, rare = (after(f"QQ{token}", copied=6).candidates(1)[0][1] for token in "aX")
    assert rare > 0.8 > common


def test_two_rare_tokens_make_the_position_certain():
    aligner = after("QQBC", source="abcdABCDabcd", copied=4)
    assert aligner.certain == 7
    assert aligner.candidates(3) == [(7, 1.0)]


@pytest.mark.parametrize("seed", range(20))
def test_the_posterior_sums_to_one(seed: int):
    rng = random.Random(seed)
    source = rng.choices(range(30), k=rng.choice([0, 1, 5, 200, 3000]))
    aligner = Aligner(source)
    for _ in range(60):
        if aligner.certain is not None and rng.random() < 0.5:
            aligner.advance(min(3, len(source) - aligner.certain))
        aligner.emit(rng.randrange(40))
        if aligner.certain is None:
            parts = (aligner._copy, aligner._insert, aligner._replace)
            assert sum(part.sum() for part in parts) == pytest.approx(1)
            assert min(part.min() for part in parts) >= 0
        candidates = aligner.candidates(5)
        chances = [one for _, one in candidates]
        assert chances == sorted(chances, reverse=True)
        assert sum(chances) <= 1 + 1e-9
        assert all(0 <= position <= len(source) for position, _ in candidates)


def test_only_a_certain_position_can_be_advanced():
    with pytest.raises(ValueError, match="the position is not certain"):
        after("Q").advance(1)


def test_the_end_of_the_source_has_nothing_to_copy():
    aligner = Aligner(ids("abc"))
    aligner.advance(3)
    assert aligner.candidates(4) == []
    aligner.emit(ord("Q"))
    assert aligner.candidates(4)


def test_an_empty_source_is_never_found_again():
    aligner = Aligner([])
    for token in ids("abc"):
        aligner.emit(token)
    assert all(position == 0 for position, _ in aligner.candidates(4))


def test_restarting_means_the_start_of_another_source():
    aligner = after("QQ")
    aligner.restart(np.array(ids("xyz"), np.int32))
    assert aligner.candidates(2) == [(0, 1.0)]
    aligner.emit(ord("y"))
    assert best(aligner) == 2


def test_only_a_window_of_a_long_source_is_searched():
    source = list(range(1, 3 * WINDOW))
    aligner = Aligner(source)
    for start, is_found in ((WINDOW // 2, True), (2 * WINDOW, False)):
        aligner = Aligner(source)
        for token in range(start, start + 4):
            aligner.emit(token)
        assert (best(aligner) == start + 3) == is_found
