"""Figures of hand-made records, the oracle by hand-counted cases, and one task with a real model."""

import random

import pytest
from tests.redraft.bench.rename_task import TASK

from redraft.bench import edits
from redraft.bench.edits import EditRecord, copied_spans, decode_with_oracle, summarize
from redraft.bench.engine import first_difference, parse_strategies
from redraft.bench.tasks import Task, built_in_tasks
from redraft.errors import InputError, ModelError
from redraft.records import Piece, Prompt
from redraft_lookup import CostCurve

FLAT = CostCurve.of({1: 1.0, 4: 2.0, 8: 8.0})  # best: 4 rows, 2 rows a second


def record(task: str, strategy: str, **fields: object) -> EditRecord:
    usual = {
        "id": task,
        "strategy": strategy,
        "output_tokens": 100,
        "passes": 100,
        "drafted": 0,
        "accepted": 0,
        "near_tie_redecodes": 0,
        "decode_s": 10.0,
        "runs_s": (10.0,),
        "oracle_passes": 10,
        "oracle_s": 2.0,
        "copied_share": 0.5,
        "equal_to_plain": True,
        "first_difference": None,
    }
    return EditRecord(**usual | fields)


def test_a_summary_is_of_totals():
    figures = summarize(
        [
            record("a", "plain"),
            record("b", "plain", decode_s=30.0, output_tokens=300, copied_share=0.9),
            record("a", "copy", passes=20, decode_s=4.0),
            record("b", "copy", passes=20, decode_s=6.0, output_tokens=300, near_tie_redecodes=2),
        ]
    )["copy"]
    expected = {
        "tasks": 2,
        "tokens_per_pass": 10.0,
        "tokens_per_s": 40.0,
        "speedup": 4.0,
        "oracle_ratio": 2.0,
        "oracle_time_ratio": 2.5,
        "copied_tasks": 1,
        "copied_median_speedup": 5.0,
        "near_tie_redecodes": 2,
        "equal_to_plain": True,
        "differences_per_1000_tokens": 0.0,
    }
    assert {key: figures[key] for key in expected} == expected


def test_one_answer_that_parts_is_a_difference_for_the_tokens_compared_until_then():
    figures = summarize(
        [
            record("a", "plain"),
            record("b", "plain"),
            record("a", "copy"),
            record("b", "copy", equal_to_plain=False, first_difference=25),
        ]
    )["copy"]
    assert figures["equal_to_plain"] is False
    assert figures["differences"] == 1
    assert figures["differences_per_1000_tokens"] == pytest.approx(1000 / 125)


def test_a_summary_of_nothing_is_empty():
    assert summarize([]) == {}


@pytest.mark.parametrize(
    ("tokens", "others", "place"),
    [
        pytest.param([], [], None, id="nothing"),
        pytest.param([1, 2], (1, 2), None, id="equal"),
        pytest.param([1, 2, 3], [1, 9, 3], 1, id="in the middle"),
        pytest.param([1, 2], [1, 2, 3], 2, id="one goes on"),
    ],
)
def test_answers_part(tokens, others, place):
    assert first_difference(tokens, others) == place


@pytest.mark.parametrize(
    ("given", "names"),
    [
        pytest.param("copy", ("plain", "copy"), id="plain is always there, first"),
        pytest.param("lookup, plain,lookup,", ("plain", "lookup"), id="each name once"),
        pytest.param("ngram-mod,copy@7", ("plain", "ngram-mod", "copy@7"), id="peers and caps"),
    ],
)
def test_strategies_are_named(given, names):
    assert parse_strategies(given) == names


@pytest.mark.parametrize("given", ["fast", "copy@", "copy@0", "copy@x", "@3", "ngram-simple@-1"])
def test_an_unknown_strategy_is_refused_with_those_there_are(given):
    with pytest.raises(InputError, match=r"no strategy .* ngram-mod"):
        parse_strategies(given)


