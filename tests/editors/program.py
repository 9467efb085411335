"""`redraft` as editors find it, with a script in the model's place."""

import shlex
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def scripted_redraft(folder: Path) -> Path:
    """A program in `folder` that serves, whatever its arguments: see `scripted_server`.

    What redraft finds in a user's home it finds in `folder`; its model is there while the file
    `folder/model` is.
    """
    model = folder / "model"
    model.touch()
    homes = ("HOME", "HF_HOME", "XDG_CACHE_HOME", "REDRAFT_MODELS_DIR")
    environment = [f"SCRIPTED_NEEDS={model}", *(f"{home}={folder}" for home in homes)]
    server = [sys.executable, "-m", "tests.redraft.lsp.scripted_server"]
    program = folder / "redraft"
    program.write_text(
        f"#!/bin/sh\ncd {shlex.quote(str(ROOT))}\n"
        f"exec env {shlex.join(environment)} {shlex.join(server)}\n",
        encoding="utf-8",
    )
    program.chmod(0o755)
    return program
