"""How long an editor waits: the figures of the language server, from outside.

A real server process is driven over its pipes, so that what is measured is what an editor sees.
Times in seconds; ratios are of one run.
"""

import itertools
import json
import queue
import random
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, cast

from redraft.text import diff

__all__ = ["Latency", "run"]

N_REPEATS: Final = 3

_INSTRUCTION: Final = "Round the result to two digits."
_FUNCTION: Final = "def price_{n}(item, rate):\n    return item.{name} * rate + item.tax\n\n\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """Medians, except for `loop_p99`. Times in seconds.

    `first_token_*` run from the command to the first token of the reply, in a file of
    `prompt_tokens`; `loop_p99` is what 99 of 100 questions wait for while the model works.
    """

    initialize: float
    did_change: float  # of one key press in 10,000 lines
    diff: float  # of two texts of 5,000 lines with 20 changes
    prompt_tokens: int
    first_token_cold: float
    first_token_warm: float
    loop_p99: float

    @property
    def warm_share(self) -> float:
        return self.first_token_warm / self.first_token_cold

    def rows(self) -> list[tuple[str, float, str]]:
        """What was measured, the seconds, and what is aimed at."""
        share = f"15 % of cold (here {self.warm_share:.1%})"
        return [
            ("start to the answer to initialize", self.initialize, "1 s"),
            ("didChange in 10,000 lines", self.did_change, "5 ms"),
            ("diff of 5,000 lines with 20 changes", self.diff, "100 ms"),
            (f"first token, cold, {self.prompt_tokens:,} tokens", self.first_token_cold, ""),
            ("first token, warm", self.first_token_warm, share),
            ("an answer while the model works, 99th percentile", self.loop_p99, "50 ms"),
        ]


def run(model: Path) -> Latency:
    """Measure with the model file `model`. Raises EOFError where the server dies."""
    with _served(model) as (server, initialize):
        did_change = statistics.median(_did_change(server) for _ in range(20))
        _waits(server, _opened(server, "load"))  # loads the model, and measures its passes
        cold, warm, n_tokens = [], [], 0
        for n in range(N_REPEATS):
            uri = _opened(server, f"cold{n}")
            seconds, n_tokens = server.first_token(uri)
            cold.append(seconds)
            uri = _opened(server, f"warm{n}")
            server.warm(uri)
            warm.append(server.first_token(uri)[0])
        waits = _waits(server, _opened(server, "busy"))
    return Latency(
        initialize=initialize,
        did_change=did_change,
        diff=_diff(),
        prompt_tokens=n_tokens,
        first_token_cold=statistics.median(cold),
        first_token_warm=statistics.median(warm),
        loop_p99=statistics.quantiles(waits, n=100)[-1],
    )


class _Server:
    """A client of the server: just enough of the protocol to wait for things."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._out = cast("IO[bytes]", process.stdin)
        self._ids = itertools.count(1)
        self._messages: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        reader = threading.Thread(target=self._read, args=(process.stdout,), daemon=True)
        reader.start()

    def notify(self, method: str, params: object) -> None:
        self._send({"method": method, "params": params})

    def request(self, method: str, params: object) -> dict[str, Any]:
        """The result; raises RuntimeError with the server's message where it is an error."""
        id_ = self.begin(method, params)
        answer = self.until(lambda message: message.get("id") == id_)
        if "error" in answer:
            raise RuntimeError(answer["error"]["message"])
        return cast("dict[str, Any]", answer["result"])

    def begin(self, method: str, params: object) -> int:
        id_ = next(self._ids)
        self._send({"id": id_, "method": method, "params": params})
        return id_

    def command(self, name: str, *arguments: object) -> dict[str, Any]:
        return self.request(*_command(name, *arguments))

    def warm(self, uri: str) -> None:
        self.command("redraft.warm", {"uri": uri})
        while uri not in self.command("redraft.status")["warm"]:
            time.sleep(0.05)

    def first_token(self, uri: str) -> tuple[float, int]:
        """Seconds from the command to the reply's first token, and the prompt's tokens."""
        began = time.perf_counter()
        id_ = self.begin(*_command("redraft.edit", _edit(uri) | {"partial": True}))
        n_tokens, is_first = 0, False
        while not is_first:
            partial = self.until(lambda message: message.get("method") == "redraft/partial")
            is_first = partial["params"]["phase"] == "decode"
            n_tokens = n_tokens if is_first else partial["params"]["expected"]
        spent = time.perf_counter() - began
        self.notify("redraft/cancel", {})
        self.until(lambda message: message.get("id") == id_)
        return spent, n_tokens

    def until(self, fits: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        while (message := self._messages.get()) is not None:
            if fits(message):
                return message
        raise EOFError("the server ended; run `redraft serve` by hand to see why")

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._out.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self._out.flush()

    def _read(self, stream: IO[bytes]) -> None:
        while line := stream.readline():
            if line.startswith(b"Content-Length:"):
                n = int(line.partition(b":")[2])
                while stream.readline().strip():
                    pass
                self._messages.put(json.loads(stream.read(n)))
        self._messages.put(None)


@contextmanager
def _served(model: Path) -> Iterator[tuple[_Server, float]]:
    command = [sys.executable, "-m", "redraft", "serve", "--model", str(model)]
    pipe = subprocess.PIPE
    began = time.perf_counter()
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL) as process:
        server = _Server(process)
        settings = {"warm": False}  # a prefill that begins by itself would spoil a cold edit
        params = {"capabilities": {}, "initializationOptions": {"settings": settings}}
        server.request("initialize", params)
        initialize = time.perf_counter() - began
        server.notify("initialized", {})
        try:
            yield server, initialize
        finally:
            server.request("shutdown", None)
            server.notify("exit", None)


