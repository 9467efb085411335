"""What is measured without a model: the script, drafting costs, the simulation, tables."""

import json
import random
from collections import Counter
from pathlib import Path

import pytest

from redraft.bench import cost
from redraft.bench.results import format_figure, markdown_table
from redraft.bench.tasks import built_in_tasks
from redraft.engine.calibration import Measurement
from redraft.errors import InputError
from redraft_bench import simulate
from redraft_bench.drafter import CURVE, build_scripted_edit, measure
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


def test_the_scripted_edit_is_as_long_as_asked_and_mostly_copied():
    source, answer, _ = build_scripted_edit(3000, 500)
    assert len(source) == 3000
    assert 400 <= len(answer) <= 500
    assert answer != source[: len(answer)]


def test_drafting_costs_are_counted():
    found = measure(600, 200)
    assert found.history_tokens == 600
    assert 0 < found.median_ms <= found.p99_ms <= found.max_ms
    assert found.passes > 5
    assert found.bytes_per_10k > 1000


@pytest.mark.parametrize(
    ("rows", "relative"),
    [(1, 1.0), (2, 1.81), (9, 2.5), (32, 2.5), (33, 4.0), (64, 4.0), (65, 5.5), (128, 7.0)],
)
def test_a_chip_s_passes_cost_tiles(rows: int, relative: float):
    assert simulate.Chip().curve.seconds(rows) * 27 == pytest.approx(relative)


def test_a_drafter_knows_of_a_chip_what_calibration_would_tell():
    chip = simulate.Chip()
    for rows in (1, 16, 32, 48, 64, 128):
        assert chip.calibrated_curve.seconds(rows) == pytest.approx(chip.curve.seconds(rows))
    assert chip.calibrated_curve.seconds(40) < chip.curve.seconds(40)


def test_the_simulation_covers_the_published_workloads_and_gains_most_on_edits():
    found = simulate.simulate(simulate.built_in_scripts(), simulate.Chip())
    assert set(found) == set(simulate.PUBLISHED)
    assert found["code editing"]["copy"] > found["code editing"]["lookup"] > 2
    assert all(speed >= 0.97 for speed in found["chat"].values())


def test_there_are_at_least_four_scripts_of_each_workload():
    counts = Counter(one.workload for one in simulate.built_in_scripts())
    assert set(counts) == set(simulate.PUBLISHED)
    assert min(counts.values()) >= 4


def test_scripts_are_read_from_a_file(tmp_path: Path):
    path = tmp_path / "bench.jsonl"
    edit = {"workload": "code_edit", "user": "Do\n```py\nx = 1\n```\n", "reference": "x = 2\n"}
    others = [
        {"workload": "chat", "user": "Hello", "reference": None},
        {"workload": "rag_qa", "user": "Why?", "reference": ["So."]},
        {"workload": "extraction", "user": "Log", "reference": [{"a": 1}]},
    ]
    path.write_text("".join(json.dumps(one) + "\n" for one in (edit, *others)))
    scripts = simulate.load(path)
    assert [(one.workload, one.source, one.answer) for one in scripts] == [
        ("code editing", "x = 1\n", "x = 2\n"),
        ("retrieval QA", "", "So."),
        ("extraction", "", '[{"a": 1}]'),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "cannot read"),
        ("{", "cannot read"),
        ('{"workload": "chat"}', "cannot read"),
        ('{"workload": "chat", "user": "Hi", "reference": null}', "no record"),
    ],
)
def test_a_file_without_scripts_is_refused(tmp_path: Path, text: str, said: str):
    (tmp_path / "bench.jsonl").write_text(text)
    with pytest.raises(InputError, match=said):
        simulate.load(tmp_path / "bench.jsonl")


MEASURED = Measurement(
    depth=512, flash_attention=True, rows=(1, 2, 4), seconds=(0.1, 0.2, 0.16), classes=(0, 1, 1)
)


def test_a_measurement_becomes_figures_and_a_table():
    assert cost.cost_records(MEASURED)[2] == {
        "depth": 512,
        "rows": 4,
        "ms": pytest.approx(160),
        "relative": pytest.approx(1.6),
        "tokens_per_s": pytest.approx(25),
        "speedup": pytest.approx(2.5),
        "class": "b",
    }
    table = cost.cost_table(MEASURED)
    assert table.startswith("512 tokens of context\n\n| rows ")
    assert f"2.50 {'█' * 20}" in table


def test_a_table_is_aligned_markdown():
    assert markdown_table(("name", "n"), [("a", "10"), ("long name", "2")]) == (
        "| name      |  n |\n| :-------- | -: |\n| a         | 10 |\n| long name |  2 |\n"
    )


@pytest.mark.parametrize(
    ("value", "text"), [(None, "-"), (True, "yes"), (False, "no"), (1.234, "1.23"), (7, "7")]
)
def test_a_figure_is_short(value: object, text: str):
    assert format_figure(value) == text


def test_simulate_says_that_it_is_a_simulation_and_what_went_in(tmp_path: Path, run_bench):
    ran = run_bench("simulate", "--json", f"{tmp_path}/out.json")
    assert ran.out.startswith("SIMULATION, nothing was measured")
    assert "  1 rows     37 ms" in ran.out
    assert "| code editing" in ran.out
    record = json.loads((tmp_path / "out.json").read_text())
    assert record["simulation"] is True
    assert record["inputs"]["tokens_per_s"] == 27.0


def test_drafter_prints_time_and_memory(tmp_path: Path, run_bench):
    lengths = ("--history", "500", "--answer", "100")
    ran = run_bench("drafter", *lengths, f"--json={tmp_path / 'out.json'}")
    known = json.loads((tmp_path / "out.json").read_text())["conditions"]
    assert (
        known["command"] == f"python -m redraft_bench drafter {' '.join(lengths)} --json=out.json"
    )
    assert known["bench"] == "drafter"
    assert known["seconds"] > 0
    assert "passes behind 500 tokens, drafting:" in ran.out
    assert "kB for 10,000 tokens" in ran.out


def test_scripts_that_cannot_be_read_are_refused(run_bench):
    ran = run_bench("simulate", "--tasks", "no.jsonl")
    assert ran.code == 2
    assert "cannot read no.jsonl" in ran.err
