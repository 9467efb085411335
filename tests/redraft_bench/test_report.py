"""The pages of measured figures and their plots: nothing invented, nothing lost, no difference twice."""

import importlib.util
import itertools
import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from redraft.bench import edits, plots
from redraft_bench import report
from redraft_bench.simulate import PUBLISHED

DOCS = Path(__file__).parents[2] / "docs"
NOTEBOOK = "notes/measurements.md"
IDLE = {
    "redraft": "0.1.0",
    "engine": {"llama-cpp-python": "0.3.36"},
    "backend": "cpu",
    "python": "3.11.7",
    "platform": "Linux",
    "cpu": "Some <CPU> & more",
    "cores": 2,
    "memory": 8_000_000_000,
    "threads": 2,
    "model": "small.gguf",
    "started": "2031-04-02T08:14:03+00:00",
    "busy": 0.0,
    "load_average": [0.1, 0.1, 0.1],
    "seconds": 60.0,
    "busy_during": 0.0,
    "load_average_after": [1.9, 0.1, 0.1],
}


def _record(bench: str, **figures: Any) -> dict[str, Any]:
    return {"conditions": {**IDLE, "bench": bench, "command": f"redraft bench {bench}"}, **figures}


def _pass(depth: int, rows: int, relative: float) -> dict[str, Any]:
    return {
        "depth": depth,
        "rows": rows,
        "ms": 10 * relative,
        "relative": relative,
        "tokens_per_s": 100 * rows / relative,
        "speedup": rows / relative,
        "class": "a",
    }


def _edit(
    task: str, strategy: str, decode_s: float, parts_at: int | None = None
) -> edits.EditRecord:
    return edits.EditRecord(
        id=task,
        strategy=strategy,
        output_tokens=100,
        passes=100 if strategy == "plain" else 10,
        drafted=0,
        accepted=0,
        near_tie_redecodes=0,
        decode_s=decode_s,
        runs_s=(decode_s,),
        oracle_passes=9,
        oracle_s=1.0,
        copied_share=0.95,
        equal_to_plain=parts_at is None,
        first_difference=parts_at,
    )


def _edits() -> dict[str, Any]:
    rows = [_edit("a", "plain", 10.0), _edit("a", "copy", 2.0, 7)]
    rows += [_edit("b", "plain", 9.0), _edit("b", "copy", 1.5)]
    return _record(
        "edits",
        scope="file",
        exactness="fast",
        repeat=1,
        summary=edits.summarize(rows),
        results=[{name: getattr(row, name) for name in row.__slots__} for row in rows],
        skipped=[{"id": "c", "reason": "it does not fit"}],
    )


def _peer(name: str, to_plain: float, copy_to_it: float) -> dict[str, Any]:
    return {
        "tasks": 1,
        "output_tokens": 100,
        "decode_s": 10 / to_plain,
        "tokens_per_s": 10 * to_plain,
        "to_plain": to_plain,
        "median_to_plain": to_plain,
        "to_own_plain": None,
        "copy_to_it": copy_to_it,
        "tokens_per_pass": 3.0,
        "differences": 1,
    }


def _peers() -> dict[str, Any]:
    of = {
        "redraft/plain": (1.0, 5.0),
        "redraft/copy": (5.0, 1.0),
        "llama-server/ngram-mod": (4, 1.25),
    }
    return _record(
        "peers",
        scope="file",
        exactness="fast",
        plain_tokens=64,
        versions={"llama-server": "llama.cpp b11434"},
        earlier_runs=[{}],
        left_out={"node-llama-cpp": "not installed: npm install node-llama-cpp"},
        summary={name: _peer(name, *figures) for name, figures in of.items()},
        results=[
            {"id": "a", "peer": name, "timed_tokens": 100, "decode_s": 10 / speed}
            for name, (speed, _) in of.items()
        ],
        failures=[{"id": "b", "peer": "llama-server/ngram-mod", "reason": "it ended by itself"}],
    )


