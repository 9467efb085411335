"""The rules that machines can check: style, types, import layers, what lookup may import."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(["ruff", "check"], id="no rule of style is broken"),
        pytest.param(["ruff", "format", "--check"], id="the code is formatted"),
        pytest.param(["mypy"], id="types fit"),
        pytest.param(
            [
                *("mypy", "--platform=win32", "--cache-dir=.mypy_cache/win32"),
                *("server/redraft", "lookup/redraft_lookup"),
            ],
            id="what is in the wheel uses nothing that Windows lacks",
        ),
        pytest.param(["lint-imports", "--no-cache"], id="imports keep to their layers"),
    ],
)
def test_that(command: list[str]):
    tool = Path(sys.executable).with_name(command[0])
    run = subprocess.run(
        [tool, *command[1:]], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if run.returncode:
        pytest.fail(f"{' '.join(command)}:\n{run.stdout}{run.stderr}", pytrace=False)


def test_lookup_needs_only_numpy_and_the_standard_library():
    allowed = sys.stdlib_module_names | {"numpy", "redraft_lookup"}
    for path in (ROOT / "lookup").rglob("*.py"):
        assert {name.partition(".")[0] for name in _imported(path)} <= allowed, path


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(module)):
                yield module
