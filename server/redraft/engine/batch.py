"""Several requests at once: who joins a shared pass, when, and what each of them cost.

`SharedContext` holds their texts in one context, `decode_batch` takes requests through it. Knows
nothing of how drafts are made, nor of which requests should share passes.
"""

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from redraft.engine.drafters import DrafterFactory
from redraft.engine.kv_cache import chunk_ends
from redraft.engine.llama import Context
from redraft.engine.request import (
    CostReport,
    Deadline,
    ReplyText,
    Request,
    translate_bad_logits,
)
from redraft.errors import EngineError
from redraft.interruption import Interrupted, check_interruption, interruptible
from redraft.records import Completion, Finish
from redraft_lookup import (
    CostCurve,
    Decoding,
    Draft,
    RowAllocator,
    Step,
    decode_many,
)

__all__ = ["BatchRequest", "SharedContext", "count_cells", "decode_batch"]

ROWS_PER_TOKEN = 3  # cells that a token of a reply takes, rejected drafts and padding included
WASTE = 0  # a sequence that is no text

IndexedCompletion: TypeAlias = tuple[int, Completion]


@dataclass(slots=True)
class SharedText:
    """One text: its prompt in parts, and all its tokens that have cells."""

    parts: Sequence[Sequence[int]]
    tokens: list[int] = field(default_factory=list)


