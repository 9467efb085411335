"""The VS Code extension, built away from the repository.

Its tools are installed once, into the user's cache directory under the lock file's hash; tests that
come later start from there, without a network.
"""

import hashlib
import shutil
import subprocess
from pathlib import Path

from tests.editors.apt import MissingError
from tests.editors.npm import installed, npm, npm_run

EXTENSION = Path(__file__).parents[2] / "editors" / "vscode"
OLDEST_NODE = 20
_BUILT = shutil.ignore_patterns("node_modules", "dist", "*.vsix")


class Workshop:
    """A copy of the extension's sources in `folder`, with its tools."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        _check_node()
        tools = _tools()
        shutil.copytree(EXTENSION, folder, ignore=_BUILT)
        (folder / "node_modules").symlink_to(tools, target_is_directory=True)

    def run(self, script: str) -> subprocess.CompletedProcess[str]:
        """Run one of the scripts of package.json."""
        return npm_run(self.folder, "run", script)

    def package(self) -> Path:
        """Build the VSIX."""
        run = self.run("package")
        assert run.returncode == 0, run.stdout + run.stderr
        return self.folder / "redraft.vsix"


def _check_node() -> None:
    """Raises MissingError where there is no Node that is new enough."""
    node = shutil.which("node")
    if node is None:
        raise MissingError("node is not on the PATH")
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    if int(version.strip("v\n").partition(".")[0]) < OLDEST_NODE:
        raise MissingError(f"Node {OLDEST_NODE} or newer is needed, not {version.strip()}")


def _tools() -> Path:
    """The folder node_modules that package-lock.json asks for. Raises MissingError."""
    version = hashlib.sha256((EXTENSION / "package-lock.json").read_bytes()).hexdigest()[:16]
    return installed(f"vscode-tools-{version}", _install) / "node_modules"


def _install(home: Path) -> None:
    for name in ("package.json", "package-lock.json"):
        shutil.copy(EXTENSION / name, home)
    # Without scripts: none is needed, and some would download more.
    npm(home, "ci", "--ignore-scripts", "--no-audit", "--no-fund")
