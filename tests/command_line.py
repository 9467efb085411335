"""A command line run in this process."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class CommandRun:
    code: int
    out: str
    err: str


def run_command(
    main: Callable[[Sequence[str]], int],
    args: Sequence[str | Path],
    capture: pytest.CaptureFixture[bytes],
) -> CommandRun:
    try:
        code = main([str(arg) for arg in args])
    except SystemExit as usage_error:
        code = int(usage_error.code or 0)
    out, err = capture.readouterr()
    return CommandRun(code, out.decode(), err.decode())
