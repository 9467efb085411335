"""llama.cpp, as far as redraft uses it: load a model, tokenise, hold a context.

Owns the facts about the C API: which calls return NULL, what must be freed, how errors are
reported (through the log). Knows nothing of prompts, drafts or requests.
"""

import ctypes
import logging
import os
import sys
import tempfile
from collections import deque
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
import psutil

from redraft.errors import EngineError, ModelError

# Two spinning OpenMP threads beside another job run many times slower; the library reads this
# once, when it loads.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import llama_cpp as llama

__all__ = [
    "KINDS",
    "Context",
    "LlamaModel",
    "backend",
    "default_threads",
    "flash_attention_is_faster",
    "requantise",
    "versions",
]

log = logging.getLogger("redraft.engine")

LOG_LEVEL_ERROR = 4  # ggml_log_level, which the binding does not name

_recent_errors: deque[str] = deque(maxlen=4)


@llama.llama_log_callback  # type: ignore[untyped-decorator]
def _on_log(level: int, text: bytes, _: ctypes.c_void_p) -> None:
    line = text.decode("utf-8", "replace").strip()
    if level == LOG_LEVEL_ERROR and line:
        _recent_errors.append(line)
    log.debug("%s", line)


llama.llama_log_set(_on_log, ctypes.c_void_p(0))


def backend() -> str:
    """Where layers run in this build: "metal", "cuda", "vulkan", another GPU, or "cpu"."""
    if not llama.llama_supports_gpu_offload():
        return "cpu"
    info = llama.llama_print_system_info().decode().lower()
    found = [name for name in ("metal", "mtl", "cuda", "vulkan", "rocm", "sycl") if name in info]
    return "metal" if "mtl" in found else found[0] if found else "gpu"


def versions() -> dict[str, str]:
    """The binding's version and what the native library says it was built with."""
    info = llama.llama_print_system_info().decode().strip()
    return {"llama-cpp-python": llama.__version__, "llama.cpp": info}


def _reasons() -> str:
    reasons = "; ".join(_recent_errors)
    _recent_errors.clear()
    return f" ({reasons})" if reasons else ""


class LlamaModel:
    """A loaded GGUF: weights and vocabulary. Free it with `close`.

    Raises ModelError where llama.cpp cannot load the file.
    """

    def __init__(self, path: Path) -> None:
        _recent_errors.clear()
        llama.llama_backend_init()
        params = llama.llama_model_default_params()
        params.n_gpu_layers = -1 if llama.llama_supports_gpu_offload() else 0
        handle = llama.llama_model_load_from_file(os.fsencode(path), params)
        if not handle:
            raise ModelError(
                f"cannot load {path}{_reasons()}: the file is damaged or this llama.cpp is too old "
                "for it; check it with `redraft models verify` or fetch it again"
            )
        self.path = path
        self.handle = handle
        self.vocab = llama.llama_model_get_vocab(handle)
        self.n_vocab: int = llama.llama_vocab_n_tokens(self.vocab)
        self.n_ctx_train: int = llama.llama_model_n_ctx_train(handle)
        self._pieces: dict[int, bytes] = {}

    @property
    def can_roll_back(self) -> bool:
        """Whether tokens can be taken out of the memory: not where it is a running state."""
        recurrent = llama.llama_model_is_recurrent(self.handle)
        return not (recurrent or llama.llama_model_is_hybrid(self.handle))

    @property
    def chat_template(self) -> str | None:
        template = llama.llama_model_chat_template(self.handle, None)
        return template.decode("utf-8", "replace") if template else None

    def tokenize(self, text: str, *, control: bool = False) -> list[int]:
        """The ids of `text` on its own; special tokens are recognised only where `control`."""
        try:
            data = text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise EngineError(
                "the text holds half of a surrogate pair, which no model can read: "
                f"remove the character {text[error.start]!r} and try again"
            ) from error
        room = len(data) + 8
        ids = (llama.llama_token * room)()
        n = llama.llama_tokenize(self.vocab, data, len(data), ids, room, False, control)  # noqa: FBT003
        if n < 0:
            raise EngineError(f"llama.cpp could not tokenise {len(data)} bytes of text")
        return list(ids[:n])

    def piece(self, token: int) -> bytes:
        """The bytes a token stands for; a control token's own name."""
        if token not in self._pieces:
            self._pieces[token] = self._piece(token)
        return self._pieces[token]

    def _piece(self, token: int) -> bytes:
        room = 64
        while True:
            buffer = ctypes.create_string_buffer(room)
            n = llama.llama_token_to_piece(self.vocab, token, buffer, room, 0, True)  # noqa: FBT003
            if n >= 0:
                return buffer.raw[:n]
            room = -n

    @property
    def bos(self) -> list[int]:
        """What every text starts with: one id, or none."""
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


