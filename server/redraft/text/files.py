"""Source files on disk: reading them exactly, and replacing them atomically.

Knows encodings, byte order marks and the file system; nothing of languages, edits or editors.
Every failure is an `InputError` that names the file and says what to do.
"""

import codecs
import contextlib
import errno
import os
import secrets
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from redraft.errors import InputError
from redraft.text.lines import to_lf

__all__ = ["MAX_BYTES", "Document", "Encoding", "decode", "read", "sync_folder", "write_atomic"]

Encoding: TypeAlias = Literal["utf-8", "utf-16-le", "utf-16-be"]

MAX_BYTES = 10 * 1024 * 1024
"""Larger files are refused: no local model has such a context, so the wrong file was named."""

_BOMS: tuple[tuple[bytes, Encoding], ...] = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

_ADVICE = {
    errno.EACCES: "permission denied; check the permissions of the file and its folder",
    errno.EPERM: "not permitted; check the permissions of the file and its folder",
    errno.EROFS: "the file system is read-only; copy the file elsewhere",
    errno.ENOSPC: "the disk is full; free some space and try again",
    errno.EDQUOT: "your disk quota is used up; free some space and try again",
    errno.ELOOP: "its symbolic links go round in a circle; name the real file",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A decoded file. `text` keeps every line ending and holds no byte order mark."""

    path: Path
    text: str
    encoding: Encoding = "utf-8"
    bom: bytes = b""  # the byte order mark the file began with

    def encode(self) -> bytes:
        """Return the file's bytes: those it was read from where `text` is the same."""
        return self.bom + self.text.encode(self.encoding)


def read(path: str | os.PathLike[str]) -> Document:
    """Read and decode the file `path` (UTF-8, or UTF-16 with a byte order mark).

    Raises InputError when it is missing, not a regular file, unreadable, larger than `MAX_BYTES`,
    binary, or not valid in its encoding.
    """
    path = Path(path)
    with _input_errors(path, "cannot read"):
        # Before opening the file: opening a pipe would wait for its writer.
        info = path.stat()
        if stat.S_ISDIR(info.st_mode):
            raise InputError(f"{path} is a directory; name a file in it")
        if not stat.S_ISREG(info.st_mode):
            raise InputError(f"{path} is not a regular file; to edit a stream, pass it as -")
        if info.st_size > MAX_BYTES:
            raise InputError(
                f"{path} has {info.st_size:,} bytes, over the limit of {MAX_BYTES:,}; "
                "split the file, or edit an excerpt"
            )
        data = path.read_bytes()
    return decode(data, path)


def decode(data: bytes, path: Path) -> Document:
    """Return the document that `data` encodes; `path` is not opened.

    Raises InputError where `data` is binary, or not valid in its encoding.
    """
    bom, encoding = next((entry for entry in _BOMS if data.startswith(entry[0])), (b"", "utf-8"))
    try:
        text = data[len(bom) :].decode(encoding)
    except UnicodeDecodeError as error:
        if b"\0" in data and not bom:
            raise _binary_error(path, data.index(b"\0")) from None
        line = to_lf(data[len(bom) :][: error.start].decode(encoding)).count("\n") + 1
        raise InputError(
            f"{path} is not valid {encoding.upper()} (line {line}, byte offset "
            f"{len(bom) + error.start}: {error.reason}); convert it to UTF-8 first"
        ) from error
    if "\0" in text:
        raise _binary_error(path, len(bom) + len(text[: text.index("\0")].encode(encoding)))
    return Document(path=path, text=text, encoding=encoding, bom=bom)


def write_atomic(path: str | os.PathLike[str], data: bytes, *, expected: bytes | None) -> None:
    """Replace the file `path` by `data` atomically, or leave it exactly as it is.

    `expected` is what the file must still hold; None means it must not exist yet. A symbolic link
    stays and its target is replaced; the mode is kept, and the owner where the system allows it.
    Hard links to the file are broken, as by any replacement.
    Raises InputError where the file has changed or cannot be written.
    """
    path = Path(path)
    with _input_errors(path, "cannot write"):
        target = Path(os.path.realpath(path))
        _check_unchanged(path, target, expected)
        # A rename needs permission for the folder alone and would replace a write-protected file.
        if expected is not None and not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        temp = target.with_name(f".redraft-{secrets.token_hex(8)}.tmp")
        try:
            with temp.open("xb") as file:
                if expected is not None:
                    _copy_owner_and_mode(target, temp)
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            # Once more: the file may have been changed while the new one was being written.
            _check_unchanged(path, target, expected)
            temp.replace(target)
        finally:
            temp.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # some file systems cannot: the file is replaced by now
            sync_folder(target.parent)


def _check_unchanged(path: Path, target: Path, expected: bytes | None) -> None:
    try:
        present = target.read_bytes()
    except FileNotFoundError:
        present = None
    if present == expected:
        return
    if expected is None:
        change = "exists already"
    else:
        change = "no longer exists" if present is None else "changed since it was read"
    raise InputError(f"{path} {change}; nothing was written. Look at it, then run the edit again")


def _copy_owner_and_mode(target: Path, copy: Path) -> None:
    info = target.stat()
    if hasattr(os, "chown"):  # not on Windows
        with contextlib.suppress(PermissionError):
            os.chown(copy, info.st_uid, info.st_gid)
    # After the owner: a change of owner clears the set-user-ID bits.
    copy.chmod(stat.S_IMODE(info.st_mode))


def sync_folder(folder: Path) -> None:
    """Make names that were added or changed in `folder` last through a power cut.

    Windows opens no folders, and writes such names down by itself. Raises OSError.
    """
    if sys.platform == "win32":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def _input_errors(path: Path, doing: str) -> Iterator[None]:
    """Turn errors of the system into an `InputError` that names `path` and says what to do."""
    try:
        yield
    except FileNotFoundError as error:
        message = f"{path} does not exist; check the name, or the folder you are in ({Path.cwd()})"
        folder = next((parent for parent in reversed(path.parents) if not parent.exists()), None)
        if folder is not None:
            message = f"{path} does not exist: there is no folder {folder}; check the name"
        if path.is_symlink():
            message = f"{path} is a symbolic link to {path.readlink()}, which does not exist"
        raise InputError(message) from error
    except OSError as error:
        reason = _ADVICE.get(error.errno or 0, error.strerror or str(error))
        raise InputError(f"{doing} {path}: {reason}") from error
    except ValueError as error:  # a NUL character in the path
        raise InputError(f"{doing} {str(path)!r}: {error}; check the name") from error


def _binary_error(path: Path, at: int) -> InputError:
    return InputError(
        f"{path} is binary (NUL byte at offset {at}); name a text file, "
        "or if it is UTF-16 or UTF-32, save it as UTF-8"
    )
