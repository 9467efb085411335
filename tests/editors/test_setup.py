"""`make test-setup` installs what it may, says so, and lists the rest; pytest installs nothing."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.editors import setup, tools
from tests.editors.setup import InstallError, Requirement, apt_install, fill, npm_install, set_up
from tests.editors.tools import MissingToolError


def create_requirement(*, is_here: bool, install: Callable[[], None]) -> Requirement:
    def find() -> None:
        if not is_here:
            raise MissingToolError("the tool")

    return Requirement(name="the tool", find=find, install=install)


def fail_to_install() -> None:
    raise InstallError("there is no network")


def test_what_is_here_is_not_installed_again():
    assert set_up([create_requirement(is_here=True, install=fail_to_install)]) == []


def test_what_cannot_be_installed_is_listed_and_keeps_nothing_else_from_it():
    installed: list[str] = []
    unmet = set_up(
        [
            create_requirement(is_here=False, install=fail_to_install),
            create_requirement(is_here=False, install=lambda: installed.append("the next")),
        ]
    )
    assert unmet == ["the tool is missing, its tests are skipped: there is no network"]
    assert installed == ["the next"]


def refuse_to_run(*command: object, **_: object) -> None:
    raise AssertionError(command)


def test_a_user_who_is_not_root_is_told_the_command(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(subprocess, "run", refuse_to_run)
    with pytest.raises(InstallError, match="`sudo apt-get install emacs-nox elpa-eglot`"):
        apt_install("emacs-nox", "elpa-eglot")


def test_a_system_without_apt_is_told_the_names(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr(subprocess, "run", refuse_to_run)
    with pytest.raises(InstallError, match=r"package manager .*lua-check"):
        apt_install("lua-check")


@pytest.mark.parametrize(
    ("stderr", "error"),
    [
        pytest.param("npm error code EAI_AGAIN", InstallError, id="no network is a reason to skip"),
        pytest.param(
            "npm error code EUSAGE",
            subprocess.CalledProcessError,
            id="a lock file that does not fit is a failure",
        ),
    ],
)
def test_npm_fails(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, stderr: str, error: type[Exception]
):
    monkeypatch.setattr(tools, "find_npm", lambda: "npm")
    failed = subprocess.CompletedProcess(["npm", "ci"], 1, stdout="", stderr=stderr)
    monkeypatch.setattr(tools, "run_npm", lambda *_: failed)
    with pytest.raises(error):
        npm_install(tmp_path, "ci")


def test_a_folder_is_filled_once_and_never_by_half(tmp_path: Path):
    home = tmp_path / "cache" / "tool-1.0"

    def install_half(folder: Path) -> None:
        (folder / "half").touch()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fill(home, install_half)
    assert not home.exists()
    fill(home, lambda folder: (folder / "whole").touch())
    assert [path.name for path in home.iterdir()] == ["whole"]
    fill(home, install_half)  # does not get as far as to install


def test_a_test_that_lacks_its_tool_names_the_step(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr(tools, "CACHE", tmp_path)
    for requirement in setup.REQUIREMENTS:
        with pytest.raises(MissingToolError, match="not installed, run `make test-setup`"):
            requirement.find()