class SharedContext:
    """Several texts in one context, decoded in shared passes; they are named by their sequences.

    Passes are padded to one of `row_counts`, and those of prefill to one of `prefill_counts`, if
    there are any; `chunk` is the number of rows of a prefill pass otherwise. Implements
    `redraft_lookup.BatchTargetModel`.

    Invariant: a text's cells lie in the order of its positions, so that attention adds them up, and
    rounds, as it would for the text alone. llama.cpp puts new rows into the first free cells, so no
    cell is freed while others behind it are in use: rejected rows and closed texts keep theirs, in
    the sequence WASTE, until `reset` or until the context is full and rebuilt.
    """

    def __init__(
        self,
        context: Context,
        *,
        chunk: int,
        row_counts: tuple[int, ...] = (),
        prefill_counts: tuple[int, ...] = (),
    ) -> None:
        self.context = context
        self._chunk = prefill_counts[-1] if prefill_counts else chunk
        self._row_counts = row_counts
        self._prefill_counts = prefill_counts
        self._texts: dict[int, SharedText] = {}
        self._files: dict[tuple[int, ...], int] = {}  # first parts, and the sequence of each
        self._front: tuple[int, ...] = ()  # the first part that lies before all other cells
        self._n_used = 0  # cells taken, wasted ones included
        self._pass: dict[int, tuple[int, ...]] = {}

    @property
    def is_empty(self) -> bool:
        return not self._n_used

    @property
    def max_rows(self) -> int:
        return self._row_counts[-1] if self._row_counts else self.context.n_batch

    def has_room(self, parts: Sequence[Sequence[int]], n_tokens: int) -> bool:
        """Tell whether a text of these parts and `n_tokens` more fit into what is free."""
        is_cached = tuple(parts[0]) in self._files
        n_cells = sum(map(len, parts[is_cached:])) + n_tokens
        # A text takes a sequence, and so does its file part if it is new.
        n_sequences = 1 + len(self._texts) + len(self._files) + (1 if is_cached else 2)
        return n_cells <= self.context.n_ctx - self._n_used and n_sequences <= self.context.n_texts

    def open_text(self, parts: Sequence[Sequence[int]]) -> int:
        """Start a text, to be prefilled next, and return its sequence."""
        sequence = self._find_sequence()
        self._texts[sequence] = SharedText(parts)
        return sequence

    def prefill(self, sequence: int) -> Iterator[int]:
        """Fill a text's cells with its prompt, in the passes that it would get alone.

        Yields after each pass how many tokens are there. The first yield tells how many were there
        already: a first part that other texts have too. A caller that stops has to close the text.
        """
        text = self._texts[sequence]
        file = tuple(text.parts[0])
        wanted = [token for part in text.parts for token in part]
        start, is_front = 0, self.is_empty
        if file in self._files:
            start = len(file)
            self.context.share(self._files[file], sequence, 0, start)
        yield start
        for stop in chunk_ends([len(part) for part in text.parts], self._chunk):
            if stop <= start:
                continue
            rows = wanted[start:stop]
            self._run(rows, list(range(start, stop)), [sequence] * len(rows), outputs=False)
            start = stop
            if start == len(file):
                # The file part is complete: a sequence of its own keeps it when this text ends.
                self._files[file] = self._find_sequence()
                self._front = file if is_front else self._front
                self.context.share(sequence, self._files[file], 0, start)
            yield start
        text.tokens = wanted

    def close_text(self, sequence: int) -> None:
        """End a text: its sequence is free again, its cells are not."""
        # Lent to WASTE first, they stay taken when the text's sequence lets go of them.
        del self._texts[sequence]
        self.context.share(sequence, WASTE, 0, -1)
        self.context.remove(sequence, 0)

    def reset(self, keep: Sequence[int] = ()) -> None:
        """Drop all texts and free all cells, but for the first part `keep` if it lies in front."""
        self._texts.clear()
        if not keep or self._front != tuple(keep):
            self._clear()
            return
        kept = self._files[self._front]
        for sequence in range(self.context.n_seq):  # WASTE too: all behind the front is free now
            if sequence != kept:
                self.context.remove(sequence, 0)
        self._files = {self._front: kept}
        self._n_used = len(self._front)

    def forward(
        self, texts: Mapping[int, tuple[int, Draft]]
    ) -> Mapping[int, npt.NDArray[np.float32]]:
        rows: list[int] = []
        positions: list[int] = []
        sequences: list[int] = []
        self._pass = {}
        for sequence, (token, draft) in texts.items():
            if not draft.is_chain:
                raise EngineError("a token tree needs a context of its own")
            n_past, n_rows = len(self._texts[sequence].tokens), 1 + len(draft)
            self._pass[sequence] = (token, *draft.tokens)
            rows += self._pass[sequence]
            positions += range(n_past, n_past + n_rows)
            sequences += [sequence] * n_rows
        # While it runs, a pass needs cells for its padding too: fewer than `max_rows`.
        if len(rows) + self.max_rows > self.context.n_ctx - self._n_used:
            self._rebuild()
        logits = self._run(rows, positions, sequences)
        ends = np.cumsum([len(tokens) for tokens in self._pass.values()])
        return dict(zip(texts, np.split(logits, ends[:-1]), strict=True))

    def commit(self, rows: Mapping[int, Sequence[int]]) -> None:
        for sequence, kept in rows.items():
            tokens = self._texts[sequence].tokens
            tokens += (self._pass[sequence][row] for row in kept)
            self.context.share(sequence, WASTE, len(tokens), -1)
            self.context.remove(sequence, len(tokens))

    def _rebuild(self) -> None:
        """Free the wasted cells: clear all and compute the cells of the open texts again.

        Raises Interrupted between two passes; only `reset` makes the context of use then.
        """
        self._clear()
        for sequence, text in self._texts.items():
            tokens, n_prompt = text.tokens, sum(map(len, text.parts))
            for _ in self.prefill(sequence):
                check_interruption()
            for start in range(n_prompt, len(tokens), self.max_rows):
                check_interruption()
                rows = tokens[start : start + self.max_rows]
                positions = range(start, start + len(rows))
                self._run(rows, list(positions), [sequence] * len(rows))
            text.tokens = tokens

    def _clear(self) -> None:
        self.context.clear()
        self._files.clear()
        self._front = ()
        self._n_used = 0

    def _find_sequence(self) -> int:
        """Return a sequence that nobody uses."""
        taken = {WASTE, *self._texts, *self._files.values()}
        return next(i for i in range(self.context.n_texts) if i not in taken)

    def _run(
        self, rows: list[int], positions: list[int], sequences: list[int], *, outputs: bool = True
    ) -> npt.NDArray[np.float32]:
        """Run a padded pass; the padding comes last, so its cells can be freed at once."""
        self._n_used += len(rows)
        row_counts = self._row_counts if outputs else self._prefill_counts
        owners: list[tuple[int, ...]] = [(sequence,) for sequence in sequences]
        try:
            return self.context.run_padded(
                rows, positions, owners, row_counts=row_counts, outputs=outputs
            )
        except EngineError:
            self.reset()  # finished rows may be anywhere: nothing here can be trusted
            raise


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRequest:
    """One request of a batch, and what it has brought so far. index: its place in the batch."""

    index: int
    request: Request
    start_decoding: Callable[[], Decoding]
    reply: ReplyText
    report: CostReport

    @classmethod
    def of(
        cls,
        index: int,
        request: Request,
        stop: Sequence[str],
        drafters: DrafterFactory,
        curve: CostCurve,
    ) -> "BatchRequest":
        """Return the `index`-th request, whose reply ends before the first of `stop`."""
        return cls(
            index=index,
            request=request,
            start_decoding=partial(request.start_decoding, drafters, curve, is_shared=True),
            reply=ReplyText(drafters.model, stop),
            report=CostReport(n_prompt=len(request.tokens), expected=request.max_tokens),
        )

    @property
    def n_cells(self) -> int:
        """The most cells of a shared context that it may take."""
        return count_cells(self.request)

    @property
    def n_reply_cells(self) -> int:
        """The most of those that its reply may take."""
        return self.n_cells - len(self.request.tokens)

    def complete(self, finish: Finish) -> IndexedCompletion:
        """End the reply; return it with its index."""
        self.reply.finish()
        return self.index, self.report.complete(self.reply, finish)


