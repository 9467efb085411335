"""Write a run's replies on a Ray cluster: on each node, workers that hold the model.

All workers together are one model to the rest; a task is a few prompts, sent again to another
worker when one is lost. Everything else stays with the caller: plan, cache, journal, and every
write to a file. The only module that knows ray, which is an optional extra.
"""

import os
import socket
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from typing import Any, Final

from redraft.codemod.plan import Costs, SupportsCosts
from redraft.codemod.replies import collect_replies
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

__all__ = ["Cluster", "connect"]

_TASKS_PER_WORKER: Final = 2  # so that a worker never waits for the next task
_MAX_LOST_WORKERS: Final = 3  # that one task may take with it before it is given up
_POLL_S: Final = 0.2  # how often a cancel is noticed
_MAX_RESTARTS: Final = 3  # of a worker whose process died while its node lives on
_CONNECT_TIMEOUT_S: Final = 10.0


@contextmanager
def connect(
    local: Model,
    address: str,
    open_model: Callable[[], AbstractContextManager[Model]],
    identify: Callable[[], str],
    *,
    n_cpus: int | None,
    n_bytes: int,
) -> Iterator["Cluster"]:
    """Yield the cluster at `address`; "auto" finds a running one, "local" starts one here.

    `local` counts tokens here; `open_model` and `identify` run in every worker, and the model there
    has to be the same as here. A node gets a worker for every `n_cpus` CPUs and `n_bytes` of memory
    it has, and one in any case; None: just one. Raises InputError where ray or the cluster is not
    there, and ModelError where a worker cannot open the same model.
    """
    ray = _import_ray(address)
    try:
        if address not in ("auto", "local"):
            _check_listening(address)
        ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    except (OSError, ValueError, RuntimeError) as error:
        raise InputError(f"--ray {address}: no cluster answers: {error}") from error
    try:
        nodes = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
        if not nodes:
            raise InputError("the cluster has no node with a CPU")
        places = [node for node in nodes for _ in range(count_workers(node, n_cpus, n_bytes))]
        workers = _start_workers(ray, places, open_model, identify, n_cpus=n_cpus or 1)
        yield Cluster(local, workers, ray)
    finally:
        ray.shutdown()


def _import_ray(address: str) -> Any:  # noqa: ANN401 - ray's types are known only where it is installed
    # Ray would report its use to its makers.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if address == "local":
        # Ray's way, on any system, to listen on the loopback address only.
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    try:
        import ray
    except ImportError as error:
        raise InputError(
            "--ray needs ray: install it beside redraft, `pip install 'ray>=2.40,<3'`"
        ) from error
    return ray


def _check_listening(address: str) -> None:
    """Fail at once where nobody listens: ray itself goes on trying for minutes.

    Raises ValueError or OSError.
    """
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if not host or not port.isdecimal():
        raise ValueError("it takes auto, local or HOST:PORT")
    socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_TIMEOUT_S).close()


