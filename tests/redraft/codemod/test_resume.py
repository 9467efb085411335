"""The files `--resume` goes on with, and those it leaves alone. Crashes: test_kill.py."""

import json
import re
from pathlib import Path

import pytest
from tests.redraft.codemod.conftest import FILES, contents
from tests.redraft.codemod.rule_model import BatchRuleModel, RuleModel

from redraft.codemod.journal import journal_folder
from redraft.records import Prompt

RESUME = ("rename old", ".", "--write", "--resume", "--jobs", "1")


class DyingModel(RuleModel):
    """Loses its process at the first prompt that holds `at`."""

    at: str = "oldName"

    def before_reply(self, prompt: Prompt) -> None:
        if self.at in prompt.source:
            raise MemoryError("as good as a crash")


@pytest.fixture
def crashed(repo: Path, codemod) -> Path:
    """A run that ended after its first file."""
    assert codemod(*RESUME, model=DyingModel()).code == 2
    assert (repo / "lib/tools.py").read_text() == FILES["lib/tools.py"].replace("old", "new")
    return repo


def test_it_goes_on_where_the_run_stopped(crashed: Path, codemod):
    model = BatchRuleModel()
    ran = codemod(*RESUME, model=model)
    assert ran.code == 0
    assert [p.source.split("(")[0].split()[-1] for p in model.prompts] == [
        *("oldName", "old_total", "old_sum", "show")
    ]
    assert "redraft: resuming the run " in ran.err
    assert "files    3 changed\n" in ran.err
    assert "targets  4 rewritten, 2 unchanged\n" in ran.err
    run = re.search(r"undo (\S+)`", ran.err)[1]
    assert codemod("undo", run).code == 0
    assert contents(crashed) == {name: text.encode() for name, text in sorted(FILES.items())}


def test_callers_are_named_in_what_the_first_process_finished_and_of_what_it_changed(
    repo: Path, codemod
):
    (repo / "lib/tools.py").write_text(
        "from shop import old_total\n\n\n"
        "def old_helper():\n    return 0\n\n\n"
        "def show():\n    return old_total(1, 2)\n"
    )
    (repo / "shop.py").write_text(
        "from lib.tools import old_helper\n\n\n"
        "def old_total(price, qty):\n    return price * qty\n\n\n"
        "ZERO = old_helper()\n"
    )

    def rename_definitions(source: str) -> str:
        return source.replace("def old_", "def new_")

    args = (*RESUME, "--allow-dirty", "--json")
    assert codemod(*args, model=DyingModel(rule=rename_definitions)).code == 2
    ran = codemod(*args, model=BatchRuleModel(rule=rename_definitions))
    assert "redraft: resuming the run " in ran.err
    callers = json.loads(ran.out)["callers"]
    assert [(caller["path"], caller["line"], caller["definition"]) for caller in callers] == [
        ("lib/tools.py", 1, "old_total"),
        ("lib/tools.py", 9, "old_total"),
        ("shop.py", 1, "old_helper"),
        ("shop.py", 8, "old_helper"),
    ]


def test_a_finished_run_has_nothing_left(repo: Path, codemod):
    codemod("rename old", ".", "--write")
    before, model = contents(repo), BatchRuleModel()
    ran = codemod("rename old", ".", "--write", "--resume", model=model)
    assert (ran.code, model.prompts, contents(repo)) == (0, [], before)
    assert "files    3 changed\n" in ran.err


def test_refusals_of_the_first_process_count(repo: Path, codemod):
    ran = codemod("x", ".", "--write", model=BatchRuleModel(rule=lambda source: "def (:\n"))
    assert ran.code == 2
    assert codemod("x", ".", "--write", "--resume").code == 2


def test_files_that_changed_meanwhile_are_not_touched(crashed: Path, codemod):
    (crashed / "shop.py").write_text("def old(): pass\n")
    (crashed / "new.py").write_text("def old(): pass\n")
    ran = codemod(*RESUME, "--allow-dirty")
    assert ran.code == 2
    assert "shop.py changed since the run began; nothing was written" in ran.err
    for name in ("shop.py", "new.py"):
        assert (crashed / name).read_text() == "def old(): pass\n"
    assert "newName" in (crashed / "lib/web.js").read_text()


def test_a_write_cut_off_is_not_finished_in_a_file_that_changed(crashed: Path, codemod):
    (journal,) = journal_folder(crashed).glob("*.jsonl")
    lines = journal.read_text().splitlines(keepends=True)
    assert '"closed"' in lines[-1]
    journal.write_text("".join(lines[:-1]))
    (crashed / "lib/tools.py").write_text("mine\n")
    ran = codemod(*RESUME)
    assert ran.code == 2
    assert "lib/tools.py changed since the run began; nothing was written" in ran.err
    assert (crashed / "lib/tools.py").read_text() == "mine\n"


@pytest.mark.parametrize(
    "args",
    [
        pytest.param(["rename  old", "."], id="instruction"),
        pytest.param(["rename old", "lib/web.js", "shop.py"], id="paths"),
        pytest.param(["rename old", ".", "--select", "*"], id="selection"),
        pytest.param(["rename old", ".", "--exclude", "x"], id="rules"),
        pytest.param(["rename old", ".", "--max-tokens", "999"], id="parameters"),
        pytest.param(["rename old", ".", "--verify-with", "true"], id="commands"),
    ],
)
def test_other_options_are_another_run(crashed: Path, codemod, args):
    ran = codemod(*args, "--write", "--resume", "--allow-dirty")
    assert ran.code == 0
    assert "resuming" not in ran.err


def test_jobs_output_and_timeout_make_no_other_run(crashed: Path, codemod):
    args = ("rename old", ".", "--write", "--resume", "--jobs", "9", "--jsonl", "--timeout", "99")
    assert "resuming" in codemod(*args).err


def test_a_run_that_was_undone_starts_again(repo: Path, codemod):
    run = re.search(r"undo (\S+)`", codemod("rename old", ".", "--write").err)[1]
    codemod("undo", run)
    ran = codemod("rename old", ".", "--write", "--resume")
    assert "resuming" not in ran.err
    assert "newName" in (repo / "lib/web.js").read_text()


def test_a_file_that_could_not_be_read_is_tried_again(repo: Path, codemod, monkeypatch):
    from redraft.text import files

    real = files.read

    def read(path):
        if Path(path).name == "web.js":
            try:
                raise PermissionError(13, "Permission denied")
            except OSError as error:
                raise files.InputError(f"cannot read {path}") from error
        return real(path)

    monkeypatch.setattr(files, "read", read)
    for _ in range(2):
        ran = codemod("rename old", ".", "--write", "--resume")
        assert ran.code == 2
        assert "failed: lib/web.js: cannot read" in ran.err
    monkeypatch.setattr(files, "read", real)
    assert codemod("rename old", ".", "--write", "--resume").code == 0
    assert "newName" in (repo / "lib/web.js").read_text()
    assert codemod("rename old", ".", "--write", "--resume").code == 0
