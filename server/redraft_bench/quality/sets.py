"""Sets of edits that tests can judge: the request, and the program that tells whether it is right.

Each set is a JSON-lines file of its own shape; one `Problem` comes of a record, whatever the set.
Knows records and how a set puts program and tests together; runs nothing.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from redraft import syntax
from redraft.errors import InputError
from redraft.records import EditRequest, Span

__all__ = ["CODE", "SETS", "Problem", "load"]

CODE: Final = "{{Code}}"  # EditEval's own mark


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One edit of a Python file. It is right if `program` of the edited file runs to its end."""

    id: str
    request: EditRequest
    reference: str  # the file after a right edit
    frame: str  # the program that judges an edited file, with `CODE` where the file belongs

    def program(self, code: str) -> str:
        """Return the program that judges `code`, an edited file."""
        return self.frame.replace(CODE, code)


def load(name: str, path: Path) -> tuple[Problem, ...]:
    """Read the set `name` from `path`. Raises InputError naming the line that is wrong."""
    if name not in SETS:
        raise InputError(f"no set {name!r}: it is one of {', '.join(SETS)}")
    try:
        lines = path.read_text("utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}: {error}") from error
    problems = []
    for number, line in enumerate(lines, 1):
        place = f"{path}:{number}"
        try:
            if line.strip():
                problems.append(SETS[name](json.loads(line)))
        except KeyError as error:
            raise InputError(f"{place}: a record of {name} needs the field {error}") from error
        except (ValueError, TypeError, AttributeError) as error:
            raise InputError(f"{place}: not a record of {name}: {error}") from error
    if not problems:
        raise InputError(f"{path} holds no edits")
    return tuple(problems)


def parse_canitedit(record: Mapping[str, Any]) -> Problem:
    """Return the problem with its long instruction. Cassano et al. (2023), CanItEdit."""
    return _build_problem(record, record["instruction_descriptive"], f"{_topic(record)}.py")


def parse_canitedit_lazy(record: Mapping[str, Any]) -> Problem:
    """Return the problem with its short instruction."""
    return _build_problem(record, record["instruction_lazy"], f"{_topic(record)}.py")


def _topic(record: Mapping[str, Any]) -> str:
    """Return `fibonacci` for `11_fibonacci`."""
    return str(record["name"]).lstrip("0123456789_")


def parse_humanevalfix(record: Mapping[str, Any]) -> Problem:
    """Return the problem as the set poses it: code, tests, then "Fix bugs in NAME.".

    Muennighoff et al. (2023), OctoPack.
    """
    name, code = record["entry_point"], record["before"]
    tests = f"```python\n{record['tests'].strip()}\n```"
    instruction = f"These are the tests:\n{tests}\n\n{record['instruction']}"
    spans = [target.span for target in syntax.targets(code, "python") if target.name == name]
    return _build_problem(record, instruction, f"{name}.py", target=spans[0] if spans else None)


def parse_editeval(record: Mapping[str, Any]) -> Problem:
    """Return the problem, whose code may stand in a context. Hu et al. (2023), InstructCoder."""
    # A context of this set is a whole program with `CODE` where the edited code belongs.
    frame = f"{record['context'] or CODE}\n{record['tests']}\n\ncheck()\n"
    return _build_problem(record, record["instruction"], "edit.py", frame=frame)


def _build_problem(
    record: Mapping[str, Any],
    instruction: str,
    path: str,
    *,
    target: Span | None = None,
    frame: str | None = None,
) -> Problem:
    """Return the problem: of the whole file, judged by tests behind it, unless given otherwise."""
    before = record["before"]
    return Problem(
        id=record["id"],
        request=EditRequest(
            path=path,
            text=before,
            target=target or Span(0, len(before)),
            instruction=instruction.strip(),
            language="python",
        ),
        reference=record["after"],
        frame=frame or f"{CODE}\n\n{record['tests']}\n",
    )


SETS: Final[Mapping[str, Callable[[Mapping[str, Any]], Problem]]] = {
    "canitedit": parse_canitedit,
    "canitedit-lazy": parse_canitedit_lazy,
    "humanevalfix": parse_humanevalfix,
    "editeval": parse_editeval,
}
