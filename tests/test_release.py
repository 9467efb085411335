"""The release check finds parts that do not belong together; `make release-check` does the rest."""

import importlib.util
import re
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent
VERSIONED = ("server/redraft/__init__.py", "CHANGELOG.md", "editors/vscode/package.json")


@pytest.fixture
def release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The release check for a copy of the files that hold the version."""
    monkeypatch.syspath_prepend(str(ROOT / ".ci"))
    monkeypatch.delitem(sys.modules, "engine_wheel", raising=False)
    spec = importlib.util.spec_from_file_location("release", ROOT / ".ci" / "release.py")
    assert spec
    assert spec.loader
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    for name in VERSIONED:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    monkeypatch.setattr(script, "ROOT", tmp_path)
    monkeypatch.setattr(script.tools, "EXTENSION", tmp_path / "editors" / "vscode")
    return script


def test_all_parts_have_one_version(release: ModuleType):
    assert re.fullmatch(r"\d+\.\d+\.\d+", release.read_version())


@pytest.mark.parametrize("name", VERSIONED)
def test_a_part_with_another_version_is_named(release: ModuleType, tmp_path: Path, name: str):
    version = release.read_version()
    part = tmp_path / name
    part.write_text(part.read_text(encoding="utf-8").replace(version, "99.0.0"), encoding="utf-8")
    with pytest.raises(release.ReleaseError, match=re.escape(f"{name} 99.0.0")):
        release.read_version()


def test_a_tag_releases_its_own_version_only(release: ModuleType):
    release.check_tag("v0.2.0", "0.2.0")
    with pytest.raises(release.ReleaseError, match=re.escape("tag v0.2.0")):
        release.check_tag("v0.3.0", "0.2.0")


def test_a_part_that_does_not_run_ends_the_check_with_what_it_printed(release: ModuleType):
    failing = "import sys; print('why it failed'); sys.exit(3)"
    with pytest.raises(release.ReleaseError, match=r"ended with 3:\nwhy it failed"):
        release.run(sys.executable, "-c", failing)
