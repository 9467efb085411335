"""The built-in edits are what they claim to be; a file of tasks is read with care."""

import json
from pathlib import Path

import pytest

from redraft.bench.tasks import Task, build_request, built_in_tasks, load, verbatim_task
from redraft.errors import InputError
from redraft.syntax import parse_errors

CODE = """\
def small():
    return 1


class Box:
    def large(self):
        value = 1
        return value

    def pack(self):
        return 2
"""


def task(instruction: str, *, before: str = CODE, lang: str = "python", path: str = "a.py") -> Task:
    return Task(id="x", lang=lang, path=path, instruction=instruction, before=before, max_tokens=9)


def test_twelve_edits_in_six_languages_parse_before_and_after():
    tasks = built_in_tasks()
    assert len({task.id for task in tasks}) == 12
    assert len({task.lang for task in tasks}) == 6
    for task in tasks:
        assert task.after
        assert task.after != task.before
        assert parse_errors(task.before, task.lang) == 0, task.id
        assert parse_errors(task.after, task.lang) == 0, task.id


@pytest.mark.parametrize(
    ("of_task", "begins", "ends"),
    [
        pytest.param(task("Speed up `small`"), "def small", "return 1", id="a named function"),
        pytest.param(
            task("Let Box.pack return 3"), "    def pack", "return 2", id="a named method"
        ),
        pytest.param(task("First pack, then small"), "    def pack", "return 2", id="named first"),
        pytest.param(task("Use smaller names"), "    def large", "return value", id="the largest"),
        pytest.param(task("Do", before="x = 1\n"), "x = 1", "x = 1\n", id="no function: the file"),
        pytest.param(
            task("Do", before="a b\n", lang="text", path="a.txt"), "a b", "a b\n", id="no grammar"
        ),
    ],
)
def test_function_scope_is(of_task: Task, begins: str, ends: str):
    request = build_request(of_task, "function")
    target = request.target.of(request.text)
    assert target.startswith(begins)
    assert target.endswith(ends)


def test_file_scope_is_the_whole_file():
    request = build_request(task("Speed up `small`"), "file")
    assert request.target.of(request.text) == CODE


RECORD = {
    "id": "a",
    "lang": "python",
    "path": "a.py",
    "instruction": "Do",
    "before": "x = 1\n",
    "max_tokens": 9,
    "after": "x = 2\n",
    "licence": "ignored",
}


def test_a_file_of_tasks_is_read_line_by_line(tmp_path: Path):
    path = tmp_path / "tasks.jsonl"
    path.write_text(f"{json.dumps(RECORD)}\n\n{json.dumps(RECORD | {'id': 'b'})}\n")
    assert [task.id for task in load(path)] == ["a", "b"]
    assert load(path)[0].after == "x = 2\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", "holds no tasks", id="empty"),
        pytest.param("[1]", r"tasks\.jsonl:1: a task is an object", id="no object"),
        pytest.param("{", r"tasks\.jsonl:1: not a line of JSON", id="no JSON"),
        pytest.param(
            json.dumps(RECORD) + "\n" + json.dumps(RECORD | {"max_tokens": "9"}),
            r"tasks\.jsonl:2: max_tokens must be a int, not '9'",
            id="a wrong type",
        ),
        pytest.param('{"id": "a"}', "lang must be a str, not None", id="a missing key"),
        pytest.param(
            f"{json.dumps(RECORD)}\n" * 2, "more than one task is called 'a'", id="an id twice"
        ),
        pytest.param(None, "cannot read the tasks", id="no file"),
    ],
)
def test_what_is_wrong_in_a_file_is_named_with_its_line(tmp_path: Path, text, message: str):
    path = tmp_path / "tasks.jsonl"
    if text is not None:
        path.write_text(text)
    with pytest.raises(InputError, match=message):
        load(path)


def test_a_verbatim_task_asks_for_the_whole_file_and_knows_its_answer(tmp_path: Path):
    path = tmp_path / "a.py"
    path.write_bytes(b"def f():\r\n    pass\r\n")
    task = verbatim_task(path)
    assert (task.lang, task.before, task.after) == (
        "python",
        "def f():\r\n    pass\r\n",
        task.before,
    )
