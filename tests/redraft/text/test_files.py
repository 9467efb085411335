import codecs
import errno
import os
import random
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from redraft.errors import InputError
from redraft.text import files
from redraft.text.files import read, write_atomic

TEXT = "a = 'μ😀'\r\nb\n\rc"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        pytest.param(b"", "", id="empty"),
        pytest.param(TEXT.encode(), TEXT, id="UTF-8"),
        pytest.param(codecs.BOM_UTF8 + TEXT.encode(), TEXT, id="UTF-8 with a mark"),
        pytest.param(codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le"), TEXT, id="UTF-16 LE"),
        pytest.param(codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"), TEXT, id="UTF-16 BE"),
        pytest.param(codecs.BOM_UTF8, "", id="nothing but a mark"),
        pytest.param("\ufeff\ufeffa".encode(), "\ufeffa", id="a second mark is text"),
    ],
)
def test_a_file_is_read_and_encoded_to_its_very_bytes(tmp_path, data, text):
    (tmp_path / "f").write_bytes(data)
    document = read(tmp_path / "f")
    assert document.text == text
    assert document.encode() == data


def test_a_changed_text_keeps_encoding_and_mark(tmp_path):
    (tmp_path / "f").write_bytes(codecs.BOM_UTF16_LE + "a".encode("utf-16-le"))
    changed = replace(read(tmp_path / "f"), text="é")
    assert changed.encode() == codecs.BOM_UTF16_LE + "é".encode("utf-16-le")


@pytest.mark.parametrize("seed", range(50))
def test_whatever_bytes_are_read_come_back_and_others_are_refused(tmp_path, seed):
    rng = random.Random(seed)
    boms = [b"", codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE]
    pieces = [b"\r", b"\n", b"a", b"\xc3\xa9", b"\xff", b"\xed\xa0\x80", b"\xf0\x9f", b"\0"]
    data = rng.choice(boms) + b"".join(rng.choices(pieces, k=rng.randrange(5)))
    (tmp_path / "f").write_bytes(data)
    try:
        document = read(tmp_path / "f")
    except InputError:
        return
    assert document.encode() == data


def refused(path):
    with pytest.raises(InputError) as caught:
        read(path)
    return str(caught.value)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        pytest.param(b"a\0b", "is binary (NUL byte at offset 1)", id="a NUL byte"),
        pytest.param(b"\x89PNG\r\n\x1a\n\0\0", "is binary (NUL byte at offset 8)", id="a picture"),
        pytest.param("ab".encode("utf-16-le"), "if it is UTF-16", id="UTF-16 without a mark"),
        pytest.param("ab".encode("utf-32"), "UTF-32, save it as UTF-8", id="UTF-32"),
        pytest.param(
            b"one\ntwo\xe9\n",
            "is not valid UTF-8 (line 2, byte offset 7: invalid continuation byte); "
            "convert it to UTF-8 first",
            id="Latin-1",
        ),
        pytest.param(b"a\rb\r\xff", "line 3, byte offset 4", id="lines of a CR-only file count"),
        pytest.param(codecs.BOM_UTF8 + b"\xff", "byte offset 3", id="the mark counts as bytes"),
        pytest.param(
            codecs.BOM_UTF16_LE + b"a\0\n\0b",
            "is not valid UTF-16-LE (line 2, byte offset 6: truncated data)",
            id="half a UTF-16 unit",
        ),
        pytest.param(
            codecs.BOM_UTF16_LE + b"a\0\0\0", "NUL byte at offset 4", id="a NUL in UTF-16"
        ),
    ],
)
def test_what_is_not_text_is_refused_with_the_place(tmp_path, data, says):
    (tmp_path / "f.py").write_bytes(data)
    message = refused(tmp_path / "f.py")
    assert message.startswith(str(tmp_path / "f.py"))
    assert says in message


def test_a_missing_file_is_named(tmp_path):
    assert refused(tmp_path / "no.py").startswith(f"{tmp_path / 'no.py'} does not exist; check")


def test_a_missing_folder_is_named(tmp_path):
    message = refused(tmp_path / "no" / "deep" / "f.py")
    assert f"there is no folder {tmp_path / 'no'};" in message


def test_a_dangling_link_is_named(tmp_path):
    (tmp_path / "link").symlink_to("gone")
    assert "is a symbolic link to gone, which does not exist" in refused(tmp_path / "link")


