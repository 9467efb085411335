"""The CI workflows: that they are what the clone's own commands do, as far as files can tell."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml  # comes with huggingface-hub

ROOT = Path(__file__).parent.parent
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


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
    assert {"push", "pull_request"} <= set(read[True])
    assert read["permissions"] == {"contents": "read"}
    for job in jobs(read):
        assert job["runs-on"]
        assert job["timeout-minutes"] <= 120
        for step in job["steps"]:
            assert ("run" in step) != ("uses" in step), step
            assert set(step) <= {"name", "run", "uses", "with", "if"}, step


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_uses_only_what_is_defined(path: Path):
    text = path.read_text(encoding="utf-8")
    [job] = jobs(workflow(path.name))
    inputs = workflow(path.name)[True].get("workflow_dispatch", {}).get("inputs", {})
    for scope, name in re.findall(r"\b(matrix|inputs)\.(\w+)", text):
        assert name in (job["strategy"]["matrix"] if scope == "matrix" else inputs), name
    for hashed in re.findall(r"hashFiles\((.*?)\)", text):
        for name in re.findall(r"'(.*?)'", hashed):
            assert (ROOT / name).is_file(), name


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_the_tests_are_run_by_the_entry_that_a_clone_has(path: Path):
    assert "make test" in commands(workflow(path.name)).splitlines()


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_what_passes_cost_on_one_machine_is_not_kept_for_another(path: Path):
    cached = [
        folder
        for job in jobs(workflow(path.name))
        for step in job["steps"]
        if step.get("uses", "").startswith("actions/cache@")
        for folder in step["with"]["path"].split("\n")
        if folder
    ]
    assert {folder.rpartition("/")[2] for folder in cached} == {"wheels", "models"}


def test_macos_builds_with_metal_and_without_and_keeps_what_it_measured():
    [job] = jobs(workflow("macos.yml"))
    assert job["runs-on"] == "${{ inputs.runner || 'macos-15' }}"
    assert job["strategy"]["matrix"] == {"metal": ["ON", "OFF"]}
    assert job["env"] == {"CMAKE_ARGS": "-DGGML_METAL=${{ matrix.metal }}"}
    run = commands(workflow("macos.yml"))
    for name in ("cost", "edits"):
        assert f"bench {name} --model smollm2-135m" in run
        assert f"--json results/{name}.json" in run
    assert job["steps"][-1]["with"]["path"] == "results"


def test_the_python_versions_are_the_oldest_and_the_newest_that_redraft_supports():
    [job] = jobs(workflow("linux.yml"))
    supported = re.search(
        r'requires-python = ">=(\S+),<3\.(\d+)"', (ROOT / "pyproject.toml").read_text()
    )
    assert supported
    assert job["strategy"]["matrix"]["python"] == [supported[1], f"3.{int(supported[2]) - 1}"]
