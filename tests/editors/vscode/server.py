"""VS Code's server with one extension and a user's settings. Knows no browser and no redraft."""

import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from tests.editors.tools import VSCode

LISTENING = "--host 127.0.0.1 --port 0 --without-connection-token --disable-workspace-trust".split()
PATIENCE_S = 60  # for the server to listen

# What would move, open or be offered by itself while a test looks at something else.
SETTINGS: dict[str, Any] = {
    "chat.disableAIFeatures": True,
    "editor.accessibilitySupport": "off",
    "editor.autoClosingBrackets": "never",
    "editor.autoIndent": "none",
    "editor.find.seedSearchStringFromSelection": "never",
    "editor.minimap.enabled": False,
    "editor.quickSuggestions": {"other": "off"},
    "extensions.autoUpdate": False,
    "files.autoSave": "off",
    "git.enabled": False,
    "remote.autoForwardPorts": False,
    "workbench.editor.enablePreview": False,
    "workbench.reduceMotion": "on",
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "workbench.startupEditor": "none",
    "workbench.tips.enabled": False,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A running server; all that it starts are child processes of `pid`."""

    origin: str
    pid: int
    settings: Path

    def build_url(self, folder: Path) -> str:
        """Return the URL of the workbench with `folder` open."""
        return f"{self.origin}/?{urlencode({'folder': folder})}"


@contextmanager
def run_server(
    vscode: VSCode, *, vsix: Path, settings: dict[str, Any], home: Path
) -> Iterator[Server]:
    """Run VS Code's server with everything in `home`, without redraft's settings of the environment."""
    file = home / "data" / "Machine" / "settings.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(SETTINGS | settings), encoding="utf-8")
    command = [
        *(vscode.node, vscode.main, "--accept-server-license-terms", "--telemetry-level", "off"),
        *("--server-data-dir", home, "--extensions-dir", home / "extensions"),
    ]
    subprocess.run([*command, "--install-extension", vsix], check=True)
    log = home / "server.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [*command, *LISTENING],
            env=_build_environment(home),
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        origin = f"http://127.0.0.1:{_wait_for_port(process, log)}"
        yield Server(origin=origin, pid=process.pid, settings=file)
    finally:
        process.terminate()
        process.wait()


def _build_environment(home: Path) -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("REDRAFT_") or name == "REDRAFT_MODELS_DIR"
    }
    return kept | {"XDG_CONFIG_HOME": str(home / "no-config")}


def _wait_for_port(process: subprocess.Popen[bytes], log: Path) -> str:
    deadline = time.monotonic() + PATIENCE_S
    while process.poll() is None and time.monotonic() < deadline:
        if match := re.search(r"listening on (\d+)", log.read_text(encoding="utf-8")):
            return match[1]
        time.sleep(0.1)
    raise AssertionError(f"VS Code's server does not listen:\n{log.read_text(encoding='utf-8')}")
