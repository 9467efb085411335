"""Edits made by the real model, through the command line, each judged by what was asked for.

The targets are small: the model writes some ten tokens a second on two cores.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from redraft.syntax import language_of, parse_errors, target_named

PYTHON = '''\
"""Readings of a weather station."""


def celsius(reading):
    value = reading - 32
    return value * 5 / 9


def above(readings, limit):
    found = []
    for reading in readings:
        if reading > limit:
            found.append(reading)
    return found


class Station:
    def __init__(self, name):
        self.name = name

    def label(self, value):
        return self.name + ": " + str(value)
'''

JAVASCRIPT = """\
export function initials(user) {
  return user.name.split(" ").map((part) => part[0]).join("");
}

export const twice = (n) => n * 2;
"""

GO = """\
package shop

// Line is one line of an order.
type Line struct {
\tSKU string
\tQty int
}

func Count(lines []Line) int {
\tx := 0
\tfor _, line := range lines {
\t\tx += line.Qty
\t}
\treturn x
}
"""

RUST = """\
pub struct Stack {
    items: Vec<i64>,
}

impl Stack {
    pub fn top(&self) -> i64 {
        self.items[self.items.len() - 1]
    }

    pub fn len(&self) -> usize {
        self.items.len()
    }
}
"""

JAVA = """\
class Greeter {
    private final String greeting;

    Greeter(String greeting) {
        this.greeting = greeting;
    }

    String greet(String name) {
        return greeting + ", " + name.trim() + "!";
    }
}
"""


@dataclass(frozen=True, kw_only=True)
class Case:
    path: str
    text: str
    target: str
    instruction: str
    is_right: Callable[[str], object]  # given the whole new file


def python(text: str) -> dict[str, object]:
    names: dict[str, object] = {}
    exec(compile(text, "edited.py", "exec"), names)  # the fixture above, edited on this machine
    return names


CASES = [
    Case(
        path="station.py",
        text=PYTHON,
        target="celsius",
        instruction="Rename the parameter reading to fahrenheit.",
        is_right=lambda text: (
            "reading - 32" not in text and python(text)["celsius"](fahrenheit=212) == 100
        ),
    ),
    Case(
        path="station.py",
        text=PYTHON,
        target="above",
        instruction="Use a list comprehension instead of the loop.",
        is_right=lambda text: (
            "append" not in text and python(text)["above"]([1, 5, 9], 4) == [5, 9]
        ),
    ),
    Case(
        path="station.py",
        text=PYTHON,
        target="Station.label",
        instruction="Add a docstring that says what this method returns.",
        is_right=lambda text: python(text)["Station"].label.__doc__,
    ),
    Case(
        path="user.js",
        text=JAVASCRIPT,
        target="initials",
        instruction="Return an empty string when user is null.",
        is_right=lambda text: re.search(r"if \(!user|user (===?|!==?) null|user\?\.|user \?", text),
    ),
    Case(
        path="count.go",
        text=GO,
        target="Count",
        instruction="Rename the variable x to total.",
        is_right=lambda text: "total += line.Qty" in text and not re.search(r"\bx\b", text),
    ),
    Case(
        path="stack.rs",
        text=RUST,
        target="Stack.top",
        instruction="Return Option<i64>: None when the stack is empty.",
        is_right=lambda text: (
            "pub fn top(&self) -> Option<i64> {" in text
            and re.search(r"Some\(|\.last\(\)\.(copied|cloned)\(\)", text)
        ),
    ),
    Case(
        path="Greeter.java",
        text=JAVA,
        target="Greeter.greet",
        instruction="Throw an IllegalArgumentException when name is null.",
        is_right=lambda text: re.search(
            r"if \(name == null\) \{?\s*throw new IllegalArgumentException", text
        ),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.target}: {case.instruction}")
def test_the_edit_is_the_one_that_was_asked_for(
    coder_model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_cli, case: Case
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / case.path
    path.write_text(case.text)
    args = ("edit", f"{case.path}::{case.target}", case.instruction, "--write")
    ran = run_cli(*args, model=coder_model)
    assert ran.code == 0, ran.err
    new = path.read_text()
    assert case.is_right(new), ran.out
    assert outside(new, case) == outside(case.text, case)
    assert not parse_errors(new, language_of(case.path) or "")


def outside(text: str, case: Case) -> tuple[str, str]:
    language = language_of(case.path) or ""
    span = target_named(text, language, case.target).span
    return text[: span.start], text[span.stop :]


LONG = "def steps():\n" + "".join(f"    yield {n}, {n * n}\n" for n in range(40))


@pytest.fixture
def steps(tmp_path: Path) -> Path:
    path = tmp_path / "steps.py"
    path.write_text(LONG)
    return path


def test_an_answer_cut_at_the_token_limit_is_no_edit(small_model, steps: Path, run_cli) -> None:
    args = ("edit", f"{steps}::steps", "Add a docstring.", "--write", "--json")
    ran = run_cli(*args, "--max-tokens", "64", model=small_model)
    assert (ran.code, json.loads(ran.out)["reason"]) == (2, "token_limit")
    assert ran.err.startswith("redraft: error: ")
    assert "64" in ran.err
    assert steps.read_text() == LONG


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        pytest.param(["--n-ctx", "256"], "context", id="too small for this request"),
        pytest.param(["--n-ctx", "1"], "context", id="too small for any"),
        pytest.param(["--n-ctx", "999999"], "n_ctx must be from 1 to 8192", id="too large"),
    ],
)
def test_a_context_that_does_not_do_is_a_clear_error(
    small_model_path: Path, steps: Path, run_cli, flags: list[str], said: str
) -> None:
    args = ("edit", f"{steps}::steps", "Add a docstring.", "--write")
    ran = run_cli(*args, "--model", small_model_path, *flags)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("redraft: error: ")
    assert said in ran.err
    assert ran.err.count("\n") == 1
    assert steps.read_text() == LONG


@pytest.mark.parametrize("n_bytes", [0, 3, 24, 4_000, 5_000_000])
def test_a_truncated_model_is_a_clear_error(
    small_model_path: Path, steps: Path, run_cli, n_bytes: int
) -> None:
    cut = steps.with_name("cut.gguf")
    with small_model_path.open("rb") as whole:
        cut.write_bytes(whole.read(n_bytes))
    ran = run_cli("edit", f"{steps}::steps", "Add a docstring.", "--write", "--model", cut)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("redraft: error: ")
    assert "cut.gguf" in ran.err
    assert ran.err.count("\n") == 1
    assert steps.read_text() == LONG


def test_the_deadline_ends_a_real_decode(small_model, steps: Path, run_cli) -> None:
    args = ("edit", f"{steps}::steps", "Add a docstring.", "--write", "--json")
    ran = run_cli(*args, "--timeout", "0.001", model=small_model)
    assert (ran.code, json.loads(ran.out)["reason"]) == (2, "timeout")
    assert steps.read_text() == LONG
