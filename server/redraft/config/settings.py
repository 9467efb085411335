"""The user's settings, from all the places where they can be set.

In order of precedence: flags, the editor's settings, REDRAFT_* variables, the project's file, the
user's own file. The project's file is the nearest `redraft.toml`, or `pyproject.toml` with a
`[tool.redraft]` table, in the edited file's folder or above. Knows nothing of the command line or
of editors: a front end passes its values to `load`. The environment is an argument as well.
"""

import difflib
import math
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final, TypeAlias, get_args

import platformdirs

from redraft.errors import InputError
from redraft.records import DecodeOptions, Exactness, Strategy

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["ACTIONS", "FILE_NAME", "Settings", "load", "project_files", "read_table", "user_file"]

FILE_NAME: Final = "redraft.toml"
ACTIONS: Final = "actions"  # a table in the same files, read by `redraft.config.actions`


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """One value for each key, whatever its source. Times in seconds."""

    model: str | None = None  # a registry name or a path; None: the default model
    draft_model: str | None = None  # as `model`: guesses for strategies that draft with one
    strategy: Strategy = "copy"
    exactness: Exactness = "fast"
    max_tokens: int | None = None  # None: sized from the target
    timeout: float | None = None
    temperature: float = 0.0
    top_k: int = 0  # 0: no cut
    top_p: float = 1.0
    min_p: float = 0.0
    seed: int = 0
    n_ctx: int | None = None  # None: sized to the request, up to the model's trained length
    threads: int | None = None  # None: the engine's choice
    imports: bool = True  # add what an edit needs to the file's imports
    save_states: bool = False  # keep the KV cache of large files on disk

    @property
    def decode_options(self) -> DecodeOptions:
        return DecodeOptions(
            strategy=self.strategy,
            exactness=self.exactness,
            max_tokens=self.max_tokens,
            temperature=self.temperature,
            top_k=self.top_k,
            top_p=self.top_p,
            min_p=self.min_p,
            seed=self.seed,
            timeout_s=self.timeout,
        )


def load(
    start: Path,
    flags: Mapping[str, object],
    environ: Mapping[str, str],
    *,
    editor: Mapping[str, object] | None = None,
    trust_project: bool = True,
    defaults: Mapping[str, object] | None = None,
) -> Settings:
    """Return the settings for a file in the folder `start`.

    `flags` and `editor` map keys of `Settings` to values as the user gave them; None means not
    given. The file of a project that is not trusted is ignored. `defaults` replace those of
    `Settings`. Raises InputError naming the flag, the editor's setting, the variable, or the file
    and key, that is wrong.
    """

    def editor_name(key: str) -> str:  # max_tokens is redraft.maxTokens there
        return "redraft." + re.sub(r"_(\w)", lambda match: match[1].upper(), key)

    variables = {field.name: f"REDRAFT_{field.name.upper()}" for field in fields(Settings)}
    # An empty variable is how a shell script unsets one for a child: it counts as not set.
    exported = {key: environ.get(variable) or None for key, variable in variables.items()}
    layers = [
        _check_values(flags, lambda key: f"--{key.replace('_', '-')}"),
        _check_values(editor or {}, editor_name),
        _check_values(exported, variables.__getitem__),
        _read_project(start) if trust_project else {},
        _read_file(user_file()),
        defaults or {},
    ]
    merged: dict[str, Any] = {}
    for layer in reversed(layers):
        merged.update(layer)
    return Settings(**merged)


def user_file() -> Path:
    """Return the path of the user's own settings file, whether or not it exists."""
    return platformdirs.user_config_path("redraft") / FILE_NAME


def project_files(start: Path) -> tuple[Path, ...]:
    """Return the nearest pyproject.toml and redraft.toml in `start` or above, those there are."""
    nearest: dict[str, Path] = {}
    for path in _project_candidates(start):
        if _exists(path):
            nearest.setdefault(path.name, path)
    return tuple(nearest[name] for name in ("pyproject.toml", FILE_NAME) if name in nearest)


