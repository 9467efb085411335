"""What a file is: its sha256, remembered while the file stays as it is, and its GGUF magic.

A hash is remembered under path, size, modification time and inode, so that a start does not read
a gigabyte again. `sha256_of` always reads the file.
"""

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any, Final

from redraft.errors import ModelError

__all__ = ["check_gguf", "known_sha256", "remember", "sha256_of"]

_CHUNK: Final = 1 << 20


def known_sha256(path: Path, cache: Path) -> str:
    """The sha256 of `path` in hex, from memory where the file has not changed since.

    Raises OSError where the file cannot be read.
    """
    entry = _load(cache).get(str(path))
    if isinstance(entry, list) and entry[:-1] == _identity(path):
        return str(entry[-1])
    return remember(path, sha256_of(path), cache)


def sha256_of(path: Path) -> str:
    """The sha256 of the whole file in hex. Raises OSError."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def remember(path: Path, sha256: str, cache: Path) -> str:
    """Keep `sha256` for the file as it is now, and return it."""
    entries = {**_load(cache), str(path): [*_identity(path), sha256]}
    # A memory that cannot be kept costs time, never the result.
    try:
        cache.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=cache)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(entries, file)
        Path(name).replace(_memory(cache))
    except OSError:
        pass
    return sha256


def check_gguf(path: Path) -> Path:
    """Return `path` if it is a file that begins as GGUF does.

    Raises ModelError where it is missing, unreadable, a directory, empty, or something else.
    """
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise ModelError(
            f"cannot read the model {path}: {error.strerror}; give the path of a GGUF file"
        ) from error
    if magic != b"GGUF":
        what = f"starts with {magic!r}, not b'GGUF'" if magic else "is empty"
        raise ModelError(f"{path} is not a GGUF model: it {what}; give the path of a GGUF file")
    return path


def _identity(path: Path) -> list[int]:
    status = path.stat()
    return [status.st_size, status.st_mtime_ns, status.st_ino]


def _memory(cache: Path) -> Path:
    return cache / "sha256.json"


def _load(cache: Path) -> dict[str, Any]:
    try:
        entries = json.loads(_memory(cache).read_bytes())
    except (OSError, ValueError):
        return {}
    return entries if isinstance(entries, dict) else {}
