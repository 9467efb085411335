"""The peers there are: their modes, how each is installed, how it is started."""

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
from redraft_bench.peers.process import Family, Piped

__all__ = ["FAMILIES", "Chosen", "Peer", "choose"]

NODE_PACKAGE: Final = "node-llama-cpp@3.21.1"

_OWN_CLOCK: Final = "by its own timings, from the first token to the last"
_SEEN: Final = "by its caller, from the first token to the last"


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """One program in one mode."""

    family: str
    mode: str

    @property
    def name(self) -> str:
        return f"{self.family}/{self.mode}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A program. `install` is the command that brings it; `clock`: what times its decoding."""

    modes: tuple[str, ...]
    clock: str
    install: Callable[[], str]
    is_installed: Callable[[], bool]
    open: Callable[[PeerSettings], Family]


def _binding(settings: PeerSettings) -> Family:
    command = (sys.executable, "-m", "redraft_bench.peers.llama_cpp_python", *_sizes(settings))
    return Piped(command, settings.folder / "llama-cpp-python.log")


def _node(settings: PeerSettings) -> Family:
    script = resources.files("redraft_bench.peers").joinpath("node.mjs")
    command = ("node", str(script), str(_node_folder()), *_sizes(settings))
    return Piped(command, settings.folder / "node-llama-cpp.log")


def _sizes(settings: PeerSettings) -> tuple[str, ...]:
    sizes = (str(settings.n_ctx), str(settings.n_threads))
    return (str(settings.model), *sizes, "gpu" if settings.gpu else "cpu")


def _node_folder() -> Path:
    return platformdirs.user_cache_path("redraft") / "peers"


def _has_node() -> bool:
    return bool(shutil.which("node")) and (_node_folder() / "node_modules/node-llama-cpp").is_dir()


def _install_node() -> str:
    return (
        f"npm install --prefix {_node_folder()} --save-exact --ignore-scripts {NODE_PACKAGE}"
        " (Node 20 or later)"
    )


FAMILIES: Final[Mapping[str, Kind]] = {
    "llama-cpp-python": Kind(
        modes=("plain", "lookup"),
        clock=_SEEN,
        install=lambda: "pip install llama-cpp-python",
        is_installed=lambda: importlib.util.find_spec("llama_cpp") is not None,
        open=_binding,
    ),
    "llama-server": Kind(
        modes=tuple(MODES),
        clock=_OWN_CLOCK,
        install=lambda: "pip install 'redraft[bench]'",
        is_installed=lambda: importlib.util.find_spec("xllamacpp") is not None,
        open=LlamaServers,
    ),
    "node-llama-cpp": Kind(
        modes=("plain", "lookup"),
        clock=_SEEN,
        install=_install_node,
        is_installed=_has_node,
        open=_node,
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The peers to run, and why others that were asked for are left out, by name."""

    peers: tuple[Peer, ...]
    left_out: Mapping[str, str]


def choose(names: str, *, has_draft: bool) -> Chosen:
    """The peers in a list with commas: "all", families, or single modes as in family/mode.

    A family's plain decoding always comes with its other modes. Raises InputError for an unknown
    name.
    """
    asked = tuple(FAMILIES) if names == "all" else tuple(filter(None, names.split(",")))
    wanted = dict.fromkeys(peer for name in asked for peer in _named(name.strip()))
    left_out: dict[str, str] = {}
    for family in dict.fromkeys(peer.family for peer in wanted):
        if not FAMILIES[family].is_installed():
            left_out[family] = f"not installed: {FAMILIES[family].install()}"
    if Peer(family="llama-server", mode="draft") in wanted and not has_draft:
        left_out["llama-server/draft"] = "it needs a second model: --draft-model FILE"
    peers = (peer for peer in wanted if not {peer.family, peer.name} & left_out.keys())
    return Chosen(peers=tuple(peers), left_out=left_out)


def _named(name: str) -> Sequence[Peer]:
    family, slash, mode = name.partition("/")
    kind = FAMILIES.get(family)
    if kind is None or (slash and mode not in kind.modes):
        known = ", ".join(f"{key} ({', '.join(one.modes)})" for key, one in FAMILIES.items())
        raise InputError(f"no peer {name!r}: there are {known}; ask for one mode as family/mode")
    modes = dict.fromkeys(("plain", mode)) if mode else kind.modes
    return [Peer(family=family, mode=one) for one in modes]
