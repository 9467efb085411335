"""Five kinds of request: what is questions, how it is routed, and that plain decoding is the measure."""

import json
from pathlib import Path

import pytest

from redraft.bench.engine import BenchEngine
from redraft.errors import InputError
from redraft_bench import workloads
from redraft_bench.workloads import (
    Question,
    WorkloadRecord,
    load,
    measure,
    summarize,
    take_first_of_each,
)


def test_there_are_built_in_questions_of_five_kinds():
    questions = workloads.built_in_questions()
    assert {question.workload for question in questions} == {
        "chat",
        "code editing",
        "extraction",
        "retrieval QA",
        "summarisation",
    }


def test_the_first_of_each_kind_are_kept_in_order():
    questions = [
        Question(workload=w, user=u, max_tokens=1) for w, u in ("ax", "bx", "ay", "az", "by")
    ]
    assert [question.user for question in take_first_of_each(questions, 2)] == ["x", "x", "y", "y"]


def test_questions_are_read_from_json_lines(tmp_path: Path):
    path = tmp_path / "questions.jsonl"
    record = {"workload": "chat", "user": "Hello?", "max_tokens": 5, "reference": None}
    path.write_text(json.dumps(record) + "\n\n")
    assert load(path) == (Question(workload="chat", user="Hello?", max_tokens=5),)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("no json", id="no JSON"),
        pytest.param('{"workload": "chat"}', id="a field is missing"),
        pytest.param("[]", id="not an object"),
        pytest.param('{"workload": "chat", "user": "", "max_tokens": "many"}', id="no number"),
    ],
)
def test_a_file_that_holds_no_questions_is_named(text: str, tmp_path: Path):
    path = tmp_path / "questions.jsonl"
    path.write_text(text)
    with pytest.raises(InputError, match=r"questions\.jsonl.*workload, user and max_tokens"):
        load(path)


def test_speed_up_is_of_total_times_within_a_workload():
    def build_record(workload: str, question: int, strategy: str, seconds: float) -> WorkloadRecord:
        return WorkloadRecord(
            workload=workload,
            question=question,
            strategy=strategy,
            output_tokens=10,
            passes=5,
            drafted=8,
            accepted=4,
            decode_s=seconds,
            runs_s=(seconds,),
            first_difference=None if strategy == "plain" else 3,
        )

    figures = summarize(
        [
            build_record("a", 0, "plain", 4),
            build_record("a", 1, "plain", 2),
            build_record("a", 0, "copy", 1),
            build_record("a", 1, "copy", 2),
            build_record("b", 2, "plain", 1),
        ]
    )
    assert figures["a"]["copy"] == {
        "tokens_per_s": pytest.approx(20 / 3),
        "speedup": 2.0,
        "median_speedup": 2.5,
        "least_speedup": 1.0,
        "most_speedup": 4.0,
        "tokens_per_pass": 2.0,
        "acceptance": 0.5,
        "differences": 2,
    }
    assert figures["b"]["plain"]["speedup"] == 1.0


def test_the_real_model_answers_each_question_with_every_strategy(small_model_path: Path):
    questions = [
        Question(workload="chat", user="Name a colour.", max_tokens=8),
        Question(workload="extraction", user="List the names: Ann, Bo.", max_tokens=8),
    ]
    with BenchEngine.load(small_model_path) as bench_engine:
        names = ("plain", "auto")
        runs = list(measure(bench_engine, questions, names, exactness="invariant", n_repeats=2))
    assert [[(record.workload, record.strategy) for record in turn] for turn in runs] == [
        [("chat", "plain"), ("chat", "auto")],
        [("extraction", "plain"), ("extraction", "auto")],
    ]
    assert all(record.first_difference is None for turn in runs for record in turn)
    assert all(len(record.runs_s) == 2 for turn in runs for record in turn)
