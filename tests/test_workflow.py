"""The CI workflows and `make bench`: well formed, and calling only commands that the clone has."""

import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml  # comes with huggingface-hub

from redraft import cli
from redraft_bench import __main__ as redraft_bench

ROOT = Path(__file__).parent.parent
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
CACHING = ["linux.yml", "macos.yml"]  # a release is built from nothing


def workflow(name: str) -> dict[str, Any]:
    return yaml.safe_load((ROOT / ".github/workflows" / name).read_text(encoding="utf-8"))


def jobs(read: dict[str, Any]) -> list[dict[str, Any]]:
    return list(read["jobs"].values())


def commands(read: dict[str, Any]) -> str:
    return "\n".join(step["run"] for job in jobs(read) for step in job["steps"] if "run" in step)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_has_what_github_asks_for(path: Path):
    read = workflow(path.name)
    # YAML 1.1 reads the key `on` as a truth value; GitHub does not.
    assert set(read) <= {"name", True, "permissions", "concurrency", "jobs"}
    # A change is tested before it lands; only what has landed is released.
    triggers = {"push"} if path.name == "release.yml" else {"push", "pull_request"}
    assert triggers <= set(read[True])
    assert read["permissions"] == {"contents": "read"}
    for job in jobs(read):
        assert job["runs-on"]
        assert job["timeout-minutes"] <= 120
        for step in job["steps"]:
            assert ("run" in step) != ("uses" in step), step
            assert set(step) <= {"name", "run", "uses", "with", "if", "env"}, step


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_uses_only_what_is_defined(path: Path):
    text = path.read_text(encoding="utf-8")
    read = workflow(path.name)
    inputs = read[True].get("workflow_dispatch", {}).get("inputs", {})
    matrix = {name for job in jobs(read) for name in job.get("strategy", {}).get("matrix", ())}
    for scope, name in re.findall(r"\b(matrix|inputs)\.(\w+)", text):
        assert name in (matrix if scope == "matrix" else inputs), name
    for job in jobs(read):
        needs = job.get("needs", [])
        assert {*([needs] if isinstance(needs, str) else needs)} <= set(read["jobs"])
    for hashed in re.findall(r"hashFiles\((.*?)\)", text):
        for name in re.findall(r"'(.*?)'", hashed):
            assert (ROOT / name).is_file(), name


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_calls_only_commands_that_the_clone_has(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    targets = re.findall(
        r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE
    )
    lines = commands(workflow(path.name)).replace("\\\n", " ").splitlines()
    assert "make test" in lines
    for line in lines:
        program, *words = shlex.split(line) or [""]
        if program == "make":
            assert set(words) <= set(targets), line
        elif program == "mkdir":
            Path(words[-1]).mkdir()
        else:
            parse_command(program, words)


def parse_command(program: str, words: list[str]) -> None:
    """Exit where a command of redraft or one of its flags does not exist."""
    if program == ".venv/bin/redraft":
        cli._build_parser().parse_args(words)
    elif program == ".venv/bin/python" and words[:2] == ["-m", "redraft_bench"]:
        redraft_bench.build_parser().parse_args(words[2:])


@pytest.mark.parametrize("target", ["bench", "bench-quality", "bench-report"])
def test_make_measures_with_commands_that_exist(target: str, monkeypatch: pytest.MonkeyPatch):
    files = ("TASKS=t.jsonl", "QUESTIONS=q.jsonl", "CANITEDIT=c.jsonl", "HUMANEVALFIX=h.jsonl")
    dry_run = subprocess.run(
        ["make", "--dry-run", "-C", ROOT, target, *files, "EDITEVAL=e.jsonl"],
        capture_output=True,
        text=True,
        check=True,
    )
    monkeypatch.chdir(ROOT)
    lines = dry_run.stdout.replace("\\\n", " ").splitlines()
    benches = [line for line in lines if "redraft bench" in line or "redraft_bench" in line]
    assert benches
    for line in benches:
        program, *words = shlex.split(line)
        parse_command(program, words)


@pytest.mark.parametrize("name", CACHING)
def test_a_measurement_of_one_machine_is_not_kept_for_another(name: str):
    cached = [
        folder
        for job in jobs(workflow(name))
        for step in job["steps"]
        if step.get("uses", "").startswith("actions/cache@")
        for folder in step["with"]["path"].split("\n")
        if folder
    ]
    assert cached
    for cache in ("~/.cache/redraft", "~/Library/Caches/redraft"):
        calibration = Path(cache, "costs", "model.json")
        assert not any(calibration.is_relative_to(folder) for folder in cached)


def test_the_python_versions_are_the_oldest_and_the_newest_that_redraft_supports():
    [job] = jobs(workflow("linux.yml"))
    supported = re.search(
        r'requires-python = ">=(\S+),<3\.(\d+)"', (ROOT / "pyproject.toml").read_text()
    )
    assert supported
    assert job["strategy"]["matrix"]["python"] == [supported[1], f"3.{int(supported[2]) - 1}"]


def test_a_release_publishes_only_what_was_tested_and_tried():
    released = workflow("release.yml")["jobs"]
    check = released.pop("check")
    assert [step["run"] for step in check["steps"] if "run" in step] == [
        "make test",
        "make release-check",
    ]
    uploaded = {
        step["with"]["name"]
        for step in check["steps"]
        if step.get("uses", "").startswith("actions/upload-artifact@")
    }
    for name, job in released.items():
        assert "check" in job["needs"], name
        [downloaded] = (
            step["with"]
            for step in job["steps"]
            if step.get("uses", "").startswith("actions/download-artifact@")
        )
        assert downloaded.get("name") in {*uploaded, None}, name
