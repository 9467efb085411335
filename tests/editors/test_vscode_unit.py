"""The VS Code extension without VS Code: its own checks and tests, its package, its manifest."""

import json
import zipfile
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import pytest
from tests.editors.tools import EXTENSION
from tests.editors.workshop import Workshop

from redraft.config.actions import BUILT_IN
from redraft.config.settings import Settings
from redraft.lsp.contract import Scope
from redraft.lsp.server_config import IDLE_UNLOAD_S
from redraft.records import Exactness, Strategy

MANIFEST: dict[str, Any] = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))
CONTRIBUTED: dict[str, Any] = MANIFEST["contributes"]
SETTINGS: dict[str, Any] = {
    name.removeprefix("redraft."): schema
    for section in CONTRIBUTED["configuration"]
    for name, schema in section["properties"].items()
}

# What only the extension knows, and what only the server has beside its decoding.
OWN = {"preview", "server.path", "server.python", "trace.server"}
EDITORS = {"actions", "warm", "idleUnload"}


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("check", id="types, style and format are right"),
        pytest.param("test", id="the unit tests pass"),
    ],
)
def test_that(workshop: Workshop, script: str):
    run = workshop.run(script)
    if run.returncode:
        pytest.fail(f"npm run {script}:\n{run.stdout}{run.stderr}", pytrace=False)


def test_the_package_holds_what_runs_and_nothing_else(vsix: Path):
    with zipfile.ZipFile(vsix) as package:
        names = {name.removeprefix("extension/").lower() for name in package.namelist()}
        bundle = package.read("extension/dist/extension.js").decode()
        notices = package.read("extension/dist/notices.txt").decode()
    walkthrough = {f"walkthrough/{path.name}" for path in (EXTENSION / "walkthrough").iterdir()}
    images = {f"images/{path.name}" for path in (EXTENSION / "images").iterdir()}
    vscode_own = {"[content_types].xml", "extension.vsixmanifest"}
    documents = {"readme.md", "changelog.md", "license.txt"}
    assert names == vscode_own | documents | walkthrough | images | {
        "package.json",
        "dist/extension.js",
        "dist/notices.txt",
    }
    assert "vscode-languageclient 9" in notices
    assert "sourceMappingURL" not in bundle
    assert vsix.stat().st_size < 1_000_000


def test_every_setting_of_the_server_can_be_set():
    decoding = {_camel(field.name) for field in fields(Settings)}
    assert set(SETTINGS) == decoding | EDITORS | OWN


@pytest.mark.parametrize("name", sorted(SETTINGS.keys() - OWN - EDITORS))
def test_a_setting_nobody_made_leaves_the_word_to_files_and_variables(name: str):
    assert SETTINGS[name]["default"] in (None, "")


def test_defaults_and_choices_are_the_servers():
    assert SETTINGS["idleUnload"]["default"] == IDLE_UNLOAD_S
    assert SETTINGS["warm"]["default"] is True
    assert tuple(SETTINGS["strategy"]["enum"]) == (None, *get_args(Strategy))
    assert tuple(SETTINGS["exactness"]["enum"]) == (None, *get_args(Exactness))
    action = SETTINGS["actions"]["additionalProperties"]["properties"]
    assert tuple(action["scope"]["enum"]) == get_args(Scope)
    described = SETTINGS["actions"]["markdownDescription"]
    assert all(f"`{built_in.name}`" in described for built_in in BUILT_IN)


def test_every_setting_is_described_and_every_choice_too():
    for name, schema in SETTINGS.items():
        assert "description" in schema or "markdownDescription" in schema, name
        assert len(schema.get("enumDescriptions", ())) == len(schema.get("enum", ())), name


def test_what_names_programs_models_or_instructions_needs_trust():
    restricted = MANIFEST["capabilities"]["untrustedWorkspaces"]["restrictedConfigurations"]
    assert set(restricted) == {
        f"redraft.{name}"
        for name in ("server.path", "server.python", "model", "draftModel", "actions")
    }
    assert MANIFEST["capabilities"]["virtualWorkspaces"]["supported"] is False


def test_the_commands_of_menus_and_keys_exist():
    known = {command["command"] for command in CONTRIBUTED["commands"]}
    placed = {entry["command"] for menu in CONTRIBUTED["menus"].values() for entry in menu}
    assert placed <= known
    sources = "".join(path.read_text(encoding="utf-8") for path in (EXTENSION / "src").glob("*.ts"))
    bound = {entry["command"] for entry in CONTRIBUTED["keybindings"]}
    for command in known | bound:
        name = command.removeprefix("redraft.")
        assert f'"{command}"' in sources or f"  {name}: {{" in sources, command


def test_the_licence_is_the_projects():
    root = EXTENSION.parents[1]
    assert (EXTENSION / "LICENSE").read_bytes() == (root / "LICENSE").read_bytes()


def _camel(key: str) -> str:
    first, *others = key.split("_")
    return first + "".join(map(str.capitalize, others))
