"""Waiting times of an editor: the language server measured from outside.

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

__all__ = ["Latency", "measure"]

N_REPEATS: Final = 3

_FUNCTION: Final = "def price_{n}(item, rate):\n    return item.{name} * rate + item.tax\n\n\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """Medians, except for `loop_p99`. Times in seconds.

    `first_token_*` run from the command to the first token of the reply, in a file of
    `prompt_tokens`; 99 of 100 status requests wait less than `loop_p99` while the model works.
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
        """Return a label, the seconds and the aim of each measurement."""
        share = f"15 % of cold (here {self.warm_share:.1%})"
        return [
            ("start to the answer to initialize", self.initialize, "1 s"),
            ("didChange in 10,000 lines", self.did_change, "5 ms"),
            ("diff of 5,000 lines with 20 changes", self.diff, "100 ms"),
            (f"first token, cold, {self.prompt_tokens:,} tokens", self.first_token_cold, ""),
            ("first token, warm", self.first_token_warm, share),
            ("an answer while the model works, 99th percentile", self.loop_p99, "50 ms"),
        ]


def measure(model: Path) -> Latency:
    """Measure with the model file `model`. Raises EOFError where the server dies."""
    with _start_server(model) as (client, initialize):
        did_change = statistics.median(_time_did_change(client) for _ in range(20))
        # The first edit loads the model and calibrates its passes.
        _time_requests_while_busy(client, _open_unique_file(client, "load"))
        cold, warm, n_tokens = [], [], 0
        for n in range(N_REPEATS):
            uri = _open_unique_file(client, f"cold{n}")
            seconds, n_tokens = client.time_first_token(uri)
            cold.append(seconds)
            uri = _open_unique_file(client, f"warm{n}")
            client.prefill(uri)
            warm.append(client.time_first_token(uri)[0])
        waits = _time_requests_while_busy(client, _open_unique_file(client, "busy"))
    return Latency(
        initialize=initialize,
        did_change=did_change,
        diff=_time_diff(),
        prompt_tokens=n_tokens,
        first_token_cold=statistics.median(cold),
        first_token_warm=statistics.median(warm),
        # The last of the 99 cut points between 100 equal parts.
        loop_p99=statistics.quantiles(waits, n=100)[-1],
    )


