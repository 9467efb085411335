"""The Lua is free of what luacheck finds, and formatted as stylua would."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.editors import apt
from tests.editors.npm import installed, npm
from tests.editors.nvim.conftest import PLUGIN

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

STYLUA = "2.5.2"
INSTALL = ("install", "--no-audit", "--no-fund", "--prefix", ".")
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
    if not node:
        pytest.skip("stylua: there is no node to run it with")
    package = f"@johnnymorganz/stylua@{STYLUA}"
    try:
        home = installed(f"stylua-{STYLUA}", lambda folder: npm(folder, *INSTALL, package))
    except apt.MissingError as error:
        pytest.skip(f"stylua: {error}")
    settings = tomllib.loads((PLUGIN / ".stylua.toml").read_text(encoding="utf-8"))
    script = str(Path(__file__).with_name("stylua.mjs"))
    run(node, script, json.dumps(settings), *map(str, FILES), cwd=home)
