"""llama-server in its modes, one process each, asked over HTTP; it times its own decoding.

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

from redraft_bench.peers.process import PeerAnswer, PeerError, PeerRequest, Process

__all__ = ["MODES", "LlamaServers", "PeerSettings", "parse"]

# --spec-type, and what of its settings is not the default: --spec-ngram-mod-n-match and so on.
# "tuned" is the best of a hundred settings that were played by script with
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
    """What each server is started with. `draft` is for the mode of that name."""

    model: Path
    draft: Path | None
    n_ctx: int
    n_threads: int
    gpu: bool  # whether layers go to a GPU, as redraft's do where its build has one
    folder: Path  # for logs and cells


class LlamaServers:
    """A `redraft_bench.peers.process.Family`."""

    def __init__(self, settings: PeerSettings) -> None:
        self._settings = settings
        self._running: dict[str, _Server] = {}
        self._saved: tuple[int, ...] = ()  # the prompt whose cells lie in the folder
        self.version = ""

    def answer(self, mode: str, asked: PeerRequest) -> PeerAnswer:
        if mode not in self._running:
            self._running[mode] = _Server(mode, self._settings)
        server = self._running[mode]
        self.version = server.version
        try:
            if mode != _OWN_PREFILL:
                self._share_prefill(server, asked.tokens)
            return parse(server.post("/completion", _question(asked)))
        except PeerError:
            self._running.pop(mode).close()
            raise

    def _share_prefill(self, server: "_Server", tokens: tuple[int, ...]) -> None:
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


def _question(asked: PeerRequest) -> dict[str, Any]:
    return {
        "prompt": asked.tokens,
        "n_predict": asked.max_tokens,
        "stop": asked.stop,
        "cache_prompt": True,
        "return_tokens": True,
        # Greedy in the cheapest way: no sampler looks at more than the best token.
        "temperature": 0.0,
        "samplers": ["top_k"],
        "top_k": 1,
    }


def parse(reply: Mapping[str, Any]) -> PeerAnswer:
    """What a reply of /completion says. Raises PeerError where tokens or timings are missing.

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


class _Server:
    """One llama-server, in the process of PyPI's xllamacpp."""

    def __init__(self, mode: str, settings: PeerSettings) -> None:
        given = {
            "model": str(settings.model),
            "draft": str(settings.draft) if mode == _OWN_PREFILL else None,
            "n_ctx": settings.n_ctx,
            "n_threads": settings.n_threads,
            "n_gpu_layers": -1 if settings.gpu else 0,
            "folder": f"{settings.folder}/",
            **MODES[mode],
        }
        command = (sys.executable, "-m", "redraft_bench.peers.xllamacpp_server", json.dumps(given))
        self._process = Process(command, settings.folder / f"llama-server-{mode}.log")
        self.version = str(self._process.greeting["version"])
        self._address = urlsplit(self._process.greeting["address"]).netloc

    def post(self, path: str, body: object) -> dict[str, Any]:
        """The reply; raises PeerError."""
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
