"""Decoding by script takes the passes that decoding takes."""

import random

import pytest

from redraft.bench.tasks import built_in_tasks
from redraft_bench.drafter import CURVE, build_scripted_edit
from redraft_bench.scripted import ScriptedVocabulary, play
from redraft_lookup import CopyDrafter, Decoding, Limits, NgramDrafter, PlainDrafter, decode
from redraft_lookup.testing import ScriptedTarget


@pytest.mark.parametrize("seed", range(50))
def test_the_vocabulary_gives_back_every_byte(seed: int):
    chance = random.Random(seed)
    data = bytes(chance.choices(b"ab_ZZ09 \n\t\r(.)=\xc3\xa9\x00\xff", k=chance.randrange(80)))
    vocabulary = ScriptedVocabulary()
    assert b"".join(map(vocabulary.piece, vocabulary.tokenize(data))) == data


def test_code_has_about_as_many_tokens_as_with_a_model():
    for task in built_in_tasks():
        n_tokens = len(ScriptedVocabulary().tokenize(task.before.encode()))
        assert 2.5 < len(task.before) / n_tokens < 5, task.id


@pytest.mark.parametrize("make", [NgramDrafter, lambda prompt: PlainDrafter(), None])
def test_playing_a_script_takes_the_passes_that_decoding_takes(make):
    source, answer, vocabulary = build_scripted_edit(300, 200)
    make = make or (lambda p: CopyDrafter(p, p, curve=CURVE, vocabulary=vocabulary))
    end = 1 + max(*source, *answer)
    target = ScriptedTarget(source, answer, end_id=end, max_rows=CURVE.max_rows)
    limits = Limits(max_tokens=1000, end_ids=frozenset([end]))
    steps = list(decode(target, Decoding(source, make(source), limits)))
    played = play(make(source), answer, CURVE)
    assert played.passes == len(steps)
    assert played.accepted == sum(step.accepted for step in steps)
    assert played.seconds == pytest.approx(sum(CURVE.seconds(rows) for rows in target.passes))
    assert len(played.drafting_s) == played.passes
