"""npm for the tests of editors."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.editors.apt import MissingError

_NO_NETWORK = re.compile(r"ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH")


def npm(folder: Path, *arguments: str) -> None:
    """Run npm in `folder`. Raises MissingError where npm or its registry is out of reach."""
    program = shutil.which("npm")
    if program is None:
        raise MissingError("npm is not on the PATH")
    line = f"npm {' '.join(arguments)}"
    sys.stdout.write(f"{line}\n")
    run = subprocess.run(
        [program, *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    if unreached := _NO_NETWORK.search(run.stderr):
        raise MissingError(f"{line}: npm's registry cannot be reached, {unreached[0]}")
    assert run.returncode == 0, f"{line}:\n{run.stdout}{run.stderr}"
