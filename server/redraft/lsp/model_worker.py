"""The one thread that owns the model: it loads the model, uses it, and frees it.

Requests wait in order; background work is done only while no request waits, and gives way to one
within a pass. Knows nothing of documents or of the protocol: it runs the jobs it is given.
"""

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar

from redraft.config.settings import Settings
from redraft.errors import EngineError, RedraftError
from redraft.lsp.contract import ModelState
from redraft.records import Exactness, Model, Piece

__all__ = ["LanguageModel", "ModelJob", "ModelWorker", "OpenModel"]

_STOP_S: Final = 5.0  # a pass takes about a second; a hung library must not keep the process

_T = TypeVar("_T")


class LanguageModel(Model, Protocol):
    """A model that can prefill in the background, too."""

    def prefill(
        self,
        file: tuple[Piece, ...],
        *,
        exactness: Exactness = ...,
        cancelled: Callable[[], bool] = ...,
    ) -> None:
        """Prefill a prompt's file part; `cancelled` is called between passes."""


OpenModel: TypeAlias = Callable[[Settings], AbstractContextManager[LanguageModel]]


@dataclass(slots=True, kw_only=True, eq=False)
class ModelJob(Generic[_T]):
    """Work that waits for the model or has it. `future` gets what the work returns or raises."""

    run: Callable[[], _T]
    future: Future[_T] = field(default_factory=Future)
    stop: threading.Event = field(default_factory=threading.Event)

    def cancel(self) -> None:
        """Keep the work from starting, or end it within a pass."""
        self.stop.set()
        self.future.cancel()


class ModelWorker:
    """Runs jobs on a thread of its own, which starts with the first of them.

    `idle_s` is how long the model stays loaded without work, in seconds; None: for ever.
    `on_state` is called on that thread after each change of `state`.
    """

    def __init__(
        self, open_model: OpenModel, *, on_state: Callable[[], object] = lambda: None
    ) -> None:
        self.idle_s: float | None = None
        self.state: ModelState = "unloaded"
        self.n_loads = 0  # each discards what was prefilled before it
        self._open_model = open_model
        self._on_state = on_state
        self._requests: deque[ModelJob[Any]] = deque()
        self._background: deque[ModelJob[Any]] = deque()
        self._running: ModelJob[Any] | None = None
        self._changed = threading.Condition()
        self._is_stopped = False
        self._thread: threading.Thread | None = None
        # Used on the worker's thread only:
        self._model_context: AbstractContextManager[LanguageModel] | None = None
        self._model: LanguageModel | None = None
        self._key: tuple[object, ...] = ()

    @property
    def n_waiting(self) -> int:
        return len(self._requests)

    def request(
        self, settings: Settings, work: Callable[[LanguageModel, Callable[[], bool]], _T]
    ) -> ModelJob[_T]:
        """Queue `work(model, cancelled)` after the requests before it."""
        stop = threading.Event()
        job = ModelJob(run=lambda: work(self._load(settings), stop.is_set), stop=stop)
        return self._add(job, self._requests)

    def background(
        self, settings: Settings, work: Callable[[LanguageModel, Callable[[], bool]], _T]
    ) -> ModelJob[_T]:
        """Queue `work(model, cancelled)` for when no request waits.

        `cancelled` is true, too, once a request has come: the work has to give way.
        """
        stop = threading.Event()
        job = ModelJob(
            run=lambda: work(self._load(settings), lambda: stop.is_set() or bool(self._requests)),
            stop=stop,
        )
        return self._add(job, self._background)

    def unload(self) -> ModelJob[None]:
        """Free the model once the requests before are done; the next request loads it again."""
        return self._add(ModelJob(run=self._unload), self._requests)

    def stop(self) -> None:
        """End whatever runs, free the model, and wait for the thread; harmless when repeated."""
        with self._changed:
            self._is_stopped = True
            for job in (*self._requests, *self._background, self._running):
                if job:
                    job.cancel()
            self._changed.notify()
        if self._thread:
            self._thread.join(_STOP_S)

    def _add(self, job: ModelJob[_T], queue: deque[ModelJob[Any]]) -> ModelJob[_T]:
        with self._changed:
            queue.append(job)
            if not self._thread:
                # A daemon: a library that hangs in a pass must not keep the process alive.
                self._thread = threading.Thread(
                    target=self._work, name="redraft-model", daemon=True
                )
                self._thread.start()
            self._changed.notify()
        return job

    def _work(self) -> None:
        while (job := self._wait_for_job()) is not None:
            if not job.future.set_running_or_notify_cancel():
                continue  # cancelled while it waited
            self._running = job
            try:
                job.future.set_result(job.run())
            except (RedraftError, CancelledError) as error:
                job.future.set_exception(error)
            except Exception as error:  # noqa: BLE001 - the outermost loop of this thread
                wrapped = EngineError(f"internal error: {type(error).__name__}: {error}")
                wrapped.__cause__ = error
                job.future.set_exception(wrapped)
            self._running = None
            # A finished job still holds its document and its future's callbacks.
            del job
        self._unload()

    def _wait_for_job(self) -> ModelJob[Any] | None:
        """Return the next job; None when stopped. Unloads the model when it is idle for long."""
        while True:
            with self._changed:
                has_changed = self._changed.wait_for(
                    lambda: self._is_stopped or self._requests or self._background,
                    None if self._model is None else self.idle_s,
                )
                if self._is_stopped:
                    return None
                # wait_for returns False when the idle time is over.
                if has_changed:
                    return (self._requests or self._background).popleft()
            self._unload()

    def _load(self, settings: Settings) -> LanguageModel:
        """Return the model that `settings` name; load it unless it is loaded already."""
        # The settings that the model is opened with; all others are a request's.
        key = (
            settings.model,
            settings.draft_model,
            settings.n_ctx,
            settings.threads,
            settings.save_states,
        )
        if self._model is None or self._key != key:
            self._unload()
            self._set_state("loading")
            try:
                context = self._open_model(settings)
                self._model, self._model_context, self._key = context.__enter__(), context, key
                self.n_loads += 1
            finally:
                self._set_state("unloaded" if self._model is None else "loaded")
        return self._model

    def _unload(self) -> None:
        context, self._model_context, self._model = self._model_context, None, None
        # Said before it is done: freeing takes a while, and nothing can use the model by now.
        self._set_state("unloaded")
        if context:
            context.__exit__(None, None, None)

    def _set_state(self, state: ModelState) -> None:
        self.state = state
        self._on_state()
