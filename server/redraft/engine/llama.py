"""llama.cpp, as far as redraft uses it: load and quantise models, tokenise, hold a context.

Owns the facts about the C API (llama.h): which calls return NULL, what must be freed, how errors
are reported (through the log). Knows nothing of prompts, drafts or requests.
"""

import ctypes
import logging
import os
import re
import sys
import tempfile
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import psutil

from redraft.errors import EngineError, ModelError

# Threads that spin while they wait slow each other down many times over when another job needs the
# cores. The library reads this once, when it loads, so it has to be set above the import.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import llama_cpp as llama

__all__ = [
    "DEFAULT_BATCH",
    "QUANTIZATION_TYPES",
    "Context",
    "LlamaModel",
    "PassTime",
    "backend",
    "default_threads",
    "flash_attention_is_faster",
    "requantize",
    "versions",
]

log = logging.getLogger("redraft.engine")

MAX_PASS_TIMES = 1024  # of a context: more passes than most replies take
DEFAULT_BATCH: int = llama.llama_context_default_params().n_ubatch  # rows of a pass, at most
LOG_LEVEL_ERROR = 4  # ggml_log_level, which the binding does not name

# A call that fails returns NULL or a bare number. The reason is in the log lines just before.
_recent_errors: deque[str] = deque(maxlen=4)


@llama.llama_log_callback  # type: ignore[untyped-decorator]
def _on_log(level: int, text: bytes, _: ctypes.c_void_p) -> None:
    line = text.decode("utf-8", "replace").strip()
    if level == LOG_LEVEL_ERROR and line:
        _recent_errors.append(line)
    log.debug("%s", line)


# The library keeps a pointer to the callback: as a module's function it is never collected.
llama.llama_log_set(_on_log, ctypes.c_void_p(0))


def backend() -> str:
    """Return where layers run in this build.

    That is "metal", "cuda", "vulkan", "rocm", "sycl", "gpu" for another GPU, or "cpu".
    """
    if not llama.llama_supports_gpu_offload():
        return "cpu"
    info = llama.llama_print_system_info().decode().lower()
    if "mtl" in info:  # newer builds call Metal so, as in "MTL : EMBED_LIBRARY = 1"
        return "metal"
    names = ("metal", "cuda", "vulkan", "rocm", "sycl")
    return next((name for name in names if name in info), "gpu")


def versions() -> dict[str, str]:
    """Return the binding's version and what the native library says it was built with."""
    info = llama.llama_print_system_info().decode().strip()
    return {"llama-cpp-python": llama.__version__, "llama.cpp": info}


def _pop_errors() -> str:
    """Return what llama.cpp logged of a failed call, in parentheses, and forget it."""
    errors = "; ".join(_recent_errors)
    _recent_errors.clear()
    return f" ({errors})" if errors else ""


_OPENER: Final = "\x01"  # a control character that stands alone in every vocabulary


