"""The replies of a run written on many machines: a Ray cluster that looks like one model.

One worker on each node holds the model; a task is a few prompts, sent again to another worker when
one is lost. Everything else stays with the driver: plan, cache, journal, and every write to a file.
The only module that knows ray, which is an optional extra.
"""

import os
import socket
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from typing import Any, Final

from redraft.codemod.replies import Reply, replies
from redraft.errors import EngineError, InputError, ModelError, RedraftError
from redraft.messages import Completion, DecodeOptions, Model, Progress, Prompt, Stats
from redraft.rewrite import Asked

__all__ = ["Cluster", "connected"]

_AHEAD: Final = 2  # tasks a worker has at a time, so that it never waits for the next
_RESTARTS: Final = 3  # of a worker whose process died while its node lives on
_MOST_LOST: Final = 3  # workers that one task may take with it before it is given up
_KNOCK_S: Final = 10.0
_TICK_S: Final = 0.2  # how often a cancel is noticed


class _Worker:
    """Runs on a node and holds the model there."""

    def __init__(
        self, open_model: Callable[[], AbstractContextManager[Model]], identify: Callable[[], str]
    ) -> None:
        self._identity = identify()
        self._open = ExitStack()  # the process ends with the worker, and frees what it holds
        self._model = self._open.enter_context(open_model())

    def identity(self) -> str:
        return self._identity

    def write(
        self, asked: Sequence[Asked], options: DecodeOptions, n_together: int
    ) -> list[Completion | EngineError]:
        written = replies(
            asked,
            self._model,
            options,
            cache=None,
            n_together=n_together,
            on_reply=_ignore,
            cancelled=_never,
        )
        return [_slim(reply.completion) for reply in written]


@contextmanager
def connected(
    local: Model,
    address: str,
    open_model: Callable[[], AbstractContextManager[Model]],
    identify: Callable[[], str],
) -> Iterator["Cluster"]:
    """The cluster at `address`; "auto" finds a running one, "local" starts one on this machine.

    `local` counts tokens here; `open_model` and `identify` run on every node, and the model there
    has to be the same as here. Raises InputError where ray or the cluster is not there.
    """
    ray = _ray(address)
    try:
        _knock(address)
        ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    except (OSError, ValueError, RuntimeError) as error:
        raise InputError(f"--ray {address}: no cluster answers: {error}") from error
    try:
        yield Cluster(local, _workers(ray, open_model, identify), ray)
    finally:
        ray.shutdown()


def _ray(address: str) -> Any:  # noqa: ANN401 - ray's types are known only where it is installed
    # Ray would report its use to its makers.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if address == "local":
        # Ray's way, on any system, to listen on the loopback address only.
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    try:
        import ray
    except ImportError as error:
        raise InputError("--ray needs ray: install it with `pip install redraft[ray]`") from error
    return ray


def _knock(address: str) -> None:
    """Fail at once where nobody listens: ray itself goes on trying for minutes."""
    if address in ("auto", "local"):
        return
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if not host or not port.isdecimal():
        raise ValueError("it takes auto, local or HOST:PORT")
    socket.create_connection((host.strip("[]"), int(port)), timeout=_KNOCK_S).close()