def count_workers(node: dict[str, Any], n_cpus: int | None, n_bytes: int) -> int:
    """Return how many workers a node gets, as `ray.nodes()` describes it."""
    resources = node["Resources"]
    by_cpu = int(resources["CPU"]) // n_cpus if n_cpus else 1
    return max(1, min(by_cpu, int(resources.get("memory", 0)) // n_bytes))


def _start_workers(
    ray: Any,  # noqa: ANN401
    places: Sequence[dict[str, Any]],
    open_model: Callable[[], AbstractContextManager[Model]],
    identify: Callable[[], str],
    *,
    n_cpus: int,
) -> list[Any]:
    """Return a worker on the node of each place, all with the same model as this machine."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    remote = ray.remote(max_restarts=_MAX_RESTARTS, max_task_retries=_MAX_RESTARTS)(_RayWorker)
    workers = [
        remote.options(
            num_cpus=min(n_cpus, node["Resources"]["CPU"]),
            scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False),
        ).remote(open_model, identify)
        for node in places
    ]
    # All workers load at the same time; only then is each asked what it holds.
    local_identity = identify()
    for node, worker in zip(places, workers, strict=True):
        name = node["NodeManagerHostname"]
        try:
            identity = ray.get(worker.identity.remote())
        except ray.exceptions.RayError as error:
            raise ModelError(f"no worker on {name}: {_describe_cause(error)}") from error
        if identity != local_identity:
            raise ModelError(f"the model on {name} is another file than here: its sha256 differs")
    return workers


class _RayWorker:
    """Runs on a node and holds the model there."""

    def __init__(
        self, open_model: Callable[[], AbstractContextManager[Model]], identify: Callable[[], str]
    ) -> None:
        self._identity = identify()
        self._stack = ExitStack()  # never closed: the process ends with the worker
        self._model = self._stack.enter_context(open_model())

    def identity(self) -> str:
        return self._identity

    def write(
        self, requests: Sequence[PromptRequest], options: DecodeOptions, n_parallel: int
    ) -> list[Completion | EngineError]:
        replies = collect_replies(requests, self._model, options, n_parallel=n_parallel)
        endings = [reply.completion for reply in replies]
        # Passes, which nobody looks at, need not travel.
        return [
            ending if isinstance(ending, EngineError) else replace(ending, passes=())
            for ending in endings
        ]


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
        """Return what passes cost here, which stands for what they cost a worker."""
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
        requests = [(prompt, max_tokens)]
        ((_, completion),) = self.complete_many(
            requests, options, n_parallel=1, cancelled=cancelled
        )
        return completion

    def complete_many(
        self,
        requests: Sequence[tuple[Prompt, int]],
        options: DecodeOptions,
        *,
        n_parallel: int,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> Iterator[tuple[int, Completion]]:
        """See `redraft.codemod.replies.SupportsBatch`; `n_parallel` replies for all workers.

        Raises EngineError, after all the others ended, where a reply could not be written.
        """
        prompts = [PromptRequest(prompt=prompt, max_tokens=most) for prompt, most in requests]
        # A task is what one worker writes at once. Larger ones would cost more when it is lost.
        size = max(1, n_parallel // max(1, self.n_workers))
        errors: list[EngineError] = []
        queue = _TaskQueue(self._ray, self._workers, prompts, options, size)
        for i, ending in queue.run(cancelled):
            if isinstance(ending, EngineError):
                errors.append(ending)
            else:
                yield i, ending
        if errors:
            raise errors[0]


class _TaskQueue:
    """Tasks of `size` prompts on their way through the workers; lost workers leave the list."""

    def __init__(
        self,
        ray: Any,  # noqa: ANN401
        workers: list[Any],
        requests: Sequence[PromptRequest],
        options: DecodeOptions,
        size: int,
    ) -> None:
        self._ray = ray
        self._workers = workers
        self._requests = requests
        self._options = options
        self._size = size
        n = len(requests)
        # A task is the range of its prompts' indices.
        self._waiting = deque(range(start, min(start + size, n)) for start in range(0, n, size))
        self._running: dict[Any, tuple[Any, range]] = {}  # by ray's reference to the result
        self._n_lost_workers: dict[int, int] = {}  # by a task's first prompt

    def run(self, cancelled: Callable[[], bool]) -> Iterator[tuple[int, Completion | EngineError]]:
        """Yield (index, how it ended) of each prompt, in the order in which they end."""
        while self._waiting or self._running:
            if cancelled():
                for task in (*self._waiting, *(task for _, task in self._running.values())):
                    for i in task:
                        yield i, Completion(text="", finish="cancelled", stats=Stats())
                return
            self._assign_tasks()
            ready, _ = self._ray.wait(list(self._running), num_returns=1, timeout=_POLL_S)
            for reference in ready:
                yield from self._take_result(reference)

    def _assign_tasks(self) -> None:
        """Give every worker something to do, the idlest first."""
        if not self._workers:
            raise RedraftError("all workers of the cluster were lost; --resume goes on later")
        while self._waiting:
            busy = [worker for worker, _ in self._running.values()]
            worker = min(self._workers, key=busy.count)
            if busy.count(worker) >= _TASKS_PER_WORKER:
                return
            task = self._waiting.popleft()
            requests = [self._requests[i] for i in task]
            reference = worker.write.remote(requests, self._options, self._size)
            self._running[reference] = (worker, task)

    def _take_result(self, reference: object) -> Iterator[tuple[int, Completion | EngineError]]:
        """Yield the endings of a task that is done; put it back where its worker was lost."""
        worker, task = self._running.pop(reference)
        errors = self._ray.exceptions
        try:
            endings = self._ray.get(reference)
        except (errors.RayActorError, errors.ActorUnschedulableError):
            self._workers[:] = [other for other in self._workers if other is not worker]
            n_lost = self._n_lost_workers.get(task.start, 0) + 1
            self._n_lost_workers[task.start] = n_lost
            if n_lost < _MAX_LOST_WORKERS:
                self._waiting.appendleft(task)
                return
            # The prompts themselves may be what kills a worker: others go on without them.
            endings = [EngineError("every worker that was given this was lost")] * len(task)
        except errors.RayError as error:
            endings = [EngineError(f"a worker failed: {_describe_cause(error)}")] * len(task)
        yield from zip(task, endings, strict=True)


def _describe_cause(error: Exception) -> str:
    """Return in one line what went wrong in a worker."""
    return str(getattr(error, "cause", None) or error).strip().rpartition("\n")[2]
