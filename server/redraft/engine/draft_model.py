"""The draft model: a second, smaller GGUF with the same vocabulary, and its own KV cache.

Knows what the draft model has read, not what it is asked to guess or whether guesses pay.
"""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from redraft.engine.context_pool import size_context
from redraft.engine.kv_cache import KVCache
from redraft.engine.llama import Context, LlamaModel, flash_attention_is_faster
from redraft.engine.state_cache import StateCache
from redraft.errors import EngineError, ModelError
from redraft_lookup.draft import EMPTY, Draft

__all__ = ["DraftModel"]

PREFILL_ROWS = 128


class DraftModel:
    """A draft model for `main`; its text is a `RewindableTargetModel`, and its passes are timed.

    `n_ctx` caps what it reads and guesses, in tokens, as it caps the requests to `main`. Raises
    ModelError if the vocabularies differ.
    """

    def __init__(self, path: Path, main: LlamaModel, *, n_ctx: int, n_threads: int) -> None:
        self._model = LlamaModel(path)
        self._n_ctx = n_ctx
        self._n_threads = n_threads
        self._cache: KVCache | None = None
        self._guess_s: float | None = None
        self._spent_s = 0.0
        difference = _describe_difference(self._model, main)
        if difference:
            self._model.close()
            raise ModelError(
                f"{path.name} cannot draft for {main.path.name}: {difference}; "
                "a draft model needs the very same vocabulary, as a smaller one of the family has"
            )

    @property
    def guess_s(self) -> float:
        """Seconds that one guess took lately; measured now if there was none yet."""
        if self._guess_s is None:
            cache = self._make_room(1)
            for _ in range(2):  # the first one may wait for the weights to be read from disk
                self.forward(cache.tokens[-1] if cache.tokens else 0, EMPTY)
                self.commit(())
        return self._guess_s or 0.0

    @property
    def max_rows(self) -> int:
        return self._text.max_rows

    def forward(self, token: int, draft: Draft) -> npt.NDArray[np.float32]:
        start = time.perf_counter()
        logits = self._text.forward(token, draft)
        seconds = time.perf_counter() - start
        self._spent_s += seconds
        if not draft:
            self._guess_s = seconds
        return logits

    def commit(self, rows: Sequence[int], aside: Sequence[int] = ()) -> None:
        self._text.commit(rows, aside)

    def rewind(self, n_tokens: int) -> None:
        self._text.rewind(n_tokens)

    def read(self, tokens: Sequence[int], *, n_more: int) -> Iterator[int]:
        """Bring exactly `tokens` into the cache, with room for `n_more`, in parts of 128 at most.

        Nothing is done before the first item; each tells how many tokens are read. A reader that
        stops leaves what was read so far.
        """
        parts = self._make_room(len(tokens) + n_more).prefill([tokens])
        while True:
            start = time.perf_counter()
            n_read = next(parts, None)
            self._spent_s += time.perf_counter() - start
            if n_read is None:
                return
            yield n_read

    def take_spent_s(self) -> float:
        """Return the seconds that passes took since the last call."""
        seconds, self._spent_s = self._spent_s, 0.0
        return seconds

    @property
    def _text(self) -> KVCache:
        if self._cache is None:
            raise EngineError("the draft model has read nothing: there is no text to go on from")
        return self._cache

    def _make_room(self, n_tokens: int) -> KVCache:
        """Return the cache, with room for `n_tokens`; empty if it had to be made anew."""
        if self._cache is None or self._cache.context.n_ctx < n_tokens + PREFILL_ROWS:
            self._close_cache()  # first, so that there is never memory for two
            n_ctx = size_context(n_tokens, n_ctx=self._n_ctx, n_spare=PREFILL_ROWS)
            context = Context(
                self._model,
                n_ctx=n_ctx,
                n_batch=PREFILL_ROWS,
                n_seq=1,
                n_threads=self._n_threads,
                flash_attention=flash_attention_is_faster(),
            )
            # The draft model follows one text: an earlier one's cells are not worth keeping.
            self._cache = KVCache(context, chunk=PREFILL_ROWS, state_cache=StateCache(0))
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