def _command(name: str, *arguments: object) -> tuple[str, object]:
    return "workspace/executeCommand", {"command": name, "arguments": arguments}


def _edit(uri: str) -> dict[str, Any]:
    place = {"line": 4 * 20 + 1, "character": 0}
    return {"uri": uri, "instruction": _INSTRUCTION, "position": place, "preview": True}


def _opened(server: _Server, name: str) -> str:
    """A file of about 2,000 tokens that no other has a beginning in common with."""
    text = "".join(_FUNCTION.format(n=n, name=name) for n in range(75))
    return _open(server, f"file:///bench/{name}.py", f"# {name}\n{text}")


def _open(server: _Server, uri: str, text: str) -> str:
    item = {"uri": uri, "languageId": "python", "version": 1, "text": text}
    server.notify("textDocument/didOpen", {"textDocument": item})
    return uri


def _did_change(server: _Server) -> float:
    """A key press in the middle of 10,000 lines, without what a question alone takes."""
    uri = _open(server, "file:///bench/long.py", "value = other + 1  # note\n" * 10_000)
    server.command("redraft.status")
    place = {"line": 5_000, "character": 3}
    change = {"range": {"start": place, "end": place}, "text": "x"}
    named = {"uri": uri, "version": 2}
    began = time.perf_counter()
    server.command("redraft.status")
    asked = time.perf_counter()
    server.notify("textDocument/didChange", {"textDocument": named, "contentChanges": [change]})
    server.command("redraft.status")
    return max(0.0, time.perf_counter() - asked - (asked - began))


def _diff() -> float:
    rng = random.Random(0)  # noqa: S311 - no secret
    lines = [f"value_{n} = compute(value_{n // 2}, {n})\n" for n in range(5_000)]
    changed = list(lines)
    for n in rng.sample(range(5_000), 20):
        changed[n] = changed[n].replace("compute", "derive")
    began = time.perf_counter()
    diff.minimal_replacements("".join(lines), "".join(changed))
    return time.perf_counter() - began


def _waits(server: _Server, uri: str) -> Sequence[float]:
    """What questions wait for while the model reads and writes; whatever comes of the edit."""
    editing = server.begin(*_command("redraft.edit", _edit(uri)))
    waits, is_over = [], False
    while not is_over:
        began = time.perf_counter()
        asked = server.begin(*_command("redraft.status"))
        while (got := server.until(lambda message: "id" in message)["id"]) != asked:
            is_over = is_over or got == editing
        waits.append(time.perf_counter() - began)
        time.sleep(0.01)
    return waits
