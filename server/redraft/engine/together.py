"""Several requests at once: who joins a shared pass, when, and what each of them cost."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from redraft.engine.batch import SharedContext
from redraft.engine.native import ModelFile
from redraft.engine.output import Output, Report
from redraft.engine.request import Request
from redraft.messages import Completion, Finish
from redraft_lookup import Decoding, decode_many

__all__ = ["Job", "run_together"]

ROWS_PER_TOKEN = 3  # cells that a token of a reply takes, rejected drafts and padding included


@dataclass(slots=True, kw_only=True)
class Job:
    """One request, its decoding, and what it has brought so far."""

    number: int
    request: Request
    decoding: Callable[[], Decoding]  # made when it starts
    output: Output
    report: Report

    @property
    def n_cells(self) -> int:
        """What it may take of a shared context."""
        return len(self.request.tokens) + ROWS_PER_TOKEN * self.request.max_tokens


def run_together(
    shared: SharedContext,
    jobs: Sequence[Job],
    *,
    n_together: int,
    pieces: ModelFile,
    ended: Callable[[], Finish | None],
) -> Iterator[tuple[int, Completion]]:
    """Decode `jobs`, up to `n_together` at a time; yields (number, completion) as they end.

    When the context is full the running ones are finished first, and it starts anew. `ended` is
    asked between passes; once it names an ending, every job that still runs or waits ends so.
    """
    waiting = deque(jobs)
    running: dict[int, Job] = {}
    decodings: dict[int, Decoding] = {}
    while waiting or running:
        _join(shared, waiting, running, decodings, n_together)
        for steps in decode_many(shared, decodings):
            for text, step in steps.items():
                job = running[text]
                job.output.extend(step.tokens)
                job.report.decoded(step, pieces)
                finish = "stop" if job.output.stopped else step.finish or ended()
                if finish:
                    decodings.pop(text, None)
                    shared.close(text)
                    del running[text]
                    yield job.number, _completion(job, finish)
            _join(shared, waiting, running, decodings, n_together)
        stop = ended()
        while stop and waiting:
            job = waiting.popleft()
            yield job.number, _completion(job, stop)
        shared.reset()


def _join(
    shared: SharedContext,
    waiting: deque[Job],
    running: dict[int, Job],
    decodings: dict[int, Decoding],
    n_together: int,
) -> None:
    """Start waiting jobs while there is room; an empty context takes one in any case."""
    while waiting and len(running) < n_together:
        job = waiting[0]
        reserved = sum(ROWS_PER_TOKEN * one.request.max_tokens for one in running.values())
        n_cells = reserved + ROWS_PER_TOKEN * job.request.max_tokens
        if not shared.is_empty and not shared.has_room(job.request.parts, n_cells):
            return
        waiting.popleft()
        text, n_known = shared.open(job.request.parts)
        job.report.prefilled(n_known, 0.0)
        job.report.start()
        running[text] = job
        decodings[text] = job.decoding()


def _completion(job: Job, finish: Finish) -> Completion:
    job.output.finish()
    return Completion(
        text=job.output.text,
        finish=finish,
        stats=job.report.stats(job.output.n_tokens),
        passes=tuple(job.report.passes),
    )
