"""What a codemod asks of git: where a repository starts, what is not committed, one commit.

Every failure is one InputError with what git said.
"""

import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from redraft.errors import InputError

__all__ = ["Command", "commit", "dirty", "exclude_files", "toplevel"]


def toplevel(folder: Path) -> Path | None:
    """The repository's root at or above `folder`; None outside of any."""
    start = folder.resolve()
    return next((up for up in (start, *start.parents) if os.path.lexists(up / ".git")), None)


def exclude_files(root: Path) -> tuple[Path, ...]:
    """The repository's info/exclude, wherever a worktree or a submodule keeps it."""
    if (root / ".git").is_dir():
        return (root / ".git" / "info" / "exclude",)
    return (root / _git(root, "rev-parse", "--git-path", "info/exclude").strip(),)


def dirty(root: Path) -> tuple[str, ...]:
    """The tracked files, relative to `root`, that are not as they were committed."""
    listed = _git(root, "status", "--porcelain=v1", "-z", "--untracked-files=no", "--no-renames")
    return tuple(entry[3:] for entry in listed.split("\0") if entry)


def commit(root: Path, message: str, paths: Sequence[str]) -> str:
    """Commit exactly `paths`, whatever else is staged, and return the commit's short name."""
    names = "".join(f"{path}\0" for path in paths)
    chosen = ("--pathspec-from-file=-", "--pathspec-file-nul")
    _git(root, "--literal-pathspecs", "add", *chosen, said=names)
    _git(root, "--literal-pathspecs", "commit", "-q", "--only", "-m", message, *chosen, said=names)
    return _git(root, "rev-parse", "--short", "HEAD").strip()


def _git(root: Path, *args: str, said: str = "") -> str:
    try:
        ran = subprocess.run(
            ["git", "-C", str(root), *args],  # noqa: S607 - whichever git the user has
            input=said,
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
            check=False,
        )
    except OSError as error:
        raise InputError(f"cannot run git: {error}; install it, or give --allow-dirty") from error
    if ran.returncode:
        verb = next(arg for arg in args if not arg.startswith("-"))
        raise InputError(f"git {verb} failed in {root}: {ran.stderr.strip() or ran.stdout.strip()}")
    return ran.stdout


@dataclass(frozen=True, slots=True)
class Command:
    """A command line; `{}` in it stands for the file's path, relative to the root."""

    words: tuple[str, ...]

    @classmethod
    def of(cls, line: str, flag: str) -> "Command":
        """Raises InputError where `line` is none, or its program is not there."""
        try:
            words = shlex.split(line)
        except ValueError as error:
            raise InputError(f"{flag} {line!r}: {error}") from error
        if not words or shutil.which(words[0]) is None:
            raise InputError(f"{flag} {line!r}: there is no such program; check the name")
        return cls(tuple(words))

    def run(self, root: Path, path: str, data: bytes = b"") -> tuple[int, bytes, str]:
        """The exit code, what was printed on stdout, and the last lines on both as text."""
        words = [word.replace("{}", path) for word in self.words]
        with subprocess.Popen(
            words,
            cwd=root,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        ) as child:
            try:
                out, err = child.communicate(data)
            except BaseException:
                with suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)
                child.wait()
                raise
        lines = (out + b"\n" + err).decode("utf-8", "replace").strip().splitlines()
        return child.returncode, out, " / ".join(line.strip() for line in lines[-3:])
