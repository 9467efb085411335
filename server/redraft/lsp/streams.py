"""The two pipes to the client, as pygls reads and writes them.

A client that does not read must not stop the server from reading, and one that announces an
enormous message must not fill the memory.
"""

import queue
import threading
from typing import BinaryIO, Final

__all__ = ["MAX_BODY", "MessageReader", "MessageWriter"]

MAX_BODY: Final = 64 * 2**20  # bytes of one message; files over 10 MB are not edited anyway

_MAX_HEADER: Final = 4096
_PIECE: Final = 2**16
_FLUSH_S: Final = 5.0


class MessageReader:
    """What pygls reads. A message that is too large becomes one that is no JSON."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def readline(self) -> bytes:
        """One header line, the length's name in the one spelling that pygls knows."""
        line = self._stream.readline(_MAX_HEADER)
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            return b"Content-Length: " + value.strip() + b"\r\n"
        return line

    def read(self, n: int) -> bytes:
        if n <= MAX_BODY:
            return self._stream.read(n)
        while n > 0 and (piece := self._stream.read(min(n, _PIECE))):
            n -= len(piece)
        return b"too large"


class MessageWriter:
    """What pygls writes to: bytes leave on a thread of their own, in order."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._waiting: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._send, name="redraft-out", daemon=True)
        self._thread.start()

    def write(self, data: bytes) -> None:
        self._waiting.put(data)

    def flush(self) -> None:
        """Nothing: every write is flushed when it leaves."""

    def close(self) -> None:
        """Let what is waiting leave; a client that reads no more is not waited for."""
        self._waiting.put(None)
        self._thread.join(_FLUSH_S)

    def _send(self) -> None:
        try:
            while (data := self._waiting.get()) is not None:
                self._stream.write(data)
                self._stream.flush()
        except (OSError, ValueError):
            return  # the client is gone, and its end of the other pipe tells the server so
