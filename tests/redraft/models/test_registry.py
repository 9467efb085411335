"""What the registry says must agree with itself, and with the model files that are here."""

import re
import struct

import pytest

from redraft.errors import ModelError
from redraft.models import DEFAULT, MODELS, ModelFolders, find_model, locate

GB = 10**9
ids = [model.name for model in MODELS]


def test_names_and_files_are_unique_and_the_default_is_first():
    assert len({model.name for model in MODELS}) == len({model.file for model in MODELS})
    assert MODELS[0] is DEFAULT


@pytest.mark.parametrize("model", MODELS, ids=ids)
def test_a_record_is_sound(model):
    assert model.file.endswith(".gguf")
    assert model.repo.count("/") == 1
    assert model.sha256 is None or re.fullmatch(r"[0-9a-f]{64}", model.sha256)
    assert model.wheels is None or model.sha256  # a wheel's bytes need a hash to be believed


def test_the_default_model_is_the_official_file():
    assert DEFAULT.size == 1_117_320_768
    assert DEFAULT.sha256 == "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(ModelError) as caught:
        find_model("gpt", MODELS)
    assert all(name in str(caught.value) for name in ids)


def test_memory_is_weights_cache_and_buffers():
    assert DEFAULT.kv_bytes_per_token == 28_672  # 28 layers, 2 heads of 128, K and V, 2 bytes
    assert DEFAULT.memory > DEFAULT.size + 8192 * DEFAULT.kv_bytes_per_token


@pytest.mark.parametrize(
    ("name", "memory", "fits"),
    [
        ("qwen2.5-coder-1.5b", 4 * GB, True),
        ("qwen2.5-coder-1.5b", 3 * GB, False),
        ("qwen2.5-coder-7b", 16 * GB, True),
        ("qwen2.5-coder-14b", 16 * GB, True),
        ("qwen2.5-coder-32b", 16 * GB, False),
        ("qwen2.5-coder-32b", 24 * GB, False),
        ("qwen3-coder-30b-a3b", 32 * GB, True),
    ],
)
def test_what_fits_a_machine(name, memory, fits):
    assert find_model(name, MODELS).fits(memory) is fits


@pytest.mark.parametrize("model", [m for m in MODELS if m.wheels], ids=lambda m: m.name)
def test_the_figures_are_those_in_the_model_file(model):
    path = locate(model, ModelFolders.of_user())
    if path is None:
        pytest.skip(f"{model.name} is not on this machine")
    facts = _gguf_numbers(path)
    assert facts["block_count"] == model.n_layer
    assert facts["attention.head_count_kv"] == model.n_kv_head
    assert facts["embedding_length"] == facts["attention.head_count"] * model.head_dim
    assert facts["context_length"] == model.context_length


def _gguf_numbers(path):
    """The 32-bit numbers in the first 4 KB of a GGUF file's metadata, without the arch prefix."""
    with path.open("rb") as file:
        head = file.read(4096)
    pattern = rb"(?:qwen2|llama)\.([a-z_.]+)\x04\0\0\0(.{4})"
    found = re.findall(pattern, head, re.DOTALL)
    return {key.decode(): struct.unpack("<I", value)[0] for key, value in found}
