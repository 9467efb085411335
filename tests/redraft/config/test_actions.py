"""The named instructions, and the layers they come from."""

from pathlib import Path
from typing import Any

import pytest

from redraft.config.actions import BUILT_IN, Layer, load_actions, merge_layers

TABLE = "p.toml: actions"


def merge(*tables: object) -> tuple[dict[str, Any], tuple[str, ...]]:
    actions, problems = merge_layers(Layer(place=TABLE, table=table) for table in tables)
    return {action.name: action for action in actions}, problems


def test_the_documented_actions_are_there_out_of_the_box() -> None:
    assert {action.name for action in BUILT_IN} >= {
        "edit",
        "fix",
        "add-docstring",
        "add-types",
        "simplify",
        "add-error-handling",
        "extract-function",
    }


def test_later_layers_change_single_keys_add_and_switch_off() -> None:
    actions, problems = merge(
        {"simplify": {"title": "Shorter"}, "mine": {"instruction": "Do it."}},
        {"mine": {"scope": "file", "languages": ["go"]}, "add-types": {"enabled": False}},
    )
    assert not problems
    assert actions["simplify"].title == "Shorter"
    assert actions["simplify"].instruction.startswith("Simplify")
    mine = actions["mine"]
    assert (mine.title, mine.instruction, mine.scope) == ("Mine", "Do it.", "file")
    assert mine.languages == ("go",)
    assert "add-types" not in actions


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"instruction": 3}, ".mine.instruction must be a text, not 3"),
        ({"instruction": "x", "scope": "all"}, ".mine.scope must be one of function"),
        ({"instruction": "x", "languages": ["klingon"]}, ".mine.languages must be a list"),
        ({"instruction": "x", "promt": "x"}, ".mine: unknown key 'promt'"),
        ({"title": "x"}, ".mine.instruction is missing"),
        ("x", ".mine must be a table"),
    ],
)
def test_an_invalid_action_is_named_and_the_rest_work(entry: object, problem: str) -> None:
    actions, problems = merge({"mine": entry, "good": {"instruction": "x"}})
    (message,) = problems
    assert message.startswith(TABLE + problem)
    assert "mine" not in actions
    assert "good" in actions


def test_an_invalid_change_of_an_action_leaves_it_as_it_was() -> None:
    actions, _ = merge({"simplify": {"scope": "all"}})
    assert actions["simplify"] in BUILT_IN


def test_files_are_read_and_the_editor_wins(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.redraft.actions.a]\ninstruction = "pyproject"\n'
        '[tool.redraft.actions.b]\ninstruction = "pyproject"\n'
        '[tool.redraft.actions.c]\ninstruction = "pyproject"\n'
    )
    (tmp_path / "redraft.toml").write_text(
        '[actions.b]\ninstruction = "redraft"\n[actions.c]\ninstruction = "redraft"\n'
    )
    editor = {"c": {"instruction": "editor"}}
    actions, problems = load_actions(tmp_path, editor=editor)
    instructions = {action.name: action.instruction for action in actions}
    names = ("a", "b", "c")
    assert [instructions[name] for name in names] == ["pyproject", "redraft", "editor"]
    assert not problems


def test_a_broken_file_is_named_and_the_others_work(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.redraft\n")
    (tmp_path / "redraft.toml").write_text('[actions.mine]\ninstruction = "x"\n')
    actions, (problem,) = load_actions(tmp_path)
    assert problem.startswith(str(tmp_path / "pyproject.toml"))
    assert "mine" in {action.name for action in actions}


def test_the_files_of_a_project_that_is_not_trusted_are_ignored(tmp_path: Path) -> None:
    (tmp_path / "redraft.toml").write_text('[actions.mine]\ninstruction = "x"\n')
    actions, problems = load_actions(tmp_path, trust_project=False)
    assert set(actions) == set(BUILT_IN)
    assert not problems
