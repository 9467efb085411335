"""Install the programs that tests of editors need: `make test-setup`.

Says what it installs. Debian packages come through apt-get, where there is one and the user is root;
npm packages go to the user's cache directory and touch nothing else. What cannot be installed is
listed with the way to get it, and is no error: pytest skips the tests that need it, by name.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock
from tests.editors import tools
from tests.editors.tools import MissingToolError

NO_NETWORK = re.compile(r"ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH")
APT_GET = ("apt-get", "-qq", "--yes", "-o", "DPkg::Lock::Timeout=300")


class InstallError(Exception):
    """A tool cannot be installed from here; the message says why, or what to do instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """Something that tests need: `find` raises MissingToolError before `install` has run."""

    name: str
    find: Callable[[], object]
    install: Callable[[], None]


def main() -> None:
    """Install what is missing, and list what still is.

    Raises CalledProcessError where npm fails although its registry can be reached: then the
    extension's package.json and its lock file do not fit, or a version is gone.
    """
    for line in set_up(REQUIREMENTS):
        _say(line)


def set_up(requirements: Sequence[Requirement]) -> list[str]:
    """Install the missing ones; return a line for each that stays missing."""
    unmet = []
    for requirement in requirements:
        if _is_here(requirement):
            continue
        try:
            requirement.install()
        except (InstallError, MissingToolError) as error:
            unmet.append(f"{requirement.name} is missing, its tests are skipped: {error}")
    return unmet


def _is_here(requirement: Requirement) -> bool:
    try:
        requirement.find()
    except MissingToolError:
        return False
    return True


def apt_install(*packages: str) -> None:
    """Install Debian packages without what they recommend. Raises InstallError."""
    names = " ".join(packages)
    if shutil.which("apt-get") is None:
        raise InstallError(f"install it with your system's package manager (Debian: {names})")
    if os.geteuid() != 0:
        raise InstallError(f"run `sudo apt-get install {names}`, or this step as root")
    _say(f"apt-get install {names}")
    for command in (["update"], ["install", "--no-install-recommends", *packages]):
        run = subprocess.run(
            [*APT_GET, *command],
            env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"},
            capture_output=True,
            text=True,
            check=False,
        )
        if run.returncode:
            raise InstallError(f"apt-get could not install {names}: {run.stderr.strip()}")


def npm_install(folder: Path, *arguments: str) -> None:
    """Run npm in `folder`.

    Raises MissingToolError without npm, InstallError without a network, else CalledProcessError.
    """
    line = f"npm {' '.join(arguments)}"
    tools.find_npm()
    _say(f"{line}, in {folder}")
    run = tools.run_npm(folder, *arguments)
    if run.returncode:
        if unreached := NO_NETWORK.search(run.stderr):
            raise InstallError(f"{line}: npm's registry cannot be reached, {unreached[0]}")
        _say(f"{run.stdout}{run.stderr}")
        run.check_returncode()


def fill(home: Path, install: Callable[[Path], None]) -> None:
    """Make the folder `home`, filled by `install`: whole or not at all, whoever else is at it."""
    home.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{home}.lock"):
        if home.exists():  # another process was first
            return
        unfinished = home.with_name(f"{home.name}.unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir()
        install(unfinished)
        unfinished.rename(home)


def _say(line: str) -> None:
    sys.stdout.write(f"test-setup: {line}\n")
    sys.stdout.flush()


def _install_extension_modules(home: Path) -> None:
    for name in ("package.json", "package-lock.json"):
        shutil.copy(tools.EXTENSION / name, home)
    # Without scripts: none is needed, and some would download more.
    npm_install(home, "ci", "--ignore-scripts", "--no-audit", "--no-fund")


def _install_stylua(home: Path) -> None:
    package = f"@johnnymorganz/stylua@{tools.STYLUA}"
    npm_install(home, "install", "--no-audit", "--no-fund", "--prefix", ".", package)


def _install_vscode(home: Path) -> None:
    """Install VS Code's server from the npm package code-server, of which nothing else is kept.

    Server and Node take 760 MB.
    """
    server = home / "server"
    server.mkdir()
    (home / "package.json").write_text(json.dumps({"private": True}), encoding="utf-8")
    install = ["install", "--omit=dev", "--ignore-scripts", "--no-save"]
    npm_install(home, *install, f"{tools.node_package()}@{tools.CODE_SERVER_NODE}")
    npm_install(home, "pack", f"code-server@{tools.CODE_SERVER}")
    archive = home / f"code-server-{tools.CODE_SERVER}.tgz"
    folder = "package/lib/vscode"
    subprocess.run(["tar", "xzf", archive, "--strip-components=3", folder], cwd=server, check=True)
    archive.unlink()
    npm_install(server, *install)


REQUIREMENTS = (
    Requirement(
        name="Emacs with eglot",
        find=tools.find_emacs,
        install=lambda: apt_install("emacs-nox", "elpa-eglot"),
    ),
    Requirement(
        name="luacheck", find=tools.find_luacheck, install=lambda: apt_install("lua-check")
    ),
    Requirement(
        name="Chromium",
        find=tools.find_browser,
        install=lambda: apt_install("chromium", "fonts-dejavu-core"),
    ),
    Requirement(
        name="stylua",
        find=tools.find_stylua,
        install=lambda: fill(tools.stylua_home(), _install_stylua),
    ),
    Requirement(
        name="npm tree of the VS Code extension",
        find=tools.find_extension_modules,
        install=lambda: fill(tools.extension_modules_home(), _install_extension_modules),
    ),
    Requirement(
        name="VS Code's server",
        find=tools.find_vscode,
        install=lambda: fill(tools.vscode_home(), _install_vscode),
    ),
)

if __name__ == "__main__":
    main()
