"""The real `redraft.records.Model`: one GGUF in this process, one text in its KV cache.

Top to bottom a request is: tokenise, prefill what is not cached, decode pass by pass. Knows which
context, row counts and cost curve a request gets; the passes themselves are run by `single` and
`batch`.
"""

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import platformdirs

from redraft.engine.batch import BatchRequest, SharedContext, decode_batch
from redraft.engine.calibration import CalibrationStore, Measurement, measure
from redraft.engine.context_pool import PREFILL_ROWS, SPARE_ROWS, ContextPool
from redraft.engine.draft_model import DraftModel
from redraft.engine.drafters import UNSIZED, DrafterFactory, build_cost_curve, choose_row_counts
from redraft.engine.kv_cache import KVCache
from redraft.engine.llama import LlamaModel, default_threads
from redraft.engine.request import CostReport, Deadline, ReplyText, Request, tokenize_pieces
from redraft.engine.single import decode_single, prefill_prompt
from redraft.engine.state_cache import DiskCache
from redraft.errors import EngineError, ModelError
from redraft.records import (
    Completion,
    DecodeOptions,
    Exactness,
    Piece,
    Progress,
    Prompt,
)
from redraft_lookup import CostCurve, RowAllocator

__all__ = ["Engine"]

log = logging.getLogger("redraft.engine")

REQUEST_ROOM = 2048  # tokens of request and reply that are expected behind a prefilled file
SHARED_DEPTH = 1024  # the context depth that passes of several texts are measured at, at most
CLASS_DEPTH = 512  # at least: row counts that round alike behind less may not behind more
SAMPLE = 64  # tokens of a text that passes behind it are measured with

CANNOT_ROLL_BACK = (
    "this model keeps a running state that cannot be rolled back: it was decoded plainly"
)


