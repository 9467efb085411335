"""What a codemod's edits do besides their targets: imports, callers, and what they may lose."""

import json
from pathlib import Path

import pytest
from tests.redraft.codemod.rule_model import BatchRuleModel

IMPORTING = "import os\n\n\n" + "\n\n".join(
    f"def f{i}(p):\n    return os.path.exists(p)\n" for i in range(10)
)


def to_pathlib(source: str) -> str:
    new = source.replace("os.path.exists(p)", "Path(p).exists()")
    return f"from pathlib import Path\n\n\n{new}" if new != source else source


def only_python(repo: Path, text: str) -> None:
    (repo / "many.py").write_text(text)


@pytest.mark.parametrize("jobs", [1, 4])
def test_ten_targets_of_a_file_that_add_the_same_import_add_one(repo: Path, codemod, jobs: int):
    only_python(repo, IMPORTING)
    ran = codemod(
        *("use pathlib", "many.py", "--write", "--allow-dirty", "--jobs", str(jobs)),
        model=BatchRuleModel(rule=to_pathlib),
    )
    assert ran.code == 0
    expected = IMPORTING.replace("os.path.exists(p)", "Path(p).exists()")
    expected = expected.replace("import os\n", "import os\nfrom pathlib import Path\n", 1)
    assert (repo / "many.py").read_text() == expected


@pytest.mark.parametrize("how", ["flag", "setting"])
def test_imports_can_be_left_alone(repo: Path, codemod, how: str):
    only_python(repo, IMPORTING)
    (repo / "redraft.toml").write_text("imports = false\n" if how == "setting" else "")
    flags = ["--no-imports"] if how == "flag" else []
    ran = codemod("use pathlib", "many.py", *flags, model=BatchRuleModel(rule=to_pathlib))
    assert ran.code == 0
    assert "pathlib" not in ran.out
    assert ran.out.count("+    return Path(p).exists()") == 10


CHECKED = "def check(cart):\n    audit(cart)\n    notify(cart.owner)\n    return old(1)\n"


def losing(source: str) -> str:
    return source.replace("    notify(cart.owner)\n", "").replace("old", "new")


def test_a_refusal_names_what_would_be_lost(repo: Path, codemod):
    only_python(repo, CHECKED)
    ran = codemod("rename old", "many.py", "--json", model=BatchRuleModel(rule=losing))
    assert ran.code == 2
    assert "redraft: lost: notify(cart.owner)\n" in ran.err
    assert "--allow deletion" in ran.err
    (target,) = json.loads(ran.out)["files"][0]["targets"]
    assert target["lost"] == ["    notify(cart.owner)"]
    assert "-    notify(cart.owner)\n" in target["withheld_diff"]


@pytest.mark.parametrize("how", ["flag", "recipe"])
def test_a_loss_can_be_allowed(repo: Path, codemod, how: str):
    only_python(repo, CHECKED)
    (repo / "r.toml").write_text('instruction = "rename old"\nallow = "deletion"\n')
    words = ["rename old", "many.py", "--allow", "deletion"]
    if how == "recipe":
        words = ["--recipe", "r.toml", "many.py"]
    ran = codemod(*words, model=BatchRuleModel(rule=losing))
    assert ran.code == 0
    assert "-    notify(cart.owner)\n" in ran.out


def test_a_recipe_allows_only_what_there_is(repo: Path, codemod):
    (repo / "r.toml").write_text('instruction = "x"\nallow = ["deletion", "timeout"]\n')
    ran = codemod("--recipe", "r.toml", ".")
    assert ran.code == 2
    assert "allow must be one of deletion, parse_broken, elision, or a list of them" in ran.err


def rename_definitions(source: str) -> str:
    return source.replace("def old_total", "def new_total")


def test_lines_of_all_planned_files_that_use_the_old_form_are_named(repo: Path, codemod):
    (repo / "shop.py").write_text(
        "def old_total(price):\n    return price\n\n\nTOTAL = old_total(1)\n"
    )
    (repo / "lib/tools.py").write_text(
        "from shop import old_total\n\n\ndef helper():\n    return old_total(1)\n"
    )
    ran = codemod("call it new_total", ".", "--json", model=BatchRuleModel(rule=rename_definitions))
    record = json.loads(ran.out)
    places = [(caller["path"], caller["line"], caller["text"]) for caller in record["callers"]]
    assert places == [
        ("lib/tools.py", 1, "from shop import old_total"),
        ("lib/tools.py", 5, "return old_total(1)"),
        ("shop.py", 5, "TOTAL = old_total(1)"),
    ]
    assert {caller["definition"] for caller in record["callers"]} == {"old_total"}
    targets = {file["path"]: file["targets"] for file in record["files"]}
    assert [caller["line"] for caller in targets["shop.py"][0]["callers"]] == [5]
    expected = "3 lines still use the old form of old_total: lib/tools.py:1, lib/tools.py:5,"
    assert f"redraft: callers  {expected} shop.py:5\n" in ran.err


def test_callers_that_the_run_itself_changes_are_not_named(repo: Path, codemod):
    (repo / "lib/tools.py").write_text(
        "from shop import old_total\n\n\ndef helper():\n    return old_total(1)\n"
    )
    ran = codemod("rename old", ".", "--scope", "file", "--json")
    assert ran.code == 0
    assert json.loads(ran.out)["callers"] == []
