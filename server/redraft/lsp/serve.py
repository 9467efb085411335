"""Serving one client over two pipes, from the first message to the process's exit code."""

import logging
import os
from collections.abc import Mapping
from typing import BinaryIO

from redraft import models
from redraft.lsp import handlers
from redraft.lsp.model_download import Fetch
from redraft.lsp.model_worker import OpenModel
from redraft.lsp.server import Server
from redraft.lsp.server_config import ServerConfig
from redraft.lsp.streams import MessageReader, MessageWriter

__all__ = ["OpenModel", "serve"]


def serve(
    stdin: BinaryIO,
    stdout: BinaryIO,
    *,
    open_model: OpenModel,
    fetch: Fetch = models.fetch,
    flags: Mapping[str, object] | None = None,
    environ: Mapping[str, str] | None = None,
) -> int:
    """Serve one client until it says exit, or is gone. Returns the process's exit code."""
    # pygls logs the bodies of messages, which hold source code.
    logging.getLogger("pygls").setLevel(logging.CRITICAL + 1)
    config = ServerConfig(flags or {}, os.environ if environ is None else environ)
    server = Server(open_model=open_model, fetch=fetch, config=config)
    handlers.register(server)
    outbox = MessageWriter(stdout)
    try:
        server.start_io(MessageReader(stdin), outbox)  # type: ignore[arg-type]  # reads and writes as those
    finally:
        server.stop()
        outbox.close()
    return 1 if server.has_exited and not server.protocol.is_shut_down else 0
