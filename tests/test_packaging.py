"""The wheel and the sdist: their contents, and that the installed command runs.

The wheel is installed into an environment with pip alone, which borrows the dependencies of redraft
from the environment of the tests: no network is needed and the engine is not built again.
"""

import json
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel built from that sdist."""
    folder = tmp_path_factory.mktemp("dist")
    _run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT)
    return folder


@pytest.fixture(scope="session")
def wheel(built: Path) -> Path:
    [wheel] = built.glob("redraft-*-py3-none-any.whl")
    return wheel


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` folder of an environment into which the wheel alone was installed."""
    home = tmp_path_factory.mktemp("user") / "venv"
    venv.create(home, with_pip=True)
    _run(home / "bin" / "python", "-m", "pip", "install", "--no-index", "--no-deps", wheel)
    [site_packages] = home.glob("lib/python*/site-packages")
    # The .pth files in a folder named by a .pth are not read: the editable redraft stays invisible.
    (site_packages / "borrowed.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    return home / "bin"


def test_the_wheel_holds_every_module_of_both_packages_and_nothing_else(wheel: Path):
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert held == _files_of("server", "redraft") | _files_of("lookup", "redraft_lookup")
    assert {"redraft/py.typed", "redraft_lookup/py.typed"} <= held


def test_the_wheel_carries_licence_command_and_readme(wheel: Path):
    with zipfile.ZipFile(wheel) as archive:
        info = {
            name.partition(".dist-info/")[2]: archive.read(name).decode()
            for name in archive.namelist()
            if ".dist-info/" in name
        }
    assert info["licenses/LICENSE"] == (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "redraft = redraft.cli:main" in info["entry_points.txt"]
    assert "License-Expression: Apache-2.0" in info["METADATA"]
    assert (ROOT / "README.md").read_text(encoding="utf-8") in info["METADATA"]


def test_the_metadata_is_what_package_indexes_take(built: Path):
    _run(sys.executable, "-m", "twine", "check", "--strict", *built.iterdir())


def test_the_sdist_holds_what_a_build_and_a_reader_need(built: Path):
    [sdist] = built.glob("redraft-*.tar.gz")
    with tarfile.open(sdist) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    assert {"LICENSE", "README.md", "CHANGELOG.md", "pyproject.toml"} <= held
    assert {f"server/{name}" for name in _files_of("server")} <= held
    assert {f"lookup/{name}" for name in _files_of("lookup")} <= held
    assert not {name for name in held if name.startswith(("tests", "fixtures", "editors", "."))} - {
        ".gitignore"  # hatchling puts it into every sdist
    }


def test_the_installed_command_explains_itself(installed: Path):
    where = _run(installed / "python", "-c", "import redraft; print(redraft.__file__)")
    assert Path(where.strip()).is_relative_to(installed.parent)
    assert "edit" in _run(installed / "redraft", "--help")


def test_the_installed_command_decodes_for_the_doctor(installed: Path, small_model_path: Path):
    report = json.loads(
        _run(installed / "redraft", "doctor", "--json", "--model", small_model_path)
    )
    assert report["ok"], report


def _files_of(tree: str, package: str = "") -> set[str]:
    """The files of a tree or of one package there, as paths that start with the package's name."""
    found = (path for path in (ROOT / tree / package).rglob("*") if path.is_file())
    return {str(path.relative_to(ROOT / tree)) for path in found if "__pycache__" not in path.parts}


def _run(*command: str | Path) -> str:
    """Standard output of a command that must succeed."""
    run = subprocess.run(command, cwd="/", capture_output=True, text=True, check=False)
    assert run.returncode == 0, f"{command}:\n{run.stdout}{run.stderr}"
    return run.stdout
