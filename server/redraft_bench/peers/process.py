"""A peer's process: requests and answers as JSON, a line each, over its pipes.

The first line has its name and build, `{"version": ...}`; then each request, `{"mode", "tokens",
"max_tokens", "stop"}`, gets one answer, `{"tokens", "seconds", "passes"}`. All else it prints
goes to a file, whose end is part of the error where the process dies.
"""

import json
import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, Final, Protocol, cast

from redraft.errors import RedraftError

__all__ = ["PeerAnswer", "PeerError", "PeerProcess", "PeerProgram", "PeerRequest", "PipedProgram"]

END_S: Final = 10.0  # seconds for a process to end by itself once its input is closed


class PeerError(RedraftError):
    """A peer did not start, died, or gave no usable answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerRequest:
    """One prompt in tokens. The answer ends with the token that completes one of `stop`."""

    tokens: tuple[int, ...]
    max_tokens: int
    stop: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerAnswer:
    """The tokens a peer wrote; `timed` of them took `seconds` in `passes`, where that is known.

    A clock that starts with the first token does not time that one.
    """

    tokens: tuple[int, ...]
    timed: int
    seconds: float
    passes: int | None


class PeerProgram(Protocol):
    """One program in its modes, `plain` among them."""

    def answer(self, mode: str, request: PeerRequest) -> PeerAnswer:
        """Decode greedily; raises PeerError."""

    @property
    def version(self) -> str:
        """The program's version; "" until it has been started."""

    def close(self) -> None:
        """End all of its processes."""


class PipedProgram:
    """A program that answers in all of its modes in one process, and times its own tokens."""

    def __init__(self, command: Sequence[str], log: Path) -> None:
        self._command = command
        self._log = log
        self._process: PeerProcess | None = None
        self.version = ""

    def answer(self, mode: str, request: PeerRequest) -> PeerAnswer:
        if self._process is None:
            self._process = PeerProcess(self._command, self._log)
            self.version = str(self._process.greeting["version"])
        try:
            return _parse_answer(self._process.ask({"mode": mode, **asdict(request)}))
        except PeerError:
            self.close()
            raise

    def close(self) -> None:
        if self._process:
            self._process.close()
            self._process = None


def _parse_answer(reply: dict[str, Any]) -> PeerAnswer:
    """Return the answer of a reply whose clock starts with the first token."""
    try:
        tokens, passes = tuple(map(int, reply["tokens"])), reply["passes"]
        return PeerAnswer(
            tokens=tokens,
            timed=max(0, len(tokens) - 1),
            seconds=float(reply["seconds"]),
            passes=None if passes is None else int(passes),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise PeerError(f"this is no answer: {reply!r:.200}") from error


class PeerProcess:
    """A process that has sent its first line. Raises PeerError where it does not get that far."""

    def __init__(self, command: Sequence[str], log: Path) -> None:
        self._log = log
        with log.open("wb") as errors:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=log.parent,
                # As in the engine: threads that spin while they wait take a core from others.
                env={**os.environ, "OMP_WAIT_POLICY": "PASSIVE"},
                encoding="utf-8",
            )
        self._input = cast("IO[str]", self._process.stdin)
        self._output = cast("IO[str]", self._process.stdout)
        self.greeting = self._read()

    def ask(self, request: object) -> dict[str, Any]:
        """Return the reply to `request`; raises PeerError where there is none."""
        try:
            self._input.write(json.dumps(request) + "\n")
            self._input.flush()
        except OSError:
            raise self._close_after_death() from None
        return self._read()

    def _read(self) -> dict[str, Any]:
        line = self._output.readline()  # "" once the process has ended
        if not line:
            raise self._close_after_death()
        try:
            reply = json.loads(line)
        except ValueError as error:
            raise PeerError(f"this is no answer: {line[:200]!r}") from error
        if not isinstance(reply, dict) or "error" in reply:
            raise PeerError(f"it answered {reply!r:.300}")
        return reply

    def _close_after_death(self) -> PeerError:
        self.close()
        code = self._process.returncode
        reason = signal.Signals(-code).name if code < 0 else f"exit status {code}"
        log = self._log.read_text(encoding="utf-8", errors="replace").strip()
        last_lines = log.split("\n")[-4:]  # a native library's last words, and what led to them
        return PeerError(f"it ended ({reason}): {' / '.join(last_lines)[-600:]}")

    def close(self) -> None:
        """Close its input, and end it if it does not end by itself."""
        self._output.close()
        with suppress(BrokenPipeError):  # what it did not read is lost with it
            self._input.close()
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
