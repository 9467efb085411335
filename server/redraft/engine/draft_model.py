"""The draft model: a second, smaller GGUF with the same vocabulary, and its own KV cache."""

import time
from collections.abc import Sequence
from pathlib import Path

from redraft.engine.kv_cache import KVCache
from redraft.engine.llama import Context, LlamaModel, flash_attention_is_faster
from redraft.engine.state_cache import StateCache
from redraft.errors import ModelError
from redraft_lookup.draft import EMPTY

__all__ = ["DraftModel"]

CHUNK = 128
STEP = 4096  # contexts grow in these steps


class DraftModel:
    """A draft model for `main`. Raises ModelError when the vocabularies differ."""

    def __init__(self, path: Path, main: LlamaModel, *, n_threads: int) -> None:
        self._file = LlamaModel(path)
        self._n_threads = n_threads
        self._text: KVCache | None = None
        self.seconds = 0.0  # one guess takes, as seen lately
        different = _difference(self._file, main)
        if different:
            self._file.close()
            raise ModelError(
                f"{path.name} cannot draft for {main.path.name}: {different}; "
                "a draft model needs the very same vocabulary, as a smaller one of the family has"
            )

    def at(self, tokens: Sequence[int], *, n_more: int) -> KVCache:
        """The draft model's text with exactly `tokens` in its cache, and room for `n_more`."""
        text = self._fitting(len(tokens) + n_more + CHUNK)
        for _ in text.prefill([tokens]):
            pass
        start = time.perf_counter()
        text.forward(tokens[-1] if tokens else 0, EMPTY)
        text.commit(())
        self.seconds = time.perf_counter() - start
        return text

    def close(self) -> None:
        if self._text:
            self._text.context.close()
            self._text = None
        self._file.close()

    def _fitting(self, n_ctx: int) -> KVCache:
        if self._text and self._text.context.n_ctx >= n_ctx:
            return self._text
        if self._text:
            self._text.context.close()
            self._text = None
        room = -(-n_ctx // STEP) * STEP
        context = Context(
            self._file,
            n_ctx=room,
            n_batch=CHUNK,
            n_seq=1,
            n_threads=self._n_threads,
            flash_attention=flash_attention_is_faster(),
        )
        self._text = KVCache(context, chunk=CHUNK, store=StateCache(0))
        return self._text


def _difference(one: LlamaModel, other: LlamaModel) -> str:
    if one.n_vocab != other.n_vocab:
        return f"it knows {one.n_vocab:,} tokens, not {other.n_vocab:,}"
    for token in range(one.n_vocab):
        if one.piece(token) != other.piece(token):
            return f"token {token} is {one.piece(token)!r}, not {other.piece(token)!r}"
    return ""
