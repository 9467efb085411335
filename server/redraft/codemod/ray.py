"""The processes that write a run's replies: on each node of a Ray cluster workers with the model.

Everything else stays with the driver: plan, cache, journal, and every write to a file. The only
module that knows ray, which is an optional extra.
"""

import os
import socket
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from typing import Any, Final

from redraft.codemod.plan import Costs, SupportsCosts
from redraft.codemod.replies import Reply, replies
from redraft.edit import PromptRequest
from redraft.errors import EngineError, InputError, ModelError, RedraftError
from redraft.records import (
    Completion,
    DecodeOptions,
    Exactness,
    Model,
    Progress,
    Prompt,
    Stats,
)

__all__ = ["Cluster", "cause", "connected"]

_AHEAD: Final = 2  # tasks a worker has at a time, so that it never waits for the next
_MOST_LOST: Final = 3  # workers that one task may take with it before it is given up
_TICK_S: Final = 0.2  # how often a cancel is noticed


class Cluster:
    """The workers as one `redraft.records.Model` that writes several replies at once."""

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

    def costs(self, depth: int, exactness: Exactness) -> Costs | None:
        """What passes cost here, which stands for what they cost a worker."""
        return (
            self._local.costs(depth, exactness) if isinstance(self._local, SupportsCosts) else None
        )

    def complete(
        self,
        prompt: Prompt,
        options: DecodeOptions,
        *,
        max_tokens: int,
        on_progress: Callable[[Progress], None] = lambda _: None,  # noqa: ARG002 - a node's own
        cancelled: Callable[[], bool] = lambda: False,
    ) -> Completion:
        """See `redraft.records.Model.complete`; without progress."""
        one = [(prompt, max_tokens)]
        ((_, completion),) = self.complete_many(one, options, n_parallel=1, cancelled=cancelled)
        return completion

    def complete_many(
        self,
        requests: Sequence[tuple[Prompt, int]],
        options: DecodeOptions,
        *,
        n_parallel: int,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> Iterator[tuple[int, Completion]]:
        """See `redraft.codemod.replies.SupportsBatch`; `n_parallel` replies for each worker.

        Raises EngineError, after all the others ended, where a reply could not be written.
        """
        asked = [PromptRequest(prompt=prompt, max_tokens=most) for prompt, most in requests]
        size = max(1, n_parallel // max(1, self.n_workers))
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
        asked: Sequence[PromptRequest],
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
            written = [EngineError(f"a worker failed: {cause(error)}")] * len(task)
        yield from zip(task, written, strict=True)


def _cut_short() -> Completion:
    return Completion(text="", finish="cancelled", stats=Stats())


def cause(error: Exception) -> str:
    """What went wrong in a worker, in one line."""
    return str(getattr(error, "cause", None) or error).strip().rpartition("\n")[2]


_RESTARTS: Final = 3  # of a worker whose process died while its node lives on
_KNOCK_S: Final = 10.0


class _RayWorker:
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
        self, asked: Sequence[PromptRequest], options: DecodeOptions, n_parallel: int
    ) -> list[Completion | EngineError]:
        written = replies(
            asked,
            self._model,
            options,
            cache=None,
            n_parallel=n_parallel,
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
    *,
    n_cpus: int | None,
    n_bytes: int,
) -> Iterator[Cluster]:
    """The cluster at `address`; "auto" finds a running one, "local" starts one on this machine.

    `local` counts tokens here; `open_model` and `identify` run in every worker, and the model there
    has to be the same as here. A node gets a worker for every `n_cpus` CPUs and `n_bytes` of memory
    it has, and one in any case; None: just one. Raises InputError where ray or the cluster is not
    there.
    """
    ray = _ray(address)
    try:
        _knock(address)
        ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    except (OSError, ValueError, RuntimeError) as error:
        raise InputError(f"--ray {address}: no cluster answers: {error}") from error
    try:
        nodes = _nodes(ray)
        places = [node for node in nodes for _ in range(_n_workers(node, n_cpus, n_bytes))]
        workers = _workers(ray, places, open_model, identify, n_cpus=n_cpus or 1)
        yield Cluster(local, workers, ray)
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


def _nodes(ray: Any) -> list[dict[str, Any]]:  # noqa: ANN401
    nodes = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
    if not nodes:
        raise InputError("the cluster has no node with a CPU")
    return nodes


def _n_workers(node: dict[str, Any], n_cpus: int | None, n_bytes: int) -> int:
    """How many workers a node gets."""
    has = node["Resources"]
    by_cpu = int(has["CPU"]) // n_cpus if n_cpus else 1
    return max(1, min(by_cpu, int(has.get("memory", 0)) // n_bytes))


def _workers(
    ray: Any,  # noqa: ANN401
    places: Sequence[dict[str, Any]],
    open_model: Callable[[], AbstractContextManager[Model]],
    identify: Callable[[], str],
    *,
    n_cpus: int,
) -> list[Any]:
    """A worker on the node of each place, all with the same model as this machine."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    remote = ray.remote(max_restarts=_RESTARTS, max_task_retries=_RESTARTS)(_RayWorker)
    workers = [
        remote.options(
            num_cpus=min(n_cpus, node["Resources"]["CPU"]),
            scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False),
        ).remote(open_model, identify)
        for node in places
    ]
    here = identify()
    for node, worker in zip(places, workers, strict=True):
        name = node["NodeManagerHostname"]
        try:
            there = ray.get(worker.identity.remote())
        except ray.exceptions.RayError as error:
            raise ModelError(f"no worker on {name}: {cause(error)}") from error
        if there != here:
            raise ModelError(f"the model on {name} is another file than here: its sha256 differs")
    return workers


def _slim(ending: Completion | EngineError) -> Completion | EngineError:
    """`ending` without what need not travel."""
    return ending if isinstance(ending, EngineError) else replace(ending, passes=())


def _never() -> bool:
    return False


def _ignore(_: Reply) -> None:
    return None
