"""Making a small draft model of a model that is here: the same network in fewer bits.

Its vocabulary is the original's, which is what drafting needs, and nothing is fetched.
"""

import ctypes
import os
import tempfile
from pathlib import Path

import llama_cpp as llama

from redraft.errors import ModelError

__all__ = ["KINDS", "requantise"]

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
