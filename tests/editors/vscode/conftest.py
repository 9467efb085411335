"""The programs that run VS Code, or the reason why its tests are skipped."""

from pathlib import Path

import pytest
from tests.editors.tools import MissingToolError, VSCode, find_browser, find_vscode


@pytest.fixture(scope="session")
def vscode() -> VSCode:
    try:
        return find_vscode()
    except MissingToolError as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="session")
def browser() -> Path:
    try:
        return find_browser()
    except MissingToolError as missing:
        pytest.skip(str(missing))
