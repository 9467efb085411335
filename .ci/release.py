"""Build what a release consists of into dist/, check it, and install and run each part.

Called by `make release-check`, and by the workflow that publishes. The parts are the wheel, the
sdist, the VS Code extension and the Neovim plug-in; all carry one version. Each is installed into
an environment of its own and has to say its version, or to load. Nothing is uploaded from here.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
from collections.abc import Callable
from pathlib import Path

from tests.editors import tools
from tests.editors.workshop import Workshop

import engine_wheel
from engine_wheel import print_status

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
PLUGIN = ROOT / "editors" / "nvim"


class ReleaseError(Exception):
    """A part is not fit to be released; the message says why."""


def main() -> None:
    """Build, check and try all parts. Raises ReleaseError with the first fault."""
    version = read_version()
    if os.environ.get("GITHUB_REF_TYPE") == "tag":
        check_tag(os.environ["GITHUB_REF_NAME"], version)
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    parts: dict[str, tuple[Callable[[str], Path], Callable[[Path, str], None]]] = {
        "sdist and wheel": (build_distributions, try_wheel),
        "sdist alone": (find_sdist, try_sdist),
        "VS Code extension": (build_extension, try_extension),
        "Neovim plug-in": (build_plugin, try_plugin),
    }
    for name, (build, try_out) in parts.items():
        print_status(f"{name}: building")
        file = build(version)
        print_status(f"{name}: installing and running {file.name}")
        try_out(file, version)
    print_status(f"redraft {version} can be released from {DIST}")


def read_version() -> str:
    """Return the version that all parts and the newest heading of CHANGELOG.md have.

    Raises ReleaseError where they differ.
    """
    package = (ROOT / "server" / "redraft" / "__init__.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "(.+)"$', package, re.MULTILINE)
    heading = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    extension = json.loads((tools.EXTENSION / "package.json").read_text("utf-8"))["version"]
    versions = {
        "server/redraft/__init__.py": found and found[1],
        "CHANGELOG.md": heading and heading[1],
        "editors/vscode/package.json": extension,
    }
    if len(set(versions.values())) != 1 or not found:
        listed = ", ".join(f"{name} {version}" for name, version in versions.items())
        raise ReleaseError(f"one release has one version, but there are: {listed}")
    return found[1]


def check_tag(tag: str, version: str) -> None:
    """Raise ReleaseError unless `tag` is the version's."""
    if tag != f"v{version}":
        raise ReleaseError(f"the tag {tag} would release version {version}; tag v{version}")


def build_distributions(version: str) -> Path:
    """Build sdist and wheel, have their metadata checked as PyPI would, and return the wheel."""
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", DIST, ROOT)
    run(sys.executable, "-m", "twine", "check", "--strict", *DIST.iterdir())
    return DIST / f"redraft-{version}-py3-none-any.whl"


def find_sdist(version: str) -> Path:
    """Return the sdist, which was built with the wheel."""
    return DIST / f"redraft-{version}.tar.gz"


def build_extension(version: str) -> Path:
    """Build the VSIX; vsce checks its manifest."""
    file = DIST / f"redraft-{version}.vsix"
    with tempfile.TemporaryDirectory() as scratch:
        shutil.copy(Workshop(Path(scratch) / "vscode").package(), file)
    return file


def build_plugin(version: str) -> Path:
    """Pack the Neovim plug-in as it lies in the repository, without what is only for developers."""
    file = DIST / f"redraft.nvim-{version}.tar.gz"
    with tarfile.open(file, "w:gz") as archive:
        for name in ("README.md", "doc/redraft.txt", "lsp", "lua", "plugin"):
            archive.add(PLUGIN / name, f"redraft.nvim/{name}")
        archive.add(ROOT / "LICENSE", "redraft.nvim/LICENSE")
    return file


def try_wheel(wheel: Path, version: str) -> None:
    """Install the wheel with all that it depends on, and decode with it where a model is here."""
    with tempfile.TemporaryDirectory() as scratch:
        redraft = install(wheel, Path(scratch))
        expect(f"redraft {version}", run(redraft, "--version"))
        expect("redraft edit", run(redraft))
        report = json.loads(run(redraft, "doctor", "--json"))
        if not report["ok"]:
            raise ReleaseError(f"redraft doctor finds faults: {report['findings']}")


def try_sdist(sdist: Path, version: str) -> None:
    """Build a wheel from the sdist alone, and install that."""
    with tempfile.TemporaryDirectory() as scratch:
        pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet")
        run(*pip, "--no-deps", "--no-build-isolation", "--wheel-dir", scratch, sdist)
        [wheel] = Path(scratch).glob("*.whl")
        redraft = install(wheel, Path(scratch) / "user")
        expect(f"redraft {version}", run(redraft, "--version"))


def try_extension(vsix: Path, version: str) -> None:
    """Install the VSIX into a VS Code that has no other extension."""
    vscode = tools.find_vscode()
    with tempfile.TemporaryDirectory() as scratch:
        code: list[str | Path] = [vscode.node, vscode.main, "--accept-server-license-terms"]
        code += ["--server-data-dir", scratch, "--extensions-dir", f"{scratch}/extensions"]
        run(*code, "--install-extension", vsix)
        expect(f"redraft@{version}", run(*code, "--list-extensions", "--show-versions"))


def try_plugin(archive: Path, _: str) -> None:
    """Unpack the plug-in for a Neovim without settings: its help has tags, its command is there."""
    with tempfile.TemporaryDirectory() as scratch:
        with tarfile.open(archive) as packed:
            packed.extractall(scratch, filter="data")
        folder = Path(scratch) / "redraft.nvim"
        script = (
            f"set runtimepath^={folder} | runtime plugin/redraft.lua | helptags {folder}/doc"
            " | help redraft | lua require('redraft'); print(vim.fn.exists(':Redraft'))"
        )
        nvim = Path(sys.executable).with_name("nvim")
        shown = run(
            nvim, "--clean", "-n", "--headless", "--cmd", "set noswapfile", f"+{script}", "+qa"
        )
        expect("2", shown)  # a command that is defined under its full name
        if not (folder / "doc" / "tags").read_text(encoding="utf-8"):
            raise ReleaseError("the plug-in's help has no tags")


def install(wheel: Path, folder: Path) -> Path:
    """Install a wheel with its dependencies into a new environment; return its `redraft`."""
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / "bin" / "python"
    engine = engine_wheel.find_or_build_wheel(Path(sys.executable))
    pip = (python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet")
    run(*pip, engine, wheel)
    return python.with_name("redraft")


def expect(part: str, text: str) -> None:
    """Raise ReleaseError unless `part` stands in `text`."""
    if part not in text:
        raise ReleaseError(f"{part!r} was expected, not:\n{text}")


def run(*command: str | Path) -> str:
    """Return what a command printed. Raises ReleaseError where it fails."""
    # Without our own PYTHONPATH, an installed redraft is the one that runs.
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    ran = subprocess.run(command, cwd="/", env=environ, capture_output=True, text=True, check=False)
    if ran.returncode:
        line = " ".join(map(str, command))
        raise ReleaseError(f"{line}\nended with {ran.returncode}:\n{ran.stdout}{ran.stderr}")
    return ran.stdout + ran.stderr


if __name__ == "__main__":
    try:
        main()
    except (ReleaseError, engine_wheel.SetupError, tools.MissingToolError) as error:
        sys.exit(f"release check failed: {error}")
