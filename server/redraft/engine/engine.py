"""The real `redraft.messages.Model`: one GGUF in this process, one text in its KV cache.

Top to bottom a request is: tokenise, prefill what is not cached, decode pass by pass. Cancellation
and deadline are checked between passes.
"""

import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType

import platformdirs
import psutil

from redraft.engine.batch import SharedContext
from redraft.engine.calibrate import CostBook, Measurement, measure
from redraft.engine.native import Context, ModelFile
from redraft.engine.output import Output, Report
from redraft.engine.second import SecondModel
from redraft.engine.states import StateStore
from redraft.engine.strategies import Strategies, Task, class_curve, class_rows
from redraft.engine.text import CachedText
from redraft.engine.together import Job, run_together
from redraft.errors import EngineError, ModelError
from redraft.messages import (
    Completion,
    DecodeOptions,
    Exactness,
    Finish,
    Piece,
    Progress,
    Prompt,
)
from redraft_lookup import (
    BadLogitsError,
    Chooser,
    CostCurve,
    Decoding,
    Greedy,
    Limits,
    Sampler,
    decode,
)

__all__ = ["Engine", "default_threads"]

log = logging.getLogger("redraft.engine")

CONTEXT_STEP = 4096  # contexts grow in these steps, so that a longer file rarely needs a new one
PREFILL_ROWS = 128  # some seconds on a slow CPU: the longest wait for a cancel
N_SEQUENCES = 16
STATE_BUDGET = 512 * 2**20  # bytes of KV cells of files that are not being edited right now
WARM_ROOM = 2048  # tokens of request and reply that a warmed file will need
SHARED_DEPTH = 1024  # the context depth that passes of several texts are measured at, at most
SPARE_ROWS = PREFILL_ROWS  # behind a full context there is still room for a pass's padding
# The two best logits of a wide pass may be this close and still change places in a pass of one
# row: the 99th percentile of what was seen between both (see docs/benchmarks.md).
NEAR_TIE = 0.3

CANNOT_ROLL_BACK = (
    "this model keeps a running state that cannot be rolled back: it was decoded plainly"
)


