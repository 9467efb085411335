"""npm for the tests of editors, and what it installs, kept for the tests that come later."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import platformdirs
from filelock import FileLock
from tests.editors.apt import MissingError

_NO_NETWORK = re.compile(r"ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH")


def npm(folder: Path, *arguments: str) -> None:
    """Run npm in `folder`. Raises MissingError where npm or its registry is out of reach."""
    line = f"npm {' '.join(arguments)}"
    sys.stdout.write(f"{line}\n")
    run = npm_run(folder, *arguments)
    if run.returncode and (unreached := _NO_NETWORK.search(run.stderr)):
        raise MissingError(f"{line}: npm's registry cannot be reached, {unreached[0]}")
    assert run.returncode == 0, f"{line}:\n{run.stdout}{run.stderr}"


def npm_run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run npm in `folder`, however that ends. Raises MissingError where there is no npm."""
    program = shutil.which("npm")
    if program is None:
        raise MissingError("npm is not on the PATH")
    environment = os.environ | {"NO_COLOR": "1", "NO_UPDATE_NOTIFIER": "1"}
    return subprocess.run(
        [program, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def installed(name: str, install: Callable[[Path], None]) -> Path:
    """The folder of that name in the user's cache directory, filled by `install` once.

    Name the version: tests that come later start from there, without a network. It is filled beside
    its place and moved there when it is whole.
    """
    home = platformdirs.user_cache_path("redraft") / "editors" / name
    home.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{home}.lock"):
        if not home.exists():
            unfinished = home.with_name(f"{name}.unfinished")
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir()
            install(unfinished)
            unfinished.rename(home)
    return home
