"""Odd files, files that change meanwhile or cannot be written: the rest is done, nothing is lost."""

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.redraft.codemod.conftest import FILES, contents
from tests.redraft.codemod.rule_model import BatchRuleModel, RuleModel

from redraft.errors import EngineError
from redraft.records import Prompt

CODE = "def old():\n    return 1\n"


@contextlib.contextmanager
def as_nobody() -> Iterator[None]:
    """Root may read and write everything: be somebody else for a while."""
    if os.getuid() != 0:
        yield
        return
    os.setresuid(65534, 65534, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


@pytest.fixture
def open_folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that anybody may use, as the current one, state and cache in it as well."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name)
        path.chmod(0o777)
        for variable in ("XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
            folder = path / "home" / variable
            folder.mkdir(parents=True)
            folder.chmod(0o777)
            monkeypatch.setenv(variable, str(folder))
        code = path / "code"
        code.mkdir()
        code.chmod(0o777)
        monkeypatch.chdir(code)
        yield code


needs_another_user = pytest.mark.skipif(
    not hasattr(os, "setresuid"), reason="needs Linux to drop root's rights"
)


@needs_another_user
def test_odd_files_do_not_end_a_run(open_folder: Path, codemod):
    """Case C15: twenty files, some of which nobody could edit."""
    for n in range(14):
        (open_folder / f"good{n:02}.py").write_text(CODE)
    (open_folder / "closed.py").write_text(CODE)
    (open_folder / "syntax.py").write_text("def old(:\n    return (\n\n\n" + CODE)
    (open_folder / "binary.py").write_bytes(b"\0\1\2" * 100)
    (open_folder / "latin.py").write_bytes("x = 'é'\n".encode("latin-1"))
    (open_folder / "empty.py").write_bytes(b"")
    (open_folder / "link.py").symlink_to("/etc/passwd")
    for path in open_folder.iterdir():
        if not path.is_symlink():
            path.chmod(0o666)
    codemod("x", ".")  # imports what another user may not read
    (open_folder / "closed.py").chmod(0o000)
    before = contents(open_folder)
    with as_nobody():
        ran = codemod("rename old", ".", "--write")
    after = contents(open_folder)
    assert ran.code == 2
    assert "files    15 changed, 1 failed, 3 skipped\n" in ran.err
    assert ran.err.endswith(
        f"redraft: failed: closed.py: cannot read {open_folder}/closed.py: permission denied; "
        "check the permissions of the file and its folder\n"
    )
    for name, data in before.items():
        assert after[name] == (data.replace(b"old", b"new") if data != after[name] else data)
    changed = {name for name, data in before.items() if data != after[name]}
    assert changed == {f"good{n:02}.py" for n in range(14)} | {"syntax.py"}


@needs_another_user
@pytest.mark.parametrize(
    ("file_mode", "folder_mode"),
    [
        pytest.param(0o444, 0o777, id="a read-only file"),
        pytest.param(0o666, 0o555, id="a read-only folder"),
    ],
)
def test_what_cannot_be_written_is_known_before_the_model_is_asked(
    open_folder: Path, codemod, file_mode: int, folder_mode: int
):
    path = open_folder / "sub" / "a.py"
    path.parent.mkdir()
    path.write_text(CODE)
    codemod("x", ".")  # imports what another user may not read
    path.chmod(file_mode)
    path.parent.chmod(folder_mode)
    model = BatchRuleModel()
    with as_nobody():
        ran = codemod("rename old", ".", "--write", model=model)
    path.parent.chmod(0o777)
    assert (ran.code, model.prompts) == (2, [])
    assert f"failed: sub/a.py: cannot write {path}: no permission to change" in ran.err
    assert path.read_text() == CODE


class MeddlingModel(RuleModel):
    """Somebody saves `path` while the model writes the edit of `when`."""

    path: Path
    when: str
    text: str | None

    def before_reply(self, prompt: Prompt) -> None:
        if self.when in prompt.source:
            if self.text is None:
                self.path.unlink()
            else:
                self.path.write_text(self.text)


@pytest.mark.parametrize(
    ("path", "when", "text", "message"),
    [
        pytest.param("shop.py", "old_sum", "mine\n", "changed since it was read", id="in hand"),
        pytest.param("shop.py", "old_sum", None, "no longer exists", id="deleted"),
        pytest.param("shop.py", "oldName", "mine\n", "changed since the run began", id="ahead"),
        pytest.param("shop.py", "oldName", None, "does not exist", id="deleted ahead"),
    ],
)
def test_a_file_that_changes_meanwhile_is_left_as_it_is(
    repo: Path, codemod, path, when, text, message
):
    model = MeddlingModel()
    model.path, model.when, model.text = repo / path, when, text
    ran = codemod("rename old", ".", "--write", "--jobs", "1", model=model)
    assert ran.code == 2
    assert message in ran.err
    assert "files    2 changed, 1 failed\n" in ran.err
    expected = {name: data.replace("old", "new") for name, data in FILES.items()}
    expected |= {"README.md": FILES["README.md"]}
    del expected[path]
    if text is not None:
        expected[path] = text
    assert contents(repo) == {name: data.encode() for name, data in sorted(expected.items())}


def test_the_library_failing_for_one_target_fails_one_file(repo: Path, codemod):
    class Failing(BatchRuleModel):
        def before_reply(self, prompt):
            if "oldName" in prompt.source:
                raise EngineError("llama_decode failed")

    ran = codemod("rename old", ".", "--write", model=Failing())
    assert ran.code == 2
    assert "files    2 changed, 1 failed\n" in ran.err
    assert "failed: lib/web.js: llama_decode failed\n" in ran.err
    assert (repo / "lib/web.js").read_text() == FILES["lib/web.js"]
    again = BatchRuleModel()
    resumed = codemod("rename old", ".", "--write", "--resume", model=again)
    assert resumed.code == 0
    assert len(again.prompts) == 1
    assert "newName" in (repo / "lib/web.js").read_text()


def test_a_deadline_refuses_a_target_and_is_not_kept(repo: Path, codemod):
    ran = codemod("rename old", ".", "--timeout", "1", model=RuleModel(token_s=0.1))
    assert ran.code == 2
    assert "refused: timeout" in ran.err
    assert codemod("rename old", ".").code == 0


def test_a_huge_generated_file_is_skipped_with_a_reason(repo: Path, codemod):
    (repo / "generated.py").write_bytes(CODE.encode() * (10_000_000 // len(CODE)))
    ran = codemod("rename old", ".", "--plan", "--json")
    assert '"path": "generated.py", "reason": "9,999,984 bytes, over the limit' in ran.out
    assert codemod("rename old", ".", "--write").code == 0


def test_a_thousand_tiny_files(tmp_path: Path, codemod, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    for n in range(1000):
        (tmp_path / f"f{n:03}.py").write_text(f"def old{n}(): pass\n")
    ran = codemod("rename old", ".", "--write")
    assert ran.code == 0
    assert "files    1,000 changed\n" in ran.err
    assert all(
        (tmp_path / f"f{n:03}.py").read_text() == f"def new{n}(): pass\n" for n in range(1000)
    )
    run = re.search(r"undo (\S+)`", ran.err)[1]
    assert codemod("undo", run).err == "redraft: 1,000 files reverted\n"
    assert (tmp_path / "f999.py").read_text() == "def old999(): pass\n"


@contextlib.contextmanager
def small_disk(size: str) -> Iterator[Path]:
    """A file system of its own with room for `size`."""
    with tempfile.TemporaryDirectory() as name:
        mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", name]
        try:
            made = subprocess.run(mount, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            pytest.skip("needs Linux's mount")
        if made.returncode:
            pytest.skip(f"may not mount a tmpfs: {made.stderr.strip()}")
        try:
            yield Path(name)
        finally:
            os.chdir("/")
            subprocess.run(["umount", name], check=True)


def fill(disk: Path, *, leave: int = 0) -> None:
    """Take all but `leave` bytes."""
    with contextlib.suppress(OSError), (disk / "filler").open("wb", buffering=0) as file:
        while True:
            file.write(b"\0" * 512)
    os.truncate(disk / "filler", max(0, (disk / "filler").stat().st_size - leave))


def test_a_full_disk_behind_the_code_loses_nothing(codemod, monkeypatch: pytest.MonkeyPatch):
    with small_disk("256k") as disk:
        for n in range(3):
            (disk / f"f{n}.py").write_text(CODE)
        monkeypatch.chdir(disk)
        fill(disk)
        ran = codemod("rename old", ".", "--write")
        assert ran.code == 2
        assert ran.err.count("the disk is full; free some space and try again") == 3
        assert [(disk / f"f{n}.py").read_text() for n in range(3)] == [CODE] * 3
        assert sorted(path.name for path in disk.iterdir()) == ["f0.py", "f1.py", "f2.py", "filler"]
        (disk / "filler").unlink()
        model = BatchRuleModel()
        assert codemod("rename old", ".", "--write", "--resume", model=model).code == 0
        assert model.prompts == []
        assert "new" in (disk / "f2.py").read_text()


def test_a_full_disk_behind_the_journal_ends_the_run_before_the_file_is_touched(
    repo: Path, codemod, monkeypatch: pytest.MonkeyPatch
):
    with small_disk("64k") as disk:
        monkeypatch.setenv("XDG_STATE_HOME", str(disk))

        class Filling(RuleModel):
            def before_reply(self, prompt):
                if "oldName" in prompt.source:
                    fill(disk)

        for n in range(60):
            (repo / f"tail{n:02}.py").write_text(CODE * 3)
        ran = codemod("rename old", ".", "--write", "--jobs", "1", model=Filling())
        assert ran.code == 2
        assert "cannot write the journal" in ran.err
        assert "no more files were changed" in ran.err
        (disk / "filler").unlink()
        resumed = codemod("rename old", ".", "--write", "--resume")
        assert resumed.code == 0
        assert "old" not in (repo / "tail59.py").read_text()
        run = re.search(r"undo (\S+)`", resumed.err)[1]
        assert codemod("undo", run).code == 0
        assert (repo / "shop.py").read_text() == FILES["shop.py"]
        assert (repo / "tail59.py").read_text() == CODE * 3


def test_whichever_write_finds_the_disk_full_no_file_is_half_written(
    codemod, monkeypatch: pytest.MonkeyPatch
):
    """Code, journal and cache share a disk on which ever more is free when a run begins."""
    with small_disk("512k") as disk:
        for name in ("STATE", "CACHE"):
            monkeypatch.setenv(f"XDG_{name}_HOME", str(disk / name))
        code = disk / "code"
        code.mkdir()
        monkeypatch.chdir(code)
        texts = [f"def old():\n    return '{n * 900 * 'x'}'\n" for n in range(1, 7)]
        endings = set()
        for n_pages in range(40):
            for n, text in enumerate(texts):
                (code / f"f{n}.py").write_text(text)
            fill(disk, leave=4096 * n_pages)
            # A reply of its own each time, so that the cache has something to write.
            order = (f"rename old {n_pages}", ".", "--write", "--jobs", "1")
            endings.add(codemod(*order).code)
            for n, text in enumerate(texts):
                assert (code / f"f{n}.py").read_text() in (text, text.replace("old", "new"))
            assert len(list(code.iterdir())) == len(texts)
            (disk / "filler").unlink()
            assert codemod(*order, "--resume").code == 0
            for n, text in enumerate(texts):
                assert (code / f"f{n}.py").read_text() == text.replace("old", "new")
            for name in ("STATE", "CACHE"):
                shutil.rmtree(disk / name, ignore_errors=True)
        assert endings == {0, 2}


def test_edits_that_only_break_the_parse_together_are_refused_together(repo: Path, codemod):
    text = "def a():\n    return 1\ndef b():\n    return 2\n"
    (repo / "pair.py").write_text(text)

    def rule(source: str) -> str:
        return (
            source.replace("return 1", 'return """') if "def a" in source else source + '    """\n'
        )

    ran = codemod("quote", "pair.py", "--write", model=BatchRuleModel(rule=rule))
    assert ran.code == 2
    assert (repo / "pair.py").read_text() == text