def count_cells(request: Request) -> int:
    """Return the most cells of a shared context that a request may take."""
    return len(request.tokens) + ROWS_PER_TOKEN * request.max_tokens


def decode_batch(
    shared: SharedContext,
    requests: Sequence[BatchRequest],
    allocator: RowAllocator,
    *,
    n_parallel: int,
    cancelled: Callable[[], bool],
) -> Iterator[IndexedCompletion]:
    """Decode `requests`, up to `n_parallel` at a time; yields (index, completion) as they end.

    When the context is full, the running requests are finished first, then it is reset. A time
    limit counts from a request's own start. `cancelled` is called between passes, and ends all
    requests that run or wait. Raises EngineError if the library fails or if the model's logits are
    not numbers.
    """
    run = _BatchRun(shared, requests, allocator, n_parallel=n_parallel, cancelled=cancelled)
    with translate_bad_logits():
        yield from run.decode_all()


class _BatchRun:
    def __init__(
        self,
        shared: SharedContext,
        requests: Sequence[BatchRequest],
        allocator: RowAllocator,
        *,
        n_parallel: int,
        cancelled: Callable[[], bool],
    ) -> None:
        self._shared = shared
        self._waiting = deque(requests)
        self._allocator = allocator
        self._n_parallel = n_parallel
        self._cancelled = cancelled
        # All by the text's sequence in the shared context.
        self._running: dict[int, BatchRequest] = {}
        self._deadlines: dict[int, Deadline] = {}
        self._decodings: dict[int, Decoding] = {}

    def decode_all(self) -> Iterator[IndexedCompletion]:
        while self._waiting or self._running:
            yield from self._admit()
            passes = decode_many(self._shared, self._decodings, self._allocator)
            try:
                while steps := self._run_next(passes):
                    yield from self._record(steps)
                    yield from self._admit()
            except Interrupted:
                yield from self._abandon()
            # Nothing runs, and what waits did not fit any more.
            self._shared.reset(keep=self._waiting[0].request.file if self._waiting else ())

    def _run_next(self, passes: Iterator[dict[int, Step]]) -> dict[int, Step] | None:
        """Return what the next pass brings each text; None if there is no other.

        A cancel ends it between the passes that a full context is rebuilt in. Raises Interrupted.
        """
        with interruptible(lambda: "cancelled" if self._cancelled() else None):
            return next(passes, None)

    def _abandon(self) -> Iterator[IndexedCompletion]:
        """End all that runs, in a context whose cells are not known."""
        running = tuple(self._running.values())
        for texts in (self._running, self._deadlines, self._decodings):
            texts.clear()
        self._shared.reset()
        for request in running:
            yield request.complete("cancelled")

    def _admit(self) -> Iterator[IndexedCompletion]:
        """Start waiting requests while they fit; an empty context takes one in any case."""
        while self._waiting and len(self._running) < self._n_parallel:
            request = self._waiting[0]
            n_cells = request.n_reply_cells + sum(r.n_reply_cells for r in self._running.values())
            fits = self._shared.has_room(request.request.parts, n_cells)
            if not fits and not self._shared.is_empty:
                break
            self._waiting.popleft()
            # After a cancel this ends at once too: so all that wait come to their end here.
            yield from self._start(request)
            for running in self._running.values():
                running.report.start_clock()  # the prefill of another is no time of theirs
        if self._cancelled():
            for sequence in tuple(self._running):
                yield self._end(sequence, "cancelled")

    def _start(self, request: BatchRequest) -> Iterator[IndexedCompletion]:
        """Prefill a request; yields its completion if it ends meanwhile."""
        deadline = Deadline(request.request.options.timeout_s, self._cancelled)
        start = time.perf_counter()
        sequence = self._shared.open_text(request.request.parts)
        for n_done in self._shared.prefill(sequence):
            request.report.record_prefill(n_done, time.perf_counter() - start)
            if finish := deadline.finish_reason():
                self._shared.close_text(sequence)
                yield request.complete(finish)
                return
        self._running[sequence], self._deadlines[sequence] = request, deadline
        self._decodings[sequence] = request.start_decoding()

    def _record(self, steps: Mapping[int, Step]) -> Iterator[IndexedCompletion]:
        """Take in what a pass committed; yields the completions of requests that ended."""
        for sequence, step in steps.items():
            request = self._running[sequence]
            request.reply.extend(step.tokens)
            request.report.record_pass(step, self._shared.context.model)
            finish: Finish | None = "stop" if request.reply.is_stopped else step.finish
            finish = finish or self._deadlines[sequence].finish_reason()
            if finish:
                yield self._end(sequence, finish)

    def _end(self, sequence: int, finish: Finish) -> IndexedCompletion:
        self._decodings.pop(sequence, None)
        self._shared.close_text(sequence)
        del self._deadlines[sequence]
        return self._running.pop(sequence).complete(finish)
