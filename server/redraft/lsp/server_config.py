"""What the user has set for the server: the editor's settings, and the files they stand above.

Knows which keys there are and in which order sources count; `redraft.config.settings` checks the
values that the command line has too, `redraft.config.actions` the actions.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final

from redraft.config import settings
from redraft.config.actions import Action, load_actions
from redraft.config.settings import Settings
from redraft.lsp import contract

__all__ = ["EditorSettings", "ServerConfig", "editor_settings"]

IDLE_UNLOAD_S: Final = 900.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EditorSettings:
    """The editor's settings. `decoding` has keys of `Settings`, to be checked where they count."""

    decoding: Mapping[str, object] = field(default_factory=dict)
    actions: object = field(default_factory=dict)
    warm: bool = True  # prefill open files in the background
    confirm: bool = False  # let the editor ask before an edit is applied, where it can
    idle_unload: float | None = IDLE_UNLOAD_S  # seconds; None: keep the model loaded


def editor_settings(given: object) -> tuple[EditorSettings, tuple[str, ...]]:
    """The section `redraft` of an editor's settings, and what is wrong in it.

    Keys may be written in camel case. Keys that are not the server's belong to the plug-in.
    """
    if given is None:
        return EditorSettings(), ()
    if not isinstance(given, Mapping):
        return EditorSettings(), (f"{contract.SECTION} must be an object, not {given!r}",)
    values = {_snake(str(key)): value for key, value in given.items() if value is not None}
    known: dict[str, Any] = {}
    problems: list[str] = []
    for key in ("warm", "confirm"):
        if isinstance(value := values.get(key, False), bool):
            known |= {key: value} if key in values else {}
        else:
            problems.append(f"redraft.{key} must be true or false, not {value!r}")
    idle = values.get("idle_unload", IDLE_UNLOAD_S)
    if isinstance(idle, bool) or not isinstance(idle, int | float) or not 0 <= idle < math.inf:
        problems.append(
            f"redraft.idleUnload must be a number of seconds, 0 for never, not {idle!r}"
        )
    else:
        known["idle_unload"] = float(idle) or None
    decoding = {f.name: values[f.name] for f in fields(Settings) if f.name in values}
    return EditorSettings(decoding=decoding, actions=values.get("actions", {}), **known), tuple(
        problems
    )


class ServerConfig:
    """All sources together. `flags` are the command line's, `environ` the process's."""

    def __init__(self, flags: Mapping[str, object], environ: Mapping[str, str]) -> None:
        self.editor = EditorSettings()
        self.is_trusted = True  # whether files of the project have a say
        self._flags = flags
        self._environ = environ

    def settings(self, path: Path) -> Settings:
        """How the file `path` is decoded. Raises InputError naming what is wrong, and where."""
        return settings.load(
            path.parent,
            self._flags,
            self._environ,
            editor=self.editor.decoding,
            trust_project=self.is_trusted,
        )

    def actions(self, path: Path) -> tuple[tuple[Action, ...], tuple[str, ...]]:
        """The actions for the file `path`, and what is wrong with some of them."""
        return load_actions(path.parent, editor=self.editor.actions, trust_project=self.is_trusted)


def _snake(key: str) -> str:
    return re.sub(r"(?<=[a-z])([A-Z])", lambda match: f"_{match[1].lower()}", key)
