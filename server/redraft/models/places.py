"""Where model files lie on this machine: redraft's own folder, and those of other programs.

`Places.of_user` is the only code of this package that reads the environment's folders.
"""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from redraft.models.registry import ModelFile

__all__ = ["Places"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Folders; any of them may be missing. Only `models` and `cache` are ever written to."""

    models: Path  # fetched models
    cache: Path  # what can be lost: remembered hashes
    hub: Path  # Hugging Face: models--OWNER--REPO/{blobs,snapshots}
    ollama: Path  # sha256-HEX files
    loose: tuple[Path, ...] = ()  # folders that hold *.gguf files: LM Studio, llama.cpp

    @classmethod
    def of_user(cls, environ: Mapping[str, str] | None = None) -> "Places":
        """The folders of the user who runs this.

        Models go to REDRAFT_MODELS_DIR where that is set, else to `models` in the platform's
        folder for user data (XDG_DATA_HOME/redraft, ~/Library/Application Support/redraft).
        """
        env = os.environ if environ is None else environ
        home = Path.home()
        caches = Path(env.get("XDG_CACHE_HOME") or home / ".cache")
        hub_home = Path(env.get("HF_HOME") or caches / "huggingface")
        system = home / "Library/Caches" if sys.platform == "darwin" else caches
        ollama = Path(env.get("OLLAMA_MODELS") or home / ".ollama/models")
        own = env.get("REDRAFT_MODELS_DIR")
        return cls(
            models=Path(own) if own else platformdirs.user_data_path("redraft") / "models",
            cache=platformdirs.user_cache_path("redraft"),
            hub=Path(env.get("HF_HUB_CACHE") or hub_home / "hub"),
            ollama=ollama / "blobs",
            loose=(
                home / ".lmstudio/models",
                home / ".cache/lm-studio/models",
                Path(env.get("LLAMA_CACHE") or system / "llama.cpp"),
            ),
        )

    def own(self, model: ModelFile) -> Path:
        """Where the finished file of `model` is put, whether or not it is there."""
        return self.models / model.file

    def partial(self, model: ModelFile) -> Path:
        """The folder of an unfinished download, on the same file system as the finished file."""
        return self.models / ".partial" / model.name

    def digest(self, model: ModelFile) -> Path:
        """The file beside the model that says, as `sha256sum` would, which hash the hub gave."""
        return self.models / f"{model.file}.sha256"
