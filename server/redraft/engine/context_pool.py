"""The contexts of one model: how large they are, and the one text that stays between requests.

Memory for cells is taken as it is needed, up to a limit. Knows numbers of tokens; nothing of
requests, strategies or costs.
"""

from redraft.engine.kv_cache import KVCache
from redraft.engine.llama import Context, LlamaModel, flash_attention_is_faster
from redraft.engine.state_cache import DiskCache, StateCache
from redraft.errors import EngineError
from redraft.records import Exactness

__all__ = ["PREFILL_ROWS", "SPARE_ROWS", "ContextPool", "uses_flash_attention"]

CONTEXT_STEP = 4096  # contexts grow in these steps, so that a longer file rarely needs a new one
PREFILL_ROWS = 128  # some seconds on a slow CPU: the longest wait for a cancel
N_SEQUENCES = 16
STATE_BUDGET = 512 * 2**20  # bytes of KV cells of files that are not being edited right now
SPARE_ROWS = PREFILL_ROWS  # behind a full context there is still room for a pass's padding


def uses_flash_attention(exactness: Exactness) -> bool:
    """The kind of attention that texts of this exactness have."""
    return exactness == "invariant" or flash_attention_is_faster()


class ContextPool:
    """`n_ctx` caps what a request may need, in tokens. `disk` keeps files beyond `close`."""

    def __init__(
        self, file: LlamaModel, *, n_ctx: int, n_threads: int, disk: DiskCache | None
    ) -> None:
        self.n_ctx = n_ctx
        self.n_threads = n_threads
        self.text: KVCache | None = None
        self._file = file
        self._disk = disk
        self._states = StateCache(STATE_BUDGET)

    def fitting(self, n_tokens: int, exactness: Exactness) -> KVCache:
        """The text that stays, in a context that holds `n_tokens`. Raises EngineError.

        Cells of the other kind of attention are of no use: they are forgotten.
        """
        self.check(n_tokens)
        flash_attention = uses_flash_attention(exactness)
        if self.text and self.text.flash_attention != flash_attention:
            self.forget()
        if self.text and self.text.context.n_ctx >= n_tokens + SPARE_ROWS:
            return self.text
        n_ctx = min(-(-n_tokens // CONTEXT_STEP) * CONTEXT_STEP, self.n_ctx) + SPARE_ROWS
        context = self.context(n_ctx, flash_attention=flash_attention)
        if self.text:
            self.text = self.text.moved_to(context)
        else:
            self.text = KVCache(context, chunk=PREFILL_ROWS, store=self._states, disk=self._disk)
        return self.text

    def check(self, n_tokens: int) -> None:
        """Raises EngineError where `n_tokens` are too many for the model."""
        if n_tokens > self.n_ctx:
            raise EngineError(
                f"prompt and reply need {n_tokens} tokens, but the context holds {self.n_ctx}: "
                "ask for less at once, or raise n_ctx where the model was trained for more"
            )

    def context(self, n_ctx: int, *, flash_attention: bool) -> Context:
        """A context for whoever asks, who closes it."""
        return Context(
            self._file,
            n_ctx=n_ctx,
            n_batch=PREFILL_ROWS,
            n_seq=N_SEQUENCES if self._file.can_roll_back else 1,
            n_threads=self.n_threads,
            flash_attention=flash_attention,
        )

    def forget(self) -> None:
        """Free the cells of all texts, those that were put aside included."""
        self.close()
        self._states.clear()

    def close(self) -> None:
        """Free the text's context; harmless when repeated."""
        if self.text:
            self.text.close()
            self.text = None
