"""The Lua is free of what luacheck finds, and formatted as stylua would."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import platformdirs
import pytest
from filelock import FileLock
from tests.editors import apt
from tests.editors.nvim.conftest import PLUGIN

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

STYLUA = "@johnnymorganz/stylua@2.5.2"
FILES = sorted(
    path for folder in ("lua", "lsp", "plugin") for path in (PLUGIN / folder).rglob("*.lua")
)


def run(*command: str, cwd: Path = PLUGIN) -> None:
    ran = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if ran.returncode:
        pytest.fail(f"{command[0]}:\n{ran.stdout}{ran.stderr}", pytrace=False)


def test_luacheck_finds_nothing() -> None:
    if not shutil.which("luacheck"):
        try:
            apt.install("lua-check")
        except apt.MissingError as error:
            pytest.skip(f"luacheck: {error}")
    run("luacheck", "--quiet", "--no-color", *map(str, FILES))


def test_stylua_would_change_nothing() -> None:
    node = shutil.which("node")
    if not (node and shutil.which("npm")):
        pytest.skip("stylua: there is no node and npm to run it with")
    home = platformdirs.user_cache_path("redraft") / "editors" / "stylua"
    home.mkdir(parents=True, exist_ok=True)
    with FileLock(home / "lock"):
        if not (home / "node_modules").exists():
            npm = ("npm", "install", "--no-audit", "--no-fund", "--prefix", str(home), STYLUA)
            if subprocess.run(npm, capture_output=True, check=False).returncode:
                pytest.skip(f"stylua: npm could not install {STYLUA}")
    settings = tomllib.loads((PLUGIN / ".stylua.toml").read_text(encoding="utf-8"))
    script = str(Path(__file__).with_name("stylua.mjs"))
    run(node, script, json.dumps(settings), *map(str, FILES), cwd=home)
