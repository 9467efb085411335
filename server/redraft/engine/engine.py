"""The real `redraft.records.Model`: one GGUF in this process, one text in its KV cache.

Top to bottom a request is: tokenise, prefill what is not cached, decode pass by pass. Knows which
context, row counts and cost curve a request gets; the passes themselves are run by `single` and
`batch`.
"""

import logging
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import platformdirs

from redraft.engine.batch import BatchRequest, SharedContext, count_cells, decode_batch
from redraft.engine.calibration import (
    FIRST_PLAIN_TOKENS,
    CalibrationStore,
    Measurement,
    measure,
)
from redraft.engine.context_pool import PREFILL_ROWS, ContextPool, prefill_counts
from redraft.engine.draft_model import DraftModel
from redraft.engine.drafters import UNSIZED, DrafterFactory, build_cost_curve
from redraft.engine.kv_cache import KVCache
from redraft.engine.llama import Context, LlamaModel, default_threads
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
SAMPLE = 64  # tokens of a text that passes behind it are measured with
FILLER = "def f(x):\n    return x + 1\n\n"  # measured with where there is no text
# Of the time that requests take: what their answers wait for so that later ones know more. The
# first while something is missing, the second to measure again what may have changed.
LEARNING_SHARE, REFRESH_SHARE = 0.03, 0.01

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
        self._learning_s = 0.0  # that requests have set aside for measuring, and not spent yet
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
        n_ctx = n_ctx or n_trained
        try:
            draft_model = (
                DraftModel(draft, model, n_ctx=n_ctx, n_threads=n_threads) if draft else None
            )
        except ModelError:
            model.close()
            raise
        if not model.can_roll_back:
            log.warning("%s: %s", path.name, CANNOT_ROLL_BACK)
        disk_cache = DiskCache(state_folder, path, n_threads=n_threads) if state_folder else None
        pool = ContextPool(model, n_ctx=n_ctx, n_threads=n_threads, disk_cache=disk_cache)
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
        start = time.perf_counter()
        deadline = Deadline(options.timeout_s, cancelled)
        request = Request.of(self._model, prompt, options, max_tokens)
        cache = self._pool.cache_for(request.n_tokens, options.exactness)
        # A reply is about as long as the text it edits.
        expected = min(max_tokens, max(1, len(request.source)))
        report = CostReport(n_prompt=len(request.tokens), expected=expected)
        reply = ReplyText(self._model, prompt.stop)
        finish = prefill_prompt(cache, request, deadline, report, on_progress)
        measured_s = 0.0
        if finish is None:
            measured_s = self._measure_ahead(cache, request, deadline)
            finish = deadline.finish_reason() if measured_s else None
        if finish is None:
            cache.row_counts = self._row_counts(options.exactness, len(cache.tokens))
            decoding = request.start_decoding(self._drafters, self._curve_behind(cache, request))
            finish = decode_single(cache, decoding, reply, deadline, report, on_progress)
            if self._drafters.draft_model:
                report.record_drafting(self._drafters.draft_model.take_spent_s())
            if not measured_s and finish in ("stop", "length"):
                measured_s = self._learn(cache, request, deadline, time.perf_counter() - start)
        report.record_calibration(measured_s)
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
        same file part share its cells. Those that do not fit `n_ctx` together are decoded in turns.
        A time limit counts for each from its own start. The cells are held until the iterator ends
        or is closed: a request that is made meanwhile takes its own besides.
        """
        self._check_use()
        # A draft model follows one text at a time, and lookahead drafts in trees.
        is_single = options.strategy in ("draft", "lookup+draft", "lookahead")
        n_possible = 1 if is_single or not self._model.can_roll_back else len(requests)
        if min(n_parallel, n_possible) < 2:
            for i, (prompt, max_tokens) in enumerate(requests):
                yield i, self.complete(prompt, options, max_tokens=max_tokens, cancelled=cancelled)
            return
        tokenized = {
            i: Request.of(self._model, prompt, options, max_tokens)
            for i, (prompt, max_tokens) in enumerate(requests)
        }
        for request in tokenized.values():
            self._pool.check_length(request.n_tokens)
        # What a shared context has no room for, rejected drafts included, is decoded alone.
        n_most = self._pool.max_shared_cells
        alone = [i for i, request in tokenized.items() if count_cells(request) > n_most]
        depth = max(len(request.tokens) for request in tokenized.values())
        if not self._is_measured(depth, options.exactness):
            # The longest is decoded alone, and measures for all: their texts are the same so.
            longest = max(tokenized, key=lambda i: len(tokenized[i].tokens))
            alone = [longest, *(i for i in alone if i != longest)]
        for i in alone:
            prompt, max_tokens = requests[i]
            yield i, self.complete(prompt, options, max_tokens=max_tokens, cancelled=cancelled)
            del tokenized[i]
        row_counts = self._row_counts(options.exactness, depth)
        curve = self._shared_curve(depth, options.exactness)
        batch = [
            BatchRequest.of(i, request, requests[i][0].stop, self._drafters, curve)
            for i, request in tokenized.items()
        ]
        if not batch:
            return
        # Room for the largest of them side by side; the others fit in their place.
        n_cells = sum(sorted(request.n_cells for request in batch)[-n_parallel:])
        context = self._pool.open_shared_context(n_cells)
        shared = SharedContext(
            context,
            chunk=PREFILL_ROWS,
            row_counts=row_counts,
            prefill_counts=prefill_counts(flash_attention=True) if row_counts else (),
        )
        n_parallel = min(n_parallel, shared.max_rows)
        try:
            yield from decode_batch(
                shared, batch, RowAllocator(curve), n_parallel=n_parallel, cancelled=cancelled
            )
        finally:
            self._record_times(context)
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
        tokens = tokenize_pieces(self._model, file)
        if len(tokens) + REQUEST_ROOM > self._pool.n_ctx:
            return
        cache = self._pool.cache_for(len(tokens) + REQUEST_ROOM, exactness)
        for _ in cache.prefill([tokens]):
            if cancelled():
                return
        if tokens and self._model.can_roll_back:
            self._calibrate(cache, tokens[-SAMPLE:], is_enough=cancelled)

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
        filler = self._model.tokenize(FILLER)
        tokens = (filler * (depth // len(filler) + 1))[:depth]
        for _ in cache.prefill([tokens]):
            pass
        self._calibrate(cache, filler)
        measured = self._calibrations.get(depth, flash_attention=cache.flash_attention)
        if measured is None:
            raise EngineError(f"a context of {self.n_ctx} tokens is too small to measure passes in")
        return measured

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

    def _row_counts(self, exactness: Exactness, depth: int) -> tuple[int, ...]:
        """Return the row counts that passes behind `depth` tokens are padded to; () if any will do.

        More of them may be known later, which changes no text: see `calibration`.
        """
        if exactness == "fast" or not self._model.can_roll_back:
            return ()
        return self._calibrations.row_counts(depth)

    def _is_measured(self, depth: int, exactness: Exactness) -> bool:
        """Tell whether enough is known for passes of several texts."""
        if not self._calibrations.is_believable(depth, flash_attention=True):
            return False
        if exactness == "invariant":
            return self._calibrations.is_proven(depth)
        return self._get_shared_costs(depth) is not None

    def _get_shared_costs(self, depth: int) -> Measurement | None:
        # Several texts always have flash attention; the other kind's costs tell enough.
        return self._calibrations.get(depth, flash_attention=True) or self._calibrations.get(
            depth, flash_attention=False
        )

    def _shared_curve(self, depth: int, exactness: Exactness) -> CostCurve:
        """Return what passes of several texts cost; measured in an empty context if not known."""
        measured = self._get_shared_costs(depth)
        if measured is None:
            cache = self._pool.cache_for(1, "invariant")
            tokens = self._model.tokenize(FILLER)
            self._calibrate(cache, tokens, n_plain_tokens=FIRST_PLAIN_TOKENS)
            measured = self._get_shared_costs(depth)
        if measured is None:
            raise EngineError(f"a context of {self.n_ctx} tokens is too small to measure passes in")
        return build_cost_curve(measured, self._row_counts(exactness, depth))

    def _curve_behind(self, cache: KVCache, request: Request) -> CostCurve | None:
        """Return what a pass behind the cached text costs; None if the strategy needs no curve."""
        if not self._model.can_roll_back or request.options.strategy in UNSIZED:
            return None
        depth, flash_attention = len(cache.tokens), cache.flash_attention
        measured = self._calibrations.get(depth, flash_attention=flash_attention)
        # At the end of a full context, or after a cancel, there may be no other pass than one row.
        return build_cost_curve(measured, cache.row_counts) if measured else CostCurve((1,), (1.0,))

    def _measure_ahead(self, cache: KVCache, request: Request, deadline: Deadline) -> float:
        """Measure what the request needs, if nothing is known or nothing that can be believed.

        Returns the seconds that took.
        """
        if not self._model.can_roll_back:
            return 0.0
        depth, flash_attention = len(cache.tokens), cache.flash_attention
        store = self._calibrations
        knows_rows = request.options.exactness == "fast" or store.is_proven(depth)
        knows_costs = request.options.strategy in UNSIZED or (
            store.get(depth, flash_attention=flash_attention) is not None
            and store.is_believable(depth, flash_attention=flash_attention)
        )
        if knows_rows and knows_costs:
            return 0.0
        return self._calibrate(
            cache,
            request.tokens[-SAMPLE:],
            n_plain_tokens=FIRST_PLAIN_TOKENS,
            is_enough=lambda: deadline.finish_reason() is not None,
        )

    def _learn(
        self, cache: KVCache, request: Request, deadline: Deadline, request_s: float
    ) -> float:
        """Learn what passes cost from a request that took `request_s`; return the time spent on it.

        That is a share of what requests take, saved up until it is enough for a pass.
        """
        self._record_times(cache.context)
        if not self._model.can_roll_back:
            return 0.0
        depth, flash_attention = len(cache.tokens), cache.flash_attention
        is_complete = self._calibrations.is_complete(
            depth, flash_attention=flash_attention, max_rows=_max_rows(cache)
        )
        self._learning_s += request_s * (REFRESH_SHARE if is_complete else LEARNING_SHARE)
        one_row_s = self._calibrations.one_row_s(depth, flash_attention=flash_attention)
        seconds = self._calibrate(
            cache,
            request.tokens[-SAMPLE:],
            n_plain_tokens=self._learning_s / one_row_s if one_row_s else 1.0,
            is_refresh=True,
            is_enough=lambda: deadline.finish_reason() is not None,
        )
        self._learning_s -= seconds
        return seconds

    def _calibrate(
        self,
        cache: KVCache,
        tokens: list[int],
        *,
        n_plain_tokens: float = math.inf,
        is_refresh: bool = False,
        is_enough: Callable[[], bool] = lambda: False,
    ) -> float:
        """Measure behind the cached text, see `measure`; return the seconds that took.

        `is_enough` is called after each pass.
        """
        start = time.perf_counter()
        self._record_times(cache.context)
        passes = measure(
            self._calibrations,
            cache.context,
            tokens,
            max_rows=_max_rows(cache),
            n_plain_tokens=n_plain_tokens,
            is_refresh=is_refresh,
        )
        with closing(passes):
            for _ in passes:
                if is_enough():
                    break
        return time.perf_counter() - start

    def _record_times(self, context: Context) -> None:
        """Hand over what passes of requests took."""
        self._calibrations.record(context.pass_times, flash_attention=context.flash_attention)
        context.pass_times.clear()


def _max_rows(cache: KVCache) -> int:
    """Return the most rows that a pass behind the cached text may have."""
    return min(cache.context.n_batch, cache.context.n_ctx - len(cache.tokens))