class LlamaModel:
    """A loaded GGUF file: weights and vocabulary. Free it with `close`.

    Raises ModelError if llama.cpp cannot load the file.
    """

    def __init__(self, path: Path) -> None:
        _recent_errors.clear()
        llama.llama_backend_init()
        params = llama.llama_model_default_params()
        params.n_gpu_layers = -1 if llama.llama_supports_gpu_offload() else 0
        handle = llama.llama_model_load_from_file(os.fsencode(path), params)
        if not handle:
            raise ModelError(
                f"cannot load {path}{_pop_errors()}: the file is damaged or this llama.cpp is too "
                "old for it; check it with `redraft models verify` or fetch it again"
            )
        self.path = path
        self.handle = handle
        self.vocab = llama.llama_model_get_vocab(handle)
        self.n_vocab: int = llama.llama_vocab_n_tokens(self.vocab)
        self.n_ctx_train: int = llama.llama_model_n_ctx_train(handle)
        self._pieces: dict[int, bytes] = {}

    @property
    def can_roll_back(self) -> bool:
        """Tell whether tokens can be removed from the memory: not from a recurrent state."""
        recurrent = llama.llama_model_is_recurrent(self.handle)
        return not (recurrent or llama.llama_model_is_hybrid(self.handle))

    @property
    def chat_template(self) -> str | None:
        template = llama.llama_model_chat_template(self.handle, None)
        return template.decode("utf-8", "replace") if template else None

    def tokenize(
        self, text: str, *, control: bool = False, after: Sequence[int] | None = None
    ) -> list[int]:
        """Return the ids of `text` without BOS, so that their pieces joined are the text.

        after: the tokens that stand before it, where it is not known to go on from other text. Some
        vocabularies put a space before what begins a text, or follows a special token. Special
        tokens such as `<|im_end|>` are recognised only if `control`; llama.cpp recognises those
        that a vocabulary calls user-defined in any text. Raises EngineError for text that is no
        Unicode.
        """
        if not self._adds_space:
            return self._tokenize(text, control=control)
        begins = after is not None and (not after or after[-1] in self._special_ids)
        # llama.cpp puts the space before what it is given first, and behind tokens that it finds in
        # a text (llama_vocab::impl::tokenize). So it is given each stretch between these behind
        # something that no token joins with what follows.
        stretches = [text] if control else self._user_defined.split(text)
        ids: list[int] = []
        for i, stretch in enumerate(stretches):
            if i % 2 or (begins and not ids):
                ids += self._tokenize(stretch, control=control)
            elif stretch:
                ids += self._tokenize(_OPENER + stretch, control=control)[len(self._opener_ids) :]
        return ids

    def _tokenize(self, text: str, *, control: bool) -> list[int]:
        try:
            data = text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise EngineError(
                "the text holds half of a surrogate pair, which no model can read: "
                f"remove the character {text[error.start]!r} and try again"
            ) from error
        capacity = len(data) + 8  # a token has a byte at least, and a vocabulary may add a space
        ids = (llama.llama_token * capacity)()
        n = llama.llama_tokenize(self.vocab, data, len(data), ids, capacity, False, control)  # noqa: FBT003
        if n < 0:
            raise EngineError(f"llama.cpp could not tokenise {len(data)} bytes of text")
        return list(ids[:n])

    def piece(self, token: int) -> bytes:
        """Return the bytes a token stands for, or a control token's own name.

        They may be part of a character only.
        """
        capacity = 64
        while token not in self._pieces:
            buffer = ctypes.create_string_buffer(capacity)
            n = llama.llama_token_to_piece(self.vocab, token, buffer, capacity, 0, True)  # noqa: FBT003
            if n >= 0:
                self._pieces[token] = buffer.raw[:n]
            else:
                capacity = -n  # the buffer was too small: the result is minus the size it needs
        return self._pieces[token]

    @cached_property
    def _opener_ids(self) -> list[int]:
        return self._tokenize(_OPENER, control=False)

    @cached_property
    def _adds_space(self) -> bool:
        """True where the vocabulary puts a space before a text, as SentencePiece does."""
        return self.piece(self._tokenize("a", control=False)[0])[:1] == b" "

    @cached_property
    def _user_defined(self) -> re.Pattern[str]:
        """What tokens of this kind spell, as a group that `split` keeps."""
        texts = [
            self.piece(token).decode("utf-8", "replace")
            for token in range(self.n_vocab)
            if llama.llama_vocab_get_attr(self.vocab, token) & llama.LLAMA_TOKEN_ATTR_USER_DEFINED
        ]
        # The longest first, as llama.cpp takes them. `(?!)` is found nowhere.
        longest = sorted(map(re.escape, filter(None, texts)), key=len, reverse=True)
        return re.compile(f"({'|'.join(longest) or '(?!)'})")

    @cached_property
    def _special_ids(self) -> frozenset[int]:
        """The tokens before which a text is cut: those of chats, and those the user defined."""
        special = llama.LLAMA_TOKEN_ATTR_CONTROL | llama.LLAMA_TOKEN_ATTR_USER_DEFINED
        return frozenset(
            token
            for token in range(self.n_vocab)
            if llama.llama_vocab_get_attr(self.vocab, token) & special
        )

    @property
    def bos(self) -> list[int]:
        """The ids that every text starts with: one or none."""
        if not llama.llama_vocab_get_add_bos(self.vocab):
            return []
        return [llama.llama_vocab_bos(self.vocab)]

    @cached_property
    def control_ids(self) -> frozenset[int]:
        return frozenset(
            i for i in range(self.n_vocab) if llama.llama_vocab_is_control(self.vocab, i)
        )

    @cached_property
    def end_ids(self) -> frozenset[int]:
        return frozenset(i for i in range(self.n_vocab) if llama.llama_vocab_is_eog(self.vocab, i))

    def close(self) -> None:
        if self.handle:
            llama.llama_model_free(self.handle)
            self.handle = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PassTime:
    """A pass of `rows` rows, each with logits, whose first row was at position `depth`."""

    rows: int
    depth: int
    seconds: float


