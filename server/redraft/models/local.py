"""Model files on this machine: which folders they lie in, and which file is which model.

Never touches the network. A file is taken for a model only if its whole sha256 says so, whichever
program put it there. `ModelFolders.of_user` is the only code of this package that reads the
environment's folders.
"""

import hashlib
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import platformdirs

from redraft.errors import ModelError
from redraft.models.registry import DEFAULT, MODELS, ModelFile, find_model

__all__ = [
    "ModelFolders",
    "cache_sha256",
    "cached_sha256",
    "check_gguf",
    "compute_sha256",
    "locate",
    "remove",
    "resolve",
    "verify",
]

_CHUNK: Final = 1 << 20  # bytes hashed at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFolders:
    """The folders that may hold model files; any of them may be missing.

    Only `models` and `cache` are ever written to.
    """

    models: Path  # fetched models
    cache: Path  # what can be lost: hashes computed before
    hub: Path  # Hugging Face: models--OWNER--REPO/{blobs,snapshots}
    ollama: Path  # sha256-HEX files
    gguf: tuple[Path, ...] = ()  # folders that hold *.gguf files: LM Studio, llama.cpp

    @classmethod
    def of_user(cls, environ: Mapping[str, str] | None = None) -> "ModelFolders":
        """Return the folders of the user who runs this.

        Models go to REDRAFT_MODELS_DIR where that is set, else to `models` in the platform's
        folder for user data (XDG_DATA_HOME/redraft, ~/Library/Application Support/redraft).
        """
        env = os.environ if environ is None else environ
        home = Path.home()
        caches = Path(env.get("XDG_CACHE_HOME") or home / ".cache")
        hub_home = Path(env.get("HF_HOME") or caches / "huggingface")
        system_caches = home / "Library/Caches" if sys.platform == "darwin" else caches
        ollama_home = Path(env.get("OLLAMA_MODELS") or home / ".ollama/models")
        models = env.get("REDRAFT_MODELS_DIR")
        return cls(
            models=Path(models) if models else platformdirs.user_data_path("redraft") / "models",
            cache=platformdirs.user_cache_path("redraft"),
            hub=Path(env.get("HF_HUB_CACHE") or hub_home / "hub"),
            ollama=ollama_home / "blobs",
            gguf=(
                home / ".lmstudio/models",
                home / ".cache/lm-studio/models",
                Path(env.get("LLAMA_CACHE") or system_caches / "llama.cpp"),
            ),
        )

    def path_of(self, model: ModelFile) -> Path:
        """Return where the finished file of `model` is put, whether or not it is there."""
        return self.models / model.file

    def partial_of(self, model: ModelFile) -> Path:
        """Return the folder of an unfinished download.

        It is on the same file system as the finished file, so that a rename is enough in the end.
        """
        return self.models / ".partial" / model.name

    def checksum_of(self, model: ModelFile) -> Path:
        """Return the file beside the model that records the hub's hash as `sha256sum` prints it."""
        return self.models / f"{model.file}.sha256"

    def recorded_sha256(self, model: ModelFile) -> str | None:
        """Return the hash that was recorded when `model` was fetched, or None without one."""
        try:
            words = self.checksum_of(model).read_text(encoding="utf-8").split()
        except (OSError, UnicodeDecodeError):
            return None
        return words[0] if words else None


def resolve(
    name_or_path: str | None,
    folders: ModelFolders | None = None,
    models: Sequence[ModelFile] = MODELS,
) -> Path:
    """Return the model file that `name_or_path` means; None means the default model.

    A path is taken as it is, once it looks like a GGUF file; a name is looked up in the registry
    and then on this machine. Raises ModelError saying what to do.
    """
    wanted = name_or_path or DEFAULT.name
    if all(model.name != wanted for model in models):
        file = Path(wanted).expanduser()
        if file.suffix == ".gguf" or len(file.parts) > 1 or file.exists():
            return check_gguf(file)
    model = find_model(wanted, models)
    folders = folders or ModelFolders.of_user()
    if path := locate(model, folders):
        return path
    if folders.path_of(model).exists():
        return verify(model, folders)  # raises an error that says what is wrong with it
    raise ModelError(
        f"the model {model.name} is not on this machine: run `redraft models fetch {model.name}`, "
        "or name a GGUF file of yours with --model or REDRAFT_MODEL"
    )


def locate(model: ModelFile, folders: ModelFolders) -> Path | None:
    """Return a file with the sha256 of `model`, redraft's own first, or None without one."""
    for path, sha256 in _candidates(model, folders):
        # The registry's size, where it is exact, rules out most files without reading them.
        if _is_file(path, sha256, model.size if model.sha256 else None, folders.cache):
            return path
    return None


