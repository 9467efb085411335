"""Engines on tiny models of random weights, and one on the real small model.

Each keeps its measurements in a folder of the test run, so that those of this machine's user do not
matter.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.redraft.engine.tiny import write_recurrent, write_sentencepiece, write_transformer

from redraft.engine import Engine
from redraft.engine.calibration import CalibrationStore
from redraft.engine.llama import Context, LlamaModel

OpenEngine = Callable[..., Engine]


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
def sentencepiece_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "sentencepiece.gguf"
    write_sentencepiece(path)
    return path


@pytest.fixture(scope="session")
def sentencepiece_model(sentencepiece_path: Path) -> Iterator[LlamaModel]:
    model = LlamaModel(sentencepiece_path)
    yield model
    model.close()


@pytest.fixture(scope="session")
def tiny_model(tiny_path: Path) -> Iterator[LlamaModel]:
    model = LlamaModel(tiny_path)
    yield model
    model.close()


@pytest.fixture(scope="session")
def cost_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("costs")


@pytest.fixture(scope="session")
def open_engine(cost_folder: Path) -> Iterator[OpenEngine]:
    """`Engine.open`; engines are closed when the tests end."""
    engines: list[Engine] = []

    def open_model(path: Path, **options) -> Engine:
        engine = Engine.open(path, n_threads=2, **options)
        engine._calibrations = CalibrationStore(cost_folder, path, n_threads=2)
        engines.append(engine)
        return engine

    yield open_model
    for engine in engines:
        engine.close()


@pytest.fixture
def tiny(open_engine: OpenEngine, tiny_path: Path) -> Engine:
    """A cold engine of its own for each test."""
    return open_engine(tiny_path)


@pytest.fixture
def make_context(tiny_model: LlamaModel) -> Iterator[Callable[..., Context]]:
    contexts: list[Context] = []

    def make(
        model: LlamaModel = tiny_model, *, n_ctx: int = 512, flash_attention: bool = True
    ) -> Context:
        context = Context(
            model, n_ctx=n_ctx, n_batch=128, n_seq=9, n_threads=2, flash_attention=flash_attention
        )
        contexts.append(context)
        return context

    yield make
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def small_engine(open_engine: OpenEngine, small_model_path: Path) -> Engine:
    return open_engine(small_model_path)
