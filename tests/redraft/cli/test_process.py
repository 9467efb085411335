"""Whole processes: signals, pipes, terminals, and how they start."""

import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

CODE = "def area(radius):\n    return 3 * radius\n"

# `redraft` with a model that says so when it is asked, and answers at its leisure.
CHILD = """
import contextlib, sys, time
from redraft.cli import main, options
from tests.redraft.scripted_model import ScriptedModel

class Slow(ScriptedModel):
    def complete(self, *args, **kwargs):
        print("asked", file=sys.stderr, flush=True)
        time.sleep(float(sys.argv[1]))
        return super().complete(*args, **kwargs)

model = Slow(replies=[sys.stdin.read()])
options.open_model = lambda _: contextlib.nullcontext(model)
sys.exit(main(sys.argv[2:]))
"""


@pytest.fixture
def area(tmp_path: Path) -> Path:
    path = tmp_path / "area.py"
    path.write_text(CODE)
    return path


def start(delay: float, *args: str | Path, **kwargs) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", CHILD, str(delay), *map(str, args)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, cwd=ROOT, text=True, **(pipes | kwargs))


def test_ctrl_c_stops_at_once_and_leaves_the_file(area: Path) -> None:
    with start(60, "edit", area, "call it r", "--write") as child:
        assert child.stdin
        assert child.stderr
        child.stdin.write(CODE.replace("radius", "r"))
        child.stdin.close()
        assert child.stderr.readline() == "asked\n"
        child.send_signal(signal.SIGINT)
        assert child.wait(timeout=30) == 130
        assert child.stderr.read() == "redraft: error: interrupted\n"
    assert area.read_text() == CODE
    assert list(area.parent.iterdir()) == [area]


def test_a_reader_that_goes_away_is_no_error(area: Path) -> None:
    with start(0, "edit", area, "call it r") as child:
        assert child.stdin
        assert child.stdout
        assert child.stderr
        child.stdout.close()
        child.stdin.write(CODE.replace("radius", "r"))
        child.stdin.close()
        assert child.wait(timeout=30) == 141
        assert child.stderr.read() == "asked\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_behind_stdout_is_a_failure(area: Path) -> None:
    with Path("/dev/full").open("w") as full, start(0, "edit", area, "x", stdout=full) as child:
        _, err = child.communicate(CODE.replace("radius", "r"), timeout=30)
    assert child.returncode == 2
    assert "No space left" in err


def test_on_a_terminal_the_diff_has_colours_and_the_work_a_bar(area: Path) -> None:
    out = on_terminal(area, "edit", area, "call it r")
    assert "\x1b[31m-def area(radius):" in out
    assert "\x1b[32m+def area(r):" in out
    assert "writing" in out
    assert re.search(r"redraft: \d+ prompt tokens, \d+ output tokens in \d+ passes", out)


def test_no_color_is_honoured(area: Path) -> None:
    out = on_terminal(area, "edit", area, "call it r", NO_COLOR="1")
    assert "\n-def area(radius):\r\n" in out
    assert "\x1b[31m" not in out


def on_terminal(area: Path, *args: str | Path, **environ: str) -> str:
    """All that a terminal shows of a run that renames radius."""
    ours, theirs = pty.openpty()
    clean = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
    env = clean | {"TERM": "xterm-256color", "COLUMNS": "80"} | environ
    with start(0.3, *args, stdout=theirs, stderr=theirs, env=env) as child:
        os.close(theirs)
        child.communicate(CODE.replace("radius", "r"), timeout=30)
    assert child.returncode == 0
    output = b""
    while True:
        try:
            data = os.read(ours, 65536)
        except OSError:  # Linux's way to say that nobody holds the other end
            break
        if not data:
            break
        output += data
    os.close(ours)
    return output.decode()


def redraft(*args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "redraft", *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("args", [["edit"], ["codemod"], ["models"], ["doctor"], ["demo"]])
def test_help_is_quick_for_it_loads_no_native_library(args: list[str]) -> None:
    code = (
        "import sys\nfrom redraft.cli import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit as end:\n    assert end.code == 0\n"
        "assert not {'llama_cpp', 'huggingface_hub'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code, *args, "--help"], check=True, timeout=60)


def test_the_version_is_printed() -> None:
    assert re.fullmatch(r"redraft \d+\.\d+\.\d+\S*\n", redraft("--version").stdout)


@pytest.mark.parametrize("args", [["edit"], ["edit", "x.py"], ["nonsense"], ["models"]])
def test_a_wrong_command_line_exits_with_2_and_shows_the_usage(args: list[str]) -> None:
    ran = redraft(*args)
    assert ran.returncode == 2
    assert ran.stderr.startswith("usage: redraft")
    assert ran.stdout == ""


def test_the_traceback_is_there_for_those_who_want_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "Traceback" not in redraft("edit", "no.py", "x").stderr
    monkeypatch.setenv("REDRAFT_DEBUG", "1")
    assert "Traceback" in redraft("edit", "no.py", "x").stderr
