"""Several requests at once: who joins a shared pass, when, and what each of them cost."""

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from redraft.engine.drafters import DrafterFactory
from redraft.engine.output import Output, Report
from redraft.engine.request import Deadline, Request
from redraft.engine.shared_context import SharedContext
from redraft.errors import EngineError
from redraft.records import Completion, Finish
from redraft_lookup import BadLogitsError, CostCurve, Decoding, RowAllocator, Step, decode_many

__all__ = ["BatchRequest", "decode_batch"]

ROWS_PER_TOKEN = 3  # cells that a token of a reply takes, rejected drafts and padding included

Ended: TypeAlias = tuple[int, Completion]


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRequest:
    """One request, its decoding, and what it has brought so far."""

    number: int
    request: Request
    decoding: Callable[[], Decoding]  # made when it starts
    output: Output
    report: Report

    @classmethod
    def of(
        cls,
        number: int,
        request: Request,
        stop: Sequence[str],
        strategies: DrafterFactory,
        curve: CostCurve,
    ) -> "BatchRequest":
        """The job of `request`, whose reply ends before one of `stop`."""
        return cls(
            number=number,
            request=request,
            decoding=partial(request.decoding, strategies, curve, is_shared=True),
            output=Output(strategies.file, stop),
            report=Report(n_prompt=len(request.tokens), expected=request.max_tokens),
        )

    @property
    def n_cells(self) -> int:
        """What it may take of a shared context."""
        return len(self.request.tokens) + self.n_written

    @property
    def n_written(self) -> int:
        """Of those, what its reply may take."""
        return ROWS_PER_TOKEN * self.request.max_tokens


def decode_batch(
    shared: SharedContext,
    jobs: Sequence[BatchRequest],
    share: RowAllocator,
    *,
    n_parallel: int,
    cancelled: Callable[[], bool],
) -> Iterator[Ended]:
    """Decode `jobs`, up to `n_parallel` at a time; yields (number, completion) as they end.

    When the context is full the running ones are finished first, and it starts anew. A job's time
    limit counts from its own start. `cancelled` is asked between passes; it ends all that run or
    wait. Raises EngineError when the library fails or the model's logits are no numbers.
    """
    run = _BatchRun(shared, jobs, share, n_parallel=n_parallel, cancelled=cancelled)
    try:
        yield from run.all()
    except BadLogitsError as error:
        raise EngineError(f"the model gave no usable answer: {error}") from error


class _BatchRun:
    def __init__(
        self,
        shared: SharedContext,
        jobs: Sequence[BatchRequest],
        share: RowAllocator,
        *,
        n_parallel: int,
        cancelled: Callable[[], bool],
    ) -> None:
        self._shared = shared
        self._waiting = deque(jobs)
        self._share = share
        self._n_parallel = n_parallel
        self._cancelled = cancelled
        # All by the number of the text in the shared context.
        self._running: dict[int, BatchRequest] = {}
        self._watches: dict[int, Deadline] = {}
        self._decodings: dict[int, Decoding] = {}

    def all(self) -> Iterator[Ended]:
        while self._waiting or self._running:
            yield from self._join()
            for steps in decode_many(self._shared, self._decodings, self._share):
                yield from self._take_in(steps)
                yield from self._join()
            self._shared.reset(keep=self._waiting[0].request.file if self._waiting else ())

    def _join(self) -> Iterator[Ended]:
        """Start waiting jobs while there is room; an empty context takes one in any case."""
        while self._waiting and len(self._running) < self._n_parallel:
            job = self._waiting[0]
            n_cells = job.n_written + sum(one.n_written for one in self._running.values())
            is_full = not self._shared.has_room(job.request.parts, n_cells)
            if is_full and not self._shared.is_empty:
                break
            self._waiting.popleft()
            yield from self._start(job)
            for other in self._running.values():
                other.report.start()  # this prefill is no time of theirs
        if self._cancelled():
            for text in tuple(self._running):
                yield self._end(text, "cancelled")

    def _start(self, job: BatchRequest) -> Iterator[Ended]:
        """Prefill a job; yields it where that is as far as it gets."""
        watch = Deadline(job.request.options.timeout_s, self._cancelled)
        start = time.perf_counter()
        text = self._shared.open(job.request.parts)
        for done in self._shared.prefill(text):
            job.report.prefilled(done, time.perf_counter() - start)
            if finish := watch.ended():
                self._shared.close(text)
                yield _ended(job, finish)
                return
        self._running[text], self._watches[text] = job, watch
        self._decodings[text] = job.decoding()

    def _take_in(self, steps: Mapping[int, Step]) -> Iterator[Ended]:
        for text, step in steps.items():
            job = self._running[text]
            job.output.extend(step.tokens)
            job.report.decoded(step, self._shared.context.model)
            finish: Finish | None = "stop" if job.output.stopped else step.finish
            finish = finish or self._watches[text].ended()
            if finish:
                yield self._end(text, finish)

    def _end(self, text: int, finish: Finish) -> Ended:
        self._decodings.pop(text, None)
        self._shared.close(text)
        del self._watches[text]
        return _ended(self._running.pop(text), finish)


def _ended(job: BatchRequest, finish: Finish) -> Ended:
    job.output.finish()
    completion = Completion(
        text=job.output.text,
        finish=finish,
        stats=job.report.stats(job.output.n_tokens),
        passes=tuple(job.report.passes),
    )
    return job.number, completion
