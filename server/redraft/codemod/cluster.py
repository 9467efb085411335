"""A cluster's workers as one model, and the prompts on their way through them.

A task is a few prompts, sent again to another worker when one is lost. Gets the module ray from
`redraft.codemod.ray`, which finds the cluster and starts the workers.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from redraft.codemod.estimate import Costs, SupportsCosts
from redraft.edit import PromptRequest
from redraft.errors import EngineError, RedraftError
from redraft.records import (
    Completion,
    DecodeOptions,
    Exactness,
    Model,
    Progress,
    Prompt,
    Stats,
)

__all__ = ["Cluster", "cause"]

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