def _is_file(path: Path, sha256: str | None, size: int | None, cache: Path) -> bool:
    """Return True where `path` is a file of this hash, and of this size if one is given."""
    try:
        if not path.is_file() or size not in (None, path.stat().st_size):
            return False
        return cached_sha256(path, cache) == sha256
    except OSError:
        return False  # another program's file that this user may not read


def verify(model: ModelFile, folders: ModelFolders) -> Path:
    """Read the whole file of `model` again, whatever is cached, and return its path.

    Raises ModelError where there is none or its sha256 is wrong.
    """
    fetched = folders.path_of(model)
    path = fetched if fetched.exists() else locate(model, folders)
    if path is None:
        raise ModelError(f"{model.name} is not here: run `redraft models fetch {model.name}`")
    expected = next(
        sha256 for candidate, sha256 in _candidates(model, folders) if candidate == path
    )
    actual = compute_sha256(path)
    cache_sha256(path, actual, folders.cache)
    if actual != expected:
        cure = f"run `redraft models fetch {model.name}` to replace it"
        if expected is None:
            raise ModelError(f"{path}: no sha256 was recorded to check it against; {cure}")
        raise ModelError(f"{path} is damaged: its sha256 is {actual}, not {expected}; {cure}")
    return path


def remove(model: ModelFile, folders: ModelFolders) -> Path:
    """Delete redraft's own file of `model` and return its path; other programs' files stay.

    Raises ModelError where redraft has none.
    """
    fetched = folders.path_of(model)
    if fetched.exists():
        fetched.unlink()
        folders.checksum_of(model).unlink(missing_ok=True)
        return fetched
    if path := locate(model, folders):
        raise ModelError(f"{path} belongs to another program: remove {model.name} with that one")
    raise ModelError(f"{model.name} is not in {folders.models}: there is nothing to remove")


def _candidates(model: ModelFile, folders: ModelFolders) -> Iterator[tuple[Path, str | None]]:
    """Yield files that may be `model`, each with the sha256 it must have."""
    sha256 = model.sha256 or folders.recorded_sha256(model)
    yield folders.path_of(model), sha256
    if sha256:
        for path in folders.hub.glob(f"models--*/blobs/{sha256}"):
            yield path, sha256
        yield folders.ollama / f"sha256-{sha256}", sha256
        for folder in folders.gguf:
            for path in folder.rglob("*.gguf"):
                yield path, sha256
    else:
        # The hub's cache names a large file after the sha256 the hub gave for it.
        repo = f"models--{model.repo.replace('/', '--')}"
        for path in folders.hub.glob(f"{repo}/snapshots/*/{model.file}"):
            if re.fullmatch(r"[0-9a-f]{64}", path.resolve().name):
                yield path, path.resolve().name


def check_gguf(path: Path) -> Path:
    """Return `path` if it is a file that begins as GGUF does.

    Raises ModelError where it is missing, unreadable, a directory, empty, or something else.
    """
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise ModelError(
            f"cannot read the model {path}: {error.strerror}; give the path of a GGUF file"
        ) from error
    if magic != b"GGUF":
        problem = f"starts with {magic!r}, not b'GGUF'" if magic else "is empty"
        raise ModelError(f"{path} is not a GGUF model: it {problem}; give the path of a GGUF file")
    return path


def compute_sha256(path: Path) -> str:
    """Read the whole file and return its sha256 in hex. Raises OSError."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def cached_sha256(path: Path, cache: Path) -> str:
    """Return the sha256 of `path` in hex, from the folder `cache` while the file stays as it is.

    A start would otherwise read a gigabyte each time. Raises OSError where `path` cannot be read.
    """
    entry = _load_cache(cache).get(str(path))
    if isinstance(entry, list) and entry[:-1] == _fingerprint(path):
        return str(entry[-1])
    sha256 = compute_sha256(path)
    cache_sha256(path, sha256, cache)
    return sha256


def cache_sha256(path: Path, sha256: str, cache: Path) -> None:
    """Store `sha256` in the folder `cache` for the file as it is now."""
    entries = {**_load_cache(cache), str(path): [*_fingerprint(path), sha256]}
    # A cache that cannot be written costs time, never the result.
    try:
        cache.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=cache)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(entries, file)
        Path(name).replace(cache / "sha256.json")
    except OSError:
        pass


def _load_cache(cache: Path) -> dict[str, Any]:
    """Return the cached entries by path: size, modification time, inode and sha256."""
    try:
        entries = json.loads((cache / "sha256.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return entries if isinstance(entries, dict) else {}


def _fingerprint(path: Path) -> list[int]:
    """Return what changes when a file does: its size, modification time in ns, and inode."""
    status = path.stat()
    return [status.st_size, status.st_mtime_ns, status.st_ino]
