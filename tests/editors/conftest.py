"""The VS Code extension built once for all tests, or the reason why they are skipped."""

from pathlib import Path

import pytest
from tests.editors.tools import MissingToolError
from tests.editors.workshop import Workshop


@pytest.fixture(scope="session")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    try:
        return Workshop(tmp_path_factory.mktemp("extension") / "vscode")
    except MissingToolError as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="session")
def vsix(workshop: Workshop) -> Path:
    """The packaged extension."""
    return workshop.package()
