"""Debian packages for the tests of editors, installed where this user may."""

import os
import shutil
import subprocess
import sys


class MissingError(Exception):
    """Something a test needs is not here and cannot be had; the message says what and why."""


def install(*packages: str) -> None:
    """Install `packages` without what they recommend. Raises MissingError where that cannot be."""
    wanted = " ".join(packages)
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        raise MissingError(f"{wanted}: install this, please; from here only root can, with apt-get")
    apt = ["apt-get", "-qq", "-o", "DPkg::Lock::Timeout=300"]
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    sys.stdout.write(f"apt-get install {wanted}\n")
    for command in (["update"], ["install", "--no-install-recommends", *packages]):
        run = subprocess.run(
            [*apt, "--yes", *command], env=environment, capture_output=True, text=True, check=False
        )
        if run.returncode:
            raise MissingError(f"apt-get could not install {wanted}: {run.stderr.strip()}")
