"""llama-server inside PyPI's xllamacpp: `python -m redraft_bench.peers.xllamacpp_server SETTINGS`.

SETTINGS are those of `redraft_bench.peers.llama_server`, in JSON. Prints its address and serves
until its input is closed.
"""

import importlib.metadata
import json
import os
import sys
from typing import Any

import xllamacpp

__all__ = ["build_params", "main"]


def build_params(settings: dict[str, Any]) -> Any:  # noqa: ANN401 - xllamacpp is not typed
    """Return the server's parameters: one slot, and the speculative mode that is named."""
    params = xllamacpp.CommonParams()
    params.model.path = settings["model"]
    params.n_ctx, params.n_parallel = settings["n_ctx"], 1
    params.n_gpu_layers = settings["n_gpu_layers"]
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings["n_threads"]
    params.hostnames, params.port = ["127.0.0.1"], 0
    params.slot_save_path = settings["folder"]
    params.cache_ram_mib = 0  # prompts do not come back: keeping them costs time and memory
    params.ui, params.verbosity = False, 1
    if kind := settings.get("type"):
        types = xllamacpp.common_speculative_type
        params.speculative.types = [getattr(types, f"COMMON_SPECULATIVE_TYPE_{kind.upper()}")]
        mode_params = getattr(params.speculative, kind, None)
        for name in ("n_match", "n_min", "n_max"):
            if name in settings:
                setattr(mode_params, name, settings[name])
    if settings["draft"]:
        params.speculative.draft.mparams.path = settings["draft"]
    return params


def main() -> None:
    """Serve with the settings of the command line until stdin is closed."""
    # llama.cpp may print to stdout: what the other side reads goes to a copy of it.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    server = xllamacpp.Server(build_params(json.loads(sys.argv[1])))
    version = f"xllamacpp {importlib.metadata.version('xllamacpp')}"
    version += f" ({xllamacpp.get_system_info().strip(' |')})"
    print(json.dumps({"version": version, "address": server.listening_address}), file=out)
    out.flush()
    sys.stdin.read()
    os._exit(0)  # its threads need not be waited for


if __name__ == "__main__":
    main()