def read_table(path: Path) -> Mapping[str, Any]:
    """Return the values of a settings file, unchecked; in pyproject.toml its `[tool.redraft]`.

    Raises InputError where it cannot be read.
    """
    try:
        table: Any = tomllib.loads(_read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is not valid TOML: {error}") from error
    if path.name != FILE_NAME:
        tool = table.get("tool")
        table = tool.get("redraft", {}) if isinstance(tool, dict) else {}
    if not isinstance(table, dict):
        raise InputError(f"{path}: tool.redraft must be a table, not {table!r}")
    return table


# A check returns the value in its type, or raises ValueError with the noun that it should be, as in
# "--seed must be a whole number of at least 0, not 'x'".
_Check: TypeAlias = Callable[[object], object]


def _check_text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("a name or a path")
    return value


def _check_choice(names: tuple[str, ...]) -> _Check:
    def check(value: object) -> str:
        if value not in names:
            raise ValueError(f"one of {', '.join(names)}")
        return str(value)

    return check


def _check_integer(minimum: int) -> _Check:
    def check(value: object) -> int:
        if isinstance(value, str) and value.strip().isdecimal():
            value = int(value)
        # A bool is an int in Python, but `seed = true` is a mistake.
        if not isinstance(value, int) or isinstance(value, bool) or value < minimum:
            raise ValueError(f"a whole number of at least {minimum}")
        return value

    return check


def _check_number(description: str, is_valid: Callable[[float], bool]) -> _Check:
    def check(value: object) -> float:
        try:
            number = float(value) if isinstance(value, str | int | float) else math.nan
        except ValueError:
            number = math.nan
        if isinstance(value, bool) or not (math.isfinite(number) and is_valid(number)):
            raise ValueError(description)
        return number

    return check


def _check_switch(value: object) -> bool:
    words = {"true": True, "1": True, "false": False, "0": False}
    meant = words.get(value.strip().lower()) if isinstance(value, str) else value
    if meant is not True and meant is not False:
        raise ValueError("true or false")
    return meant


_CHECKS: Final[Mapping[str, _Check]] = {
    "model": _check_text,
    "draft_model": _check_text,
    "strategy": _check_choice(get_args(Strategy)),
    "exactness": _check_choice(get_args(Exactness)),
    "max_tokens": _check_integer(1),
    "timeout": _check_number("a number of seconds above 0", lambda n: n > 0),
    "temperature": _check_number("a number of at least 0", lambda n: n >= 0),
    "top_k": _check_integer(0),
    "top_p": _check_number("a number above 0, up to 1", lambda n: 0 < n <= 1),
    "min_p": _check_number("a number from 0 to 1", lambda n: 0 <= n <= 1),
    "seed": _check_integer(0),
    "n_ctx": _check_integer(1),
    "threads": _check_integer(1),
    "imports": _check_switch,
    "save_states": _check_switch,
}


def _check_value(key: str, value: object, place: str) -> object:
    """Return `value` in the type of `key`. Raises InputError naming `place`, where it was given."""
    try:
        return _CHECKS[key](value)
    except ValueError as error:
        raise InputError(f"{place} must be {error}, not {value!r}") from error


def _check_values(
    values: Mapping[str, object], place_of: Callable[[str], str]
) -> dict[str, object]:
    """Return the values that are not None, checked."""
    return {
        key: _check_value(key, value, place_of(key))
        for key, value in values.items()
        if value is not None
    }


def _read_project(start: Path) -> dict[str, object]:
    """Return the checked values of the nearest project file that says anything about redraft."""
    for path in _project_candidates(start):
        # A pyproject.toml that never mentions redraft is not parsed: it may be broken.
        if _exists(path) and (path.name == FILE_NAME or "redraft" in _read_text(path)):
            layer = _read_file(path)
            if layer or path.name == FILE_NAME:
                return layer
    return {}


def _project_candidates(start: Path) -> Iterator[Path]:
    folder = start.resolve()
    for parent in (folder, *folder.parents):
        yield parent / FILE_NAME
        yield parent / "pyproject.toml"


def _read_file(path: Path) -> dict[str, object]:
    """Return the checked values of a settings file; none where it does not exist."""
    if not _exists(path):
        return {}
    values: dict[str, object] = {}
    for key, value in read_table(path).items():
        if key == ACTIONS:
            continue
        if key not in _CHECKS:
            close = difflib.get_close_matches(key, _CHECKS, n=1)
            hint = f"did you mean {close[0]}?" if close else f"the keys are {', '.join(_CHECKS)}"
            raise InputError(f"{path}: unknown key {key!r}: {hint}")
        checked = _check_value(key, value, f"{path}: {key}")
        if key in ("model", "draft_model") and re.search(r"/|\.gguf", str(checked)):
            checked = str(path.parent / Path(str(checked)).expanduser())  # relative to this file
        values[key] = checked
    return values


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the settings in {path}: {error}") from error


def _exists(path: Path) -> bool:
    # Path.is_file raises before Python 3.14 where a folder on the way may not be entered.
    return os.path.isfile(path)  # noqa: PTH113
