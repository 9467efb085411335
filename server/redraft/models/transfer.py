"""One file over HTTP into one file on disk: resumed, retried, and named only when it is whole.

Knows nothing of models. The bytes so far lie in `NAME.part`; a cut, an interrupt or a full disk
leaves them there for the next call.
"""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import httpx2

from redraft.models.hashes import sha256_of
from redraft.models.source import SourceError

__all__ = ["HttpClient", "download"]

_ATTEMPTS: Final = 4  # in a row without a single new byte


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpClient:
    """An HTTP client, and how long to wait before a failed request is made again, in seconds."""

    http: httpx2.Client
    pause_s: float = 1.0


def download(
    client: HttpClient,
    url: str,
    target: Path,
    *,
    sha256: str | None,
    on_size: Callable[[int], None],
) -> None:
    """Make `target` the file at `url`; nothing is sent where it exists already.

    `on_size` is told how many bytes there are so far. Raises SourceError where the server fails
    for good or its bytes do not have the `sha256` it stated, OSError where the disk fails.
    """
    if target.exists():
        on_size(target.stat().st_size)
        return
    part = target.with_name(f"{target.name}.part")
    whole = _checked(client, url, part, sha256, on_size)
    if not whole:
        # What an earlier run left may be damaged: only a file fetched in one go proves a fault.
        whole = _checked(client, url, part, sha256, on_size)
    if not whole:
        raise SourceError(f"{target.name} arrived damaged: its sha256 is not the stated {sha256}")
    part.replace(target)


def _checked(
    client: HttpClient, url: str, part: Path, sha256: str | None, on_size: Callable[[int], None]
) -> bool:
    """Complete `part`; delete it and return False where its hash is not the stated one."""
    _complete(client, url, part, on_size)
    if sha256 in (None, sha256_of(part)):
        return True
    part.unlink()
    return False


def _complete(client: HttpClient, url: str, part: Path, on_size: Callable[[int], None]) -> None:
    failures = 0
    while True:
        before = _size(part)
        try:
            return _append(client.http, url, part, on_size)
        except httpx2.HTTPStatusError as error:
            status = error.response.status_code
            if status < 500:
                raise SourceError(f"it answered {status} for {_name(url)}") from error
            reason = f"it answered {status}"
        except httpx2.HTTPError as error:
            reason = f"the connection broke ({str(error) or type(error).__name__})"
        failures = 0 if _size(part) > before else failures + 1
        if failures == _ATTEMPTS:
            raise SourceError(f"{reason} for {_name(url)}, {_ATTEMPTS} times in a row")
        time.sleep(client.pause_s * failures)


def _append(http: httpx2.Client, url: str, part: Path, on_size: Callable[[int], None]) -> None:
    """One request for what is missing; starts over where the server will not continue."""
    done = _size(part)
    headers = {"Accept-Encoding": "identity"}
    if done:
        headers["Range"] = f"bytes={done}-"
    with http.stream("GET", url, headers=headers) as response:
        if response.status_code == 416:  # nothing after what is there: the hash decides
            return
        response.raise_for_status()
        continues = response.status_code == 206 and _start(response) == done
        with part.open("ab" if continues else "wb") as file:
            done = done if continues else 0
            for chunk in response.iter_raw():
                file.write(chunk)
                done += len(chunk)
                on_size(done)


def _start(response: httpx2.Response) -> int | None:
    """Where the body of a partial answer starts in the file."""
    found = re.match(r"bytes (\d+)-", response.headers.get("content-range", ""))
    return int(found[1]) if found else None


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _name(url: str) -> str:
    return httpx2.URL(url).path.rpartition("/")[2]
