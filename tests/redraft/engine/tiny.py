"""GGUF files of a few hundred kilobytes: real models to llama.cpp, with random weights.

They decode nonsense in microseconds, which is all that laws about caches and passes need. Tokens
are bytes, some merged letters, and the control tokens of a chat.
"""

from pathlib import Path

import gguf
import numpy as np

__all__ = ["CHAT_END", "write_recurrent", "write_sentencepiece", "write_transformer"]

CHAT_END = "<|im_end|>"
MERGES = ("r e", "re t", "i n", "in t", "a b", "e f", "d ef", "Ġ x", "( x", "b c")
N_CTX = 16_384


# What SentencePiece may join: runs of blanks and words, each with the blank before it.
SPACE = "\u2581"
JOINED = (
    *(SPACE * n for n in (2, 4, 8)),
    *("re", "ret", "in", "int", "ab", "de", "def", f"{SPACE}x", f"{SPACE}re", f"{SPACE}de"),
)


def write_transformer(path: Path, *, seed: int = 0, merges: tuple[str, ...] = MERGES) -> None:
    """Two attention layers."""
    _write_layers(path, seed, *_vocabulary(merges), merges=merges)


def write_sentencepiece(path: Path, *, seed: int = 0) -> None:
    """Two attention layers and a vocabulary that puts a space before each text, as Llama 2's."""
    _write_layers(path, seed, *_sentencepiece_vocabulary())


def _write_layers(
    path: Path,
    seed: int,
    tokens: list[str],
    types: list[gguf.TokenType],
    merges: tuple[str, ...] | None = None,
) -> None:
    width, hidden, n_heads = 64, 128, 2
    writer = _writer(path, "llama", width, tokens, types, merges)
    writer.add_head_count(n_heads)
    writer.add_head_count_kv(1)
    writer.add_rope_dimension_count(width // n_heads)
    writer.add_feed_forward_length(hidden)
    weights = _Weights(writer, seed)
    weights.add("token_embd", len(tokens), width, scale=1.0)
    weights.add_ones("output_norm", width)
    for block in ("blk.0.", "blk.1."):
        weights.add_ones(block + "attn_norm", width)
        weights.add_ones(block + "ffn_norm", width)
        for name, shape in {
            "attn_q": (width, width),
            "attn_k": (width // n_heads, width),
            "attn_v": (width // n_heads, width),
            "attn_output": (width, width),
            "ffn_gate": (hidden, width),
            "ffn_up": (hidden, width),
            "ffn_down": (width, hidden),
        }.items():
            weights.add(block + name, *shape)
    _finish(writer)


def write_recurrent(path: Path, *, seed: int = 0) -> None:
    """A Mamba of two layers: its memory is one running state."""
    width, inner, state, rank, kernel = 32, 64, 8, 4, 4
    tokens, types = _vocabulary(MERGES)
    writer = _writer(path, "mamba", width, tokens, types, MERGES)
    writer.add_head_count(0)
    writer.add_feed_forward_length(0)
    writer.add_ssm_conv_kernel(kernel)
    writer.add_ssm_inner_size(inner)
    writer.add_ssm_state_size(state)
    writer.add_ssm_time_step_rank(rank)
    weights = _Weights(writer, seed)
    weights.add("token_embd", len(tokens), width, scale=1.0)
    weights.add_ones("output_norm", width)
    for block in ("blk.0.", "blk.1."):
        weights.add_ones(block + "attn_norm", width)
        weights.add(block + "ssm_in", 2 * inner, width)
        weights.add(block + "ssm_conv1d", inner, kernel)
        weights.add(block + "ssm_conv1d", inner, kind="bias")
        weights.add(block + "ssm_x", rank + 2 * state, inner)
        weights.add(block + "ssm_dt", inner, rank)
        weights.add(block + "ssm_dt", inner, kind="bias")
        writer.add_tensor(block + "ssm_a", -np.ones((inner, state), np.float32))
        writer.add_tensor(block + "ssm_d", np.ones(inner, np.float32))
        weights.add(block + "ssm_out", width, inner)
    _finish(writer)


class _Weights:
    def __init__(self, writer: gguf.GGUFWriter, seed: int) -> None:
        self._writer = writer
        self._random = np.random.default_rng(seed)

    def add(self, name: str, *shape: int, kind: str = "weight", scale: float = 0.3) -> None:
        values = self._random.normal(0, scale, shape).astype(np.float32)
        self._writer.add_tensor(f"{name}.{kind}", values)

    def add_ones(self, name: str, size: int) -> None:
        self._writer.add_tensor(f"{name}.weight", np.ones(size, np.float32))


def _writer(
    path: Path,
    architecture: str,
    width: int,
    tokens: list[str],
    types: list[gguf.TokenType],
    merges: tuple[str, ...] | None,
) -> gguf.GGUFWriter:
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_context_length(N_CTX)
    writer.add_embedding_length(width)
    writer.add_block_count(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    if merges is None:
        writer.add_tokenizer_model("llama")
        writer.add_token_scores([-float(i) for i in range(len(tokens))])
        writer.add_bos_token_id(tokens.index("<s>"))
        writer.add_unk_token_id(tokens.index("<unk>"))
        writer.add_add_bos_token(True)
        writer.add_add_space_prefix(True)
    else:
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre("gpt-2")
        writer.add_token_merges(merges)
    writer.add_eos_token_id(tokens.index(CHAT_END))
    return writer


def _finish(writer: gguf.GGUFWriter) -> None:
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _vocabulary(merges: tuple[str, ...]) -> tuple[list[str], list[gguf.TokenType]]:
    """Byte-level BPE: every byte, as GPT-2 spells it, then what merges make, then control tokens."""
    visible = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in visible]
    spelled = {byte: chr(byte) for byte in visible}
    spelled |= {byte: chr(0x100 + i) for i, byte in enumerate(hidden)}
    text = [spelled[byte] for byte in range(256)]
    text += (merge.replace(" ", "") for merge in merges)
    control = ["<|im_start|>", CHAT_END]
    return text + control, (
        [gguf.TokenType.NORMAL] * len(text) + [gguf.TokenType.CONTROL] * len(control)
    )


def _sentencepiece_vocabulary() -> tuple[list[str], list[gguf.TokenType]]:
    """SentencePiece with a token for each byte: the longer ones first, which are joined first."""
    control = ["<s>", "<|im_start|>", CHAT_END]
    letters = [chr(code) for code in range(0x21, 0x7F)]
    text = [*sorted(JOINED, key=len, reverse=True), SPACE, *letters]
    tokens = ["<unk>", *control, "<repo>", *(f"<0x{byte:02X}>" for byte in range(256)), *text]
    types = [
        gguf.TokenType.UNKNOWN,
        *[gguf.TokenType.CONTROL] * len(control),
        gguf.TokenType.USER_DEFINED,
        *[gguf.TokenType.BYTE] * 256,
        *[gguf.TokenType.NORMAL] * len(text),
    ]
    return tokens, types