def _quality() -> dict[str, Any]:
    prompt = {
        "n": 50,
        "passed": 20,
        "pass_at_1": 0.4,
        "interval_95": [0.28, 0.54],
        "unchanged": 3,
        "refused": {"parse": 2},
        "timeouts": 0,
        "parse_broken": 0,
        "out_of_target": 0,
        "asked_again": 4,
        "passed_when_asked_again": 1,
        "changed_lines": 4.5,
        "reference_lines": 3.0,
    }
    difference = {
        "n": 50,
        "points": 8.0,
        "only_this_passes": 5,
        "only_the_other_passes": 1,
        "p": 0.219,
    }
    return _record(
        "quality",
        set="canitedit",
        isolation="a process of its own",
        summary={
            "prompts": {"naive": prompt, "product": prompt},
            "differences": {"product over naive": difference},
        },
        left_out=[{"id": "x", "why": "numpy is missing"}],
    )


def _workloads() -> dict[str, Any]:
    own = {
        "tokens_per_s": 10.0,
        "speedup": 0.96,
        "median_speedup": 0.97,
        "least_speedup": 0.9,
        "most_speedup": 1.1,
        "tokens_per_pass": 1.1,
        "acceptance": None,
        "differences": 0,
    }
    runs = [{"workload": "chat", "strategy": name} for name in ("plain", "auto")]
    summary = {"chat": {"plain": own, "auto": own}}
    return _record("workloads", exactness="fast", repeat=3, summary=summary, runs=runs)


RECORDS: dict[str, dict[str, Any]] = {
    "cost": _record(
        "cost",
        passes=[_pass(512, 1, 1.0), _pass(512, 8, 2.0), _pass(2048, 1, 1.0)],
    ),
    "edits": _edits(),
    "peers": _peers(),
    "quality": _quality(),
    "workloads": _workloads(),
    "exact": _record(
        "exact",
        exactness="invariant",
        strategies={"copy": {"tokens": 2000, "differences": [{"case": "x", "token": 3}]}},
    ),
    "exact-quantizations": _record(
        "exact-quantizations",
        exactness="invariant",
        kinds={
            kind: {
                "row_counts": [8, 16],
                "strategies": {
                    "copy, cold": {"tokens": 1500, "differences": []},
                    "copy, warm": {"tokens": 2500, "differences": differences},
                },
            }
            for kind, differences in {"Q4_0": [], "Q8_0": [{"case": "x", "token": 3}]}.items()
        },
    ),
    "latency": _record(
        "latency",
        rows=[{"what": "first token, warm", "seconds": 0.1, "aim": "15 % of cold"}],
        first_token_warm=0.1,
        first_token_cold=1.0,
    ),
    "codemod": _record(
        "codemod",
        exactness="invariant",
        functions=9,
        chosen=2,
        summary={
            "1": {
                "wall_s": 9.0,
                "prefill_s": 1.0,
                "tokens_per_s": 50.0,
                "speedup": 1.0,
                "least_speedup": 1.0,
                "decode_speedup": 1.0,
                "same_text": True,
            }
        },
    ),
    "memory": _record(
        "memory",
        held=[
            {
                "strategy": name,
                "prompt_tokens": 2000,
                "output_tokens": 9,
                "unique": n,
                "resident": n,
            }
            for name, n in (("plain", 1_000_000_000), ("copy", 1_001_500_000))
        ],
        drafter_bytes_per_10k=629_000.0,
    ),
    "drafter": _record(
        "drafter",
        history_tokens=32_000,
        answer_tokens=4_000,
        passes=300,
        start_ms=20.0,
        mean_ms=0.41,
        median_ms=0.21,
        p99_ms=3.0,
        max_ms=9.0,
        bytes_per_10k=629_000.0,
    ),
    "replies": _record(
        "replies",
        summary={"passed": 401, "wrong_accepted": 1, "good_refused": 2},
        failed=[{"id": "k6/py", "kind": "loss", "verdict": "wrong_accepted"}],
    ),
    "laws": _record(
        "laws",
        functions=1_234,
        laws={"identity": [5_678, 9]},
        seconds={"Python, all lines changed": 0.81},
    ),
    "simulate": _record(
        "simulate",
        simulation=True,
        inputs={"tokens_per_s": 27.0, "tile": 32, "first_tile": 2.5, "next_tile": 1.5},
        speedup={name: {"lookup": 1.5, "copy": 2.5} for name in PUBLISHED},
        published=dict(PUBLISHED),
    ),
}


