"""Whole processes: killed or interrupted at any moment, and on a terminal."""

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.redraft.codemod.conftest import FILES

ROOT = Path(__file__).parents[3]


def test_a_run_killed_at_any_of_100_moments_is_resumed_to_the_same_bytes(tmp_path: Path):
    command = [
        sys.executable,
        "-m",
        "tests.redraft.codemod.kill_storm",
        str(tmp_path / "storm"),
        "100",
    ]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.fixture
def start(repo: Path, tmp_path_factory: pytest.TempPathFactory):
    """Start `redraft codemod ARGS` in the repository; returns it and the log of its replies."""
    log = tmp_path_factory.mktemp("log") / "replies"

    def run(
        *args: str, delay: float, env=None, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) -> tuple[subprocess.Popen[str], Path]:
        clean = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
        env = (clean | (env or {})) | {
            "PYTHONPATH": str(ROOT),
            "REDRAFT_TEST_LOG": str(log),
            "REDRAFT_TEST_DELAY": str(delay),
        }
        command = [sys.executable, "-m", "tests.redraft.codemod.scripted_cli", "codemod", *args]
        child = subprocess.Popen(
            command, cwd=repo, env=env, stdout=stdout, stderr=stderr, text=True
        )
        return child, log

    return run


def wait_for(child: subprocess.Popen[str], condition) -> None:
    while not condition():
        assert child.poll() is None, child.stderr.read()


RENAMED = FILES["lib/tools.py"].replace("old", "new")


def test_one_ctrl_c_finishes_the_write_in_hand_and_no_more(start, repo: Path):
    """The write in hand is not done before its verification is."""
    go = repo / ".git" / "go"
    verify = f"sh -c 'while ! test -e {go}; do sleep 0.01; done'"
    args = ("rename old", ".", "--write", "--jobs", "1", "--verify-with", verify)
    child, log = start(*args, delay=0)
    with child:
        wait_for(child, lambda: (repo / "lib/tools.py").read_text() == RENAMED)
        child.send_signal(signal.SIGINT)
        assert child.stderr.readline().startswith("redraft: plan")
        assert "Ctrl-C again stops now" in child.stderr.readline()
        go.touch()
        assert child.wait(timeout=60) == 130
        err = child.stderr.read()
    assert "files    1 changed\n" in err
    assert (repo / "lib/tools.py").read_text() == RENAMED
    assert (repo / "shop.py").read_text() == FILES["shop.py"]
    resumed, _ = start(*args, "--resume", delay=0)
    with resumed:
        assert resumed.wait(timeout=60) == 0
        assert "files    3 changed\n" in resumed.stderr.read()
    replies = log.read_text().split()
    assert len(replies) == len(set(replies)) == 6


def test_a_second_ctrl_c_stops_at_once(start, repo: Path):
    pid = repo / ".git" / "pid"
    verify = f"sh -c 'echo $$ > {pid}.new; mv {pid}.new {pid}; sleep 600'"
    child, _ = start(
        *("rename old", ".", "--write", "--jobs", "1", "--verify-with", verify), delay=0
    )
    with child:
        wait_for(child, pid.exists)
        child.send_signal(signal.SIGINT)
        assert child.stderr.readline()
        assert "Ctrl-C again" in child.stderr.readline()
        child.send_signal(signal.SIGINT)
        assert child.wait(timeout=60) == 130
        assert child.stderr.read() == "redraft: error: interrupted\n"
    with pytest.raises(ProcessLookupError):  # the command is not left behind
        os.kill(int(pid.read_text()), 0)
    assert (repo / "lib/tools.py").read_text() == RENAMED  # announced: a resumed run verifies it
    assert not list(repo.rglob(".redraft-*"))


def test_ctrl_c_while_the_model_writes_ends_the_reply(start, repo: Path):
    child, log = start("rename old", ".", "--write", "--jobs", "1", delay=0.05)
    with child:
        wait_for(child, log.exists)
        child.send_signal(signal.SIGINT)
        assert child.wait(timeout=60) == 130
    assert (repo / "shop.py").read_text() == FILES["shop.py"]


def test_a_terminal_shows_a_bar_with_the_figures_and_coloured_diffs(start, repo: Path):
    ours, theirs = pty.openpty()
    env = {"TERM": "xterm-256color", "COLUMNS": "90"}
    child, _ = start("rename old", ".", delay=0.1, stdout=theirs, stderr=theirs, env=env)
    os.close(theirs)
    output = b""
    while data := read(ours):
        output += data
    os.close(ours)
    assert child.wait(timeout=60) == 0
    assert b" tokens/s, 0% copied" in output
    assert b"6/6" in output
    assert b"\x1b[31m-def old_total(price, qty):" in output


def read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux's way to say that nobody holds the other end
        return b""
