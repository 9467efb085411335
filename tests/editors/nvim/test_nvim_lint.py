"""The Lua is free of what luacheck finds, and formatted as stylua would."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.editors.nvim.conftest import PLUGIN
from tests.editors.tools import MissingToolError, find_luacheck, find_npm, find_stylua

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILES = sorted(
    path for folder in ("lua", "lsp", "plugin") for path in (PLUGIN / folder).rglob("*.lua")
)


def run(*command: str, cwd: Path = PLUGIN) -> None:
    ran = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if ran.returncode:
        pytest.fail(f"{command[0]}:\n{ran.stdout}{ran.stderr}", pytrace=False)


def test_luacheck_finds_nothing() -> None:
    try:
        luacheck = find_luacheck()
    except MissingToolError as missing:
        pytest.skip(str(missing))
    run(luacheck, "--quiet", "--no-color", *map(str, FILES))


def test_stylua_would_change_nothing() -> None:
    try:
        find_npm()  # it comes with the node that runs the script below
        home = find_stylua()
    except MissingToolError as missing:
        pytest.skip(str(missing))
    settings = tomllib.loads((PLUGIN / ".stylua.toml").read_text(encoding="utf-8"))
    script = str(Path(__file__).with_name("stylua.mjs"))
    run("node", script, json.dumps(settings), *map(str, FILES), cwd=home)