USERS = (
    "cost",
    "edits",
    "exact",
    "latency",
    "replies",
)  # benchmarks that are commands of redraft itself


def _pages(folder: Path, *records: dict[str, Any]) -> dict[str, str]:
    folder.mkdir(exist_ok=True)
    for number, record in enumerate(records):
        (folder / f"{number}.json").write_text(json.dumps(record))
    return report.render_pages(report.load_results(folder))


@pytest.mark.parametrize("bench", RECORDS)
def test_a_benchmark_without_a_file_is_said_to_be_not_measured(tmp_path, bench: str):
    others = [record for name, record in RECORDS.items() if name != bench]
    text = _pages(tmp_path, *others)[NOTEBOOK]
    said = [line for line in text.splitlines() if "Not measured on this machine yet" in line]
    assert len(said) == 1
    program = "redraft bench" if bench in USERS else "python -m redraft_bench"
    assert f"`{program} {bench} " in said[0]


def test_quantisations_are_summed_over_strategies(tmp_path):
    text = _pages(tmp_path, RECORDS["exact-quantizations"])[NOTEBOOK]
    assert "| Q4_0 | 8, 16 | 4,000 | 0 |" in text
    assert "| Q8_0 | 8, 16 | 4,000 | 1 |" in text


def test_with_all_files_every_command_machine_and_load_is_named(tmp_path):
    text = _pages(tmp_path, *RECORDS.values())[NOTEBOOK]
    assert "Not measured" not in text
    for bench in RECORDS:
        is_of_users = bench in ("cost", "edits", "exact", "latency", "replies")
        program = "redraft bench" if is_of_users else "python -m redraft_bench"
        assert f"\n    {program} {bench}\n" in text
    measured = len(RECORDS) - 1  # a simulation has no machine
    assert text.count("Some <CPU> & more, 2 cores, 8 GB, Linux.") == measured
    assert text.count("others had 0 % of the machine meanwhile") == measured


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(
            "| 8 | 20.0 | 2.00 | not measured | | a |", id="a row count of one depth only"
        ),
        pytest.param("4.0 times plain decoding at 8 rows behind 512 tokens,", id="the best rows"),
        pytest.param("| copy | 200 | 20 | 10.00 | 57.1 | 5.43 | 5.50 (5.00 to 6.00) |", id="edits"),
        pytest.param("- passes of the oracle's: 1.11; the aim is at most 1.25: met.", id="met"),
        pytest.param("is at most 1.3: **missed**.", id="an aim that was missed"),
        pytest.param("Left out: c, it does not fit.", id="a task that was left out"),
        pytest.param("| a | 95 % | 10.0 | 5.00 (parts at 7) |", id="an answer that parts"),
        pytest.param("llama-server: 1.25; the aim is at least 1.4: **missed**.", id="a peer's bar"),
        pytest.param("- node-llama-cpp was left out: not installed", id="a peer that is missing"),
        pytest.param("Against llama.cpp b11434; edits of whole files", id="a peer's version"),
        pytest.param("spread over 2 runs", id="a run that went on from another"),
        pytest.param("- b, llama-server/ngram-mod: failed: it ended by itself.", id="a failure"),
        pytest.param("| product | 20 of 50 | 40.0 % | 28 % to 54 % | 3 | 2 parse |", id="quality"),
        pytest.param("+8.0 points on 50 problems (5 won, 1 lost, p = 0.219)", id="a difference"),
        pytest.param(
            "times plain decoding in chat: 0.96; the aim is at least 0.97: **m", id="chat"
        ),
        pytest.param("| copy | 2,000 | 1 |", id="a difference of an exact strategy"),
        pytest.param("comes after 10.0 % of the time", id="a share of the cold time"),
        pytest.param("| copy | 2,000 | 1,002 | 1,002 | +1.5 |", id="memory beside plain"),
        pytest.param(
            "ms a pass in the mean: 0.41; the aim is at most 0.2: **missed**", id="drafts"
        ),
        pytest.param("| code editing | 1.50 | 2.50 | 2.9 |", id="the simulation beside others"),
        pytest.param("**Nothing here ran on Metal, CUDA or any other GPU.**", id="no GPU"),
    ],
)
def test_the_page_shows(tmp_path, line: str):
    assert line in _pages(tmp_path, *RECORDS.values())[NOTEBOOK]


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("faster than plain decoding | not measured |", id="edits"),
        pytest.param("drafting from n-grams | not measured |", id="peers"),
        pytest.param("the tokens of plain decoding | not measured |", id="exactness"),
        pytest.param("a naive prompt: canitedit | not measured |", id="quality"),
        pytest.param("a good one is | not measured |", id="replies"),
        pytest.param("hold on real code | not measured |", id="laws"),
        pytest.param("starts at once | not measured |", id="latency"),
    ],
)
def test_a_claim_without_a_measurement_says_so(tmp_path, line: str):
    assert line in _pages(tmp_path)["benchmarks.md"]


