"""The contract between fetching and the places a model can be fetched from.

A source puts bytes into a folder it is given and says which sha256 they must have; it decides
nothing about where the file ends up, and nothing it wrote is believed before it is hashed.
"""

import errno
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol, TypeAlias

from redraft.models.registry import ModelFile

__all__ = ["Arrived", "Report", "Source", "SourceError", "Transfer", "is_disk_error", "stored"]

_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class SourceError(Exception):
    """A source cannot deliver the model; the next one may. The message is a clause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """How far a fetch has come, in bytes; `total` 0 where it is not known."""

    step: str  # for the user: "downloading from ...", "checking", "waiting for ..."
    done: int = 0
    total: int = 0


Report: TypeAlias = Callable[[Transfer], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrived:
    """A whole file, not yet checked, and the sha256 that its source's index says it has."""

    path: Path
    sha256: str


class Source(Protocol):
    """Somewhere models come from."""

    @property
    def label(self) -> str:
        """Its name in messages and file names."""

    def offers(self, model: ModelFile) -> bool:
        """Whether to try it at all; no network is touched."""

    def download(
        self,
        model: ModelFile,
        folder: Path,
        report: Report,
        need: Callable[[int], None],
    ) -> Arrived:
        """Put the file of `model` under `folder`, going on from what an earlier call left there.

        Calls `need` with the bytes still to be written before it writes them. Raises SourceError
        where the source fails, OSError where this machine's disk does.
        """


def is_disk_error(error: BaseException, *, full: bool = False) -> bool:
    """Whether the operating system refused a file; with `full`, for want of room."""
    if not isinstance(error, OSError) or error.errno is None:
        return False
    return not full or error.errno in _FULL


def stored(folder: Path) -> int:
    """Bytes in all files under `folder`; 0 where it does not exist."""
    return sum(
        (Path(parent) / name).stat().st_size
        for parent, _, names in os.walk(folder)
        for name in names
    )