class _LatencyClient:
    """A client of the server that knows just enough of the protocol to time it."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._out = cast("IO[bytes]", process.stdin)
        self._ids = itertools.count(1)
        self._messages: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        reader = threading.Thread(target=self._read, args=(process.stdout,), daemon=True)
        reader.start()

    def notify(self, method: str, params: object) -> None:
        self._send({"method": method, "params": params})

    def request(self, method: str, params: object) -> dict[str, Any]:
        """Return the result; raises RuntimeError with the server's message where it is an error."""
        id_ = self.send_request(method, params)
        response = self.wait_for(lambda message: message.get("id") == id_)
        if "error" in response:
            raise RuntimeError(response["error"]["message"])
        return cast("dict[str, Any]", response["result"])

    def send_request(self, method: str, params: object) -> int:
        id_ = next(self._ids)
        self._send({"id": id_, "method": method, "params": params})
        return id_

    def execute(self, name: str, *arguments: object) -> dict[str, Any]:
        return self.request(*_command(name, *arguments))

    def prefill(self, uri: str) -> None:
        self.execute("redraft.warm", {"uri": uri})
        while uri not in self.execute("redraft.status")["warm"]:
            time.sleep(0.05)

    def time_first_token(self, uri: str) -> tuple[float, int]:
        """Return seconds from the command to the reply's first token, and the prompt's tokens."""
        began = time.perf_counter()
        id_ = self.send_request(*_command("redraft.edit", _edit_params(uri) | {"partial": True}))
        # Progress of the prefill comes first; its `expected` is the length of the prompt.
        n_tokens, is_first = 0, False
        while not is_first:
            partial = self.wait_for(lambda message: message.get("method") == "redraft/partial")
            is_first = partial["params"]["phase"] == "decode"
            n_tokens = n_tokens if is_first else partial["params"]["expected"]
        seconds = time.perf_counter() - began
        self.notify("redraft/cancel", {})
        self.wait_for(lambda message: message.get("id") == id_)
        return seconds, n_tokens

    def wait_for(self, matches: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Return the next message that matches; raises EOFError where the server ends."""
        while (message := self._messages.get()) is not None:
            if matches(message):
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
def _start_server(model: Path) -> Iterator[tuple[_LatencyClient, float]]:
    """Yield a client of a new server, and the seconds from its start to its first response."""
    command = [sys.executable, "-m", "redraft", "serve", "--model", str(model)]
    pipe = subprocess.PIPE
    began = time.perf_counter()
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL) as process:
        client = _LatencyClient(process)
        settings = {"warm": False}  # a prefill that begins by itself would spoil a cold edit
        params = {"capabilities": {}, "initializationOptions": {"settings": settings}}
        client.request("initialize", params)
        initialize = time.perf_counter() - began
        client.notify("initialized", {})
        try:
            yield client, initialize
        finally:
            client.request("shutdown", None)
            client.notify("exit", None)


def _command(name: str, *arguments: object) -> tuple[str, object]:
    return "workspace/executeCommand", {"command": name, "arguments": arguments}


def _edit_params(uri: str) -> dict[str, Any]:
    return {
        "uri": uri,
        "instruction": "Round the result to two digits.",
        "position": {"line": 4 * 20 + 1, "character": 0},  # in the 21st function
        "preview": True,
    }


def _open_unique_file(client: _LatencyClient, name: str) -> str:
    """Open a file of about 2,000 tokens and return its URI; no other file begins as it does."""
    text = "".join(_FUNCTION.format(n=n, name=name) for n in range(75))
    return _open_file(client, f"file:///bench/{name}.py", f"# {name}\n{text}")


def _open_file(client: _LatencyClient, uri: str, text: str) -> str:
    item = {"uri": uri, "languageId": "python", "version": 1, "text": text}
    client.notify("textDocument/didOpen", {"textDocument": item})
    return uri


def _time_did_change(client: _LatencyClient) -> float:
    """Return seconds for a key press in the middle of 10,000 lines.

    A notification has no response: the status request behind it is timed, less one without it.
    """
    uri = _open_file(client, "file:///bench/long.py", "value = other + 1  # note\n" * 10_000)
    client.execute("redraft.status")
    place = {"line": 5_000, "character": 3}
    change = {"range": {"start": place, "end": place}, "text": "x"}
    document = {"uri": uri, "version": 2}
    began = time.perf_counter()
    client.execute("redraft.status")
    status_s = time.perf_counter() - began
    began = time.perf_counter()
    client.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [change]})
    client.execute("redraft.status")
    return max(0.0, time.perf_counter() - began - status_s)


def _time_diff() -> float:
    rng = random.Random(0)  # noqa: S311 - no secret
    lines = [f"value_{n} = compute(value_{n // 2}, {n})\n" for n in range(5_000)]
    changed = list(lines)
    for n in rng.sample(range(5_000), 20):
        changed[n] = changed[n].replace("compute", "derive")
    began = time.perf_counter()
    diff.minimal_replacements("".join(lines), "".join(changed))
    return time.perf_counter() - began


def _time_requests_while_busy(client: _LatencyClient, uri: str) -> Sequence[float]:
    """Return seconds that status requests take while the model reads and writes an edit."""
    edit_id = client.send_request(*_command("redraft.edit", _edit_params(uri)))
    waits, is_over = [], False
    # Responses come in the order in which the server gets to them, not in that of the requests.
    while not is_over:
        began = time.perf_counter()
        status_id = client.send_request(*_command("redraft.status"))
        while (id_ := client.wait_for(lambda message: "id" in message)["id"]) != status_id:
            is_over = is_over or id_ == edit_id
        waits.append(time.perf_counter() - began)
        time.sleep(0.01)
    return waits