@pytest.mark.parametrize(
    ("name", "line"),
    [
        pytest.param("edits", "| 5.43 times, from 5.00 to 6.00 on 2 edits |", id="edits"),
        pytest.param("edits", "| 1.11 times its passes, 1.75 times its time |", id="the oracle"),
        pytest.param("peers", "| 1.25 times its fastest mode |", id="peers"),
        pytest.param("exact", "| 1 differences in 2,000 tokens |", id="exactness"),
        pytest.param("quality-canitedit", "| 20 of 50 against 20 |", id="quality"),
        pytest.param("replies", "1 wrong accepted, 2 good refused of 404", id="replies"),
        pytest.param("laws", "9 of 5,678 attacks break one, on 1,234 functions", id="laws"),
        pytest.param("latency", "first token after 10.0 % of the cold time", id="latency"),
    ],
)
def test_a_claim_has_the_figure_of_its_file(tmp_path, name: str, line: str):
    record = RECORDS[name.partition("-")[0]]
    (tmp_path / f"{name}.json").write_text(json.dumps(record))
    text = report.render_pages(report.load_results(tmp_path))["benchmarks.md"]
    assert line in text


def test_tables_are_whole(tmp_path):
    for text in _pages(tmp_path, *RECORDS.values()).values():
        lines = text.splitlines()
        for before, line in itertools.pairwise(lines):
            if before.startswith("|") and line.startswith("|"):
                assert before.count("|") == line.count("|"), (before, line)
        rules = [n for n, line in enumerate(lines) if line.startswith(("| :-", "| -"))]
        for n in rules:
            assert lines[n - 1].startswith("|"), lines[n - 1]
            assert lines[n - 2] == "", lines[n - 2]
            assert lines[n + 1].startswith("|"), lines[n + 1]


@pytest.mark.parametrize(
    ("known", "said"),
    [
        pytest.param({}, None, id="idle"),
        pytest.param({"busy": 0.4}, None, id="busy before it began"),
        pytest.param({"load_average": [3.0, 1, 1]}, None, id="the load of an earlier run"),
        pytest.param({"busy_during": 0.25}, "others kept 25% of this machine", id="busy meanwhile"),
    ],
)
def test_a_run_on_a_loaded_machine_says_so(tmp_path, known, said: str | None):
    record = RECORDS["exact"]
    record = {**record, "conditions": record["conditions"] | known}
    text = _pages(tmp_path, record)[NOTEBOOK]
    assert ("**Take care:" in text) == (said is not None)
    assert (said or "") in text


