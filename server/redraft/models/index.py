"""Which files a Python package index has: the simple API, as JSON (PEP 691) or HTML (PEP 503)."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any, Final
from urllib.parse import parse_qs, urldefrag, urljoin, urlsplit

import httpx2

from redraft.models.source import SourceError

__all__ = ["DEFAULT_INDEX", "IndexFile", "find_wheel", "index_url"]

DEFAULT_INDEX: Final = "https://pypi.org/simple"

_ACCEPT: Final = (
    "application/vnd.pypi.simple.v1+json, "
    "application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexFile:
    """One file of a project; what the index does not say is None. `size` in bytes."""

    name: str
    url: str
    sha256: str | None
    size: int | None


def index_url(environ: Mapping[str, str]) -> str:
    """The index that uv or pip would use by their variables, or else the public one."""
    names = ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL")
    return next((environ[name] for name in names if environ.get(name)), DEFAULT_INDEX)


def find_wheel(client: httpx2.Client, index: str, project: str, version: str) -> IndexFile:
    """The wheel of `project` at exactly `version`.

    Raises SourceError where the index has none, and httpx2.HTTPError where it does not answer.
    """
    response = client.get(f"{index.rstrip('/')}/{project}/", headers={"Accept": _ACCEPT})
    response.raise_for_status()
    for file in _files(response):
        name, _, rest = file.name.partition("-")
        if _normal(name) == _normal(project) and re.match(rf"{re.escape(version)}-.*\.whl$", rest):
            return file
    raise SourceError(f"it has no wheel of {project} {version}")


def _normal(project: str) -> str:
    return re.sub(r"[-_.]+", "-", project).lower()


def _files(response: httpx2.Response) -> Iterator[IndexFile]:
    base = str(response.url)
    if "json" not in response.headers.get("content-type", ""):
        parser = _Anchors()
        parser.feed(response.text)
        return (_from_link(urljoin(base, link)) for link in parser.links)
    try:
        return (_from_json(entry, base) for entry in list(response.json()["files"]))
    except (ValueError, KeyError, TypeError) as error:
        raise SourceError(f"its page {response.url.path} is not what an index sends") from error


def _from_json(entry: dict[str, Any], base: str) -> IndexFile:
    return IndexFile(
        name=entry["filename"],
        url=urljoin(base, entry["url"]),
        sha256=entry.get("hashes", {}).get("sha256"),
        size=entry.get("size"),
    )


def _from_link(link: str) -> IndexFile:
    url, fragment = urldefrag(link)
    sha256 = parse_qs(fragment).get("sha256", [None])[0]
    name = urlsplit(url).path.rpartition("/")[2]
    return IndexFile(name=name, url=url, sha256=sha256, size=None)


class _Anchors(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        link = dict(attrs).get("href")
        if tag == "a" and link:
            self.links.append(link)
