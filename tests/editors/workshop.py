"""The VS Code extension, built away from the repository.

Its tools are installed once, into the user's cache directory under the lock file's hash; tests that
come later start from there, without a network.
"""

import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

import platformdirs
from filelock import FileLock
from tests.editors.apt import MissingError

EXTENSION = Path(__file__).parents[2] / "editors" / "vscode"
OLDEST_NODE = 20
_BUILT = shutil.ignore_patterns("node_modules", "dist", "*.vsix")
_NO_NETWORK = re.compile(r"ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH")


class Workshop:
    """A copy of the extension's sources in `folder`, with its tools."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._npm, tools = _npm(), _tools()
        shutil.copytree(EXTENSION, folder, ignore=_BUILT)
        (folder / "node_modules").symlink_to(tools, target_is_directory=True)

    def run(self, script: str) -> subprocess.CompletedProcess[str]:
        """Run one of the scripts of package.json."""
        return _run([self._npm, "run", script], self.folder)

    def package(self) -> Path:
        """Build the VSIX."""
        run = self.run("package")
        assert run.returncode == 0, run.stdout + run.stderr
        return self.folder / "redraft.vsix"


def _npm() -> str:
    """npm, beside a Node that is new enough. Raises MissingError."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        raise MissingError("node and npm are not on the PATH")
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    if int(version.strip("v\n").partition(".")[0]) < OLDEST_NODE:
        raise MissingError(f"Node {OLDEST_NODE} or newer is needed, not {version.strip()}")
    return npm


def _tools() -> Path:
    """The folder node_modules that package-lock.json asks for. Raises MissingError."""
    lock = EXTENSION / "package-lock.json"
    version = hashlib.sha256(lock.read_bytes()).hexdigest()[:16]
    home = platformdirs.user_cache_path("redraft") / "editors" / f"vscode-tools-{version}"
    home.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{home}.lock"):
        if not home.exists():
            _install(home)
    return home / "node_modules"


def _install(home: Path) -> None:
    """Build `home` beside its place and move it there when it is whole."""
    unfinished = home.with_name(f"{home.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir()
    for name in ("package.json", "package-lock.json"):
        shutil.copy(EXTENSION / name, unfinished)
    # Without scripts: none is needed, and some would download more.
    run = _run([_npm(), "ci", "--ignore-scripts", "--no-audit", "--no-fund"], unfinished)
    if run.returncode and _NO_NETWORK.search(run.stderr):
        raise MissingError(f"npm's registry cannot be reached: {run.stderr.strip()[-500:]}")
    assert run.returncode == 0, run.stdout + run.stderr
    unfinished.rename(home)


def _run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"NO_COLOR": "1", "NO_UPDATE_NOTIFIER": "1"}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