class Context:
    """A KV cache and the buffers of a pass. Not thread safe. Raises EngineError.

    `n_ctx` is the number of cells, `n_batch` the most rows of a pass, `n_seq` the number of
    sequences: sets of cells that do not attend to each other's. With `flash_attention` a row gets
    the same bits wherever its cells lie; on a CPU the other kind is faster. `pass_times` holds the
    latest passes of which all rows gave logits.
    """

    def __init__(
        self,
        model: LlamaModel,
        *,
        n_ctx: int,
        n_batch: int,
        n_seq: int,
        n_threads: int,
        flash_attention: bool,
    ) -> None:
        _recent_errors.clear()
        params = llama.llama_context_default_params()
        params.n_ctx = n_ctx
        # The physical batch is as large as the logical one: llama.cpp never splits a pass.
        params.n_batch = params.n_ubatch = n_batch
        params.n_seq_max = n_seq
        # One pool of cells for all sequences: each may use all of it, and they can share cells.
        params.kv_unified = True
        params.n_threads = params.n_threads_batch = n_threads
        params.flash_attn_type = (
            llama.LLAMA_FLASH_ATTN_TYPE_AUTO
            if flash_attention
            else llama.LLAMA_FLASH_ATTN_TYPE_DISABLED
        )
        params.swa_full = True  # a sliding window could not be rolled back
        params.no_perf = True
        handle = llama.llama_init_from_model(model.handle, params)
        if not handle:
            raise EngineError(
                f"cannot make a context of {n_ctx} tokens{_pop_errors()}: close other programs, or "
                "set a smaller n_ctx or a smaller model"
            )
        self.handle = handle
        self.model = model
        self.n_ctx: int = llama.llama_n_ctx(handle)
        self.n_batch = n_batch
        self.n_seq = n_seq
        self.n_texts = max(1, n_seq - 1)  # the last sequence is for padding
        self.flash_attention = flash_attention
        self.pass_times: deque[PassTime] = deque(maxlen=MAX_PASS_TIMES)
        self._memory = llama.llama_get_memory(handle)
        self._batch = llama.llama_batch_init(n_batch, 0, n_seq)

    def run(
        self,
        tokens: list[int],
        positions: list[int],
        sequences: list[tuple[int, ...]],
        *,
        n_outputs: int,
    ) -> npt.NDArray[np.float32]:
        """Run one pass and return (n_outputs, n_vocab) logits of its first rows.

        tokens, positions: (k,), 1 <= k <= n_batch. sequences: (k,), for each row the sequences it
        belongs to. The array is a view of llama.cpp's memory: valid until the next pass.
        """
        if not 0 < len(tokens) <= self.n_batch:
            raise EngineError(f"a pass has 1 to {self.n_batch} rows, not {len(tokens)}")
        batch = self._batch
        batch.n_tokens = len(tokens)
        for row, (token, position, owners) in enumerate(
            zip(tokens, positions, sequences, strict=True)
        ):
            batch.token[row] = token
            batch.pos[row] = position
            batch.n_seq_id[row] = len(owners)
            for i, sequence in enumerate(owners):
                batch.seq_id[row][i] = sequence
            batch.logits[row] = row < n_outputs
        _recent_errors.clear()
        start = time.perf_counter()
        code = llama.llama_decode(self.handle, batch)
        if code:
            raise EngineError(
                f"llama.cpp refused a pass of {len(tokens)} rows, code {code}{_pop_errors()}"
            )
        if not n_outputs:
            return np.empty((0, self.model.n_vocab), np.float32)
        logits = llama.llama_get_logits(self.handle)  # waits for a device that runs on its own
        if n_outputs == len(tokens):
            seconds = time.perf_counter() - start
            self.pass_times.append(PassTime(rows=len(tokens), depth=positions[0], seconds=seconds))
        return _view_floats(logits, (n_outputs, self.model.n_vocab))

    def run_padded(
        self,
        tokens: list[int],
        positions: list[int],
        sequences: list[tuple[int, ...]],
        *,
        row_counts: Sequence[int],
        outputs: bool,
    ) -> npt.NDArray[np.float32]:
        """Run a pass as `run` does, padded to the first of `row_counts` that is large enough.

        Returns (k, n_vocab) logits of its k rows, or (0, n_vocab) without `outputs`. The padding is
        a text of its own, in the last sequence, which is empty before and after.
        """
        n_real = len(tokens)
        n_padding = next((n for n in row_counts if n >= n_real), n_real) - n_real
        padding = self.n_seq - 1
        logits = self.run(
            tokens + tokens[-1:] * n_padding,
            positions + list(range(n_padding)),
            sequences + [(padding,)] * n_padding,
            n_outputs=n_real + n_padding if outputs else 0,
        )
        if n_padding:
            self.remove(padding, 0)
        return logits[:n_real]

    def run_for_bits(
        self, tokens: list[int], positions: list[int], sequences: list[tuple[int, ...]]
    ) -> npt.NDArray[np.float32]:
        """Run a pass and return (k, n_embd + n_vocab): each row's last hidden state and logits.

        Quantised kernels round what they read to 8 bits, so the logits are often equal although a
        layer rounded differently; a hidden state is read by nothing and shows it.
        """
        llama.llama_set_embeddings(self.handle, True)  # noqa: FBT003 - the C signature
        try:
            logits = self.run(tokens, positions, sequences, n_outputs=len(tokens))
            n_embd = llama.llama_model_n_embd_out(self.model.handle)
            hidden = _view_floats(llama.llama_get_embeddings(self.handle), (len(tokens), n_embd))
            return np.concatenate((hidden, logits), axis=1)
        finally:
            llama.llama_set_embeddings(self.handle, False)  # noqa: FBT003

    def remove(self, sequence: int, start: int) -> bool:
        """Remove a sequence's tokens from position `start` on; False if the model cannot."""
        return bool(llama.llama_memory_seq_rm(self._memory, sequence, start, -1))

    def share(self, source: int, target: int, start: int, stop: int) -> None:
        """Let sequence `target` see `source`'s tokens at positions [start, stop)."""
        llama.llama_memory_seq_cp(self._memory, source, target, start, stop)

    def saved_size(self, sequence: int) -> int:
        """Return how many bytes `save` would return: of the cells that the sequence uses."""
        return int(llama.llama_state_seq_get_size(self.handle, sequence))

    def save(self, sequence: int) -> bytearray:
        """Return a sequence's KV cells as bytes, which `load` reads on this build and model."""
        # llama.cpp writes into these bytes, and reads from them: cells are copied once each way.
        cells = bytearray(self.saved_size(sequence))
        data = (ctypes.c_uint8 * len(cells)).from_buffer(cells)
        written = llama.llama_state_seq_get_data(self.handle, data, len(cells), sequence)
        del data  # or the bytes cannot be cut
        del cells[written:]
        return cells

    def load(self, sequence: int, cells: bytearray) -> bool:
        """Fill an empty sequence with the bytes of `save`; False if llama.cpp refuses them."""
        data = (ctypes.c_uint8 * len(cells)).from_buffer(cells)
        return bool(llama.llama_state_seq_set_data(self.handle, data, len(cells), sequence))

    def clear(self) -> None:
        llama.llama_memory_clear(self._memory, True)  # noqa: FBT003 - the C signature

    def n_past(self, sequence: int = 0) -> int:
        """Return the number of positions of a sequence that are in the memory."""
        return int(llama.llama_memory_seq_pos_max(self._memory, sequence)) + 1

    def close(self) -> None:
        if self.handle:
            llama.llama_batch_free(self._batch)
            llama.llama_free(self.handle)
            self.handle = None


