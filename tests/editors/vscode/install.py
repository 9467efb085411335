"""VS Code's server, the Node it runs on, and a browser: got through npm and apt, once.

    python -m tests.editors.vscode.install

The npm package of code-server carries VS Code's own server, built from the open source; nothing
else of it is used. Server and Node, 760 MB together, go to the user's cache directory under their
versions, and tests that come later start from there, without a network.
"""

import json
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.editors import apt
from tests.editors.apt import MissingError
from tests.editors.npm import installed, npm

CODE_SERVER = "4.139.1"
NODE = "24.19.0"  # the major version is the one that this code-server asks for

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@dataclass(frozen=True, slots=True, kw_only=True)
class VSCode:
    """An installed server: `node` runs `main`."""

    node: Path
    main: Path


def vscode() -> VSCode:
    """The server. Raises MissingError."""
    home = installed(f"code-server-{CODE_SERVER}-node-{NODE}", _install)
    return VSCode(
        node=home / "node_modules" / _node() / "bin" / "node",
        main=home / "server" / "out" / "server-main.js",
    )


def browser() -> Path:
    """A Chromium. Raises MissingError."""
    if _found() is None:
        apt.install("chromium", "fonts-dejavu-core")
    if found := _found():
        return found
    raise MissingError(f"none of these is on the PATH: {', '.join(BROWSERS)}")


def _found() -> Path | None:
    return next((Path(path) for name in BROWSERS if (path := shutil.which(name))), None)


def _node() -> str:
    """The npm package that carries Node for this machine."""
    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return f"node-{sys.platform}-{machine}"


def _install(home: Path) -> None:
    server = home / "server"
    server.mkdir()
    (home / "package.json").write_text(json.dumps({"private": True}), encoding="utf-8")
    install = ["install", "--omit=dev", "--ignore-scripts", "--no-save"]
    npm(home, *install, f"{_node()}@{NODE}")
    npm(home, "pack", f"code-server@{CODE_SERVER}")
    archive = home / f"code-server-{CODE_SERVER}.tgz"
    folder = "package/lib/vscode"
    subprocess.run(["tar", "xzf", archive, "--strip-components=3", folder], cwd=server, check=True)
    archive.unlink()
    npm(server, *install)


if __name__ == "__main__":
    sys.stdout.write(f"{vscode()}\n{browser()}\n")
