"""Running code that a model wrote: in a process and an empty folder of its own, under limits.

It is held by limits of the kernel (time, memory, file size, open files, processes), a wall clock
after which the whole group is killed, namespaces of Linux where `unshare` may make them (no
network, and processes that all end with the first), and audit hooks in the interpreter itself
(`sandbox_child`). That keeps mistakes in. It is no prison for a program that means harm.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from redraft.errors import InputError

__all__ = ["Sandbox", "SandboxLimits", "Verdict"]

_UNSHARE: Final = ("--net", "--pid", "--ipc", "--fork", "--kill-child")
_CHILD: Final = Path(__file__).with_name("sandbox_child.py")

# Exit statuses that no program gives by chance.
FINISHED, OUT_OF_TIME = 42, 43

_LAST_LINE: Final = 300  # characters that are kept of a failed program's last line


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxLimits:
    """Limits of one program. Times in seconds, sizes in bytes."""

    wall_s: float = 20.0
    cpu_s: int = 10
    memory: int = 1 << 30  # of addresses; numpy with one thread takes a quarter of it
    file_size: int = 1 << 20
    n_files: int = 64
    n_processes: int = 32  # threads count; root is exempt, and in no namespace all of a user's do

    def to_rlimits(self, *, in_namespace: bool) -> dict[str, int]:
        """Return the limits by their names in `resource`; `in_namespace`: it has one of its own."""
        limits = {
            "RLIMIT_CPU": self.cpu_s,
            "RLIMIT_AS": self.memory,
            "RLIMIT_FSIZE": self.file_size,
            "RLIMIT_NOFILE": self.n_files,
            "RLIMIT_CORE": 0,
        }
        return limits | ({"RLIMIT_NPROC": self.n_processes} if in_namespace else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The ending of a program; `detail` is the last line it wrote to stderr, or what killed it."""

    ending: Literal["passed", "failed", "timeout"]
    detail: str = ""


def _find_namespaces() -> tuple[str, ...]:
    """Return the command that makes namespaces; empty where the system has or allows none."""
    unshare = shutil.which("unshare")
    if unshare is None:
        return ()
    # In a user namespace root loses its rights over the system; some systems allow it to root only.
    for user in (("--user", "--map-root-user"), ()):
        command = (unshare, *user, *_UNSHARE)
        probe = subprocess.run((*command, "true"), capture_output=True, check=False)
        if probe.returncode == 0:
            return command
    return ()


@dataclass(frozen=True, slots=True)
class Sandbox:
    """Runs programs of Python. Raises InputError on a system that has no limits for processes."""

    limits: SandboxLimits = SandboxLimits()
    namespaces: tuple[str, ...] = field(default_factory=_find_namespaces)

    def __post_init__(self) -> None:
        if os.name != "posix":
            raise InputError(
                "model-written code is run only where processes can be limited: use Linux or macOS"
            )

    @property
    def isolation(self) -> str:
        """The means that keep programs from the network and other processes here, in words."""
        hooks = "audit hooks in the interpreter"
        return f"{' '.join(self.namespaces)}, {hooks}" if self.namespaces else f"{hooks} alone"

    def run(self, program: str) -> Verdict:
        """Run `program`; it passes where it runs to its end without an exception."""
        with tempfile.TemporaryDirectory(prefix="redraft-") as outer:
            folder, source = Path(outer, "empty"), Path(outer, "program.py")
            folder.mkdir()
            source.write_text(program, "utf-8")
            with Path(outer, "stderr").open("w+b") as stderr:
                child = subprocess.Popen(
                    self._command(source),
                    cwd=folder,
                    env={"HOME": str(folder), "TMPDIR": str(folder), "OPENBLAS_NUM_THREADS": "1"},
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=stderr,
                    start_new_session=True,
                )
                code = _wait(child, self.limits.wall_s)
                stderr.seek(0)
                errors = stderr.read(self.limits.file_size).decode(errors="replace")
        return _read_verdict(code, errors)

    def _command(self, source: Path) -> tuple[str, ...]:
        settings = {
            "limits": self.limits.to_rlimits(in_namespace=bool(self.namespaces)),
            "finished": FINISHED,
            "out_of_time": OUT_OF_TIME,
        }
        python = (sys.executable, "-I", "-B", str(_CHILD), json.dumps(settings), str(source))
        return (*self.namespaces, *python)


def _wait(child: subprocess.Popen[bytes], wall_s: float) -> int | None:
    """Return the exit status of `child`, None where its time ran out; ends all of its group."""
    try:
        return child.wait(wall_s)
    except subprocess.TimeoutExpired:
        return None
    finally:
        # The group outlives its first process where that one left others behind.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def _read_verdict(code: int | None, errors: str) -> Verdict:
    last_line = errors.strip().rpartition("\n")[2][:_LAST_LINE]
    if code is None or code == OUT_OF_TIME:
        return Verdict(ending="timeout")
    if code == FINISHED:
        return Verdict(ending="passed")
    if code < 0:
        return Verdict(ending="failed", detail=f"killed by {signal.Signals(-code).name}")
    return Verdict(ending="failed", detail=last_line or f"ended early with status {code}")
