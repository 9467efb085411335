"""The processes that write a run's replies: on each node of a Ray cluster workers with the model.

Everything else stays with the driver: plan, cache, journal, and every write to a file. The only
module that knows ray, which is an optional extra.
"""

import os
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from typing import Any, Final

from redraft.codemod.cluster import Cluster, cause
from redraft.codemod.replies import Reply, replies
from redraft.edit import PromptRequest
from redraft.errors import EngineError, InputError, ModelError
from redraft.records import Completion, DecodeOptions, Model

__all__ = ["connected"]

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
