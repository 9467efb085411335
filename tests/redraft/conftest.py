"""The command line run in this process, and the real models, loaded once for all tests."""

import contextlib
import io
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.command_line import CommandRun, run_command

from redraft.cli import main, options
from redraft.engine import Engine
from redraft.records import Model


@pytest.fixture
def run_cli(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> Callable[..., CommandRun]:
    """Run `redraft ARGS`; with `model`, that one is used instead of one on disk."""

    def run(*args: str | Path, model: Model | None = None, stdin: bytes = b"") -> CommandRun:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        if model is not None:
            monkeypatch.setattr(options, "open_model", lambda _: contextlib.nullcontext(model))
        return run_command(main, args, capfdbinary)

    return run


@pytest.fixture(scope="session")
def small_model(small_model_path: Path) -> Iterator[Engine]:
    with Engine.open(small_model_path) as engine:
        yield engine


@pytest.fixture(scope="session")
def coder_model(coder_model_path: Path) -> Iterator[Engine]:
    with Engine.open(coder_model_path) as engine:
        yield engine
