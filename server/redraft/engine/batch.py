"""Several requests at once: who joins a shared pass, when, and what each of them cost.

Implements `redraft_lookup.BatchTargetModel`. Invariant: a text's cells lie in the order of its
positions, so that attention adds them up, and rounds, as it would for the text alone. llama.cpp
puts new rows into the first free cells; therefore no cell is freed while others are in use behind
it: what was rejected, and texts that ended, keep theirs in the sequence WASTE until everything is
laid anew.
"""

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from redraft.engine.drafters import DrafterFactory
from redraft.engine.kv_cache import chunk_ends
from redraft.engine.llama import Context
from redraft.engine.request import Deadline, Output, Report, Request
from redraft.errors import EngineError
from redraft.records import Completion, Finish
from redraft_lookup import (
    BadLogitsError,
    CostCurve,
    Decoding,
    Draft,
    RowAllocator,
    Step,
    decode_many,
)

__all__ = ["BatchRequest", "SharedContext", "decode_batch"]

ROWS_PER_TOKEN = 3  # cells that a token of a reply takes, rejected drafts and padding included
WASTE, PADDING = 0, 1  # sequences that are no text; PADDING is empty between passes

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
            output=Output(strategies.model, stop),
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
    shared: "SharedContext",
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
        shared: "SharedContext",
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


@dataclass(slots=True)
class Text:
    """One text: its prompt in parts, and all its tokens that have cells."""

    parts: Sequence[Sequence[int]]
    tokens: list[int]