def _workers(
    ray: Any,  # noqa: ANN401
    open_model: Callable[[], AbstractContextManager[Model]],
    identify: Callable[[], str],
) -> list[Any]:
    """One worker on each node, all with the same model as this machine."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    nodes = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
    remote = ray.remote(num_cpus=1, max_restarts=_RESTARTS, max_task_retries=_RESTARTS)(_Worker)
    workers = [
        remote.options(
            scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
        ).remote(open_model, identify)
        for node in nodes
    ]
    here = identify()
    for node, worker in zip(nodes, workers, strict=True):
        name = node["NodeManagerHostname"]
        try:
            there = ray.get(worker.identity.remote())
        except ray.exceptions.RayError as error:
            raise ModelError(f"no worker on {name}: {_cause(error)}") from error
        if there != here:
            raise ModelError(f"the model on {name} is another file than here: its sha256 differs")
    if not workers:
        raise InputError("the cluster has no node with a CPU")
    return workers


class Cluster:
    """The workers as one `redraft.messages.Model` that writes several replies at once."""

    def __init__(self, local: Model, workers: Sequence[Any], ray: Any) -> None:  # noqa: ANN401
        self._local = local
        self._workers = list(workers)
        self._ray = ray

    @property
    def n_workers(self) -> int:
        return len(self._workers)

    @property
    def n_ctx(self) -> int:
        return self._local.n_ctx

    @property
    def chat_template(self) -> str | None:
        return self._local.chat_template

    def count_tokens(self, text: str) -> int:
        return self._local.count_tokens(text)

    def complete(
        self,
        prompt: Prompt,
        options: DecodeOptions,
        *,
        max_tokens: int,
        on_progress: Callable[[Progress], None] = lambda _: None,  # noqa: ARG002 - a node's own
        cancelled: Callable[[], bool] = lambda: False,
    ) -> Completion:
        """See `redraft.messages.Model.complete`; without progress."""
        one = [(prompt, max_tokens)]
        ((_, completion),) = self.complete_many(one, options, n_together=1, cancelled=cancelled)
        return completion

    def complete_many(
        self,
        requests: Sequence[tuple[Prompt, int]],
        options: DecodeOptions,
        *,
        n_together: int,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> Iterator[tuple[int, Completion]]:
        """See `redraft.codemod.replies.Batched`; `n_together` replies for each worker.

        Raises EngineError, after all the others ended, where a reply could not be written.
        """
        asked = [Asked(prompt=prompt, max_tokens=most) for prompt, most in requests]
        size = max(1, n_together // max(1, self.n_workers))
        failed: list[EngineError] = []
        for i, ending in _Tasks(self._ray, self._workers, asked, options, size).run(cancelled):
            if isinstance(ending, EngineError):
                failed.append(ending)
            else:
                yield i, ending
        if failed:
            raise failed[0]


class _Tasks:
    """Tasks of `size` prompts on their way through the workers; lost workers leave the list."""

    def __init__(
        self,
        ray: Any,  # noqa: ANN401
        workers: list[Any],
        asked: Sequence[Asked],
        options: DecodeOptions,
        size: int,
    ) -> None:
        self._ray = ray
        self._workers = workers
        self._asked = asked
        self._options = options
        self._size = size
        starts = range(0, len(asked), size)
        self._waiting = deque(range(start, min(start + size, len(asked))) for start in starts)
        self._running: dict[Any, tuple[Any, range]] = {}
        self._n_lost: dict[int, int] = {}  # by a task's first prompt

    def run(self, cancelled: Callable[[], bool]) -> Iterator[tuple[int, Completion | EngineError]]:
        """(index, how it ended) of each prompt, in the order in which they end."""
        while self._waiting or self._running:
            if cancelled():
                for task in (*self._waiting, *(task for _, task in self._running.values())):
                    yield from ((i, _cut_short()) for i in task)
                return
            self._assign()
            ready, _ = self._ray.wait(list(self._running), num_returns=1, timeout=_TICK_S)
            for reference in ready:
                yield from self._ended(reference)

    def _assign(self) -> None:
        """Give every worker something to do, the idlest first."""
        if not self._workers:
            raise RedraftError("all workers of the cluster were lost; --resume goes on later")
        while self._waiting:
            busy = [worker for worker, _ in self._running.values()]
            worker = min(self._workers, key=busy.count)
            if busy.count(worker) >= _AHEAD:
                return
            task = self._waiting.popleft()
            prompts = [self._asked[i] for i in task]
            reference = worker.write.remote(prompts, self._options, self._size)
            self._running[reference] = (worker, task)

    def _ended(self, reference: object) -> Iterator[tuple[int, Completion | EngineError]]:
        worker, task = self._running.pop(reference)
        errors = self._ray.exceptions
        try:
            written = self._ray.get(reference)
        except (errors.RayActorError, errors.ActorUnschedulableError):
            self._workers[:] = [other for other in self._workers if other is not worker]
            self._n_lost[task.start] = self._n_lost.get(task.start, 0) + 1
            if self._n_lost[task.start] < _MOST_LOST:
                self._waiting.appendleft(task)
                return
            written = [EngineError("every worker that was given this was lost")] * len(task)
        except errors.RayError as error:
            written = [EngineError(f"a worker failed: {_cause(error)}")] * len(task)
        yield from zip(task, written, strict=True)


def _cut_short() -> Completion:
    return Completion(text="", finish="cancelled", stats=Stats())


def _slim(ending: Completion | EngineError) -> Completion | EngineError:
    """`ending` without what need not travel."""
    return ending if isinstance(ending, EngineError) else replace(ending, passes=())


def _cause(error: Exception) -> str:
    return str(getattr(error, "cause", None) or error).strip().rpartition("\n")[2]


def _never() -> bool:
    return False


def _ignore(_: Reply) -> None:
    return None