class Engine:
    """Decodes on the thread that made it; every other thread is refused.

    `n_ctx` caps the context (default: what the model was trained for). Memory for it is taken as
    requests need it. Raises ModelError when the file cannot be loaded.
    """

    def __init__(
        self, file: ModelFile, *, n_ctx: int, n_threads: int, second: SecondModel | None = None
    ) -> None:
        self._file = file
        self._n_ctx = n_ctx
        self._n_threads = n_threads
        self._text: CachedText | None = None
        self._states = StateStore(STATE_BUDGET)
        self._class_rows: tuple[int, ...] = ()
        self._strategies = Strategies(file, second)
        folder = Path(platformdirs.user_cache_dir("redraft")) / "costs"
        self._costs = CostBook(folder, file.path, n_threads=n_threads)
        self._owner = threading.get_ident()

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        n_ctx: int | None = None,
        n_threads: int | None = None,
        draft: Path | None = None,
    ) -> "Engine":
        """Load the model at `path`, and the draft model at `draft` for strategies that use one."""
        file = ModelFile(path)
        threads = n_threads or default_threads()
        trained = file.n_ctx_train
        if n_ctx is not None and not 1 <= n_ctx <= trained:
            file.close()
            raise ModelError(f"n_ctx must be from 1 to {trained} for {path.name}, not {n_ctx}")
        try:
            second = SecondModel(draft, file, n_threads=threads) if draft else None
        except ModelError:
            file.close()
            raise
        if not file.can_roll_back:
            log.warning("%s: %s", path.name, CANNOT_ROLL_BACK)
        return cls(file, n_ctx=n_ctx or trained, n_threads=threads, second=second)

    @property
    def n_ctx(self) -> int:
        return self._n_ctx

    @property
    def chat_template(self) -> str | None:
        return self._file.chat_template

    def count_tokens(self, text: str) -> int:
        return len(self._file.tokenize(text))

    def complete(
        self,
        prompt: Prompt,
        options: DecodeOptions,
        *,
        max_tokens: int,
        on_progress: Callable[[Progress], None] = lambda _: None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> Completion:
        """See `redraft.messages.Model.complete`. The cache stays true whatever ends the request."""
        self._check_use()
        watch = _Watch(options.timeout_s, cancelled)
        parts = self._parts(prompt)
        tokens = [token for part in parts for token in part]
        source = self._file.tokenize(prompt.source)
        text = self._fitting(len(tokens) + max_tokens)
        text.keep_to(self._row_counts(options.exactness))
        # The last token is the first row of the first decode pass.
        (parts[1] or parts[0]).pop()
        report = Report(n_prompt=len(tokens), expected=min(max_tokens, max(1, len(source))))
        output = Output(self._file, prompt.stop)
        finish = self._prefill(text, parts, watch, report, on_progress)
        if finish is None:
            decoding = self._decoding(text, tokens, source, options, max_tokens)
            finish = self._decode(text, decoding, output, watch, report, on_progress)
        return Completion(
            text=output.text,
            finish=finish,
            stats=report.stats(output.n_tokens),
            notes=() if self._file.can_roll_back else (CANNOT_ROLL_BACK,),
            passes=tuple(report.passes),
        )

    def complete_many(
        self,
        requests: Sequence[tuple[Prompt, int]],
        options: DecodeOptions,
        *,
        n_together: int,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> Iterator[tuple[int, Completion]]:
        """Decode several (prompt, max_tokens), up to `n_together` in a pass.

        Yields (index, completion) as they end. With exactness "invariant" each text is what
        `complete` gives for it alone; with "fast" near-ties are not guarded. Prompts with the same
        file part share its cells.
        """
        self._check_use()
        if n_together == 1 or len(requests) < 2 or not self._file.can_roll_back:
            for i, (prompt, max_tokens) in enumerate(requests):
                yield i, self.complete(prompt, options, max_tokens=max_tokens, cancelled=cancelled)
            return
        watch = _Watch(options.timeout_s, cancelled)
        depth = max(sum(map(len, self._parts(prompt))) for prompt, _ in requests)
        known = self._costs.get(depth) or self.measure(min(depth, SHARED_DEPTH))
        rows = self._row_counts(options.exactness)
        curve = class_curve(known, rows)
        jobs = [self._job(i, one, options, curve) for i, one in enumerate(requests)]
        for job in jobs:
            self._check_length(job.n_tokens)
        cells = sorted(job.n_cells for job in jobs)[-n_together:]
        context = Context(
            self._file,
            n_ctx=sum(cells) + SPARE_ROWS,
            n_batch=PREFILL_ROWS,
            n_seq=N_SEQUENCES,
            n_threads=self._n_threads,
        )
        shared = SharedContext(context, chunk=PREFILL_ROWS, row_counts=rows)
        try:
            yield from run_together(
                shared, jobs, n_together=n_together, pieces=self._file, ended=watch.ended
            )
        finally:
            context.close()

    def warm(
        self,
        file: tuple[Piece, ...],
        *,
        exactness: Exactness = "fast",
        cancelled: Callable[[], bool] = lambda: False,
    ) -> None:
        """Prefill the file part of a prompt, so that a request of that exactness starts at once.

        `cancelled` is asked between passes. A file that leaves no room for a request is left out.
        """
        self._check_use()
        part = self._file.bos + self._ids(file)
        if len(part) + WARM_ROOM > self._n_ctx:
            return
        text = self._fitting(len(part) + WARM_ROOM)
        text.keep_to(self._row_counts(exactness))
        for _ in text.prefill([part]):
            if cancelled():
                return

    def measure(self, depth: int) -> Measurement:
        """T(rows) behind `depth` tokens of context, measured now; kept for later requests."""
        self._check_use()
        if not self._file.can_roll_back:
            raise EngineError(f"nothing to measure: {CANNOT_ROLL_BACK}")
        text = self._fitting(depth + SPARE_ROWS + PREFILL_ROWS)
        text.keep_to(())
        filler = self._file.tokenize("def f(x):\n    return x + 1\n\n")
        part = (filler * (depth // len(filler) + 1))[:depth]
        for _ in text.prefill([part]):
            pass
        return self._measure(text, filler)

    def close(self) -> None:
        """Free the model and its cache; harmless when repeated."""
        if self._text:
            self._text.context.close()
            self._text = None
        if self._strategies.second:
            self._strategies.second.close()
        self._file.close()

    def __enter__(self) -> "Engine":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _check_use(self) -> None:
        if threading.get_ident() != self._owner:
            raise EngineError("the model belongs to the thread that loaded it")
        if not self._file.handle:
            raise EngineError("the model is closed: open it again")

    def _check_length(self, n_tokens: int) -> None:
        if n_tokens > self._n_ctx:
            raise EngineError(
                f"prompt and reply need {n_tokens} tokens, but the context holds {self._n_ctx}: "
                "ask for less at once, or raise n_ctx where the model was trained for more"
            )

    def _prefill(
        self,
        text: CachedText,
        parts: list[list[int]],
        watch: "_Watch",
        report: Report,
        on_progress: Callable[[Progress], None],
    ) -> Finish | None:
        total = sum(map(len, parts))
        start = time.perf_counter()
        for done in text.prefill(parts):
            report.prefilled(done, time.perf_counter() - start)
            on_progress(Progress(phase="prefill", done=done, expected=total))
            finish = watch.ended()
            if finish:
                return finish
        return None

    def _decode(
        self,
        text: CachedText,
        decoding: Decoding,
        output: Output,
        watch: "_Watch",
        report: Report,
        on_progress: Callable[[Progress], None],
    ) -> Finish:
        finish: Finish | None = None
        report.start()
        try:
            for step in decode(text, decoding):
                output.extend(step.tokens)
                report.decoded(step, self._file)
                on_progress(report.progress(output))
                finish = "stop" if output.stopped else step.finish or watch.ended()
                if finish:
                    break
        except BadLogitsError as error:
            raise EngineError(f"the model gave no usable answer: {error}") from error
        output.finish()
        return finish or "stop"

    def _decoding(
        self,
        text: CachedText,
        tokens: list[int],
        source: list[int],
        options: DecodeOptions,
        max_tokens: int,
    ) -> Decoding:
        needs_costs = self._file.can_roll_back and options.strategy not in ("plain", "lookup")
        known = self._costs.get(len(text.tokens)) if needs_costs else None
        if needs_costs and known is None:
            known = self._measure(text, tokens[-64:])
        curve = class_curve(known, text.row_counts) if known else None
        task = Task(
            tokens=tokens,
            source=source,
            curve=curve,
            route=options.route,
            max_tokens=max_tokens,
        )
        return self._decoding_of(task, options, max_tokens)

    def _decoding_of(self, task: Task, options: DecodeOptions, max_tokens: int) -> Decoding:
        # A near-tie is decided in a pass of one row, which texts that share passes do not get.
        guarded = options.exactness == "fast" and not task.n_others
        limits = Limits(
            max_tokens=max_tokens,
            end_ids=self._file.end_ids,
            control_ids=self._file.control_ids,
            min_margin=NEAR_TIE if guarded else 0.0,
        )
        drafter = self._strategies.drafter(options.strategy, task)
        return Decoding(task.tokens, drafter, limits, _chooser(options))

    def _job(
        self,
        number: int,
        request: tuple[Prompt, int],
        options: DecodeOptions,
        curve: CostCurve,
    ) -> Job:
        prompt, max_tokens = request
        parts = self._parts(prompt)
        tokens = [token for part in parts for token in part]
        source = self._file.tokenize(prompt.source)

        def decoding(n_others: int) -> Decoding:
            task = Task(
                tokens=tokens,
                source=source,
                curve=curve,
                route=options.route,
                max_tokens=max_tokens,
                n_others=n_others,
            )
            return self._decoding_of(task, options, max_tokens)

        return Job(
            number=number,
            parts=[parts[0], parts[1][:-1]],
            decoding=decoding,
            max_tokens=max_tokens,
            output=Output(self._file, prompt.stop),
            report=Report(n_prompt=len(tokens), expected=max_tokens),
        )

    def _parts(self, prompt: Prompt) -> list[list[int]]:
        """The ids of what stays while the file stays, and of the request."""
        parts = [self._file.bos + self._ids(prompt.file), self._ids(prompt.request)]
        if not any(parts):
            raise EngineError("the prompt is empty: there is nothing to go on from")
        return parts

    def _row_counts(self, exactness: Exactness) -> tuple[int, ...]:
        """The row counts that passes are padded to; the same ones as long as the engine lives."""
        if exactness == "fast" or not self._file.can_roll_back:
            return ()
        if not self._class_rows:
            known = self._costs.first() or self.measure(0)
            self._class_rows = class_rows(known)
        return self._class_rows

    def _measure(self, text: CachedText, tokens: list[int]) -> Measurement:
        room = min(text.context.n_batch, text.context.n_ctx - len(text.tokens))
        measured = measure(text.context, tokens, max_rows=room)
        if room == text.context.n_batch:
            self._costs.put(measured)
        return measured

    def _fitting(self, n_tokens: int) -> CachedText:
        """The cached text, in a context that holds `n_tokens`."""
        self._check_length(n_tokens)
        if self._text and self._text.context.n_ctx >= n_tokens + SPARE_ROWS:
            return self._text
        room = min(-(-n_tokens // CONTEXT_STEP) * CONTEXT_STEP, self._n_ctx) + SPARE_ROWS
        context = Context(
            self._file,
            n_ctx=room,
            n_batch=PREFILL_ROWS,
            n_seq=N_SEQUENCES if self._file.can_roll_back else 1,
            n_threads=self._n_threads,
        )
        if self._text:
            self._text = self._text.moved_to(context)
        else:
            self._text = CachedText(context, chunk=PREFILL_ROWS, store=self._states)
        return self._text

    def _ids(self, pieces: tuple[Piece, ...]) -> list[int]:
        tokenize = self._file.tokenize
        return [t for piece in pieces for t in tokenize(piece.text, control=piece.control)]


class _Watch:
    """When a request must end early. Time in seconds of the monotonic clock."""

    def __init__(self, timeout_s: float | None, cancelled: Callable[[], bool]) -> None:
        self._deadline = None if timeout_s is None else time.monotonic() + timeout_s
        self._cancelled = cancelled

    def ended(self) -> Finish | None:
        if self._cancelled():
            return "cancelled"
        late = self._deadline is not None and time.monotonic() >= self._deadline
        return "timeout" if late else None


def default_threads() -> int:
    """One thread a physical core this process may use; on Apple Silicon the performance cores."""
    if sys.platform == "darwin":
        return max(1, (psutil.cpu_count(logical=False) or 2) // 2)
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, min(psutil.cpu_count(logical=False) or 1, allowed or 1))


def _chooser(options: DecodeOptions) -> Chooser:
    if options.temperature == 0:
        return Greedy()
    return Sampler(
        temperature=options.temperature,
        seed=options.seed,
        top_k=options.top_k,
        top_p=options.top_p,
        min_p=options.min_p,
    )
