"""`redraft bench`, `redraft trace` and `edit --trace` as they are typed."""

import importlib.util
import json
from pathlib import Path

import pytest
from tests.redraft.scripted_model import ScriptedModel

from redraft.records import Completion, Pass, Stats


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text("def f(a):\n    return a\n")
    return tmp_path


class TracedModel(ScriptedModel):
    """Reports one pass: its first token copied, the rest decoded afresh."""

    def complete(self, *args, **kwargs) -> Completion:
        done = super().complete(*args, **kwargs)
        pieces = (done.text[:3].encode(), done.text[3:].encode())
        origins = ("copied", None)
        one = Pass(
            tokens=(1, 2), pieces=pieces, origins=origins, runners_up=(), drafted=1, seconds=0.1
        )
        stats = Stats(output_tokens=2, passes=1, decode_s=0.1)
        return Completion(text=done.text, finish=done.finish, stats=stats, passes=(one,))


REPLY = "def f(b):\n    return b\n```"


def test_edit_can_leave_a_page_that_shows_where_tokens_came_from(here: Path, run_cli):
    model = TracedModel(replies=[REPLY])
    ran = run_cli("edit", "a.py::f", "call it b", "--trace", "out.html", model=model)
    assert (ran.code, ran.err) == (0, "")
    page = (here / "out.html").read_text()
    assert '<span class="copied">def</span><span class="fresh"> f(b):' in page
    assert "call it b" in page


@pytest.mark.parametrize("verb", [("edit", "--trace"), ("trace", "--html")])
def test_where_the_page_cannot_be_written_the_model_is_not_asked(here: Path, run_cli, verb):
    model = TracedModel(replies=[REPLY])
    ran = run_cli(verb[0], "a.py", "call it b", verb[1], "no/out.html", model=model)
    assert ran.code == 2
    assert "there is no folder" in ran.err
    assert model.prompts == []


def test_trace_prints_the_answer_and_leaves_the_file(here: Path, run_cli):
    before = (here / "a.py").read_bytes()
    ran = run_cli("trace", "a.py::f", "call it b", model=TracedModel(replies=[REPLY]))
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("▏def f(b):\n    return b\n")
    assert "2 tokens in 1 passes, 2.0 tokens/pass, 50% copied" in ran.out
    assert (here / "a.py").read_bytes() == before


def test_trace_writes_a_page_and_prints_the_totals(here: Path, run_cli):
    ran = run_cli(
        "trace", "a.py", "call it b", "--html", "o.html", model=TracedModel(replies=[REPLY])
    )
    assert ran.code == 0
    assert ran.out.startswith("2 tokens in 1 passes")
    assert "<pre>" in (here / "o.html").read_text()


def test_trace_shows_an_answer_without_an_edit_and_says_why(here: Path, run_cli):
    ran = run_cli("trace", "a.py", "call it b", model=TracedModel(replies=[" \n```"]))
    assert ran.code == 0
    assert "no edit would come of this: the reply holds no code" in ran.err


def test_trace_fails_where_the_model_is_not_asked(here: Path, run_cli):
    ran = run_cli("trace", "a.py", "call it b", model=TracedModel(n_ctx=100))
    assert ran.code == 2
    assert "do not fit the model's context" in ran.err


@pytest.mark.parametrize(
    ("args", "message"),
    [
        pytest.param(["edits", "--strategies", "fast"], "no strategy 'fast'", id="a strategy"),
        pytest.param(["exact", "--strategies", "copy@0"], "no strategy 'copy@0'", id="a cap"),
        pytest.param(["exact", "--strategies", "plain"], "nothing to compare", id="only plain"),
        pytest.param(["edits", "--tasks", "no.jsonl"], "cannot read the tasks", id="a file"),
        pytest.param(["edits", "--verbatim", "no.py"], "no.py", id="a file to copy"),
        pytest.param(["edits", "--limit", "0"], "a whole number of at least 1", id="a limit"),
        pytest.param(["cost", "--json", "no/o.json"], "there is no folder no", id="a folder"),
        pytest.param(["cost", "--depths", "1,x"], "--depths takes whole numbers", id="depths"),
        pytest.param(["cost", "--model", "no.gguf"], "no.gguf", id="a model"),
    ],
)
def test_bench_refuses_what_is_wrong_with(here: Path, run_cli, args, message: str):
    ran = run_cli("bench", *args)
    assert ran.code == 2
    assert message in ran.err


def test_bench_cost_measures_prints_and_draws(here: Path, run_cli, small_model_path):
    args = ("--model", small_model_path, "--depths", "16", "--json", "o.json", "--plot", "o.svg")
    ran = run_cli("bench", "cost", *args)
    assert ran.code == 0, ran.err
    record = json.loads((here / "o.json").read_text())
    assert record["conditions"]["model"] == small_model_path.name
    assert record["passes"][0]["rows"] == 1
    assert ran.out.startswith("16 tokens of context")
    assert "<svg" in (here / "o.svg").read_text()


def test_bench_edits_writes_results_and_summary(here: Path, run_cli, small_model_path):
    task = {
        "id": "x",
        "lang": "python",
        "path": "a.py",
        "instruction": "Rename a to b",
        "before": (here / "a.py").read_text(),
        "max_tokens": 20,
    }
    (here / "tasks.jsonl").write_text(json.dumps(task))
    args = ("--strategies", "copy", "--tasks", "tasks.jsonl", "--json", "o.json")
    ran = run_cli("bench", "edits", "--model", small_model_path, *args)
    assert ran.code == 0, ran.err
    record = json.loads((here / "o.json").read_text())
    assert [result["strategy"] for result in record["results"]] == ["plain", "copy"]
    assert record["summary"]["plain"]["speedup"] == 1.0
    assert record["scope"] == "function"
    assert len(ran.out.splitlines()) == 4


@pytest.mark.parametrize("command", ["cost", "edits"])
def test_without_matplotlib_a_plot_is_refused_before_anything_is_measured(
    run_cli, monkeypatch, command: str
):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    ran = run_cli("bench", command, "--plot", "x.svg", "--model", "no.gguf")
    assert ran.code == 2
    assert "pip install 'matplotlib" in ran.err


def test_a_plot_is_an_svg_or_a_png(run_cli):
    ran = run_cli("bench", "cost", "--plot", "x.jpg", "--model", "no.gguf")
    assert ran.code == 2
    assert "a file that ends in .svg or .png, not 'x.jpg'" in ran.err
