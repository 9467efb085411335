"""A small repository, and `redraft codemod` in it with a model that edits by rule."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.redraft.codemod.rule_model import BatchRuleModel

from redraft.cli import codemod as verb

SHOP = """\
def old_total(price, qty):
    return price * qty


class Cart:
    def old_sum(self):
        return sum(self.items)

    def show(self):
        return "cart"
"""

TOOLS = """\
def helper():
    return old_total(1, 2)


def free():
    return 0
"""

WEB = "export function oldName(x) {\n  return x;\n}\n"

FILES = {"shop.py": SHOP, "lib/tools.py": TOOLS, "lib/web.js": WEB, "README.md": "# old\n"}


@pytest.fixture(autouse=True)
def _own_folders(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "cache"))
    for name in ("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"):
        monkeypatch.setenv(name, "A Tester")
    for name in ("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"):
        monkeypatch.setenv(name, "tester@example.org")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)


@pytest.fixture
def git(tmp_path: Path) -> Callable[..., str]:
    def run(*args: str, cwd: Path | None = None) -> str:
        ran = subprocess.run(
            ["git", *args], cwd=cwd or tmp_path, capture_output=True, text=True, check=True
        )
        return ran.stdout

    return run


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, git) -> Path:
    """A repository with everything committed; the current folder."""
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "start")
    return tmp_path


@pytest.fixture
def codemod(run_cli, monkeypatch: pytest.MonkeyPatch):
    """Run `redraft codemod ARGS`; the model renames `old` to `new` unless another is given."""
    monkeypatch.setattr(verb, "model_sha256", lambda _: "0" * 64)

    def run(*args: str | Path, model=None, stdin: bytes = b""):
        return run_cli("codemod", *args, model=model or BatchRuleModel(), stdin=stdin)

    return run


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below `folder` but git's own."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".git" not in path.relative_to(folder).parts
    }
