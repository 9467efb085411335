"""Source files on disk: reading them exactly, and replacing them in one step.

Knows encodings, byte order marks and the file system; nothing of languages, edits or editors.
Every failure is one `InputError` that names the file and says what to do.
"""

import codecs
import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from redraft.errors import InputError
from redraft.text.lines import to_lf

__all__ = ["MAX_BYTES", "Document", "Encoding", "decode", "read", "write_atomic"]

Encoding: TypeAlias = Literal["utf-8", "utf-16-le", "utf-16-be"]

MAX_BYTES = 10 * 1024 * 1024
"""Larger files are refused: no local model's context comes near, so the wrong file was named."""

_BOMS: tuple[tuple[bytes, Encoding], ...] = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

_CURES = {
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
    bom: bytes = b""

    def encode(self) -> bytes:
        """The file's bytes: those it was read from as long as `text` is the same."""
        return self.bom + self.text.encode(self.encoding)


def read(path: str | os.PathLike[str]) -> Document:
    """Read and decode the file `path` (UTF-8, or UTF-16 with a byte order mark).

    Raises InputError when it is missing, not a regular file, unreadable, larger than `MAX_BYTES`,
    binary, or not valid in its encoding.
    """
    path = Path(path)
    with _explained(path, "cannot read"):
        # Asked before opening: opening a pipe would wait for its writer.
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
    """The document that the bytes `data` are; `path` is only named. Raises InputError as `read`."""
    bom, encoding = next((known for known in _BOMS if data.startswith(known[0])), (b"", "utf-8"))
    try:
        text = data[len(bom) :].decode(encoding)
    except UnicodeDecodeError as error:
        if b"\0" in data and not bom:
            raise _binary(path, data.index(b"\0")) from None
        raise _undecodable(path, data, len(bom), error) from error
    if "\0" in text:
        raise _binary(path, len(bom) + len(text[: text.index("\0")].encode(encoding)))
    return Document(path=path, text=text, encoding=encoding, bom=bom)


def write_atomic(path: str | os.PathLike[str], data: bytes, *, expected: bytes | None) -> None:
    """Replace the file `path` by `data` in one step, or leave it exactly as it is.

    `expected` is what the file must still hold; None means it must not exist yet. A symbolic link
    stays and its target is replaced; the mode is kept, the owner where the system allows it. Hard
    links to the file are broken, as by any replacement.
    Raises InputError when the file changed meanwhile or cannot be written.
    """
    path = Path(path)
    with _explained(path, "cannot write"):
        target = Path(os.path.realpath(path))
        _check_present(path, target, expected)
        if expected is not None and not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        temp = target.with_name(f".redraft-{secrets.token_hex(8)}.tmp")
        try:
            with temp.open("xb") as file:
                if expected is not None:
                    _copy_owner_and_mode(target, file.fileno())
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            _check_present(path, target, expected)
            temp.replace(target)
        finally:
            temp.unlink(missing_ok=True)
        _sync_folder(target.parent)


def _check_present(path: Path, target: Path, expected: bytes | None) -> None:
    try:
        present = target.read_bytes()
    except FileNotFoundError:
        present = None
    if present == expected:
        return
    what = "no longer exists" if present is None else "changed since it was read"
    if expected is None:
        what = "exists already"
    raise InputError(f"{path} {what}; nothing was written. Look at it, then run the edit again")


def _copy_owner_and_mode(target: Path, file: int) -> None:
    info = target.stat()
    with contextlib.suppress(PermissionError):
        os.fchown(file, info.st_uid, info.st_gid)
    # After the owner: a change of owner clears the set-user-ID bits.
    os.fchmod(file, stat.S_IMODE(info.st_mode))


def _sync_folder(folder: Path) -> None:
    # The file is replaced by now; some file systems cannot sync a folder, and that is no failure.
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextlib.contextmanager
def _explained(path: Path, doing: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise InputError(_missing(path)) from error
    except OSError as error:
        reason = _CURES.get(error.errno or 0, error.strerror or str(error))
        raise InputError(f"{doing} {path}: {reason}") from error
    except ValueError as error:  # a NUL character in the path
        raise InputError(f"{doing} {str(path)!r}: {error}; check the name") from error


def _missing(path: Path) -> str:
    if path.is_symlink():
        return f"{path} is a symbolic link to {path.readlink()}, which does not exist"
    folder = next((up for up in reversed(path.parents) if not up.exists()), None)
    if folder is not None:
        return f"{path} does not exist: there is no folder {folder}; check the name"
    return f"{path} does not exist; check the name, or the folder you are in ({Path.cwd()})"


def _undecodable(path: Path, data: bytes, start: int, error: UnicodeDecodeError) -> InputError:
    before = data[start : start + error.start].decode(error.encoding)
    line = to_lf(before).count("\n") + 1
    return InputError(
        f"{path} is not valid {error.encoding.upper()} (line {line}, byte offset "
        f"{start + error.start}: {error.reason}); convert it to UTF-8 first"
    )


def _binary(path: Path, at: int) -> InputError:
    return InputError(
        f"{path} is binary (NUL byte at offset {at}); name a text file, "
        "or if it is UTF-16 or UTF-32, save it as UTF-8"
    )
