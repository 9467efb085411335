"""Records of each set become problems whose own answers pass, and whose own mistakes do not."""

import json

import pytest

from redraft.errors import InputError
from redraft_bench.quality.sandbox import Sandbox, SandboxLimits
from redraft_bench.quality.sets import SETS, load

BEFORE, AFTER = "def twice(x):\n    return x + 2\n", "def twice(x):\n    return x * 2\n"
CHECK = "def check(twice):\n    assert twice(3) == 6\n\ncheck(twice)"

RECORDS = {
    "canitedit": {
        "id": "c/1",
        "name": "1_twice",
        "instruction_descriptive": "Make `twice` return x times two.",
        "instruction_lazy": "fix twice",
        "before": BEFORE,
        "after": AFTER,
        "tests": "### TESTS ###\nif True:\n    assert twice(3) == 6",
    },
    "humanevalfix": {
        "id": "h/1",
        "instruction": "Fix bugs in twice.",
        "entry_point": "twice",
        "before": f"import math\n\n\n{BEFORE}",
        "after": f"import math\n\n\n{AFTER}",
        "tests": f"\n\n\n{CHECK}\n",
    },
    "editeval": {
        "id": "e/1",
        "instruction": "Multiply instead.",
        "before": "    def twice(self, x):\n        return x + 2",
        "after": "    def twice(self, x):\n        return x * 2",
        "context": "class Sums:\n{{Code}}\n    last = 1\n\ncode = '''{{Code}}'''\n",
        "tests": "def check():\n    assert Sums().twice(3) == 6 and 'x * 2' in code\n",
    },
}
RECORDS["canitedit-lazy"] = RECORDS["canitedit"]


def file_of(folder, *records):
    path = folder / "set.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return path


def problem_of(name, folder):
    (problem,) = load(name, file_of(folder, RECORDS[name]))
    return problem


@pytest.mark.parametrize("name", SETS)
def test_the_tests_tell_the_answer_from_what_was_there(name, tmp_path):
    problem, sandbox = problem_of(name, tmp_path), Sandbox(SandboxLimits(wall_s=8.0))
    assert sandbox.run(problem.program(problem.reference)).ending == "passed"
    assert sandbox.run(problem.program(problem.request.text)).ending == "failed"


@pytest.mark.parametrize(
    ("name", "path", "instruction"),
    [
        ("canitedit", "twice.py", "Make `twice` return x times two."),
        ("canitedit-lazy", "twice.py", "fix twice"),
        (
            "humanevalfix",
            "twice.py",
            f"These are the tests:\n```python\n{CHECK}\n```\n\nFix bugs in twice.",
        ),
        ("editeval", "edit.py", "Multiply instead."),
    ],
)
def test_what_is_asked_is_what_the_set_says(name, path, instruction, tmp_path):
    request = problem_of(name, tmp_path).request
    assert (request.path, request.instruction) == (path, instruction)
    assert request.text == RECORDS[name]["before"]


def test_the_target_is_the_function_that_the_set_names(tmp_path):
    request = problem_of("humanevalfix", tmp_path).request
    assert request.target.of(request.text).strip() == BEFORE.strip()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        pytest.param("canitedit", "{}\n", ":1: a record of canitedit needs", id="fields missing"),
        pytest.param("editeval", "\nno\n", ":2: not a record of editeval", id="no JSON"),
        pytest.param("editeval", "[1]\n", ":1: not a record of editeval", id="no object"),
        pytest.param("editeval", "\n", "holds no edits", id="an empty file"),
        pytest.param("other", "{}\n", "no set 'other': it is one of canitedit", id="unknown set"),
    ],
)
def test_a_bad_file_is_refused_with_its_line(name, content, message, tmp_path):
    path = tmp_path / "set.jsonl"
    path.write_text(content, "utf-8")
    with pytest.raises(InputError, match=message):
        load(name, path)


def test_a_record_with_an_empty_instruction_is_refused(tmp_path):
    path = file_of(tmp_path, RECORDS["editeval"] | {"instruction": " "})
    with pytest.raises(InputError, match="the instruction is empty"):
        load("editeval", path)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(InputError, match="cannot read"):
        load("editeval", tmp_path / "none.jsonl")