def test_links_in_a_circle_are_refused(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert "round in a circle" in refused(tmp_path / "a")


def test_a_directory_is_refused(tmp_path):
    assert "is a directory; name a file in it" in refused(tmp_path)


def test_a_file_used_as_a_folder_is_refused(tmp_path):
    (tmp_path / "f").touch()
    assert "Not a directory" in refused(tmp_path / "f" / "g")


def test_a_pipe_is_refused_without_waiting_for_its_writer(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert "is not a regular file" in refused(tmp_path / "pipe")


def test_a_name_no_system_has_is_refused():
    assert "check the name" in refused("a\0b")


def test_a_file_over_the_limit_is_refused_with_the_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MAX_BYTES", 4)
    (tmp_path / "f").write_bytes(b"12345")
    assert "has 5 bytes, over the limit of 4;" in refused(tmp_path / "f")
    (tmp_path / "f").write_bytes(b"1234")
    assert read(tmp_path / "f").text == "1234"


def test_an_unreadable_file_is_refused(tmp_path, monkeypatch):
    (tmp_path / "f").touch()
    # The suite may run as root, for whom no mode is too strict.
    monkeypatch.setattr(Path, "read_bytes", fail(errno.EACCES))
    assert refused(tmp_path / "f").startswith(f"cannot read {tmp_path / 'f'}: permission denied;")


def fail(code):
    def failing(*args, **kwargs):
        raise OSError(code, os.strerror(code))

    return failing


@pytest.fixture
def target(tmp_path):
    path = tmp_path / "f.py"
    path.write_bytes(b"old")
    return path


def test_a_file_is_replaced_and_nothing_is_left_beside_it(target):
    write_atomic(target, b"new", expected=b"old")
    assert target.read_bytes() == b"new"
    assert list(target.parent.iterdir()) == [target]


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755, 0o4755])
def test_the_mode_is_kept(target, mode):
    target.chmod(mode)
    write_atomic(target, b"new", expected=b"old")
    assert stat.S_IMODE(target.stat().st_mode) == mode


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_the_owner_is_kept(target):
    os.chown(target, 12345, 23456)
    write_atomic(target, b"new", expected=b"old")
    assert (target.stat().st_uid, target.stat().st_gid) == (12345, 23456)


def test_a_link_stays_and_its_target_is_replaced(target, tmp_path):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    link = folder / "link.py"
    link.symlink_to("../f.py")
    write_atomic(link, b"new", expected=b"old")
    assert str(link.readlink()) == "../f.py"
    assert target.read_bytes() == b"new"
    assert list(folder.iterdir()) == [link]


def test_a_new_file_gets_the_usual_mode(tmp_path):
    write_atomic(tmp_path / "new", b"x", expected=None)
    (tmp_path / "plain").touch()
    assert (tmp_path / "new").read_bytes() == b"x"
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_file_that_changed_meanwhile_is_left_alone(target):
    with pytest.raises(InputError, match=r"changed since it was read; nothing was written"):
        write_atomic(target, b"new", expected=b"older")
    assert target.read_bytes() == b"old"


def test_a_file_that_changes_while_the_new_one_is_written_is_left_alone(target, monkeypatch):
    def change(handle, sync=os.fsync):
        target.write_bytes(b"theirs")
        sync(handle)

    monkeypatch.setattr(os, "fsync", change)
    with pytest.raises(InputError, match="changed since"):
        write_atomic(target, b"new", expected=b"old")
    assert target.read_bytes() == b"theirs"
    assert list(target.parent.iterdir()) == [target]


def test_a_file_that_vanished_is_not_made_again(tmp_path):
    with pytest.raises(InputError, match="no longer exists"):
        write_atomic(tmp_path / "gone", b"new", expected=b"old")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_appeared_is_not_overwritten(target):
    with pytest.raises(InputError, match="exists already"):
        write_atomic(target, b"new", expected=None)
    assert target.read_bytes() == b"old"


def test_a_folder_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(InputError, match="there is no folder"):
        write_atomic(tmp_path / "no" / "f", b"new", expected=None)


def test_a_write_protected_file_is_refused_though_its_folder_is_not(target, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    with pytest.raises(InputError, match=r"cannot write .*: permission denied; check"):
        write_atomic(target, b"new", expected=b"old")
    assert target.read_bytes() == b"old"


@pytest.mark.parametrize(
    ("failing", "code", "says"),
    [
        pytest.param((os, "fsync"), errno.ENOSPC, "the disk is full; free", id="a full disk"),
        pytest.param((os, "fsync"), errno.EDQUOT, "quota is used up", id="a used-up quota"),
        pytest.param((os, "fsync"), errno.EIO, "Input/output error", id="a broken disk"),
        pytest.param((Path, "open"), errno.EACCES, "permission denied", id="a closed folder"),
        pytest.param((Path, "open"), errno.EROFS, "read-only", id="a read-only file system"),
        pytest.param((Path, "replace"), errno.EPERM, "not permitted", id="an immutable file"),
    ],
)
def test_a_failed_write_leaves_everything_as_it_was(target, monkeypatch, failing, code, says):
    read_bytes = target.read_bytes()
    monkeypatch.setattr(*failing, fail(code))
    # Path.read_bytes opens through Path.open, which fails here on purpose.
    monkeypatch.setattr(Path, "read_bytes", lambda path: read_bytes)
    with pytest.raises(InputError, match=f"cannot write {target}: .*{says}"):
        write_atomic(target, b"new", expected=b"old")
    monkeypatch.undo()
    assert target.read_bytes() == b"old"
    assert list(target.parent.iterdir()) == [target]


def test_an_interrupted_write_leaves_everything_as_it_was(target, monkeypatch):
    def interrupt(handle):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_atomic(target, b"new", expected=b"old")
    assert target.read_bytes() == b"old"
    assert list(target.parent.iterdir()) == [target]
