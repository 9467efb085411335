"""redraft in an editor without a plug-in: Emacs with eglot, set up as docs/editors.md says."""

import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.editors.program import ROOT, scripted_redraft
from tests.editors.tools import EMACS, MissingToolError, find_emacs
from tests.redraft.lsp.conftest import script

ACT = Path(__file__).with_name("act.el")

WAVES = (
    "# \U0001f30a 波\r\n"
    "def speed(λ, ν):\r\n"
    "\tv = λ * ν  # 速さ \U0001f4b0\r\n"
    "\treturn v\r\n"
    "\r\n"
    "def last():\r\n"
    "\treturn None\r\n"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionResult:
    questions: list[str]
    text: str
    undone: str
    line: int
    saved: bytes
    stderr: str


@pytest.fixture(scope="module")
def emacs() -> str:
    """An Emacs that has eglot."""
    try:
        return find_emacs()
    except MissingToolError as missing:
        pytest.skip(str(missing))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A user's folder: a project, the documented configuration, and a scripted `redraft`."""
    (tmp_path / "bin").mkdir()
    scripted_redraft(tmp_path / "bin")
    page = (ROOT / "docs" / "editors.md").read_text(encoding="utf-8")
    [configuration] = re.findall(r"^```elisp\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    (tmp_path / "init.el").write_text(configuration, encoding="utf-8")
    (tmp_path / "project" / ".git").mkdir(parents=True)
    return tmp_path


def run_action(folder: Path, instruction: str, *answers: str) -> ActionResult:
    """Take the action "Try it", which asks the model for `instruction`, in a function of WAVES."""
    action = {"title": "Try it", "instruction": instruction, "scope": "function"}
    lines = [f"{key} = {json.dumps(value)}" for key, value in action.items()]
    project = folder / "project"
    (project / "redraft.toml").write_text("\n".join(["[actions.try]", *lines]), encoding="utf-8")
    file = project / "waves.py"
    file.write_bytes(WAVES.encode())
    run = subprocess.run(
        [
            *EMACS,
            "--load",
            folder / "init.el",
            "--load",
            ACT,
            file,
            "return v",
            "redraft: Try it",
            *answers,
        ],
        env=os.environ | {"HOME": str(folder), "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return ActionResult(**json.loads(run.stdout), saved=file.read_bytes(), stderr=run.stderr)


@pytest.mark.usefixtures("emacs")
def test_an_action_edits_the_function_and_one_undo_takes_it_back(folder: Path):
    result = run_action(folder, script(sub=["v", "速度"]), "y")
    expected = WAVES.replace("\tv =", "\t速度 =").replace("return v", "return 速度")
    assert result.saved == expected.encode()
    assert result.text == expected.replace("\r\n", "\n")
    assert result.undone == WAVES.replace("\r\n", "\n")
    assert result.line == 4


@pytest.mark.usefixtures("emacs")
def test_an_edit_that_the_user_declines_changes_nothing(folder: Path):
    result = run_action(folder, script(sub=["v", "w"]), "n")
    assert len(result.questions) == 2
    assert result.saved == WAVES.encode()


@pytest.mark.usefixtures("emacs")
def test_a_refusal_is_shown_and_changes_nothing(folder: Path):
    result = run_action(folder, script(reply="def speed(λ, ν):\n\tv = (\n```\n"))
    assert len(result.questions) == 1
    assert result.saved == WAVES.encode()
    assert "pars" in result.stderr
