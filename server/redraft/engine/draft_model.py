"""The draft model: a second, smaller GGUF with the same vocabulary, and its own KV cache.

Knows what the draft model has read, not what it is asked to guess or whether guesses pay.
"""

import time
from collections.abc import Sequence
from pathlib import Path

from redraft.engine.kv_cache import KVCache
from redraft.engine.llama import Context, LlamaModel, flash_attention_is_faster
from redraft.engine.state_cache import StateCache
from redraft.errors import ModelError
from redraft_lookup.draft import EMPTY

__all__ = ["DraftModel"]

PREFILL_ROWS = 128
CONTEXT_STEP = 4096  # contexts grow in these steps


class DraftModel:
    """A draft model for `main`. Raises ModelError if the vocabularies differ."""

    def __init__(self, path: Path, main: LlamaModel, *, n_threads: int) -> None:
        self._model = LlamaModel(path)
        self._n_threads = n_threads
        self._cache: KVCache | None = None
        self.guess_s = 0.0  # seconds that one guess took lately
        difference = _describe_difference(self._model, main)
        if difference:
            self._model.close()
            raise ModelError(
                f"{path.name} cannot draft for {main.path.name}: {difference}; "
                "a draft model needs the very same vocabulary, as a smaller one of the family has"
            )

    def prefill(self, tokens: Sequence[int], *, n_more: int) -> KVCache:
        """Return the model's cache with exactly `tokens` in it, and room for `n_more`.

        Times one guess behind them, too.
        """
        n_ctx = len(tokens) + n_more + PREFILL_ROWS
        if self._cache is None or self._cache.context.n_ctx < n_ctx:
            self._close_cache()  # first, so that there is never memory for two
            context = Context(
                self._model,
                n_ctx=-(-n_ctx // CONTEXT_STEP) * CONTEXT_STEP,
                n_batch=PREFILL_ROWS,
                n_seq=1,
                n_threads=self._n_threads,
                flash_attention=flash_attention_is_faster(),
            )
            # The draft model follows one text: an earlier one's cells are not worth keeping.
            self._cache = KVCache(context, chunk=PREFILL_ROWS, state_cache=StateCache(0))
        for _ in self._cache.prefill([tokens]):
            pass
        start = time.perf_counter()
        self._cache.forward(tokens[-1] if tokens else 0, EMPTY)
        self._cache.commit(())
        self.guess_s = time.perf_counter() - start
        return self._cache

    def close(self) -> None:
        self._close_cache()
        self._model.close()

    def _close_cache(self) -> None:
        if self._cache:
            self._cache.context.close()
            self._cache = None


def _describe_difference(draft: LlamaModel, main: LlamaModel) -> str:
    """Return the first difference between two vocabularies; "" if they are equal."""
    if draft.n_vocab != main.n_vocab:
        return f"it knows {draft.n_vocab:,} tokens, not {main.n_vocab:,}"
    for token in range(draft.n_vocab):
        if draft.piece(token) != main.piece(token):
            return f"token {token} is {draft.piece(token)!r}, not {main.piece(token)!r}"
    return ""
