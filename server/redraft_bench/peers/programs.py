"""Table of the peers: their modes, the commands that install and start them."""

import importlib.util
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Final

import platformdirs

from redraft.errors import InputError
from redraft_bench.peers.llama_server import MODES, LlamaServers, PeerSettings
from redraft_bench.peers.process import PeerProgram, PipedProgram

__all__ = ["PROGRAMS", "Peer", "PeerSelection", "select_peers"]

NODE_PACKAGE: Final = "node-llama-cpp@3.21.1"

_SERVER_CLOCK: Final = "by its own timings, from the first token to the last"
_CALLER_CLOCK: Final = "by its caller, from the first token to the last"


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """One program in one mode."""

    family: str
    mode: str

    @property
    def name(self) -> str:
        return f"{self.family}/{self.mode}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramEntry:
    """A program. `install`: the command that brings it; `clock`: who times it, in words."""

    modes: tuple[str, ...]
    clock: str
    install: Callable[[], str]
    is_installed: Callable[[], bool]
    open: Callable[[PeerSettings], PeerProgram]


def open_llama_cpp_python(settings: PeerSettings) -> PeerProgram:
    """Return the program; its process starts with the first request."""
    command = (sys.executable, "-m", "redraft_bench.peers.llama_cpp_python", *_arguments(settings))
    return PipedProgram(command, settings.folder / "llama-cpp-python.log")


def open_node(settings: PeerSettings) -> PeerProgram:
    """Return the program; its process starts with the first request."""
    script = resources.files("redraft_bench.peers").joinpath("node.mjs")
    command = ("node", str(script), str(_node_folder()), *_arguments(settings))
    return PipedProgram(command, settings.folder / "node-llama-cpp.log")


def _arguments(settings: PeerSettings) -> tuple[str, ...]:
    device = "gpu" if settings.gpu else "cpu"
    return (str(settings.model), str(settings.n_ctx), str(settings.n_threads), device)


def _node_folder() -> Path:
    return platformdirs.user_cache_path("redraft") / "peers"


PROGRAMS: Final[Mapping[str, ProgramEntry]] = {
    "llama-cpp-python": ProgramEntry(
        modes=("plain", "lookup"),
        clock=_CALLER_CLOCK,
        install=lambda: "pip install llama-cpp-python",
        is_installed=lambda: importlib.util.find_spec("llama_cpp") is not None,
        open=open_llama_cpp_python,
    ),
    "llama-server": ProgramEntry(
        modes=tuple(MODES),
        clock=_SERVER_CLOCK,
        install=lambda: "pip install 'xllamacpp>=2026.10,<2027'",
        is_installed=lambda: importlib.util.find_spec("xllamacpp") is not None,
        open=LlamaServers,
    ),
    "node-llama-cpp": ProgramEntry(
        modes=("plain", "lookup"),
        clock=_CALLER_CLOCK,
        install=lambda: (
            f"npm install --prefix {_node_folder()} --save-exact --ignore-scripts {NODE_PACKAGE}"
            " (Node 20 or later)"
        ),
        is_installed=lambda: (
            bool(shutil.which("node")) and (_node_folder() / "node_modules/node-llama-cpp").is_dir()
        ),
        open=open_node,
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerSelection:
    """The peers to run, and by name the reasons why others that were requested are left out."""

    peers: tuple[Peer, ...]
    left_out: Mapping[str, str]


def select_peers(names: str, *, has_draft: bool) -> PeerSelection:
    """Return the peers of a comma-separated list: "all", programs, or single modes (program/mode).

    A program's plain decoding always comes with its other modes. Raises InputError for an unknown
    name.
    """
    requested = tuple(PROGRAMS) if names == "all" else tuple(filter(None, names.split(",")))
    wanted = dict.fromkeys(peer for name in requested for peer in _parse_peers(name.strip()))
    left_out: dict[str, str] = {}
    for family in dict.fromkeys(peer.family for peer in wanted):
        if not PROGRAMS[family].is_installed():
            left_out[family] = f"not installed: {PROGRAMS[family].install()}"
    if Peer(family="llama-server", mode="draft") in wanted and not has_draft:
        left_out["llama-server/draft"] = "it needs a second model: --draft-model FILE"
    peers = (peer for peer in wanted if not {peer.family, peer.name} & left_out.keys())
    return PeerSelection(peers=tuple(peers), left_out=left_out)


def _parse_peers(name: str) -> Sequence[Peer]:
    family, slash, mode = name.partition("/")
    entry = PROGRAMS.get(family)
    if entry is None or (slash and mode not in entry.modes):
        names = ", ".join(f"{key} ({', '.join(e.modes)})" for key, e in PROGRAMS.items())
        raise InputError(f"no peer {name!r}: there are {names}; ask for one mode as family/mode")
    modes = dict.fromkeys(("plain", mode)) if mode else entry.modes
    return [Peer(family=family, mode=mode) for mode in modes]
