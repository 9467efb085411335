"""Programs that go wrong in every way are held: by the whole sandbox, and by the hooks alone."""

import os
import socket
import time
from pathlib import Path

import pytest

from redraft_bench.quality.sandbox import Sandbox, SandboxLimits, Verdict

pytestmark = pytest.mark.skipif(os.name != "posix", reason="processes are limited on POSIX only")

QUICK = SandboxLimits(wall_s=8.0, cpu_s=2, memory=1 << 29)


@pytest.fixture(params=["with namespaces", "with hooks alone"])
def sandbox(request):
    made = Sandbox(QUICK)
    if request.param == "with hooks alone":
        return Sandbox(QUICK, ())
    if not made.namespaces:
        pytest.skip("this system makes no namespaces for this user")
    return made


@pytest.mark.parametrize(
    "program",
    [
        pytest.param("assert sum([1, 2]) == 3", id="a test that holds"),
        pytest.param("open('x', 'w').write('a'); assert open('x').read() == 'a'", id="own folder"),
        pytest.param("import os; assert os.listdir() == []", id="the folder is empty"),
        pytest.param(
            "import os; assert os.environ['HOME'] == os.getcwd()", id="home is that folder"
        ),
        pytest.param(
            "import os; assert set(os.environ) <= {'HOME', 'TMPDIR', "
            "'OPENBLAS_NUM_THREADS', 'LC_CTYPE', '__CF_USER_TEXT_ENCODING'}",
            id="no environment",
        ),
        pytest.param(
            "import tempfile; tempfile.mkdtemp(); tempfile.TemporaryFile()", id="tempfile"
        ),
        pytest.param(
            "import numpy; assert numpy.ones((9, 9)).dot(numpy.ones(9))[0] == 9", id="numpy"
        ),
        pytest.param(
            "import threading\nt = threading.Thread(target=print)\nt.start(); t.join()",
            id="a thread",
        ),
        pytest.param("assert __name__ == '__main__'", id="it is the main program"),
        pytest.param(
            "import inspect\ndef f(): return 1\nassert 'return 1' in inspect.getsource(f)",
            id="its source can be read",
        ),
        pytest.param(
            "import sys\nprint('x' * 10**7)\nsys.stderr.write('y' * 10**5)", id="much said"
        ),
    ],
)
def test_a_program_that_keeps_within_its_rights_passes(program):
    assert Sandbox(QUICK).run(program) == Verdict(ending="passed")


@pytest.mark.parametrize(
    ("program", "ending", "detail"),
    [
        pytest.param("assert 1 == 2, 'no'", "failed", "AssertionError: no", id="a failing test"),
        pytest.param("def f(:", "failed", "SyntaxError", id="no Python"),
        pytest.param("import sys; sys.exit(0)\nassert False", "failed", "ended early with status 0",
                     id="leaves before its tests"),
        pytest.param("import os; os._exit(0)", "failed", "ended early", id="leaves at once"),
        pytest.param("while True: pass", "timeout", "", id="an endless loop"),
        pytest.param("while True:\n    try:\n        while True: pass\n    except BaseException: pass",
                     "timeout", "", id="an endless loop that catches all"),
        pytest.param("x = []\nwhile True: x.append(bytearray(1 << 24))", "failed", "MemoryError",
                     id="a memory hog"),
        pytest.param("with open('x', 'wb') as f:\n    while True: f.write(bytes(1 << 16))",
                     "failed", "File too large", id="a huge file"),
        pytest.param("fs = []\nwhile True: fs.append(open('x', 'w'))", "failed",
                     "Too many open files", id="too many files"),
        pytest.param("import os\nwhile True: os.fork()", "failed", "PermissionError",
                     id="a fork bomb"),
        pytest.param("import subprocess; subprocess.run(['true'])", "failed", "PermissionError",
                     id="a program"),
        pytest.param("import os; os.system('true')", "failed", "PermissionError", id="a shell"),
        pytest.param("input()", "failed", "EOFError", id="waits for input"),
        pytest.param("import os; os.kill(os.getppid(), 9)", "failed", "PermissionError",
                     id="kills another"),
        pytest.param("import ctypes; ctypes.CDLL(None).getpid()", "failed", "PermissionError",
                     id="calls C"),
    ],
)  # fmt: skip
def test_a_program_that_goes_wrong_is_held(sandbox, program, ending, detail):
    verdict = sandbox.run(program)
    assert verdict.ending == ending
    assert detail in verdict.detail


def test_a_program_that_sleeps_is_ended_by_the_wall_clock():
    assert Sandbox(SandboxLimits(wall_s=1.0)).run("import time; time.sleep(60)").ending == "timeout"


@pytest.mark.parametrize(
    "program",
    [
        "open({path!r}, 'w').write('x')",
        "open({path!r}, 'r+').write('x')",
        "import os; os.open({path!r}, os.O_WRONLY | os.O_CREAT)",
        "import os; os.remove({path!r})",
        "import os; os.rename({path!r}, 'mine')",
        "import os; os.symlink({path!r}, 'link'); open('link', 'w').write('x')",
        "import os; os.chdir('/'); open({path!r}[1:], 'w').write('x')",
        "import shutil; shutil.rmtree({folder!r})",
        "import os; os.remove('kept', dir_fd=os.open({folder!r}, os.O_RDONLY))",
        "import os; os.mkdir({folder!r} + '/new')",
    ],
)
def test_nothing_outside_its_folder_changes(sandbox, program, tmp_path):
    path = tmp_path / "kept"
    path.write_text("as it was", "utf-8")
    verdict = sandbox.run(program.format(path=str(path), folder=str(tmp_path)))
    assert verdict.ending == "failed"
    assert "PermissionError" in verdict.detail
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert path.read_text("utf-8") == "as it was"


CONNECT = """
import socket
try:
    socket.create_connection(("127.0.0.1", {port}), timeout=2)
except OSError:
    pass
"""


def test_no_connection_reaches_even_this_machine(sandbox):
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        assert sandbox.run(CONNECT.format(port=server.getsockname()[1])).ending == "passed"
        with pytest.raises(TimeoutError):
            server.accept()


def test_the_network_namespace_holds_without_the_hooks():
    """What runs before the hooks are set still has no network."""
    sandbox = Sandbox(QUICK)
    if not sandbox.namespaces:
        pytest.skip("this system makes no namespaces for this user")
    program = "assert [name for _, name in __import__('socket').if_nameindex()] == ['lo']"
    assert sandbox.run(program).ending == "passed"


def test_what_a_program_leaves_behind_is_removed(sandbox, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    sandbox.run("open('left', 'w').write('x')")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="looks into /proc")
def test_no_process_outlives_its_program(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    late = Sandbox(SandboxLimits(wall_s=1.0))
    assert late.run("import time\nwhile True: time.sleep(1)").ending == "timeout"
    # Killed is not gone yet: on a busy machine a process of the group takes a moment to end.
    ends_at = time.monotonic() + 5
    while is_running := _any_process_names(tmp_path):
        if time.monotonic() > ends_at:
            break
        time.sleep(0.01)
    assert not is_running


def _any_process_names(folder):
    running = [_read(path) for path in Path("/proc").glob("[0-9]*/cmdline")]
    return any(os.fsencode(folder) in words for words in running)


def _read(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""
