"""The conditions of a run, the load of others on the machine, and tables."""

import json
import re
import subprocess
import sys
from types import SimpleNamespace

import psutil
import pytest

from redraft.bench import results
from redraft.bench.results import (
    complete_conditions,
    format_figure,
    load_warning,
    markdown_table,
    record_conditions,
)

CPU_S = 0.3  # of work that a child does before it says so
CHILD = f"""
import time
while time.process_time() < {CPU_S}:
    pass
print("done", flush=True)
input()
"""


@pytest.fixture
def _others_do_nothing(monkeypatch):
    """The machine's clocks stand still: what then changes is what is counted as one's own."""
    still = psutil.cpu_times()
    faked = SimpleNamespace(cpu_times=lambda: still, Process=psutil.Process, Error=psutil.Error)
    monkeypatch.setattr(results, "psutil", faked)


@pytest.mark.usefixtures("_others_do_nothing")
def test_a_child_that_still_runs_is_no_other_and_stays_none_when_it_ends():
    before = results._busy_seconds_of_others()
    with subprocess.Popen(
        [sys.executable, "-c", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout
        assert child.stdout.readline() == "done\n"
        running = results._busy_seconds_of_others()
        child.communicate("\n")
    assert before - running >= CPU_S * 0.9
    assert results._busy_seconds_of_others() <= running + 0.05


def test_the_end_of_a_run_tells_how_busy_others_were():
    known = complete_conditions(record_conditions(cpu="x"))
    assert known["seconds"] > 0
    assert known["busy_during"] >= 0
    assert "clocks" not in known
    assert json.loads(json.dumps(known)) == known


@pytest.mark.parametrize(
    ("known", "said"),
    [
        pytest.param({"busy": 0.0, "load_average": [9.0]}, None, id="a load of the past"),
        pytest.param(
            {"busy": 0.5, "load_average": [0.0]}, "50% .* when the run began", id="before"
        ),
        pytest.param({"busy": 0.5, "busy_during": 0.0}, None, id="busy only before it"),
        pytest.param({"busy": 0.0, "busy_during": 0.3}, "30% .* during the run", id="during"),
    ],
)
def test_others_that_kept_the_machine_busy_are_told(known: dict[str, float], said: str | None):
    warning = load_warning(known)
    assert (warning is None) if said is None else re.search(said, warning or "")


def test_a_table_is_aligned_markdown():
    assert markdown_table(("name", "n"), [("a", "10"), ("long name", "2")]) == (
        "| name      |  n |\n| :-------- | -: |\n| a         | 10 |\n| long name |  2 |\n"
    )


@pytest.mark.parametrize(
    ("value", "text"), [(None, "-"), (True, "yes"), (False, "no"), (1.234, "1.23"), (7, "7")]
)
def test_a_figure_is_short(value: object, text: str):
    assert format_figure(value) == text
