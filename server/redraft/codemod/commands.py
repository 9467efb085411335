"""Commands of the user's: one that formats a text, one that verifies a written file.

Run without a shell, in the root, apart from the terminal's signals: a Ctrl-C that lets a write
finish must not make its verification fail.
"""

import os
import shlex
import shutil
import signal
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from redraft.errors import InputError

__all__ = ["Command"]


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
