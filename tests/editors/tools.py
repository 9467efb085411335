"""The programs that tests of editors need beside the project's Python packages.

Knows which they are, in which version, and where they lie once they are installed. Installs nothing:
`make test-setup` does, see setup.py. What npm installs lies in the user's cache directory, in a
folder that is named after the version, and is used without a network from then on.
"""

import hashlib
import os
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import platformdirs

EXTENSION = Path(__file__).parents[2] / "editors" / "vscode"

OLDEST_NODE = 20  # for the extension's build tools
STYLUA = "2.5.2"
CODE_SERVER = "4.139.1"
CODE_SERVER_NODE = "24.19.0"  # the major version is the one that this code-server asks for

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
EMACS = ("emacs", "-q", "--batch", "--funcall", "package-initialize")

CACHE = platformdirs.user_cache_path("redraft") / "editors"


class MissingToolError(Exception):
    """A tool is not on this machine; the message says which, and how to get it."""

    def __init__(self, tool: str, *, advice: str = "run `make test-setup`") -> None:
        super().__init__(f"{tool}: not installed, {advice}")


@dataclass(frozen=True, slots=True, kw_only=True)
class VSCode:
    """VS Code's own server, as the npm package code-server carries it: `node` runs `main`."""

    node: Path
    main: Path


def find_emacs() -> str:
    """Return the name of an Emacs that has eglot. Raises MissingToolError."""
    # Eglot is part of Emacs 29, and a package of its own before: only Emacs itself knows.
    load_eglot = [*EMACS, "--eval", "(require 'eglot)"]
    if not (
        shutil.which("emacs")
        and subprocess.run(load_eglot, capture_output=True, check=False).returncode == 0
    ):
        raise MissingToolError("Emacs with eglot")
    return "emacs"


def find_luacheck() -> str:
    """Return the path of luacheck. Raises MissingToolError."""
    return _find_program("luacheck", "luacheck")


def find_browser() -> Path:
    """Return the path of a Chromium. Raises MissingToolError."""
    return Path(_find_program("Chromium", *BROWSERS))


def find_npm() -> str:
    """Return the path of npm, beside which there is a Node of at least OLDEST_NODE.

    Raises MissingToolError.
    """
    advice = f"get Node {OLDEST_NODE} from your system or from https://nodejs.org"
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        raise MissingToolError("Node with npm", advice=advice)
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    if int(version.strip("v\n").partition(".")[0]) < OLDEST_NODE:
        raise MissingToolError(f"Node {OLDEST_NODE} or newer", advice=advice)
    return npm


def find_extension_modules() -> Path:
    """Return the node_modules that the extension's package-lock.json asks for.

    Raises MissingToolError.
    """
    return (
        _find_folder(extension_modules_home(), "npm tree of the VS Code extension") / "node_modules"
    )


def find_stylua() -> Path:
    """Return the folder in which npm installed stylua. Raises MissingToolError."""
    return _find_folder(stylua_home(), "stylua")


def find_vscode() -> VSCode:
    """Return VS Code's server and the Node it runs on. Raises MissingToolError."""
    home = _find_folder(vscode_home(), "VS Code's server")
    return VSCode(
        node=home / "node_modules" / node_package() / "bin" / "node",
        main=home / "server" / "out" / "server-main.js",
    )


def extension_modules_home() -> Path:
    """Return the folder for the extension's build tools, which changes with the lock file."""
    lock = (EXTENSION / "package-lock.json").read_bytes()
    return CACHE / f"vscode-tools-{hashlib.sha256(lock).hexdigest()[:16]}"


def stylua_home() -> Path:
    """Return the folder for stylua."""
    return CACHE / f"stylua-{STYLUA}"


def vscode_home() -> Path:
    """Return the folder for VS Code's server."""
    return CACHE / f"code-server-{CODE_SERVER}-node-{CODE_SERVER_NODE}"


def node_package() -> str:
    """Return the name of the npm package that carries Node for this machine."""
    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return f"node-{sys.platform}-{machine}"


def run_npm(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run npm in `folder`, however that ends. Raises MissingToolError where there is no npm."""
    return subprocess.run(
        [find_npm(), *arguments],
        cwd=folder,
        env=os.environ | {"NO_COLOR": "1", "NO_UPDATE_NOTIFIER": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def _find_program(tool: str, *names: str) -> str:
    for name in names:
        if path := shutil.which(name):
            return path
    raise MissingToolError(tool)


def _find_folder(home: Path, tool: str) -> Path:
    # setup.py moves a folder to its place when it is whole: one that exists can be used.
    if not home.exists():
        raise MissingToolError(tool)
    return home
