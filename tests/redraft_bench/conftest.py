"""The developers' benchmarks run in this process."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.command_line import CommandRun, run_command

from redraft_bench.__main__ import main


@pytest.fixture
def run_bench(capfdbinary: pytest.CaptureFixture[bytes]) -> Callable[..., CommandRun]:
    """Run `python -m redraft_bench ARGS`."""

    def run(*args: str | Path) -> CommandRun:
        return run_command(main, args, capfdbinary)

    return run
