"""The contexts of one model: how large they are, and the one whose text stays between requests.

Memory for cells is taken as it is needed. All contexts together have the cells of one that holds
`n_ctx` tokens and `SPARE_ROWS` at most; llama.cpp rounds each up to a multiple of 256 besides.
Knows numbers of tokens; nothing of requests, strategies or costs.
"""

from redraft.engine.kv_cache import KVCache
from redraft.engine.llama import (
    DEFAULT_BATCH,
    Context,
    LlamaModel,
    backend,
    flash_attention_is_faster,
)
from redraft.engine.state_cache import DiskCache, StateCache
from redraft.errors import EngineError
from redraft.records import Exactness

__all__ = [
    "CONTEXT_STEP",
    "PREFILL_ROWS",
    "ContextPool",
    "prefill_counts",
    "size_context",
    "uses_flash_attention",
]

CONTEXT_STEP = 4096  # contexts grow in these steps, so that a longer file rarely needs a new one
# Rows of the largest pass. On a CPU 128 are some seconds: the longest wait for a cancel.
PREFILL_ROWS = 128 if backend() == "cpu" else DEFAULT_BATCH
N_SEQUENCES = 16 + 1  # the last one is for padding
STATE_BUDGET = 512 * 2**20  # bytes of KV cells of files that are not being edited right now
SPARE_ROWS = PREFILL_ROWS  # behind a full context there is still room for a pass's padding
SHARED_SPARE_ROWS = 2 * SPARE_ROWS  # where a pass has to fit in besides


def uses_flash_attention(exactness: Exactness) -> bool:
    """Tell whether passes of this exactness use flash attention."""
    return exactness == "invariant" or flash_attention_is_faster()


def size_context(n_tokens: int, *, n_ctx: int, n_spare: int) -> int:
    """Return the cells of a context for `n_tokens` and `n_spare` more; `n_ctx` tokens at most."""
    return min(-(-n_tokens // CONTEXT_STEP) * CONTEXT_STEP, n_ctx) + n_spare


def prefill_counts(*, flash_attention: bool) -> tuple[int, ...]:
    """Return the row counts that prefill passes are padded to; () if any size will do.

    A text's cells must get the same bits in a context of its own and beside others. The CPU's flash
    attention takes 64 rows and more, and a single one, through kernels that round by where cells
    lie. Without flash attention no text shares a context.
    """
    if not flash_attention:
        return ()
    if backend() == "cpu":
        return (8, 16, 32, 48)
    return tuple(n for n in (32, 64, 128, 256, 512) if n <= PREFILL_ROWS)


class ContextPool:
    """Opens contexts of `model`. `n_ctx` caps what a request may need, in tokens.

    `disk_cache` keeps the cells of files beyond `close`; another one counts from then on.
    """

    def __init__(
        self, model: LlamaModel, *, n_ctx: int, n_threads: int, disk_cache: DiskCache | None
    ) -> None:
        self.n_ctx = n_ctx
        self.n_threads = n_threads
        self.cache: KVCache | None = None
        self.disk_cache = disk_cache
        self._model = model
        self._state_cache = StateCache(STATE_BUDGET)

    def cache_for(self, n_tokens: int, exactness: Exactness) -> KVCache:
        """Return the cache that stays between requests, with room for `n_tokens`.

        Its context grows where it is too small. Raises EngineError if the model cannot hold them.
        """
        self.check_length(n_tokens)
        flash_attention = uses_flash_attention(exactness)
        padding = prefill_counts(flash_attention=flash_attention)
        # The two kinds of attention lay cells out differently: one cannot read the other's.
        if self.cache and self.cache.flash_attention != flash_attention:
            self.forget()
        if self.cache and self.cache.context.n_ctx >= n_tokens + SPARE_ROWS:
            return self.cache
        # The old context is freed before the new one is made: while it grows there is one of them,
        # and the saved file part.
        file = self.cache.take_file() if self.cache else None
        self.cache = None
        n_ctx = size_context(n_tokens, n_ctx=self.n_ctx, n_spare=SPARE_ROWS)
        try:
            context = self.make_context(n_ctx, flash_attention=flash_attention)
        except EngineError:
            if file:
                self._state_cache.put(file)
            raise
        self.cache = KVCache(
            context,
            chunk=PREFILL_ROWS,
            state_cache=self._state_cache,
            disk_cache=self.disk_cache,
            prefill_counts=padding if self._model.can_roll_back else (),
        )
        if file:
            self.cache.restore(file)
        return self.cache

    @property
    def max_shared_cells(self) -> int:
        """The most cells that a text may take in a shared context; 0 or less if none may."""
        return self.n_ctx + SPARE_ROWS - SHARED_SPARE_ROWS

    def check_length(self, n_tokens: int) -> None:
        """Raise EngineError if `n_tokens` are too many for the model."""
        if n_tokens > self.n_ctx:
            raise EngineError(
                f"prompt and reply need {n_tokens} tokens, but the context holds {self.n_ctx}: "
                "ask for less at once, or raise n_ctx where the model was trained for more"
            )

    def open_shared_context(self, n_cells: int) -> Context:
        """Return a context for several texts with `n_cells`, or `max_shared_cells` if that is less.

        The caller closes it. Where both do not fit, the cache that stays between requests makes
        room; its file is saved.
        """
        n_cells = min(n_cells, self.max_shared_cells) + SHARED_SPARE_ROWS
        if self.cache and n_cells + self.cache.context.n_ctx > self.n_ctx + SPARE_ROWS:
            self.cache.stash()
            self.cache.context.close()
            self.cache = None
        # Several texts always have flash attention: with the other kind rows round by their place.
        return self.make_context(n_cells, flash_attention=True)

    def make_context(self, n_ctx: int, *, flash_attention: bool) -> Context:
        """Return a new context, which the caller closes."""
        return Context(
            self._model,
            n_ctx=n_ctx,
            n_batch=PREFILL_ROWS,
            # Recurrent models keep a state for each sequence, and draft no trees that need them.
            n_seq=N_SEQUENCES if self._model.can_roll_back else 1,
            n_threads=self.n_threads,
            flash_attention=flash_attention,
        )

    def forget(self) -> None:
        """Drop the cells of all texts, saved ones in memory included."""
        self.close()
        self._state_cache.clear()

    def close(self) -> None:
        """Free the cache's context; harmless when repeated."""
        if self.cache:
            self.cache.close()
            self.cache = None
