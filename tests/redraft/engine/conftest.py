"""Engines on tiny models of random weights, and one on the real small model.

Each keeps its measurements in a folder of the test run: what this machine's user has measured
before decides nothing here.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.redraft.engine.tiny import write_recurrent, write_transformer

from redraft.engine import Engine
from redraft.engine.calibration import CalibrationStore
from redraft.engine.llama import Context, LlamaModel

Open = Callable[..., Engine]


@pytest.fixture(scope="session")
def tiny_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "tiny.gguf"
    write_transformer(path)
    return path


@pytest.fixture(scope="session")
def recurrent_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "recurrent.gguf"
    write_recurrent(path)
    return path


@pytest.fixture(scope="session")
def tiny_file(tiny_path: Path) -> Iterator[LlamaModel]:
    file = LlamaModel(tiny_path)
    yield file
    file.close()


@pytest.fixture(scope="session")
def cost_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("costs")


@pytest.fixture(scope="session")
def open_engine(cost_folder: Path) -> Iterator[Open]:
    """`Engine.open`; closed when the tests end."""
    engines: list[Engine] = []

    def opened(path: Path, **options) -> Engine:
        engine = Engine.open(path, n_threads=2, **options)
        engine._calibrations = CalibrationStore(cost_folder, path, n_threads=2)
        engines.append(engine)
        return engine

    yield opened
    for engine in engines:
        engine.close()


@pytest.fixture
def tiny(open_engine: Open, tiny_path: Path) -> Engine:
    """A cold engine of its own for each test."""
    return open_engine(tiny_path)


@pytest.fixture
def make_context(tiny_file: LlamaModel) -> Iterator[Callable[..., Context]]:
    contexts: list[Context] = []

    def make(
        file: LlamaModel = tiny_file, *, n_ctx: int = 512, flash_attention: bool = True
    ) -> Context:
        made = Context(
            file, n_ctx=n_ctx, n_batch=128, n_seq=8, n_threads=2, flash_attention=flash_attention
        )
        contexts.append(made)
        return contexts[-1]

    yield make
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def small_engine(open_engine: Open, small_model_path: Path) -> Engine:
    return open_engine(small_model_path)
