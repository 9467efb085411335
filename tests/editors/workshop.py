"""The VS Code extension, built away from the repository with the tools of `make test-setup`."""

import shutil
import subprocess
from pathlib import Path

from tests.editors.tools import EXTENSION, find_extension_modules, find_npm, run_npm

_BUILT = shutil.ignore_patterns("node_modules", "dist", "*.vsix")


class Workshop:
    """A copy of the extension's sources in `folder`, with its tools."""

    def __init__(self, folder: Path) -> None:
        """Copy the sources. Raises MissingToolError."""
        self.folder = folder
        find_npm()
        node_modules = find_extension_modules()
        shutil.copytree(EXTENSION, folder, ignore=_BUILT)
        (folder / "node_modules").symlink_to(node_modules, target_is_directory=True)

    def run(self, script: str) -> subprocess.CompletedProcess[str]:
        """Run one of the scripts of package.json."""
        return run_npm(self.folder, "run", script)

    def package(self) -> Path:
        """Build the VSIX and return its path."""
        run = self.run("package")
        assert run.returncode == 0, run.stdout + run.stderr
        return self.folder / "redraft.vsix"
