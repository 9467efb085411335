"""What it takes to start VS Code, or the reason why its tests are skipped."""

from pathlib import Path

import pytest
from tests.editors.apt import MissingError
from tests.editors.vscode import install
from tests.editors.vscode.install import VSCode


@pytest.fixture(scope="session")
def vscode() -> VSCode:
    try:
        return install.vscode()
    except MissingError as missing:
        pytest.skip(f"VS Code: {missing}")


@pytest.fixture(scope="session")
def browser() -> Path:
    try:
        return install.browser()
    except MissingError as missing:
        pytest.skip(f"a browser for VS Code: {missing}")
