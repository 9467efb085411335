"""The command line run in this process, and the real models, loaded once for all tests."""

import contextlib
import io
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from redraft.bench.subject import Subject
from redraft.cli import main, options
from redraft.engine import Engine
from redraft.records import Model


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


@pytest.fixture
def run_cli(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> Callable[..., Ran]:
    """Run `redraft ARGS`; with `model`, that one is used instead of one on disk."""

    def run(*args: str | Path, model: Model | None = None, stdin: bytes = b"") -> Ran:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        if model is not None:
            monkeypatch.setattr(options, "open_model", lambda _: contextlib.nullcontext(model))
        try:
            code = main([str(arg) for arg in args])
        except SystemExit as usage_error:
            code = int(usage_error.code or 0)
        out, err = capfdbinary.readouterr()
        return Ran(code, out.decode(), err.decode())

    return run


@pytest.fixture(scope="session")
def small_model(small_model_path: Path) -> Iterator[Engine]:
    with Engine.open(small_model_path) as engine:
        yield engine


@pytest.fixture(scope="session")
def coder_model(coder_model_path: Path) -> Iterator[Engine]:
    with Engine.open(coder_model_path) as engine:
        yield engine


@pytest.fixture(scope="module")
def subject(small_model_path: Path) -> Iterator[Subject]:
    """The small model as benchmarks drive it."""
    with Subject.load(small_model_path, n_ctx=4096) as subject:
        yield subject
