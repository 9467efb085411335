"""Uncommitted work is not mixed with edits, and a commit holds the edits alone."""

import re
from pathlib import Path

import pytest


def test_a_dirty_tree_is_refused_before_anything_is_asked(repo: Path, codemod):
    (repo / "shop.py").write_text("changed\n")
    (repo / "README.md").write_text("changed\n")
    ran = codemod("rename old", "lib", "--write")
    assert ran.code == 2
    assert "has uncommitted changes (README.md and 1 more): commit or stash them" in ran.err
    assert codemod("rename old", "lib").code == 0
    assert codemod("rename old", "lib", "--write", "--allow-dirty").code == 0


def test_new_files_are_no_reason_to_refuse(repo: Path, codemod):
    (repo / "new.py").write_text("def old(): pass\n")
    assert codemod("rename old", ".", "--write").code == 0
    assert (repo / "new.py").read_text() == "def new(): pass\n"


def test_a_commit_holds_the_edits_and_nothing_else(repo: Path, codemod, git):
    (repo / "notes.txt").write_text("staged\n")
    (repo / "fresh [1].py").write_text("def old(): pass\n")
    git("add", "notes.txt")
    instruction = "rename old\n\n" + "and mind every word of this " * 4
    ran = codemod(instruction, ".", "--commit", "--write", "--allow-dirty")
    assert ran.code == 0
    assert re.search(r"committed 4 files as [0-9a-f]{7}", ran.err)
    commit = git("show", "--name-only", "--format=%B")
    title, body = commit.split("\n", 1)
    assert title == "rename old and mind every word of this and mind every word of this and…"
    assert instruction.strip() in body
    assert commit.count("fresh [1].py") == 2
    assert commit.endswith("fresh [1].py\nlib/tools.py\nlib/web.js\nshop.py\n")
    assert git("status", "--porcelain") == "A  notes.txt\n"


def test_nothing_written_is_nothing_committed(repo: Path, codemod, git):
    assert codemod("rename old", ".", "--select", "free", "--commit", "--write").code == 0
    assert git("log", "--format=%s") == "start\n"


def test_a_commit_that_git_refuses_is_a_failure(repo: Path, codemod):
    hook = repo / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho not today >&2\nexit 1\n")
    hook.chmod(0o755)
    ran = codemod("rename old", ".", "--commit", "--write")
    assert ran.code == 2
    assert "git commit failed" in ran.err
    assert "not today" in ran.err


def test_outside_of_git_there_is_nothing_to_commit_to(
    tmp_path: Path, codemod, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text("def old(): pass\n")
    ran = codemod("rename old", ".", "--commit", "--write")
    assert ran.code == 2
    assert "is no git repository" in ran.err
    assert codemod("rename old", ".", "--write").code == 0
    assert (tmp_path / "a.py").read_text() == "def new(): pass\n"
