"""Set-up repairs itself: the steps it repeats, by the state of the clone."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPTS = Path(__file__).parent.parent / ".ci"


@pytest.fixture
def bootstrap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The set-up script for a clone in a temporary folder; `steps` records what it does."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    monkeypatch.delitem(sys.modules, "engine_wheel", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    spec = importlib.util.spec_from_file_location("bootstrap", SCRIPTS / "bootstrap.py")
    assert spec
    assert spec.loader
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    monkeypatch.setattr(script, "ROOT", tmp_path)
    monkeypatch.setattr(script, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(script, "STAMP", tmp_path / ".venv" / "stamp")
    monkeypatch.setattr(script, "steps", [], raising=False)
    (tmp_path / "pyproject.toml").write_text("[project]", encoding="utf-8")

    def make_venv() -> None:
        script.steps.append("venv")
        (script.VENV / "bin").mkdir(parents=True, exist_ok=True)
        (script.VENV / "bin" / "python").touch()

    monkeypatch.setattr(script, "make_venv", make_venv)
    monkeypatch.setattr(script, "install", lambda wheel: script.steps.append("install"))
    monkeypatch.setattr(
        script.engine_wheel, "find_or_build_wheel", lambda python: Path("engine.whl")
    )
    return script


def change_nothing(script: ModuleType) -> None:
    pass


def lose_the_stamp(script: ModuleType) -> None:
    script.STAMP.unlink()


def cut_the_stamp(script: ModuleType) -> None:
    script.STAMP.write_text(script.STAMP.read_text()[:20])


def lose_python(script: ModuleType) -> None:
    (script.VENV / "bin" / "python").unlink()


def upgrade_python(script: ModuleType) -> None:
    stamp = json.loads(script.STAMP.read_text())
    script.STAMP.write_text(json.dumps({**stamp, "machine": "another"}))


def edit_pyproject(script: ModuleType) -> None:
    (script.ROOT / "pyproject.toml").write_text("[project]\nname = 'x'", encoding="utf-8")


@pytest.mark.parametrize(
    ("happens", "steps"),
    [
        pytest.param(change_nothing, [], id="nothing is done twice"),
        pytest.param(edit_pyproject, ["install"], id="new requirements are installed"),
        pytest.param(lose_the_stamp, ["venv", "install"], id="an unfinished set-up starts over"),
        pytest.param(cut_the_stamp, ["venv", "install"], id="a cut stamp does not count"),
        pytest.param(lose_python, ["venv", "install"], id="a .venv without Python is made again"),
        pytest.param(upgrade_python, ["venv", "install"], id="another Python has its own .venv"),
    ],
)
def test_set_up_again_after(bootstrap: ModuleType, happens, steps: list[str]):
    bootstrap.set_up()
    assert bootstrap.steps == ["venv", "install"]
    happens(bootstrap)
    bootstrap.steps.clear()
    bootstrap.set_up()
    assert bootstrap.steps == steps
    assert bootstrap.read_stamp()


def test_the_environment_of_another_clone_is_left_alone(
    bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    bootstrap.set_up()
    theirs = bootstrap.STAMP.read_text()
    linked = tmp_path / "linked"
    linked.mkdir()
    edit_pyproject(bootstrap)
    monkeypatch.setattr(bootstrap, "VENV", linked / ".venv")
    monkeypatch.setattr(bootstrap, "STAMP", linked / ".venv" / "stamp")
    monkeypatch.setattr(bootstrap, "machine_key", lambda: "of the other clone's folder")
    (linked / ".venv").symlink_to(tmp_path / ".venv")
    bootstrap.set_up()
    assert not (linked / ".venv").is_symlink()
    assert (tmp_path / ".venv" / "stamp").read_text() == theirs


@pytest.mark.parametrize("step", ["make_venv", "install"])
def test_a_set_up_killed_in_the_middle_starts_over(
    bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch, step: str
):
    bootstrap.set_up()
    edit_pyproject(bootstrap)
    if step == "make_venv":
        upgrade_python(bootstrap)
    with monkeypatch.context() as killed:
        killed.setattr(bootstrap, step, _die)
        with pytest.raises(KeyboardInterrupt):
            bootstrap.set_up()
    bootstrap.steps.clear()
    bootstrap.set_up()
    assert bootstrap.steps == ["venv", "install"]


def test_a_python_that_does_not_fit_is_named_with_what_to_do():
    run = subprocess.run(
        ["make", "-C", SCRIPTS.parent, "setup", "PYTHON=false"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode
    assert "redraft needs Python 3.10 to 3.14, found: false" in run.stderr


@pytest.mark.parametrize(
    "variable",
    [
        pytest.param("CFLAGS", id="its flags change"),
        pytest.param("CMAKE_ARGS", id="its options change"),
    ],
)
def test_the_engine_has_another_wheel_when(
    bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch, variable: str
):
    before = bootstrap.engine_wheel.build_key()
    monkeypatch.setenv(variable, "-DSOMETHING=1")
    assert bootstrap.engine_wheel.build_key() != before
    assert bootstrap.engine_wheel.build_settings()[variable].endswith("-DSOMETHING=1")


def test_a_missing_compiler_is_named_with_what_to_install(
    bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(bootstrap.SetupError, match="no no-such-compiler was found") as raised:
        bootstrap.engine_wheel.check_compilers()
    assert "build-essential" in str(raised.value)


def test_the_build_reports_progress_and_keeps_the_log(
    bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys
):
    monkeypatch.setattr(bootstrap.engine_wheel, "PROGRESS_EVERY_S", 0)
    lines = ["-- Configuring done\n", "[12/150] g++ -c ggml.c\n", "[ 40%] Building CXX\n"]
    with (tmp_path / "log").open("w") as log:
        assert list(bootstrap.engine_wheel.log_build(lines, log)) == lines
    assert (tmp_path / "log").read_text() == "".join(lines)
    printed = capsys.readouterr().err.splitlines()
    assert [line.split(",")[0].strip() for line in printed] == [
        "compiling: 12/150",
        "compiling: 40%",
    ]


def _die(*_: object) -> None:
    raise KeyboardInterrupt
