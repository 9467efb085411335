"""What the user has set: flags, then REDRAFT_* variables, then the project's file, then their own.

The project's file is the nearest `redraft.toml`, or `pyproject.toml` with a `[tool.redraft]`
table, in the edited file's folder or above. Knows nothing of the command line or of editors: a
front end hands its own values over as `flags`. The environment is an argument, never read here.
"""

import difflib
import math
import os
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

__all__ = ["ACTIONS", "FILE_NAME", "Settings", "load", "project_files", "table_of", "user_file"]

FILE_NAME: Final = "redraft.toml"
ACTIONS: Final = "actions"  # a table in the same files that the language server reads


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
    save_states: bool = False  # prefilled large files outlive the process, on disk

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
    """The settings that hold for a file in the folder `start`.

    `flags` and then `editor` map keys of `Settings` to values as the user gave them; None means
    not given. A project that is not trusted has no say. `defaults` stand in for those of
    `Settings`. Raises InputError naming the flag, the editor's setting, the variable, or the file
    and key, that is wrong.
    """
    chosen: dict[str, Any] = {}
    layers = (
        _given(flags, lambda key: f"--{key.replace('_', '-')}"),
        _given(editor or {}, lambda key: f"redraft.{_camel(key)}"),
        _environment(environ),
        _project(start) if trust_project else {},
        _file(user_file()),
        defaults or {},
    )
    for layer in layers:
        for key, value in layer.items():
            chosen.setdefault(key, value)
    return Settings(**chosen)


def user_file() -> Path:
    """Where the user's own settings live, whether or not the file exists."""
    return platformdirs.user_config_path("redraft") / FILE_NAME


def project_files(start: Path) -> tuple[Path, ...]:
    """The project's pyproject.toml and redraft.toml, where there are: the nearest above `start`."""
    found: dict[str, Path] = {}
    for path in _candidates(start):
        if path.name not in found and _is_there(path):
            found[path.name] = path
    return tuple(found[name] for name in ("pyproject.toml", FILE_NAME) if name in found)


def table_of(path: Path) -> Mapping[str, Any]:
    """What a settings file says, unchecked: in pyproject.toml its `[tool.redraft]`.

    Raises InputError where it cannot be read.
    """
    try:
        table: Any = tomllib.loads(_read(path))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is not valid TOML: {error}") from error
    if path.name != FILE_NAME:
        tool = table.get("tool")
        table = tool.get("redraft", {}) if isinstance(tool, dict) else {}
    if not isinstance(table, dict):
        raise InputError(f"{path}: tool.redraft must be a table, not {table!r}")
    return table


_Check: TypeAlias = Callable[[object], object]


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("a name or a path")
    return value


def _one_of(names: tuple[str, ...]) -> _Check:
    def check(value: object) -> str:
        if value not in names:
            raise ValueError(f"one of {', '.join(names)}")
        return str(value)

    return check


def _whole(minimum: int) -> _Check:
    def check(value: object) -> int:
        if isinstance(value, str) and value.strip().isdecimal():
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool) or value < minimum:
            raise ValueError(f"a whole number of at least {minimum}")
        return value

    return check


def _number(value: object, what: str, fits: Callable[[float], bool]) -> float:
    try:
        number = float(value) if isinstance(value, str | int | float) else math.nan
    except ValueError:
        number = math.nan
    if isinstance(value, bool) or not (math.isfinite(number) and fits(number)):
        raise ValueError(what)
    return number


def _switch(value: object) -> bool:
    words = {"true": True, "1": True, "false": False, "0": False}
    meant = words.get(value.strip().lower()) if isinstance(value, str) else value
    if meant is not True and meant is not False:
        raise ValueError("true or false")
    return meant


_MODELS: Final = ("model", "draft_model")

_CHECKS: Final[Mapping[str, _Check]] = {
    "model": _text,
    "draft_model": _text,
    "strategy": _one_of(get_args(Strategy)),
    "exactness": _one_of(get_args(Exactness)),
    "max_tokens": _whole(1),
    "timeout": lambda value: _number(value, "a number of seconds above 0", lambda n: n > 0),
    "temperature": lambda value: _number(value, "a number of at least 0", lambda n: n >= 0),
    "top_k": _whole(0),
    "top_p": lambda value: _number(value, "a number above 0, up to 1", lambda n: 0 < n <= 1),
    "min_p": lambda value: _number(value, "a number from 0 to 1", lambda n: 0 <= n <= 1),
    "seed": _whole(0),
    "n_ctx": _whole(1),
    "threads": _whole(1),
    "save_states": _switch,
}


def _checked(key: str, value: object, place: str) -> object:
    try:
        return _CHECKS[key](value)
    except ValueError as error:
        raise InputError(f"{place} must be {error}, not {value!r}") from error


def _given(values: Mapping[str, object], name: Callable[[str], str]) -> dict[str, object]:
    given = {key: value for key, value in values.items() if value is not None}
    return {key: _checked(key, value, name(key)) for key, value in given.items()}


def _camel(key: str) -> str:
    first, *others = key.split("_")
    return first + "".join(map(str.capitalize, others))


def _environment(environ: Mapping[str, str]) -> dict[str, object]:
    names = {field.name: f"REDRAFT_{field.name.upper()}" for field in fields(Settings)}
    # An empty variable is how a shell script unsets one for a child: it counts as not set.
    return {
        key: _checked(key, environ[name], name) for key, name in names.items() if environ.get(name)
    }


def _project(start: Path) -> dict[str, object]:
    for path in _candidates(start):
        if _is_there(path) and (path.name == FILE_NAME or "redraft" in _read(path)):
            layer = _file(path)
            if layer or path.name == FILE_NAME:
                return layer
    return {}


def _candidates(start: Path) -> Iterator[Path]:
    folder = start.resolve()
    for parent in (folder, *folder.parents):
        yield parent / FILE_NAME
        yield parent / "pyproject.toml"


def _is_there(path: Path) -> bool:
    # Path.is_file raises before Python 3.14 where a folder on the way may not be entered.
    return os.path.isfile(path)  # noqa: PTH113


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the settings in {path}: {error}") from error


def _file(path: Path) -> dict[str, object]:
    """The checked values of a settings file; none where it does not exist."""
    if not _is_there(path):
        return {}
    table = {key: value for key, value in table_of(path).items() if key != ACTIONS}
    if unknown := next((key for key in table if key not in _CHECKS), None):
        near = difflib.get_close_matches(unknown, _CHECKS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"the keys are {', '.join(_CHECKS)}"
        raise InputError(f"{path}: unknown key {unknown!r}: {hint}")
    return {key: _from_file(key, value, path) for key, value in table.items()}


def _from_file(key: str, value: object, path: Path) -> object:
    checked = _checked(key, value, f"{path}: {key}")
    if key in _MODELS and isinstance(checked, str) and ("/" in checked or ".gguf" in checked):
        return str(path.parent / Path(checked).expanduser())  # relative to the file that says so
    return checked
