"""The configuration of the server: the editor's settings, and the sources they take their place in.

Knows the keys of the editor's section `redraft`. `redraft.config.settings` checks the values that
the command line has, too, and `redraft.config.actions` the actions; both know the other sources.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final

from redraft.config import actions, settings
from redraft.config.actions import Action
from redraft.config.settings import Settings
from redraft.lsp import contract

__all__ = ["EditorSettings", "ServerConfig", "parse_editor_settings"]

IDLE_UNLOAD_S: Final = 900.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EditorSettings:
    """The editor's settings. `decoding` has keys of `Settings`, to be checked where they count."""

    decoding: Mapping[str, object] = field(default_factory=dict)
    actions: object = field(default_factory=dict)
    warm: bool = True  # prefill open files in the background
    confirm: bool = False  # let the editor ask before an edit is applied, where it can
    idle_unload: float | None = IDLE_UNLOAD_S  # seconds; None: keep the model loaded


def parse_editor_settings(section: object) -> tuple[EditorSettings, tuple[str, ...]]:
    """Return the section `redraft` of an editor's settings, and what is wrong in it.

    Keys may be written in camel case. Keys that are not the server's belong to the plug-in.
    """
    if section is None:
        return EditorSettings(), ()
    if not isinstance(section, Mapping):
        return EditorSettings(), (f"{contract.SECTION} must be an object, not {section!r}",)
    values = {
        # maxTokens -> max_tokens
        re.sub(r"(?<=[a-z])([A-Z])", lambda match: f"_{match[1].lower()}", str(key)): value
        for key, value in section.items()
        if value is not None
    }
    checked: dict[str, Any] = {}
    problems: list[str] = []
    for key in ("warm", "confirm"):
        if isinstance(value := values.get(key, False), bool):
            checked |= {key: value} if key in values else {}
        else:
            problems.append(f"redraft.{key} must be true or false, not {value!r}")
    # True is the number 1 to Python; to a user it is a mistake.
    idle = values.get("idle_unload", IDLE_UNLOAD_S)
    if isinstance(idle, bool) or not isinstance(idle, int | float) or not 0 <= idle < math.inf:
        problems.append(
            f"redraft.idleUnload must be a number of seconds, 0 for never, not {idle!r}"
        )
    else:
        checked["idle_unload"] = float(idle) or None
    names = [field.name for field in fields(Settings)]
    editor = EditorSettings(
        decoding={name: values[name] for name in names if name in values},
        actions=values.get("actions", {}),
        **checked,
    )
    return editor, tuple(problems)


class ServerConfig:
    """All sources together. `flags` are the command line's, `environ` the process's."""

    def __init__(self, flags: Mapping[str, object], environ: Mapping[str, str]) -> None:
        self.editor = EditorSettings()
        self.is_trusted = True  # files of the project count
        self._flags = flags
        self._environ = environ

    def load_settings(self, path: Path) -> Settings:
        """Return the settings for the file `path`. Raises InputError naming what is wrong where."""
        return settings.load(
            path.parent,
            self._flags,
            self._environ,
            editor=self.editor.decoding,
            trust_project=self.is_trusted,
        )

    def load_actions(self, path: Path) -> tuple[tuple[Action, ...], tuple[str, ...]]:
        """Return the actions for the file `path`, and what is wrong with some of them."""
        return actions.load_actions(
            path.parent, editor=self.editor.actions, trust_project=self.is_trusted
        )
