"""Shared by all tests: the real models, quick tests first, no user settings and no network.

Tests that need a model get it by naming a fixture; `-m "not model"` leaves them out.
"""

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from redraft import models
from redraft.bench.engine import BenchEngine

# Slowest last: a broken rule or table is reported in seconds, before a model is loaded.
MODEL_FIXTURES = ("small_model_path", "coder_model_path")

# A shell starts background jobs with SIGINT ignored, and the processes that tests interrupt would
# inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def small_model_path() -> Path:
    """SmolLM2-135M: loads in a second and decodes for real, but edits badly."""
    return models.resolve("smollm2-135m")


@pytest.fixture(scope="session")
def coder_model_path() -> Path:
    """The default model, some 10 tokens/s on two cores: for what only good edits can show."""
    return models.resolve("qwen2.5-coder-1.5b")


@pytest.fixture(scope="module")
def bench_engine(small_model_path: Path) -> Iterator[BenchEngine]:
    """The small model as benchmarks drive it."""
    with BenchEngine.load(small_model_path, n_ctx=4096) as bench_engine:
        yield bench_engine


@pytest.fixture(autouse=True)
def _no_user_settings_and_no_network(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    for name in os.environ:
        if name.startswith("REDRAFT_") and name != "REDRAFT_MODELS_DIR":
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.getbasetemp() / "no-config"))
    monkeypatch.setattr(socket.socket, "connect", _connect_to_this_machine)


def _connect_to_this_machine(
    sock: socket.socket, address: tuple[str, int], connect=socket.socket.connect
) -> None:
    if sock.family != socket.AF_UNIX and address[0] not in ("127.0.0.1", "::1", "localhost"):
        pytest.fail(f"a test reached for the network: {address}")
    connect(sock, address)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if _cost(item):
            item.add_marker("model")
    items.sort(key=_cost)


def _cost(item: pytest.Item) -> int:
    used = getattr(item, "fixturenames", ())
    return max((n for n, name in enumerate(MODEL_FIXTURES, 1) if name in used), default=0)
