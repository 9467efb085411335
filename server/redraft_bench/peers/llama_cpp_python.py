"""llama-cpp-python's own `Llama` with its prompt lookup, over pipes.

`python -m redraft_bench.peers.llama_cpp_python MODEL N_CTX N_THREADS cpu|gpu` answers requests as
`redraft_bench.peers.process` describes them.
"""

import json
import os
import sys
import time
from collections.abc import Sequence
from typing import Any, Final

import llama_cpp
import numpy as np
import numpy.typing as npt
from llama_cpp.llama_speculative import LlamaPromptLookupDecoding

__all__ = ["LlamaPeer", "main"]

TAIL: Final = 64  # bytes of the answer in which a stop string is looked for


class LlamaPeer:
    """`Llama` as its users would set it up: defaults, but flash attention as redraft has it."""

    def __init__(self, model: str, *, n_ctx: int, n_threads: int, n_gpu_layers: int) -> None:
        self._drafter = _CountingLookup()
        self._llama = llama_cpp.Llama(
            model,
            n_ctx=n_ctx,
            n_threads=n_threads,
            n_threads_batch=n_threads,
            n_gpu_layers=n_gpu_layers,
            logits_all=True,  # what drafts need
            draft_model=self._drafter,
            flash_attn=True,
            verbose=False,
        )
        self._vocab = llama_cpp.llama_model_get_vocab(self._llama.model)

    def answer(
        self, mode: str, tokens: Sequence[int], max_tokens: int, stop: Sequence[str]
    ) -> dict[str, Any]:
        """Decode greedily, in mode "plain" or "lookup". Times from the first token to the last."""
        self._llama.draft_model = self._drafter if mode == "lookup" else None
        self._drafter.n_calls = 0
        stops = [text.encode() for text in stop]
        written: list[int] = []
        first = last = time.perf_counter()
        tail = b""
        for token in self._llama.generate(tokens, temp=0.0, repeat_penalty=1.0):
            if llama_cpp.llama_vocab_is_eog(self._vocab, token):
                break
            last = time.perf_counter()
            first = first if written else last
            written.append(token)
            tail = (tail + self._llama.detokenize([token], special=True))[-TAIL:]
            if len(written) == max_tokens or any(text in tail for text in stops):
                break
        n_passes = self._drafter.n_calls if mode == "lookup" else max(0, len(written) - 1)
        return {"tokens": written, "seconds": last - first, "passes": n_passes}


class _CountingLookup(LlamaPromptLookupDecoding):  # type: ignore[misc]  # llama_cpp is not typed
    """Prompt lookup that counts its drafts, of which every pass but the first has one."""

    n_calls = 0

    def __call__(
        self,
        input_ids: npt.NDArray[np.intc],
        /,
        **kwargs: Any,  # noqa: ANN401 - the base class's signature
    ) -> npt.NDArray[np.intc]:
        self.n_calls += 1
        drafted: npt.NDArray[np.intc] = super().__call__(input_ids, **kwargs)
        return drafted


def main() -> None:
    """Load the model of the command line, then answer a request for each line of stdin."""
    # llama.cpp may print to stdout: what the other side reads goes to a copy of it.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    model, n_ctx, n_threads, device = sys.argv[1:]
    n_gpu_layers = -1 if device == "gpu" else 0
    peer = LlamaPeer(model, n_ctx=int(n_ctx), n_threads=int(n_threads), n_gpu_layers=n_gpu_layers)
    built = llama_cpp.llama_print_system_info().decode().strip(" |")
    version = f"llama-cpp-python {llama_cpp.__version__} ({built})"
    print(json.dumps({"version": version}), file=out, flush=True)
    for line in sys.stdin:
        print(json.dumps(peer.answer(**json.loads(line))), file=out, flush=True)


if __name__ == "__main__":
    main()
