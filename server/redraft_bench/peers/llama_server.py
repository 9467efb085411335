"""llama-server in its modes, one process each, driven over HTTP; it times its own decoding.

The first mode that meets a prompt prefills it and saves its cells, which the others load: prefill
is the same in each and is not compared.
"""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from redraft_bench.peers.process import PeerAnswer, PeerError, PeerProcess, PeerRequest

__all__ = ["MODES", "LlamaServers", "PeerSettings", "parse_reply"]

# --spec-type, and its settings that are not the default: --spec-ngram-mod-n-match and so on.
# "tuned" is the best of a hundred settings in decodes by script (redraft_bench.scripted) with
# `redraft_lookup.llama_cpp_rules` on edits of whole files: shorter keys find their place sooner and
# are wrong more often.
MODES: Final[Mapping[str, Mapping[str, Any]]] = {
    "plain": {},
    "ngram-simple": {"type": "ngram_simple"},
    "ngram-map-k": {"type": "ngram_map_k"},
    "ngram-mod": {"type": "ngram_mod"},
    "ngram-mod-tuned": {"type": "ngram_mod", "n_match": 20, "n_min": 8, "n_max": 63},
    "draft": {"type": "draft_simple"},
}
_CELLS: Final = "prompt.cells"
_OWN_PREFILL: Final = "draft"  # its second model has to read the prompt too


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerSettings:
    """The settings of each server. `draft` is for the mode of that name."""

    model: Path
    draft: Path | None
    n_ctx: int
    n_threads: int
    gpu: bool  # whether layers go to a GPU, as redraft's do where its build has one
    folder: Path  # for logs and cells


class LlamaServers:
    """A `redraft_bench.peers.process.PeerProgram`."""

    def __init__(self, settings: PeerSettings) -> None:
        self._settings = settings
        self._running: dict[str, _LlamaServer] = {}
        self._saved: tuple[int, ...] = ()  # the prompt whose cells lie in the folder
        self.version = ""

    def answer(self, mode: str, request: PeerRequest) -> PeerAnswer:
        if mode not in self._running:
            self._running[mode] = _LlamaServer(mode, self._settings)
        server = self._running[mode]
        self.version = server.version
        try:
            if mode != _OWN_PREFILL:
                self._share_prefill(server, request.tokens)
            return parse_reply(server.post("/completion", _build_body(request)))
        except PeerError:
            self._running.pop(mode).close()
            raise

    def _share_prefill(self, server: "_LlamaServer", tokens: tuple[int, ...]) -> None:
        if self._saved == tokens:
            server.post("/slots/0?action=restore", {"filename": _CELLS})
            return
        server.post("/completion", {"prompt": tokens, "n_predict": 0, "cache_prompt": True})
        self._saved = ()
        server.post("/slots/0?action=save", {"filename": _CELLS})
        self._saved = tokens

    def close(self) -> None:
        while self._running:
            self._running.popitem()[1].close()


def _build_body(request: PeerRequest) -> dict[str, Any]:
    return {
        "prompt": request.tokens,
        "n_predict": request.max_tokens,
        "stop": request.stop,
        "cache_prompt": True,
        "return_tokens": True,
        # Greedy in the cheapest way: no sampler looks at more than the best token.
        "temperature": 0.0,
        "samplers": ["top_k"],
        "top_k": 1,
    }


def parse_reply(reply: Mapping[str, Any]) -> PeerAnswer:
    """Return the answer in a reply of /completion; PeerError where tokens or timings are missing.

    Its clock starts with the first token. A pass commits one token more than were accepted.
    """
    try:
        timings, tokens = reply["timings"], tuple(map(int, reply["tokens"]))
        timed = int(timings["predicted_n"]) - 1
        return PeerAnswer(
            # The token that ends a text is no part of it.
            tokens=tokens[:-1] if reply["stop_type"] == "eos" else tokens,
            timed=max(0, timed),
            seconds=float(timings["predicted_ms"]) / 1000,
            passes=max(0, timed - int(timings.get("draft_n_accepted", 0))),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise PeerError(f"llama-server's answer lacks something: {reply!r:.300}") from error


class _LlamaServer:
    """One llama-server, in the process of PyPI's xllamacpp."""

    def __init__(self, mode: str, settings: PeerSettings) -> None:
        arguments = {
            "model": str(settings.model),
            "draft": str(settings.draft) if mode == _OWN_PREFILL else None,
            "n_ctx": settings.n_ctx,
            "n_threads": settings.n_threads,
            "n_gpu_layers": -1 if settings.gpu else 0,
            "folder": f"{settings.folder}/",
            **MODES[mode],
        }
        command = (
            sys.executable,
            "-m",
            "redraft_bench.peers.xllamacpp_server",
            json.dumps(arguments),
        )
        self._process = PeerProcess(command, settings.folder / f"llama-server-{mode}.log")
        self.version = str(self._process.greeting["version"])
        self._address = urlsplit(self._process.greeting["address"]).netloc

    def post(self, path: str, body: object) -> dict[str, Any]:
        """Return the reply; raises PeerError."""
        connection = HTTPConnection(self._address)
        try:
            headers = {"Content-Type": "application/json"}
            connection.request("POST", path, json.dumps(body), headers)
            response = connection.getresponse()
            text = response.read().decode("utf-8", "replace")
        except (OSError, HTTPException) as error:
            raise PeerError(f"llama-server did not answer {path}: {error!r}") from error
        finally:
            connection.close()
        if response.status != 200:
            raise PeerError(f"llama-server answered {path} with {response.status}: {text[:300]}")
        reply: dict[str, Any] = json.loads(text)
        return reply

    def close(self) -> None:
        self._process.close()
