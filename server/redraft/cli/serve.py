"""`redraft serve`: the language server, for editors to start.

Standard output belongs to the protocol: whatever else writes there goes to stderr.
"""

import argparse
import ipaddress
import os
import signal
import socket
import sys
from dataclasses import fields
from typing import BinaryIO, Final, cast

from redraft.cli import options
from redraft.cli.output import print_status
from redraft.config.settings import Settings
from redraft.errors import InputError

__all__ = ["add_parser", "handler"]

_EPILOG: Final = """\
Editors start this and speak with it over standard input and output. docs/protocol.md says what it
understands. Settings of the editor override those of files; these flags override both.
"""


def add_parser(subparsers: options.Subparsers) -> None:
    """Add the verb `serve`."""
    parser = subparsers.add_parser(
        "serve",
        description="Run the language server on standard input and output.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--stdio", action="store_true", help="the default; editors may pass it")
    parser.add_argument(
        "--tcp", metavar="HOST:PORT", help="serve one client on a socket instead, for debugging"
    )
    parser.add_argument(
        "--allow-remote",
        action="store_true",
        help="let --tcp name another address than this machine's own: whoever can reach it can "
        "read and edit what the editor has open",
    )
    options.add_model_flags(parser)
    parser.set_defaults(handler=handler)


def handler(args: argparse.Namespace) -> int:
    """Serve until the client is done; return the exit code."""
    # Imports the protocol's library, which `redraft --help` should not wait for.
    from redraft.lsp.server import OpenModel, serve

    # Only the engine's model can prefill in the background, and `open_model` opens no other.
    open_model = cast("OpenModel", options.open_model)
    # The thread that waits for the editor cannot be woken: end at once, there is nothing to save.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    flags = {field.name: getattr(args, field.name, None) for field in fields(Settings)}
    if args.tcp:
        host, port = _parse_address(args.tcp, allow_remote=args.allow_remote)
        with _accept_client(host, port) as connection:
            received, sent = connection.makefile("rb"), connection.makefile("wb")
            return serve(received, sent, open_model=open_model, flags=flags)
    stdin, stdout = _take_stdio()
    return serve(stdin, stdout, open_model=open_model, flags=flags)


def _take_stdio() -> tuple[BinaryIO, BinaryIO]:
    """Return standard input and output; whoever prints from now on prints on stderr."""
    sys.stdout.flush()
    stdout = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # also for the native library, which knows nothing of sys.stdout
    return sys.stdin.buffer, stdout


def _parse_address(argument: str, *, allow_remote: bool) -> tuple[str, int]:
    """Return host and port. Raises InputError where others could reach it, unless that is meant."""
    host, _, port = argument.rpartition(":")
    host = host.strip("[]") or "127.0.0.1"
    if not port.isdecimal() or int(port) > 65535:
        raise InputError(f"--tcp takes HOST:PORT, as in 127.0.0.1:9257, not {argument!r}")
    try:
        is_local = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host).is_loopback
    except ValueError:
        is_local = False
    if not (is_local or allow_remote):
        raise InputError(
            f"--tcp {argument} can be reached from other machines: name 127.0.0.1, or add "
            "--allow-remote if that is what you want"
        )
    return host, int(port)


def _accept_client(host: str, port: int) -> socket.socket:
    """Wait for one connection; the address is printed, since port 0 means any free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, port), family=family) as listener:
        address = listener.getsockname()
        print_status(f"serving on {address[0]}:{address[1]}")
        connection, _ = listener.accept()
    return connection
