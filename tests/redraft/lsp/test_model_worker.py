import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from redraft.config.settings import Settings
from redraft.errors import EngineError, ModelError
from redraft.lsp.model_worker import ModelWorker

HERE = Settings(model="a")
OTHER = Settings(model="b")


class Opened:
    """Counts loads; its models are plain objects."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.threads: set[int] = set()

    @contextmanager
    def __call__(self, settings: Settings) -> Iterator[object]:
        if settings.model == "missing":
            raise ModelError("missing")
        self.threads.add(threading.get_ident())
        self.log.append(f"+{settings.model}")
        yield settings.model
        self.threads.add(threading.get_ident())
        self.log.append(f"-{settings.model}")


@pytest.fixture
def opened() -> Opened:
    return Opened()


@pytest.fixture
def worker(opened: Opened) -> Iterator[ModelWorker]:
    worker = ModelWorker(opened)
    yield worker
    worker.stop()


def test_one_thread_loads_uses_and_frees_the_model(worker: ModelWorker, opened: Opened) -> None:
    used = [
        worker.request(HERE, lambda model, _: threading.get_ident()).future.result(5)
        for _ in range(3)
    ]
    worker.unload().future.result(5)
    assert opened.log == ["+a", "-a"]
    assert opened.threads == set(used)
    assert threading.get_ident() not in opened.threads


def test_other_settings_load_another_model(worker: ModelWorker, opened: Opened) -> None:
    for settings in (HERE, OTHER, OTHER):
        worker.request(settings, lambda model, _: model).future.result(5)
    assert opened.log == ["+a", "-a", "+b"]


@pytest.mark.parametrize(
    ("change", "log"),
    [
        ({"draft_model": "b"}, ["+a", "-a", "+a"]),
        ({"n_ctx": 9}, ["+a", "-a", "+a"]),
        ({"threads": 9}, ["+a", "-a", "+a"]),
        ({"save_states": True}, ["+a", "-a", "+a"]),
        ({"seed": 9, "exactness": "invariant"}, ["+a"]),
    ],
    ids=str,
)
def test_the_model_is_opened_again_where_it_would_be_another(
    change: dict[str, Any], log: list[str], worker: ModelWorker, opened: Opened
) -> None:
    for settings in (HERE, replace(HERE, **change)):
        worker.request(settings, lambda model, _: model).future.result(5)
    assert opened.log == log


def test_background_work_gives_way_to_a_request(worker: ModelWorker) -> None:
    started = threading.Event()
    order: list[str] = []

    def prefill(_: object, cancelled: Callable[[], bool]) -> None:
        started.set()
        while not cancelled():
            pass
        order.append("background")

    background = worker.background(HERE, prefill)
    assert started.wait(5)
    worker.request(HERE, lambda *_: order.append("request")).future.result(5)
    background.future.result(5)
    assert order == ["background", "request"]


def test_requests_come_before_background_work_that_waits(worker: ModelWorker) -> None:
    gate = threading.Event()
    order: list[int] = []
    worker.request(HERE, lambda *_: gate.wait(5))
    last = worker.background(HERE, lambda *_: order.append(2))
    worker.request(HERE, lambda *_: order.append(1))
    gate.set()
    last.future.result(5)
    assert order == [1, 2]


def test_a_cancelled_job_that_waits_never_runs(worker: ModelWorker) -> None:
    gate = threading.Event()
    ran: list[int] = []
    worker.request(HERE, lambda *_: gate.wait(5))
    job = worker.request(HERE, lambda *_: ran.append(1))
    job.cancel()
    gate.set()
    worker.request(HERE, lambda *_: None).future.result(5)
    assert job.future.cancelled()
    assert not ran


def test_errors_are_raised_and_the_thread_lives_on(worker: ModelWorker) -> None:
    with pytest.raises(ModelError):
        worker.request(Settings(model="missing"), lambda *_: None).future.result(5)
    assert worker.state == "unloaded"
    with pytest.raises(EngineError, match="ZeroDivisionError"):
        worker.request(HERE, lambda *_: 1 / 0).future.result(5)
    assert worker.request(HERE, lambda model, _: model).future.result(5) == "a"


def test_the_model_is_freed_after_idle_time(worker: ModelWorker, opened: Opened) -> None:
    worker.idle_s = 0.01
    worker.request(HERE, lambda *_: None).future.result(5)
    while worker.state != "unloaded":
        pass
    assert opened.log == ["+a", "-a"]


def test_stopping_ends_what_runs_and_frees_the_model(worker: ModelWorker, opened: Opened) -> None:
    started = threading.Event()

    def work(_: object, cancelled: Callable[[], bool]) -> None:
        started.set()
        while not cancelled():
            pass

    worker.request(HERE, work)
    assert started.wait(5)
    worker.stop()
    assert opened.log == ["+a", "-a"]
