"""A source of model files as `redraft.models.fetch` asks for one, and what sources have in common.

A source puts bytes into a folder it is given and says which sha256 they must have.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

from redraft.models.registry import ModelFile

__all__ = [
    "DownloadedFile",
    "FetchProgress",
    "ModelSource",
    "ReportProgress",
    "SourceError",
    "folder_size",
    "is_disk_error",
]


class SourceError(Exception):
    """A source cannot deliver the model; the next one may. The message is a clause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchProgress:
    """How far a fetch is, in bytes; `total` is 0 where it is not known."""

    step: str  # for the user: "downloading from ...", "checking", "waiting for ..."
    done: int = 0
    total: int = 0


ReportProgress: TypeAlias = Callable[[FetchProgress], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadedFile:
    """A whole file, not yet checked, and the sha256 that its source states for it."""

    path: Path
    sha256: str


class ModelSource(Protocol):
    """A place that models are downloaded from."""

    @property
    def label(self) -> str:
        """Its name in messages and file names."""

    def offers(self, model: ModelFile) -> bool:
        """Return False where it cannot have `model`, without touching the network."""

    def download(
        self,
        model: ModelFile,
        folder: Path,
        report: ReportProgress,
        need: Callable[[int], None],
    ) -> DownloadedFile:
        """Put the file of `model` under `folder`, going on from what an earlier call left there.

        Calls `need` with the number of bytes still to be written before it writes them. Raises
        SourceError where the source fails, OSError where this machine's disk does.
        """


def is_disk_error(error: BaseException) -> bool:
    """Return True where the operating system refused a file, not where a connection failed."""
    return isinstance(error, OSError) and error.errno is not None


def folder_size(folder: Path) -> int:
    """Return the bytes in all files under `folder`; 0 where it does not exist."""
    return sum(
        (Path(parent) / name).stat().st_size
        for parent, _, names in os.walk(folder)
        for name in names
    )
