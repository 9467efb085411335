"""The real `redraft.records.Model`: one GGUF in this process, one text in its KV cache.

Top to bottom a request is: tokenise, prefill what is not cached, decode pass by pass. Cancellation
and deadline are checked between passes.
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
from redraft.engine.request import Deadline, Output, Report, Request, tokenize_pieces
from redraft.engine.single import decode_single, prefill
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

WARM_ROOM = 2048  # tokens of request and reply that a warmed file will need
SHARED_DEPTH = 1024  # the context depth that passes of several texts are measured at, at most
CLASS_DEPTH = 512  # at least: row counts that round alike behind less may not behind more

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
        self._is_warmed = False
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
        engine. Raises ModelError when a file cannot be loaded.
        """
        model = LlamaModel(path)
        threads = n_threads or default_threads()
        trained = model.n_ctx_train
        if n_ctx is not None and not 1 <= n_ctx <= trained:
            model.close()
            raise ModelError(f"n_ctx must be from 1 to {trained} for {path.name}, not {n_ctx}")
        try:
            draft_model = DraftModel(draft, model, n_threads=threads) if draft else None
        except ModelError:
            model.close()
            raise
        if not model.can_roll_back:
            log.warning("%s: %s", path.name, CANNOT_ROLL_BACK)
        disk = DiskCache(state_folder, path, n_threads=threads) if state_folder else None
        pool = ContextPool(model, n_ctx=n_ctx or trained, n_threads=threads, disk=disk)
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
        """See `redraft.records.Model.complete`. The cache stays true whatever ends the request."""
        self._check_use()
        watch = Deadline(options.timeout_s, cancelled)
        request = Request.of(self._model, prompt, options, max_tokens)
        text = self._pool.fitting(request.n_tokens, options.exactness)
        text.keep_to(self._row_counts(options.exactness))
        expected = min(max_tokens, max(1, len(request.source)))
        report = Report(n_prompt=len(request.tokens), expected=expected)
        output = Output(self._model, prompt.stop)
        finish = prefill(text, request, watch, report, on_progress)
        if finish is None:
            decoding = request.decoding(self._drafters, self._curve(text, request, watch))
            finish = decode_single(text, decoding, output, watch, report, on_progress)
        return Completion(
            text=output.text,
            finish=finish,
            stats=report.stats(output.n_tokens),
            notes=() if self._model.can_roll_back else (CANNOT_ROLL_BACK,),
            passes=tuple(report.passes),
        )

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
        `complete` gives for it alone; with "fast" near-ties are not decoded again. Prompts with
        the same file part share its cells. A time limit counts for each from its own start.
        """
        self._check_use()
        # A draft model follows one text at a time, and lookahead drafts in trees.
        is_alone = options.strategy in ("draft", "lookup+draft", "lookahead")
        n_possible = 1 if is_alone or not self._model.can_roll_back else len(requests)
        if min(n_parallel, n_possible) < 2:
            for i, (prompt, max_tokens) in enumerate(requests):
                yield i, self.complete(prompt, options, max_tokens=max_tokens, cancelled=cancelled)
            return
        rows = self._row_counts(options.exactness)
        asked = [Request.of(self._model, prompt, options, n) for prompt, n in requests]
        curve = self._padded(max(len(one.tokens) for one in asked), options.exactness)
        jobs = [
            BatchRequest.of(i, one, prompt.stop, self._drafters, curve)
            for i, (one, (prompt, _)) in enumerate(zip(asked, requests, strict=True))
        ]
        for one in asked:
            self._pool.check(one.n_tokens)
        cells = sorted(job.n_cells for job in jobs)[-n_parallel:]
        context = self._pool.context(sum(cells) + SPARE_ROWS, flash_attention=True)
        shared = SharedContext(context, chunk=PREFILL_ROWS, row_counts=rows)
        try:
            yield from decode_batch(
                shared, jobs, RowAllocator(curve), n_parallel=n_parallel, cancelled=cancelled
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

        Measures what a pass behind it costs, too, where that is not known. `cancelled` is asked
        between passes. A file that leaves no room for a request is left out.
        """
        self._check_use()
        self._is_warmed = True
        part = self._model.bos + tokenize_pieces(self._model, file)
        if len(part) + WARM_ROOM > self._pool.n_ctx:
            return
        text = self._pool.fitting(len(part) + WARM_ROOM, exactness)
        text.keep_to(self._row_counts(exactness))
        for _ in text.prefill([part]):
            if cancelled():
                return
        known = self._calibrations.get(len(part), flash_attention=text.flash_attention)
        if part and self._model.can_roll_back and not known:
            self._measure(text, part[-64:], is_enough=lambda _: cancelled())

    def costs(self, depth: int, exactness: Exactness) -> CostCurve | None:
        """What passes of that exactness cost behind `depth` tokens; measured now if it never was.

        None for a model that cannot roll back: its passes have one row.
        """
        return self._padded(depth, exactness) if self._model.can_roll_back else None

    def measure(self, depth: int, exactness: Exactness = "fast") -> Measurement:
        """T(rows) behind `depth` tokens of context, measured now; kept for later requests.

        `exactness` says for which of the two kinds of attention.
        """
        self._check_use()
        if not self._model.can_roll_back:
            raise EngineError(f"nothing to measure: {CANNOT_ROLL_BACK}")
        text = self._pool.fitting(depth, exactness)
        text.keep_to(())
        filler = self._model.tokenize("def f(x):\n    return x + 1\n\n")
        part = (filler * (depth // len(filler) + 1))[:depth]
        for _ in text.prefill([part]):
            pass
        return self._measure(text, filler)

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
        if threading.get_ident() != self._owner:
            raise EngineError("the model belongs to the thread that loaded it")
        if not self._model.handle:
            raise EngineError("the model is closed: open it again")

    def _padded(self, depth: int, exactness: Exactness) -> CostCurve:
        near = min(depth, SHARED_DEPTH, self.n_ctx)
        known = self._calibrations.get(depth, flash_attention=True) or self._calibrations.get(
            near, flash_attention=True
        )
        known = known or self.measure(near, "invariant")
        return build_cost_curve(known, self._row_counts(exactness))

    def _curve(self, text: KVCache, request: Request, watch: Deadline) -> CostCurve | None:
        """What a pass behind this text costs; None where the strategy does not ask.

        Where that is not known it is measured: whole, unless somebody warms files. They will go on
        with it, so that the request takes two passes for it at most.
        """
        if not self._model.can_roll_back or request.options.strategy in UNSIZED:
            return None

        def is_enough(found: Measurement) -> bool:
            return watch.ended() is not None or (self._is_warmed and len(found.rows) > 1)

        depth = len(text.tokens)
        known = self._calibrations.get(depth, flash_attention=text.flash_attention)
        known = known or self._calibrations.begun(depth, flash_attention=text.flash_attention)
        known = known or self._measure(text, request.tokens[-64:], is_enough=is_enough)
        return build_cost_curve(known, text.row_counts)

    def _row_counts(self, exactness: Exactness) -> tuple[int, ...]:
        """The row counts that passes are padded to; the same ones as long as the engine lives."""
        if exactness == "fast" or not self._model.can_roll_back:
            return ()
        if not self._row_class:
            depth = min(CLASS_DEPTH, self._pool.n_ctx)
            known = self._calibrations.first(depth, flash_attention=True) or self.measure(
                depth, "invariant"
            )
            self._row_class = choose_row_counts(known)
        return self._row_class

    def _measure(
        self,
        text: KVCache,
        tokens: list[int],
        *,
        is_enough: Callable[[Measurement], bool] = lambda _: False,
    ) -> Measurement:
        """T(rows) behind `text`: whole, or what is known when it `is_enough`."""
        room = min(text.context.n_batch, text.context.n_ctx - len(text.tokens))
        measuring = measure(text.context, tokens, max_rows=room)
        found = next(measuring)
        while not is_enough(found):
            further = next(measuring, None)
            if further is None:
                if room == text.context.n_batch:
                    self._calibrations.put(found)
                return found
            found = further
        self._calibrations.note(found)
        return found