class SharedContext:
    """The texts of `context`. Passes are padded to one of `row_counts`; none: as they are."""

    def __init__(self, context: Context, *, chunk: int, row_counts: tuple[int, ...]) -> None:
        self.context = context
        self._chunk = row_counts[-1] if row_counts else chunk
        self._row_counts = row_counts
        self._texts: dict[int, Text] = {}
        self._files: dict[tuple[int, ...], int] = {}  # first parts, and the sequence of each
        self._front: tuple[int, ...] = ()  # the first part that lies before all other cells
        self._used = 0  # cells taken, wasted ones included
        self._pass: dict[int, tuple[int, ...]] = {}

    @property
    def is_empty(self) -> bool:
        return not self._used

    @property
    def max_rows(self) -> int:
        return self._row_counts[-1] if self._row_counts else self.context.n_batch

    def has_room(self, parts: Sequence[Sequence[int]], n_tokens: int) -> bool:
        """Whether a text of these parts and `n_tokens` more fit into what is free."""
        known = tuple(parts[0]) in self._files
        n_cells = sum(map(len, parts[known:])) + n_tokens
        n_sequences = 2 + len(self._texts) + len(self._files) + (1 if known else 2)
        return n_cells <= self.context.n_ctx - self._used and n_sequences <= self.context.n_seq

    def open(self, parts: Sequence[Sequence[int]]) -> int:
        """Start a text, to be prefilled next: its number."""
        name = self._unused()
        self._texts[name] = Text(parts, [])
        return name

    def prefill(self, name: int) -> Iterator[int]:
        """Fill a text's cells with its prompt, in the passes that it would get alone.

        Yields after each pass how many tokens are there; the first yield says how many were there
        already, a first part that other texts have too. A caller that stops closes the text.
        """
        text = self._texts[name]
        file = tuple(text.parts[0])
        wanted = [token for part in text.parts for token in part]
        start, is_front = 0, self.is_empty
        if file in self._files:
            start = len(file)
            self.context.share(self._files[file], name, 0, start)
        yield start
        for stop in chunk_ends([len(part) for part in text.parts], self._chunk):
            if stop <= start:
                continue
            rows = wanted[start:stop]
            self._run(rows, list(range(start, stop)), [name] * len(rows), outputs=False)
            start = stop
            if start == len(file):
                self._files[file] = self._unused()
                self._front = file if is_front else self._front
                self.context.share(name, self._files[file], 0, start)
            yield start
        text.tokens = wanted

    def close(self, name: int) -> None:
        """The text has ended: its number is free again, its cells are not."""
        del self._texts[name]
        self.context.share(name, WASTE, 0, -1)
        self.context.remove(name, 0)

    def reset(self, keep: Sequence[int] = ()) -> None:
        """Forget all texts and free all cells; those of the first part `keep` stay if they can."""
        self._texts.clear()
        if not keep or self._front != tuple(keep):
            self._clear()
            return
        kept = self._files[self._front]
        for sequence in range(self.context.n_seq):
            if sequence != kept:
                self.context.remove(sequence, 0)
        self._files = {self._front: kept}
        self._used = len(self._front)

    def forward(
        self, texts: Mapping[int, tuple[int, Draft]]
    ) -> Mapping[int, npt.NDArray[np.float32]]:
        rows: list[int] = []
        positions: list[int] = []
        owners: list[int] = []
        self._pass = {}
        for name, (token, draft) in texts.items():
            if not draft.is_chain:
                raise EngineError("a token tree needs a context of its own")
            n_past, n_rows = len(self._texts[name].tokens), 1 + len(draft)
            self._pass[name] = (token, *draft.tokens)
            rows += self._pass[name]
            positions += range(n_past, n_past + n_rows)
            owners += [name] * n_rows
        if len(rows) + self.max_rows > self.context.n_ctx - self._used:
            self._lay_anew()
        logits = self._run(rows, positions, owners)
        ends = np.cumsum([len(part) for part in self._pass.values()])
        return dict(zip(texts, np.split(logits, ends[:-1]), strict=True))

    def commit(self, rows: Mapping[int, Sequence[int]]) -> None:
        for name, kept in rows.items():
            tokens = self._texts[name].tokens
            tokens += (self._pass[name][row] for row in kept)
            self.context.share(name, WASTE, len(tokens), -1)
            self.context.remove(name, len(tokens))

    def _lay_anew(self) -> None:
        """Free the wasted cells: clear all and compute the cells of the running texts again."""
        self._clear()
        for name, text in self._texts.items():
            tokens, n_prompt = text.tokens, sum(map(len, text.parts))
            for _ in self.prefill(name):
                pass
            for start in range(n_prompt, len(tokens), self.max_rows):
                rows = tokens[start : start + self.max_rows]
                positions = range(start, start + len(rows))
                self._run(rows, list(positions), [name] * len(rows))
            text.tokens = tokens

    def _clear(self) -> None:
        self.context.clear()
        self._files.clear()
        self._front = ()
        self._used = 0

    def _unused(self) -> int:
        taken = {WASTE, PADDING, *self._texts, *self._files.values()}
        return next(i for i in range(self.context.n_seq) if i not in taken)

    def _run(
        self, rows: list[int], positions: list[int], owners: list[int], *, outputs: bool = True
    ) -> npt.NDArray[np.float32]:
        """One pass, padded; the padding comes last, so its cells can be freed."""
        n_real = len(rows)
        n_rows = next((n for n in self._row_counts if n >= n_real), n_real)
        n_more = n_rows - n_real
        self._used += n_real
        sequences: list[tuple[int, ...]] = [(owner,) for owner in owners]
        logits = self._run_or_reset(
            rows + rows[-1:] * n_more,
            positions + list(range(n_more)),
            sequences + [(PADDING,)] * n_more,
            n_outputs=n_rows if outputs else 0,
        )
        if n_more:
            self.context.remove(PADDING, 0)
        return logits[:n_real]

    def _run_or_reset(
        self,
        rows: list[int],
        positions: list[int],
        owners: list[tuple[int, ...]],
        *,
        n_outputs: int,
    ) -> npt.NDArray[np.float32]:
        try:
            return self.context.run(rows, positions, owners, n_outputs=n_outputs)
        except EngineError:
            self.reset()  # finished rows may be anywhere: nothing here can be trusted
            raise