def test_a_figure_of_a_gpu_takes_the_sentence_away_that_there_is_none(tmp_path):
    record = RECORDS["exact"]
    record = {**record, "conditions": record["conditions"] | {"backend": "metal"}}
    written = _pages(tmp_path, record)
    assert "Nothing here ran on Metal" not in written[NOTEBOOK]
    assert "The model ran on: metal." in written[NOTEBOOK]
    assert "has not been run on a Mac yet" not in written["apple-silicon.md"]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"conditions": {}}'])
def test_a_file_that_is_no_result_is_named(tmp_path, text: str):
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(SystemExit, match=r"x\.json was not written by a benchmark"):
        report.load_results(tmp_path)


def test_a_result_that_lacks_a_figure_is_not_passed_over(tmp_path):
    record = {key: value for key, value in RECORDS["exact"].items() if key != "exactness"}
    with pytest.raises(SystemExit, match="'exactness'"):
        _pages(tmp_path, record)


def test_the_pages_in_the_repository_are_what_the_results_there_say():
    for name, text in report.render_pages(report.load_results(DOCS / "results")).items():
        written = (DOCS / name).read_text(encoding="utf-8")
        assert written == text, f"docs/{name} is not up to date: run `make bench-report`"


@pytest.mark.parametrize("name", ["benchmarks.md", "apple-silicon.md", NOTEBOOK])
def test_every_file_that_a_page_links_to_is_there(name: str):
    page = DOCS / name
    links = re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8"))
    files = [link for link in links if "://" not in link]
    assert files
    assert [link for link in files if not (page.parent / link).exists()] == []


def test_every_plot_that_a_page_shows_is_there():
    results = report.load_results(DOCS / "results")
    shown = {run["plot"] for own in results.values() for run in own if run["plot"]}
    assert shown == {f"plots/{path.name}" for path in (DOCS / "plots").glob("*.svg")}


@pytest.mark.parametrize("bench", plots.DRAWN)
def test_a_plot_is_the_same_each_time_and_refers_to_nothing_outside(bench: str, tmp_path):
    for name in ("one.svg", "two.svg"):
        plots.draw(RECORDS[bench], tmp_path / name)
    drawn = (tmp_path / "one.svg").read_bytes()
    assert drawn == (tmp_path / "two.svg").read_bytes()
    root = ET.fromstring(drawn)
    texts = {element.text for element in root.iter("{http://www.w3.org/2000/svg}text")}
    assert any("Some <CPU> & more" in (text or "") for text in texts) or bench == "simulate"
    assert b"<dc:date>" not in drawn
    links = [
        value for element in root.iter() for key, value in element.attrib.items() if "href" in key
    ]
    assert all(link.startswith("#") for link in links)


def test_a_plot_can_be_a_png_too(tmp_path):
    plots.draw(RECORDS["cost"], tmp_path / "cost.png")
    assert (tmp_path / "cost.png").read_bytes().startswith(b"\x89PNG")


def test_the_edits_plot_has_a_dot_for_each_edit_that_was_not_plain(tmp_path):
    plots.draw(RECORDS["edits"], tmp_path / "edits.svg")
    root = ET.parse(tmp_path / "edits.svg").getroot()
    dots = next(e for e in root.iter() if e.attrib.get("id", "").startswith("PathColl"))
    assert sum(dot.tag.endswith("}use") for dot in dots.iter()) == 2


def test_without_matplotlib_a_plot_is_refused_before_anything_is_measured(run_bench, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    ran = run_bench("workloads", "--plot", "x.svg", "--model", "no.gguf")
    assert ran.code == 2
    assert "pip install 'matplotlib" in ran.err
