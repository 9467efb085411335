"""llama-server inside PyPI's xllamacpp: `python -m redraft_bench.peers.xllamacpp_server SETTINGS`.

SETTINGS are those of `redraft_bench.peers.llama_server`, in JSON. Says where it listens and
serves until its input is closed.
"""

import importlib.metadata
import json
import os
import sys
from typing import Any

import xllamacpp

__all__ = ["params"]


def params(given: dict[str, Any]) -> Any:  # noqa: ANN401 - xllamacpp is not typed
    """The server's parameters: one slot, and the speculative mode that is named."""
    made = xllamacpp.CommonParams()
    made.model.path = given["model"]
    made.n_ctx, made.n_parallel = given["n_ctx"], 1
    made.n_gpu_layers = given["n_gpu_layers"]
    made.cpuparams.n_threads = made.cpuparams_batch.n_threads = given["n_threads"]
    made.hostnames, made.port = ["127.0.0.1"], 0
    made.slot_save_path = given["folder"]
    made.cache_ram_mib = 0  # prompts do not come back: keeping them costs time and memory
    made.ui, made.verbosity = False, 1
    if kind := given.get("type"):
        known = xllamacpp.common_speculative_type
        made.speculative.types = [getattr(known, f"COMMON_SPECULATIVE_TYPE_{kind.upper()}")]
        own = getattr(made.speculative, kind, None)
        for name in ("n_match", "n_min", "n_max"):
            if name in given:
                setattr(own, name, given[name])
    if given["draft"]:
        made.speculative.draft.mparams.path = given["draft"]
    return made


def _serve() -> None:
    # llama.cpp may print: what the other side reads is kept apart.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    server = xllamacpp.Server(params(json.loads(sys.argv[1])))
    version = f"xllamacpp {importlib.metadata.version('xllamacpp')}"
    version += f" ({xllamacpp.get_system_info().strip(' |')})"
    print(json.dumps({"version": version, "address": server.listening_address}), file=out)
    out.flush()
    sys.stdin.read()
    os._exit(0)  # its threads need not be waited for


if __name__ == "__main__":
    _serve()
