"""Figures of hand-made records, and one task for real with the small model."""

import pytest
from tests.redraft.bench.rename_task import TASK

from redraft.bench import edits
from redraft.bench.edits import EditRecord, summarize
from redraft.bench.engine import first_difference, parse_strategies
from redraft.bench.tasks import Task, built_in_tasks
from redraft.errors import InputError, ModelError
from redraft.records import Piece, Prompt


def record(task: str, strategy: str, **given: object) -> EditRecord:
    known = {
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
    return EditRecord(**known | given)


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
    ("one", "other", "place"),
    [
        pytest.param([], [], None, id="nothing"),
        pytest.param([1, 2], (1, 2), None, id="equal"),
        pytest.param([1, 2, 3], [1, 9, 3], 1, id="in the middle"),
        pytest.param([1, 2], [1, 2, 3], 2, id="one goes on"),
    ],
)
def test_answers_part(one, other, place):
    assert first_difference(one, other) == place


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


@pytest.mark.parametrize("exactness", ["fast", "invariant"])
def test_a_task_is_decoded_by_every_strategy_and_held_against_the_oracle(bench_engine, exactness):
    names = ("plain", "copy", "copy@2", "ngram-simple", "ngram-map-k", "ngram-mod")
    [records] = edits.measure(
        bench_engine, [TASK], names, scope="function", exactness=exactness, n_repeats=2
    )
    assert [one.strategy for one in records] == list(names)
    for one in records:
        assert len(one.runs_s) == 2
        assert min(one.runs_s) <= one.decode_s <= max(one.runs_s)
        assert 0 < one.oracle_passes <= one.output_tokens
        assert one.oracle_s > 0
        assert exactness == "fast" or one.equal_to_plain
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