@pytest.mark.parametrize(
    ("answer", "source", "spans"),
    [
        pytest.param("", "abc", [], id="nothing"),
        pytest.param("abc", "", [1, 1, 1], id="nothing to copy from"),
        pytest.param("abc", "abc", [3], id="all of it"),
        pytest.param("axc", "abc", [1, 1, 1], id="single tokens are no spans"),
        pytest.param("abxcd", "abcd", [2, 1, 2], id="around a change"),
        pytest.param("cdab", "abcd", [2, 2], id="in another order"),
        pytest.param("abcab", "ab.abc", [3, 2], id="the longest place, not the first"),
        pytest.param("ab", "a", [1, 1], id="a source of one token"),
    ],
)
def test_an_answer_is_cut_into_the_spans_that_stand_in_the_source(answer, source, spans):
    assert list(copied_spans(answer.encode(), source.encode())) == spans


@pytest.mark.parametrize(
    ("answer", "source", "passes", "seconds", "copied"),
    [
        pytest.param("abcd", "abcd", 1, 2.0, 4, id="one pass of the best length"),
        pytest.param("abcdefghi", "abcdefghi", 3, 5.0, 9, id="several, and a short last one"),
        pytest.param("abxyz", "ab", 4, 1 + 1 / 3 + 3, 2, id="a pass for each other token"),
        pytest.param("", "ab", 0, 0.0, 0, id="an empty answer costs nothing"),
    ],
)
def test_the_oracle_pays(answer, source, passes, seconds, copied):
    best = decode_with_oracle(answer.encode(), source.encode(), FLAT)
    assert (best.passes, best.copied) == (passes, copied)
    assert best.seconds == pytest.approx(seconds)
    assert best.copied_share == pytest.approx(copied / len(answer) if answer else 0)


@pytest.mark.parametrize("seed", range(40))
def test_no_span_could_have_been_longer(seed: int):
    chance = random.Random(seed)
    answer, source = (bytes(chance.choices(b"abc", k=chance.randrange(40))) for _ in range(2))
    start = 0
    for length in copied_spans(answer, source):
        assert length == 1 or answer[start : start + length] in source
        longer = answer[start : start + length + 1]
        assert len(longer) <= length or longer not in source
        start += length
    assert start == len(answer)


@pytest.mark.parametrize("exactness", ["fast", "invariant"])
def test_a_task_is_decoded_by_every_strategy_and_held_against_the_oracle(bench_engine, exactness):
    names = ("plain", "copy", "copy@2", "ngram-simple", "ngram-map-k", "ngram-mod")
    [records] = edits.measure(
        bench_engine, [TASK], names, scope="function", exactness=exactness, n_repeats=2
    )
    assert [record.strategy for record in records] == list(names)
    for record in records:
        assert len(record.runs_s) == 2
        assert min(record.runs_s) <= record.decode_s <= max(record.runs_s)
        assert 0 < record.oracle_passes <= record.output_tokens
        assert record.oracle_s > 0
        assert exactness == "fast" or record.equal_to_plain
    plain, copy, capped = records[:3]
    assert plain.passes >= plain.output_tokens
    assert copy.passes < plain.passes
    assert capped.drafted <= 2 * capped.passes


def test_a_task_that_does_not_fit_is_left_out_with_the_reason(bench_engine):
    long = Task(**{**_fields(TASK), "before": "x = 1\n" * 4000})
    [skipped] = edits.measure(
        bench_engine, [long], ("plain",), scope="file", exactness="fast", n_repeats=1
    )
    assert isinstance(skipped, edits.SkippedTask)
    assert "do not fit" in skipped.reason


def _fields(task: Task) -> dict[str, object]:
    return {name: getattr(task, name) for name in Task.__dataclass_fields__}


def test_a_strategy_that_needs_a_draft_model_says_so(bench_engine):
    prompt = Prompt(file=(), request=(Piece("a b c"),), source="", stop=())
    with pytest.raises(ModelError, match="--draft-model"):
        bench_engine.decode(prompt, "draft", "fast", max_tokens=3)


def test_built_in_tasks_leave_room_for_their_answers(bench_engine):
    for task in built_in_tasks():
        assert task.after is not None
        assert bench_engine.count_tokens(task.after) + 3 <= task.max_tokens, task.id
