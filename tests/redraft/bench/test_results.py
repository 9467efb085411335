"""What counts as another's load on the machine while a benchmark runs."""

import subprocess
import sys
from types import SimpleNamespace

import psutil
import pytest

from redraft.bench import results

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
