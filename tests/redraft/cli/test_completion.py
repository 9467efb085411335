"""The Tab key, as a shell asks for it: the line so far, and what may follow."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def complete(line: str, folder: Path) -> list[str]:
    """Return what argcomplete answers a bash whose cursor is at the end of `line`."""
    answer = folder / "answer"
    environ = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT / "server"), str(ROOT / "lookup")]),
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_SHELL": "bash",
        "_ARGCOMPLETE_SUPPRESS_SPACE": "1",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(answer),
        "_ARGCOMPLETE_IFS": "\n",
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
    }
    code = "import sys; sys.argv[0] = 'redraft'; from redraft.cli import main; main()"
    subprocess.run([sys.executable, "-c", code], cwd=folder, env=environ, check=True)
    return [word.strip() for word in answer.read_text().split("\n")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "shop.py").write_text(
        "def total(x):\n    return x\n\n\nclass Cart:\n    def add(self):\n        pass\n"
    )
    (tmp_path / "broken.py").write_bytes(b"\xff\xfe\xfd")
    return tmp_path


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("redraft e", {"edit"}),
        ("redraft edit sh", {"shop.py"}),
        ("redraft edit shop.py::t", {"shop.py::total"}),
        ("redraft edit shop.py::C", {"shop.py::Cart", "shop.py::Cart.add"}),
        ("redraft edit missing.py::t", {""}),
        ("redraft edit broken.py::t", {""}),
        ("redraft edit shop.py x --exact", {"--exactness"}),
        ("redraft edit shop.py x --model smol", {"smollm2-135m"}),
        ("redraft completion z", {"zsh"}),
    ],
)
def test_tab(line: str, words: set[str], folder: Path) -> None:
    assert set(complete(line, folder)) == words


def test_a_real_bash_takes_the_script(run_cli, folder: Path) -> None:
    bash = shutil.which("bash")
    if not bash:
        pytest.skip("needs bash")
    script = run_cli("completion", "bash").out
    command = f"{script}\ncomplete -p redraft"
    ran = subprocess.run([bash, "-c", command], capture_output=True, text=True, check=True)
    assert "redraft" in ran.stdout


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_each_shell_gets_a_script_of_its_own(shell: str, run_cli) -> None:
    ran = run_cli("completion", shell)
    assert ran.code == 0
    assert {"zsh": "#compdef redraft", "fish": "complete --command redraft"}[shell] in ran.out
