"""The editor's settings, and their place among the other sources."""

from pathlib import Path

import pytest

from redraft.config.actions import BUILT_IN
from redraft.errors import InputError
from redraft.lsp.server_config import ServerConfig, parse_editor_settings


def test_the_editor_overrides_files(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.redraft.actions.a]\ninstruction = "pyproject"\n'
        '[tool.redraft.actions.b]\ninstruction = "pyproject"\n'
        '[tool.redraft.actions.c]\ninstruction = "pyproject"\n'
    )
    (tmp_path / "redraft.toml").write_text(
        'seed = 3\n[actions.b]\ninstruction = "redraft"\n[actions.c]\ninstruction = "redraft"\n'
        "[actions.bad]\nscope = 3\n"
    )
    config = ServerConfig({}, {})
    config.editor, _ = parse_editor_settings({"actions": {"c": {"instruction": "editor"}}})
    actions, problems = config.load_actions(tmp_path / "x.py")
    instructions = {action.name: action.instruction for action in actions}
    assert (instructions["a"], instructions["b"], instructions["c"]) == (
        "pyproject",
        "redraft",
        "editor",
    )
    (problem,) = problems
    assert problem.startswith(f"{tmp_path / 'redraft.toml'}: actions.bad.scope must be")
    assert config.load_settings(tmp_path / "x.py").seed == 3


def test_the_files_of_a_project_that_is_not_trusted_are_ignored(tmp_path: Path) -> None:
    (tmp_path / "redraft.toml").write_text('model = "x.gguf"\n[actions.a]\ninstruction = "x"\n')
    config = ServerConfig({}, {})
    config.is_trusted = False
    actions, _ = config.load_actions(tmp_path / "x.py")
    assert all(action in BUILT_IN for action in actions)
    assert config.load_settings(tmp_path / "x.py").model is None


@pytest.mark.parametrize(
    ("section", "problem"),
    [
        ({"warm": 3}, "redraft.warm must be true or false, not 3"),
        ({"idleUnload": "x"}, "redraft.idleUnload must be"),
        ([], "redraft must be an object"),
    ],
)
def test_wrong_settings_of_the_editor_are_named(section: object, problem: str) -> None:
    _, (message,) = parse_editor_settings(section)
    assert message.startswith(problem)


def test_settings_in_camel_case_are_the_command_lines() -> None:
    editor, problems = parse_editor_settings(
        {"maxTokens": 5, "nCtx": 9, "idleUnload": 0, "trace": {"server": "off"}, "model": None}
    )
    assert not problems
    assert editor.decoding == {"max_tokens": 5, "n_ctx": 9}
    assert editor.idle_unload is None


def test_flags_override_the_editor_and_the_editor_overrides_variables(tmp_path: Path) -> None:
    config = ServerConfig({"seed": "1"}, {"REDRAFT_SEED": "3", "REDRAFT_THREADS": "3"})
    config.editor, _ = parse_editor_settings({"seed": 2, "threads": 2})
    settings = config.load_settings(tmp_path / "x.py")
    assert (settings.seed, settings.threads) == (1, 2)


def test_a_wrong_setting_of_the_editor_is_named_as_the_editor_does(tmp_path: Path) -> None:
    config = ServerConfig({}, {})
    config.editor, _ = parse_editor_settings({"maxTokens": -1})
    with pytest.raises(InputError, match=r"redraft\.maxTokens must be"):
        config.load_settings(tmp_path / "x.py")