class Context:
    """A KV cache and the buffers of a pass. Not thread safe. Raises EngineError.

    `n_batch` rows at most go into one pass. Sequence 0 is the text; the others are lent to the
    branches of a token tree and are empty between passes. With `flash_attention` a row gets the
    same bits wherever its cells lie; on a CPU the other kind is faster.
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
        params.n_batch = params.n_ubatch = n_batch
        params.n_seq_max = n_seq
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
                f"cannot make a context of {n_ctx} tokens{_reasons()}: close other programs, or "
                "set a smaller n_ctx or a smaller model"
            )
        self.handle = handle
        self.model = model
        self.n_ctx: int = llama.llama_n_ctx(handle)
        self.n_batch = n_batch
        self.n_seq = n_seq
        self.flash_attention = flash_attention
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
        """One pass. Returns (n_outputs, n_vocab) logits of the first rows, valid until the next.

        tokens, positions: (k,). sequences: for each row the ids of the sequences it belongs to.
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
        code = llama.llama_decode(self.handle, batch)
        if code:
            raise EngineError(
                f"llama.cpp refused a pass of {len(tokens)} rows, code {code}{_reasons()}"
            )
        if not n_outputs:
            return np.empty((0, self.model.n_vocab), np.float32)
        logits = llama.llama_get_logits(self.handle)
        address = ctypes.cast(logits, ctypes.POINTER(ctypes.c_float))
        return np.ctypeslib.as_array(address, (n_outputs, self.model.n_vocab))

    def remove(self, sequence: int, start: int) -> bool:
        """Forget a sequence's tokens from position `start` on. False: the model cannot."""
        return bool(llama.llama_memory_seq_rm(self._memory, sequence, start, -1))

    def share(self, source: int, target: int, start: int, stop: int) -> None:
        """Let sequence `target` see `source`'s tokens at positions [start, stop)."""
        llama.llama_memory_seq_cp(self._memory, source, target, start, stop)

    def save(self, sequence: int) -> bytes:
        """A sequence's KV cells as bytes that `load` understands, on this build and model."""
        size = llama.llama_state_seq_get_size(self.handle, sequence)
        data = (ctypes.c_uint8 * size)()
        written = llama.llama_state_seq_get_data(self.handle, data, size, sequence)
        return bytes(memoryview(data)[:written])

    def load(self, sequence: int, cells: bytes) -> bool:
        """Fill an empty sequence from `save`'s bytes. False: llama.cpp did not take them."""
        data = (ctypes.c_uint8 * len(cells)).from_buffer_copy(cells)
        return bool(llama.llama_state_seq_set_data(self.handle, data, len(cells), sequence))

    def clear(self) -> None:
        llama.llama_memory_clear(self._memory, True)  # noqa: FBT003 - the C signature

    def n_past(self, sequence: int = 0) -> int:
        """How many positions of a sequence are in the memory."""
        return int(llama.llama_memory_seq_pos_max(self._memory, sequence)) + 1

    def close(self) -> None:
        if self.handle:
            llama.llama_batch_free(self._batch)
            llama.llama_free(self.handle)
            self.handle = None


def flash_attention_is_faster() -> bool:
    """Whether fused attention is the faster kind here: not on a CPU.

    There the kernel takes one row after the other up to 63 rows. Behind 4,000 tokens of a 1.5B
    model, passes of 16 and 32 rows take two thirds of its time without it, one row 0.86.
    """
    return bool(llama.llama_supports_gpu_offload())


def default_threads() -> int:
    """One thread a physical core this process may use; on Apple Silicon the performance cores."""
    if sys.platform == "darwin":
        return max(1, (psutil.cpu_count(logical=False) or 2) // 2)
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, min(psutil.cpu_count(logical=False) or 1, allowed or 1))


KINDS = {
    "Q2_K": llama.LLAMA_FTYPE_MOSTLY_Q2_K,
    "Q3_K_S": llama.LLAMA_FTYPE_MOSTLY_Q3_K_S,
    "Q3_K_M": llama.LLAMA_FTYPE_MOSTLY_Q3_K_M,
    "Q4_0": llama.LLAMA_FTYPE_MOSTLY_Q4_0,
}


def requantise(source: Path, target: Path, kind: str) -> None:
    """Write the GGUF `source` in the bits of `kind` to `target`, whole or not at all.

    Takes about a minute for each billion weights. Raises ModelError for an unknown kind and where
    llama.cpp cannot read `source` or write beside `target`, and OSError for a missing folder.
    """
    if kind not in KINDS:
        raise ModelError(f"no kind {kind!r}: it is one of {', '.join(KINDS)}")
    params = llama.llama_model_quantize_default_params()
    params.ftype = KINDS[kind]
    params.allow_requantize = True
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
        partial.chmod(0o644)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