def _view_floats(pointer: ctypes.c_void_p, shape: tuple[int, int]) -> npt.NDArray[np.float32]:
    """Return `shape` floats of llama.cpp's memory, without a copy."""
    return np.ctypeslib.as_array(ctypes.cast(pointer, ctypes.POINTER(ctypes.c_float)), shape)


def flash_attention_is_faster() -> bool:
    """Tell whether flash attention is the faster kind on this machine: not on a CPU.

    There the kernel processes rows one by one in passes of up to 63 rows. Behind 4,000 tokens of a
    1.5B model, passes of 16 and 32 rows take two thirds of its time without it, one row 0.86.
    """
    return bool(llama.llama_supports_gpu_offload())


def default_threads() -> int:
    """Return one thread for each physical core that this process may use.

    On Apple Silicon only about half of the cores count: the performance cores.
    """
    if sys.platform == "darwin":
        return max(1, (psutil.cpu_count(logical=False) or 2) // 2)
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, min(psutil.cpu_count(logical=False) or 1, allowed or 1))


QUANTIZATION_TYPES = {
    "Q2_K": llama.LLAMA_FTYPE_MOSTLY_Q2_K,
    "Q3_K_S": llama.LLAMA_FTYPE_MOSTLY_Q3_K_S,
    "Q3_K_M": llama.LLAMA_FTYPE_MOSTLY_Q3_K_M,
    "Q4_0": llama.LLAMA_FTYPE_MOSTLY_Q4_0,
    "Q4_1": llama.LLAMA_FTYPE_MOSTLY_Q4_1,
    "Q4_K_M": llama.LLAMA_FTYPE_MOSTLY_Q4_K_M,
    "Q8_0": llama.LLAMA_FTYPE_MOSTLY_Q8_0,
}


def requantize(source: Path, target: Path, kind: str) -> None:
    """Write the GGUF file `source` to `target` in the bits of `kind`, whole or not at all.

    The copy has the same vocabulary, so it can draft for the original. Takes about a minute for
    each billion weights. Raises ModelError for an unknown kind and if llama.cpp cannot read
    `source` or write beside `target`, and OSError for a missing folder.
    """
    if kind not in QUANTIZATION_TYPES:
        raise ModelError(f"no kind {kind!r}: it is one of {', '.join(QUANTIZATION_TYPES)}")
    params = llama.llama_model_quantize_default_params()
    params.ftype = QUANTIZATION_TYPES[kind]
    params.allow_requantize = True  # the source is quantised too, as a rule
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    os.close(descriptor)
    partial = Path(name)
    try:
        code = llama.llama_model_quantize(
            os.fsencode(source), os.fsencode(partial), ctypes.byref(params)
        )
        if code or not partial.stat().st_size:
            raise ModelError(
                f"llama.cpp could not make a {kind} copy of {source}: check that it is a GGUF file"
                f" (`redraft models verify`) and that {target.parent} has room for it"
            )
        partial.chmod(0o644)  # mkstemp makes files that only the user may read
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