class Engine:
    """Decodes on the thread that opened it; every other thread is refused."""

    def __init__(
        self, model: LlamaModel, pool: ContextPool, *, draft_model: DraftModel | None = None
    ) -> None:
        self._model = model
        self._pool = pool
        self._row_class: tuple[int, ...] = ()
        self._prefills_files = False
        self._drafters = DrafterFactory(model, draft_model)
        folder = Path(platformdirs.user_cache_dir("redraft")) / "costs"
        self._calibrations = CalibrationStore(folder, model.path, n_threads=pool.n_threads)
        self._owner = threading.get_ident()

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        n_ctx: int | None = None,
        n_threads: int | None = None,
        draft: Path | None = None,
        state_folder: Path | None = None,
    ) -> "Engine":
        """Load the model at `path`, and the draft model at `draft` for strategies that use one.

        `n_ctx` caps the context (default: what the model was trained for); memory for it is taken
        as requests need it. `state_folder` is where the prefilled cells of large files outlive the
        engine. Raises ModelError if a file cannot be loaded.
        """
        model = LlamaModel(path)
        n_threads = n_threads or default_threads()
        n_trained = model.n_ctx_train
        if n_ctx is not None and not 1 <= n_ctx <= n_trained:
            model.close()
            raise ModelError(f"n_ctx must be from 1 to {n_trained} for {path.name}, not {n_ctx}")
        try:
            draft_model = DraftModel(draft, model, n_threads=n_threads) if draft else None
        except ModelError:
            model.close()
            raise
        if not model.can_roll_back:
            log.warning("%s: %s", path.name, CANNOT_ROLL_BACK)
        disk_cache = DiskCache(state_folder, path, n_threads=n_threads) if state_folder else None
        pool = ContextPool(
            model, n_ctx=n_ctx or n_trained, n_threads=n_threads, disk_cache=disk_cache
        )
        return cls(model, pool, draft_model=draft_model)

    @property
    def n_ctx(self) -> int:
        return self._pool.n_ctx

    @property
    def chat_template(self) -> str | None:
        return self._model.chat_template

    def count_tokens(self, text: str) -> int:
        return len(self._model.tokenize(text))

    def complete(
        self,
        prompt: Prompt,
        options: DecodeOptions,
        *,
        max_tokens: int,
        on_progress: Callable[[Progress], None] = lambda _: None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> Completion:
        """See `redraft.records.Model.complete`. The cache stays valid whatever ends the request."""
        self._check_use()
        deadline = Deadline(options.timeout_s, cancelled)
        request = Request.of(self._model, prompt, options, max_tokens)
        cache = self._pool.cache_for(request.n_tokens, options.exactness)
        # The first request that is invariant measures here which row counts round alike, in this
        # very cache: so the text is prefilled after it.
        cache.restrict_row_counts(self._row_counts(options.exactness))
        # A reply is about as long as the text it edits.
        expected = min(max_tokens, max(1, len(request.source)))
        report = CostReport(n_prompt=len(request.tokens), expected=expected)
        reply = ReplyText(self._model, prompt.stop)
        finish = prefill_prompt(cache, request, deadline, report, on_progress)
        if finish is None:
            curve = self._curve_behind(cache, request, deadline)
            decoding = request.start_decoding(self._drafters, curve)
            finish = decode_single(cache, decoding, reply, deadline, report, on_progress)
        notes = () if self._model.can_roll_back else (CANNOT_ROLL_BACK,)
        return report.complete(reply, finish, notes=notes)

    def complete_many(
        self,
        requests: Sequence[tuple[Prompt, int]],
        options: DecodeOptions,
        *,
        n_parallel: int,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> Iterator[tuple[int, Completion]]:
        """Decode several (prompt, max_tokens), up to `n_parallel` in a pass.

        Yields (index, completion) as they end. With exactness "invariant" each text is what
        `complete` gives for it alone; with "fast" near-ties are not decoded again. Prompts with the
        same file part share its cells. A time limit counts for each from its own start.
        """
        self._check_use()
        # A draft model follows one text at a time, and lookahead drafts in trees.
        is_single = options.strategy in ("draft", "lookup+draft", "lookahead")
        n_possible = 1 if is_single or not self._model.can_roll_back else len(requests)
        if min(n_parallel, n_possible) < 2:
            for i, (prompt, max_tokens) in enumerate(requests):
                yield i, self.complete(prompt, options, max_tokens=max_tokens, cancelled=cancelled)
            return
        row_counts = self._row_counts(options.exactness)
        tokenized = [Request.of(self._model, prompt, options, n) for prompt, n in requests]
        n_prompt = max(len(request.tokens) for request in tokenized)
        curve = self._shared_curve(n_prompt, options.exactness)
        batch = [
            BatchRequest.of(i, request, prompt.stop, self._drafters, curve)
            for i, (request, (prompt, _)) in enumerate(zip(tokenized, requests, strict=True))
        ]
        for request in tokenized:
            self._pool.check_length(request.n_tokens)
        # Room for the largest of them side by side; the others fit in their place.
        n_cells = sum(sorted(request.n_cells for request in batch)[-n_parallel:])
        context = self._pool.open_context(n_cells + SPARE_ROWS, flash_attention=True)
        shared = SharedContext(context, chunk=PREFILL_ROWS, row_counts=row_counts)
        try:
            yield from decode_batch(
                shared, batch, RowAllocator(curve), n_parallel=n_parallel, cancelled=cancelled
            )
        finally:
            context.close()

    def prefill(
        self,
        file: tuple[Piece, ...],
        *,
        exactness: Exactness = "fast",
        cancelled: Callable[[], bool] = lambda: False,
    ) -> None:
        """Prefill the file part of a prompt, so that a request of that exactness starts at once.

        Measures what a pass behind it costs, too, if that is not known. `cancelled` is called
        between passes. A file that leaves no room for a request is skipped.
        """
        self._check_use()
        self._prefills_files = True
        tokens = self._model.bos + tokenize_pieces(self._model, file)
        if len(tokens) + REQUEST_ROOM > self._pool.n_ctx:
            return
        cache = self._pool.cache_for(len(tokens) + REQUEST_ROOM, exactness)
        cache.restrict_row_counts(self._row_counts(exactness))
        for _ in cache.prefill([tokens]):
            if cancelled():
                return
        measured = self._calibrations.get(len(tokens), flash_attention=cache.flash_attention)
        if tokens and self._model.can_roll_back and not measured:
            self._calibrate(cache, tokens[-SAMPLE:], is_enough=lambda _: cancelled())

    def costs(self, depth: int, exactness: Exactness) -> CostCurve | None:
        """Return what passes of that exactness cost behind `depth` tokens.

        That is measured now if it never was. None for a model that cannot roll back: its passes
        have one row.
        """
        return self._shared_curve(depth, exactness) if self._model.can_roll_back else None

    def measure(self, depth: int, exactness: Exactness = "fast") -> Measurement:
        """Measure T(rows) behind `depth` tokens of context, and keep it for later requests.

        `exactness` names one of the two kinds of attention. Raises EngineError for a model that
        cannot roll back.
        """
        self._check_use()
        if not self._model.can_roll_back:
            raise EngineError(f"nothing to measure: {CANNOT_ROLL_BACK}")
        cache = self._pool.cache_for(depth, exactness)
        cache.restrict_row_counts(())
        filler = self._model.tokenize("def f(x):\n    return x + 1\n\n")
        tokens = (filler * (depth // len(filler) + 1))[:depth]
        for _ in cache.prefill([tokens]):
            pass
        return self._calibrate(cache, filler)

    def close(self) -> None:
        """Free the model and its cache; harmless when repeated."""
        self._pool.close()
        if self._drafters.draft_model:
            self._drafters.draft_model.close()
        self._model.close()

    def __enter__(self) -> "Engine":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check_use(self) -> None:
        """Raise EngineError on another thread and after `close`."""
        if threading.get_ident() != self._owner:
            raise EngineError("the model belongs to the thread that loaded it")
        if not self._model.handle:
            raise EngineError("the model is closed: open it again")

    def _row_counts(self, exactness: Exactness) -> tuple[int, ...]:
        """Return the row counts that passes are padded to; () if passes of any size will do.

        They stay the same as long as the engine lives, or cells could not be reused.
        """
        if exactness == "fast" or not self._model.can_roll_back:
            return ()
        if not self._row_class:
            depth = min(CLASS_DEPTH, self._pool.n_ctx)
            measured = self._calibrations.get_deeper(depth, flash_attention=True)
            self._row_class = choose_row_counts(measured or self.measure(depth, "invariant"))
        return self._row_class

    def _shared_curve(self, depth: int, exactness: Exactness) -> CostCurve:
        """Return what passes of several texts cost, which always have flash attention.

        Measured behind `SHARED_DEPTH` at most: a deep measurement would delay all of them.
        """
        near = min(depth, SHARED_DEPTH, self.n_ctx)
        measured = self._calibrations.get(depth, flash_attention=True)
        measured = measured or self._calibrations.get(near, flash_attention=True)
        measured = measured or self.measure(near, "invariant")
        return build_cost_curve(measured, self._row_counts(exactness))

    def _curve_behind(
        self, cache: KVCache, request: Request, deadline: Deadline
    ) -> CostCurve | None:
        """Return what a pass behind the cached text costs; None if the strategy needs no curve.

        It is measured if nothing is known: completely, unless files are prefilled ahead. Then the
        next prefill completes it, and the request spends two passes on it at most.
        """
        if not self._model.can_roll_back or request.options.strategy in UNSIZED:
            return None

        def is_enough(partial: Measurement) -> bool:
            is_usable = self._prefills_files and len(partial.rows) > 1
            return deadline.finish_reason() is not None or is_usable

        depth, flash_attention = len(cache.tokens), cache.flash_attention
        measured = (
            self._calibrations.get(depth, flash_attention=flash_attention)
            or self._calibrations.get_partial(depth, flash_attention=flash_attention)
            or self._calibrate(cache, request.tokens[-SAMPLE:], is_enough=is_enough)
        )
        return build_cost_curve(measured, cache.row_counts)

    def _calibrate(
        self,
        cache: KVCache,
        tokens: list[int],
        *,
        is_enough: Callable[[Measurement], bool] = lambda _: False,
    ) -> Measurement:
        """Measure T(rows) behind the cached text until `is_enough`, and keep what was found."""
        n_free = cache.context.n_ctx - len(cache.tokens)
        max_rows = min(cache.context.n_batch, n_free)
        measurements = measure(cache.context, tokens, max_rows=max_rows)
        measured = next(measurements)
        while not is_enough(measured):
            further = next(measurements, None)
            if further is None:
                # At the end of a full context wide passes are missing: not kept for others.
                if max_rows == cache.context.n_batch:
                    self._calibrations.put(measured)
                return measured
            measured = further
        self._calibrations.put_partial(measured)
        return measured
