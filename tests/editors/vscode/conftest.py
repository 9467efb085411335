"""What it takes to start VS Code, or the reason why its tests are skipped."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
from tests.editors.apt import MissingError
from tests.editors.vscode import install
from tests.editors.vscode.install import VSCode

T = TypeVar("T")


@pytest.fixture(scope="session")
def vscode() -> VSCode:
    return _or_skip("VS Code", install.vscode)


@pytest.fixture(scope="session")
def browser() -> Path:
    return _or_skip("a browser for VS Code", install.browser)


def _or_skip(name: str, installed: Callable[[], T]) -> T:
    try:
        return installed()
    except MissingError as missing:
        pytest.skip(f"{name}: {missing}")
