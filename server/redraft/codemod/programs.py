"""Run the programs a codemod needs: git, and the user's formatter and verification.

Every failure of git is one InputError with what git said. The user's commands run without a
shell, in the root, and apart from the terminal's signals: a Ctrl-C that lets a write finish must
not make its verification fail.
"""

import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from redraft.errors import InputError

__all__ = ["Command", "commit", "find_repository", "git_exclude_file", "uncommitted_files"]


def find_repository(folder: Path) -> Path | None:
    """Return the root of the repository at or above `folder`; None outside of any."""
    start = folder.resolve()
    return next((up for up in (start, *start.parents) if os.path.lexists(up / ".git")), None)


def git_exclude_file(root: Path) -> Path:
    """Return the path of the repository's info/exclude, which need not exist.

    A worktree or a submodule, whose .git is a file, keeps it elsewhere: git says where.
    """
    if (root / ".git").is_dir():
        return root / ".git" / "info" / "exclude"
    return root / _run_git(root, "rev-parse", "--git-path", "info/exclude").strip()


def uncommitted_files(root: Path) -> tuple[str, ...]:
    """Return the tracked files, relative to `root`, that are not as they were committed."""
    args = ("status", "--porcelain=v1", "-z", "--untracked-files=no", "--no-renames")
    # An entry is two letters of state, a space and the path.
    return tuple(entry[3:] for entry in _run_git(root, *args).split("\0") if entry)


def commit(root: Path, message: str, paths: Sequence[str]) -> str:
    """Commit exactly `paths`, whatever else is staged, and return the commit's short name."""
    names = "".join(f"{path}\0" for path in paths)
    # Paths go through stdin: thousands of them do not fit a command line.
    from_stdin = ("--pathspec-from-file=-", "--pathspec-file-nul")
    _run_git(root, "--literal-pathspecs", "add", *from_stdin, stdin=names)
    quiet = ("commit", "-q", "--only", "-m", message)
    _run_git(root, "--literal-pathspecs", *quiet, *from_stdin, stdin=names)
    return _run_git(root, "rev-parse", "--short", "HEAD").strip()


def _run_git(root: Path, *args: str, stdin: str = "") -> str:
    """Return what git prints. Raises InputError where it fails."""
    try:
        process = subprocess.run(
            ["git", "-C", str(root), *args],  # noqa: S607 - whichever git the user has
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
            check=False,
        )
    except OSError as error:
        raise InputError(f"cannot run git: {error}; install it, or give --allow-dirty") from error
    if process.returncode:
        verb = next(arg for arg in args if not arg.startswith("-"))
        output = process.stderr.strip() or process.stdout.strip()
        raise InputError(f"git {verb} failed in {root}: {output}")
    return process.stdout


@dataclass(frozen=True, slots=True)
class Command:
    """A command line of the user; `{}` in it stands for the file's path, relative to the root."""

    words: tuple[str, ...]

    @classmethod
    def parse(cls, line: str, flag: str) -> "Command":
        """Split `line` as a shell would; `flag` is where it came from, for messages.

        Raises InputError where it cannot be split, or its program is not there.
        """
        try:
            words = shlex.split(line)
        except ValueError as error:
            raise InputError(f"{flag} {line!r}: {error}") from error
        if not words or shutil.which(words[0]) is None:
            raise InputError(f"{flag} {line!r}: there is no such program; check the name")
        return cls(tuple(words))

    def run(self, root: Path, path: str, stdin: bytes = b"") -> tuple[int, bytes, str]:
        """Return the exit code, what was printed on stdout, and the last lines of all output."""
        words = [word.replace("{}", path) for word in self.words]
        with subprocess.Popen(
            words,
            cwd=root,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        ) as process:
            try:
                out, err = process.communicate(stdin)
            except BaseException:  # a second Ctrl-C: what the command started ends with it
                _kill_all(process)
                process.wait()
                raise
        lines = (out + b"\n" + err).decode("utf-8", "replace").strip().splitlines()
        return process.returncode, out, " / ".join(line.strip() for line in lines[-3:])


def _kill_all(process: "subprocess.Popen[bytes]") -> None:
    """Kill a process that leads a session, with all that it started; on Windows, it alone."""
    if sys.platform == "win32":
        process.kill()
        return
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
