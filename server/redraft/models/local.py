"""Which file on this machine a model is: resolving, verifying and removing.

Never touches the network. A file is taken for a model only if its whole sha256 says so, whichever
program put it there.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from redraft.errors import ModelError
from redraft.models.hashes import check_gguf, known_sha256, remember, sha256_of
from redraft.models.places import Places
from redraft.models.registry import DEFAULT, MODELS, ModelFile, named

__all__ = ["expected_sha256", "locate", "remove", "resolve", "verify"]


def resolve(
    name_or_path: str | None,
    places: Places | None = None,
    models: Sequence[ModelFile] = MODELS,
) -> Path:
    """The model file that `name_or_path` means; None means the default model.

    A path is taken as it is, once it looks like a GGUF file; a name is looked up in the registry
    and then on this machine. Raises ModelError saying what to do.
    """
    wanted = name_or_path or DEFAULT.name
    if all(model.name != wanted for model in models) and _is_path(wanted):
        return check_gguf(Path(wanted).expanduser())
    model = named(wanted, models)
    places = places or Places.of_user()
    if found := locate(model, places):
        return found
    if places.own(model).exists():
        return verify(model, places)  # says what is wrong with it
    raise ModelError(
        f"the model {model.name} is not on this machine: run `redraft models fetch {model.name}`, "
        "or name a GGUF file of yours with --model or REDRAFT_MODEL"
    )


def locate(model: ModelFile, places: Places) -> Path | None:
    """A file on this machine with the sha256 of `model`, redraft's own first; None without one."""
    for path, sha256 in _candidates(model, places):
        if _is(path, model.size if model.sha256 else None, sha256, places):
            return path
    return None


def verify(model: ModelFile, places: Places) -> Path:
    """Read the whole file of `model` again, trusting no memory, and return its path.

    Raises ModelError where there is none or its sha256 is wrong.
    """
    own = places.own(model)
    path = own if own.exists() else locate(model, places)
    if path is None:
        raise ModelError(f"{model.name} is not here: run `redraft models fetch {model.name}`")
    expected = next(sha256 for candidate, sha256 in _candidates(model, places) if candidate == path)
    actual = remember(path, sha256_of(path), places.cache)
    if actual != expected:
        cure = f"run `redraft models fetch {model.name}` to replace it"
        if expected is None:
            raise ModelError(f"{path}: no sha256 was recorded to check it against; {cure}")
        raise ModelError(f"{path} is damaged: its sha256 is {actual}, not {expected}; {cure}")
    return path


def remove(model: ModelFile, places: Places) -> Path:
    """Delete redraft's own file of `model` and return its path; other programs' files stay.

    Raises ModelError where redraft has none.
    """
    own = places.own(model)
    if own.exists():
        own.unlink()
        places.digest(model).unlink(missing_ok=True)
        return own
    if found := locate(model, places):
        raise ModelError(f"{found} belongs to another program: remove {model.name} with that one")
    raise ModelError(f"{model.name} is not in {places.models}: there is nothing to remove")


def expected_sha256(model: ModelFile, places: Places) -> str | None:
    """The sha256 the registry knows, or else the one recorded when the file was fetched."""
    if model.sha256:
        return model.sha256
    try:
        words = places.digest(model).read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError):
        return None
    return words[0] if words else None


def _candidates(model: ModelFile, places: Places) -> Iterator[tuple[Path, str | None]]:
    """Files that may be `model`, each with the sha256 it must have."""
    sha256 = expected_sha256(model, places)
    yield places.own(model), sha256
    if sha256:
        for path in places.hub.glob(f"models--*/blobs/{sha256}"):
            yield path, sha256
        yield places.ollama / f"sha256-{sha256}", sha256
        for folder in places.loose:
            for path in folder.rglob("*.gguf"):
                yield path, sha256
    else:
        # The hub's cache names a large file after the sha256 the hub gave for it.
        repo = f"models--{model.repo.replace('/', '--')}"
        for path in places.hub.glob(f"{repo}/snapshots/*/{model.file}"):
            if re.fullmatch(r"[0-9a-f]{64}", path.resolve().name):
                yield path, path.resolve().name


def _is(path: Path, size: int | None, sha256: str | None, places: Places) -> bool:
    """Whether `path` is a file of that size, if given, and of that hash."""
    try:
        if not path.is_file() or size not in (None, path.stat().st_size):
            return False
        return known_sha256(path, places.cache) == sha256
    except OSError:
        return False  # another program's file that this user may not read is not a find


def _is_path(wanted: str) -> bool:
    path = Path(wanted).expanduser()
    return path.suffix == ".gguf" or len(path.parts) > 1 or path.exists()
