"""The files a codemod may touch: the same as in git, by law; those skipped, by table."""

import os
import random
from pathlib import Path

import pytest

from redraft.codemod.discover import MAX_BYTES, FileRules, Skipped, find_root, walk
from redraft.errors import InputError

NAMES = ["a", "b", "build", "x.py", "y.py", "gen.py", "deep"]
PATTERNS = [
    *(
        "x.py",
        "*.py",
        "!y.py",
        "build/",
        "/build",
        "a/",
        "a/b/",
        "**/gen.py",
        "deep/**",
        "!deep/x.py",
    ),
    *(
        "/x.py",
        "b",
        "!b/",
        "a/*",
        "!a/gen.py",
        "# note",
        "",
        "[xy].py",
        "?.py",
        "a/**/y.py",
        "\\!z",
    ),
]


@pytest.mark.parametrize("seed", range(30))
def test_the_same_files_are_ignored_as_by_git(tmp_path: Path, git, seed: int):
    random_ = random.Random(seed)
    folders = [tmp_path]
    for _ in range(12):
        folder = random_.choice(folders) / random_.choice(["a", "b", "build", "deep"])
        folder.mkdir(exist_ok=True)
        folders.append(folder)
    for folder in folders:
        for name in random_.sample(["x.py", "y.py", "gen.py"], k=2):
            (folder / name).write_text("")
        if random_.random() < 0.4:
            (folder / ".gitignore").write_text("\n".join(random_.choices(PATTERNS, k=4)))
    git("init", "-q")
    (tmp_path / ".git" / "info" / "exclude").write_text(random_.choice(PATTERNS) + "\n")
    listed = git("ls-files", "--others", "--exclude-standard", "-z").split("\0")
    expected = {path for path in listed if path.endswith(".py")}
    assert set(walk(tmp_path, [tmp_path], FileRules())) == expected


def walk_tree(root: Path, *paths: Path, **rules) -> dict[str, str]:
    """Return each path that was found, with the reason why it is skipped, or ""."""
    walked = walk(root, paths or [root], FileRules(**rules))
    return {
        getattr(entry, "path", entry): entry.reason if isinstance(entry, Skipped) else ""
        for entry in walked
    }


def make(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x = 1\n")


def test_files_come_once_each_and_sorted(tmp_path: Path):
    make(tmp_path, "b/a.py", "b.py", "a/z.py", "a/b/c.py", "a-b/x.py")
    paths = [tmp_path / "b.py", tmp_path, tmp_path / "a"]
    assert list(walk_tree(tmp_path, *paths)) == ["a/b/c.py", "a/z.py", "a-b/x.py", "b/a.py", "b.py"]


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        pytest.param(
            {}, ["a.py", "sub/b.js", "sub/run"], id="known languages, and perhaps scripts"
        ),
        pytest.param({"include": ("*.md",)}, ["notes.md"], id="whatever is included"),
        pytest.param({"include": ("sub/",)}, ["sub/b.js", "sub/c.txt", "sub/run"], id="a folder"),
        pytest.param({"exclude": ("sub",)}, ["a.py"], id="not what is excluded"),
        pytest.param(
            {"include": ("sub/*",), "exclude": ("*.txt",)}, ["sub/b.js", "sub/run"], id="both"
        ),
        pytest.param(
            {"languages": ("markdown",)},
            ["a.py", "notes.md", "sub/b.js", "sub/run"],
            id="data and markup where they are asked for",
        ),
    ],
)
def test_patterns_decide(tmp_path: Path, rules, expected):
    make(tmp_path, "a.py", "sub/b.js", "sub/c.txt", "notes.md", "sub/run")
    assert list(walk_tree(tmp_path, **rules)) == expected


def test_links_and_odd_files_are_passed_over_with_a_reason(tmp_path: Path):
    outside = tmp_path / "outside"
    root = tmp_path / "root"
    make(outside, "secret.py", "deep/more.py")
    make(root, "own.py")
    (root / "link.py").symlink_to(outside / "secret.py")
    (root / "inside.py").symlink_to("own.py")
    (root / "broken.py").symlink_to("nowhere.py")
    (root / "folder").symlink_to(outside)
    os.mkfifo(root / "pipe.py")
    (root / "big.py").write_bytes(b"#" * (MAX_BYTES + 1))
    link = "a symbolic link; name the real file"
    assert walk_tree(root) == {
        "own.py": "",
        "link.py": link,
        "inside.py": link,
        "broken.py": link,
        "folder": link,
        "pipe.py": "not a regular file",
        "big.py": "1,000,001 bytes, over the limit of 1,000,000",
    }
    named = walk_tree(root, root / "link.py", root / "folder")
    assert named == {"link.py": link, "folder": link}


def test_repositories_inside_are_entered_only_when_asked_for(tmp_path: Path, git):
    make(tmp_path, "own.py", "sub/x.py", "sub/ignored.py", "module/y.py")
    git("init", "-q")
    git("init", "-q", cwd=tmp_path / "sub")
    (tmp_path / "module" / ".git").write_text("gitdir: ../.git/modules/module\n")
    (tmp_path / "sub" / ".gitignore").write_text("ignored.py\n")
    (tmp_path / ".gitignore").write_text("x.py\n")
    reason = "a repository of its own; --submodules enters it"
    assert walk_tree(tmp_path) == {"own.py": "", "sub": reason, "module": reason}
    assert walk_tree(tmp_path, tmp_path / "sub" / "x.py") == {"sub/x.py": reason}
    (tmp_path / "module" / ".git").unlink()
    entered = walk_tree(tmp_path, submodules=True)
    assert entered == {"own.py": "", "sub/x.py": "", "module/y.py": ""}


def test_a_worktrees_exclude_file_counts(tmp_path: Path, git):
    make(tmp_path, "main/own.py")
    main = tmp_path / "main"
    git("init", "-q", cwd=main)
    git("add", "-A", cwd=main)
    git("commit", "-qm", "start", cwd=main)
    git("worktree", "add", "-q", "../tree", cwd=main)
    make(tmp_path, "tree/mine.py", "tree/not.py")
    (main / ".git" / "info" / "exclude").write_text("not.py\n")
    assert list(walk_tree(tmp_path / "tree")) == ["mine.py", "own.py"]


def test_a_path_that_is_named_but_ignored_is_reported(tmp_path: Path, git):
    make(tmp_path, "build/x.py", "y.py")
    git("init", "-q")
    (tmp_path / ".gitignore").write_text("build/\ny.py\n")
    paths = [tmp_path / "build" / "x.py", tmp_path / "y.py"]
    assert walk_tree(tmp_path, *paths) == dict.fromkeys(["build/x.py", "y.py"], "ignored by git")
    assert walk_tree(tmp_path, tmp_path / "build") == {"build": "ignored by git"}


def test_the_root_is_the_repository_or_the_common_folder(tmp_path: Path, git, monkeypatch):
    make(tmp_path, "repo/a/x.py", "repo/b/y.py", "other/z.py")
    repo = tmp_path / "repo"
    assert find_root([repo / "a" / "x.py"]) == repo / "a"
    assert find_root([repo / "a", repo / "b" / "y.py"]) == repo
    git("init", "-q", cwd=repo)
    assert find_root([repo / "a" / "x.py"]) == repo
    monkeypatch.chdir(repo / "a")
    assert find_root([Path("..")]) == repo
    with pytest.raises(InputError, match="lies outside of"):
        find_root([repo / "a", tmp_path / "other"])
    with pytest.raises(InputError, match=r"no.py does not exist"):
        find_root([repo / "no.py"])
