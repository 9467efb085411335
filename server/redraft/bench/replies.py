"""Judge replies that are known to be good or bad: a set in a file, without a model.

Each line of the file is one JSON object: a text, a target in it, an instruction, a reply as a model
might write it, and the whole new texts that are right; "REFUSE" among them where no edit is.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, get_args

from redraft.edit import outcome_of_reply, prompt_without_model
from redraft.errors import InputError
from redraft.records import (
    Completion,
    DecodeOptions,
    EditRequest,
    Outcome,
    Refused,
    Rewritten,
    Route,
    Span,
    Stats,
)
from redraft.syntax import language_of

__all__ = ["Judged", "ReplyCase", "Verdict", "judge", "load", "summarize"]

Verdict: TypeAlias = Literal["passed", "wrong_accepted", "good_refused"]

FindSpan: TypeAlias = Callable[[str, str, str, str | None], Span]
"""Returns the part of a text, from path, part as after a file's name, text and language."""

_REFUSE: Final = "REFUSE"
_TEXTS: Final = ("id", "kind", "path", "text", "instruction", "reply")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyCase:
    """A reply and what is right. `is_raw`: it is not cut at the prompt's stop strings."""

    id: str
    kind: str
    request: EditRequest | InputError  # an error where the target is not found in the text
    reply: str
    want: tuple[str, ...]
    route: Route
    is_raw: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A case and its verdict. got: the new text, None where no edit was made; message: why not."""

    case: ReplyCase
    verdict: Verdict
    got: str | None
    message: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the case as `failed` lists it."""
        case = self.case
        request = case.request if isinstance(case.request, EditRequest) else None
        return {
            "id": case.id,
            "kind": case.kind,
            "verdict": self.verdict,
            "path": request.path if request else None,
            "instruction": request.instruction if request else None,
            "got": self.got,
            "message": self.message,
        }


def load(path: Path, find_span: FindSpan) -> tuple[ReplyCase, ...]:
    """Read a set of replies. Raises InputError naming the line that is wrong."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the replies {path}: {error}") from error
    cases: list[ReplyCase] = []
    for n, line in enumerate(lines, 1):
        if line.strip():
            try:
                cases.append(_read_case(json.loads(line), find_span))
            except (ValueError, KeyError, TypeError) as error:
                raise InputError(f"{path}:{n}: not a reply to judge: {error!r}") from error
    return tuple(cases)


def _read_case(row: Mapping[str, Any], find_span: FindSpan) -> ReplyCase:
    for key in _TEXTS:
        if not isinstance(row[key], str):
            raise TypeError(f"{key} must be a text")
    want = [row["want"]] if isinstance(row["want"], str) else row["want"]
    route = row.get("route", "edit")
    if route not in get_args(Route):
        raise ValueError(f"route must be one of {', '.join(get_args(Route))}")
    return ReplyCase(
        id=row["id"],
        kind=row["kind"],
        request=_build_request(row, find_span),
        reply=row["reply"],
        want=tuple(map(str, want)),
        route=route,
        is_raw=bool(row.get("raw")),
    )


def _build_request(row: Mapping[str, Any], find_span: FindSpan) -> EditRequest | InputError:
    path, text, part = row["path"], row["text"], row["spec"]
    language = language_of(path, text)
    if isinstance(part, list):
        target = Span(*part)
    elif part.startswith("="):
        start = text.index(part[1:])
        target = Span(start, start + len(part[1:]))
    else:
        # The lines of ":L3-L5" are those of ":3-5" on a command line.
        is_lines = part.startswith(":L")
        try:
            target = find_span(path, part.replace("L", "") if is_lines else part, text, language)
        except InputError as error:
            return error
    return EditRequest(
        path=path, text=text, target=target, instruction=row["instruction"], language=language
    )


def judge(cases: Iterable[ReplyCase]) -> Iterator[Judged]:
    """Yield how each case comes out: the edit, or why there is none, against what is right."""
    for case in cases:
        if isinstance(case.request, InputError):
            got, message = None, str(case.request)
        else:
            outcome = _make_edit(case, case.request)
            got, message = case.request.text, ""
            if isinstance(outcome, Rewritten):
                got = outcome.new_text
            elif isinstance(outcome, Refused):
                got, message = None, outcome.message
        verdict: Verdict = "good_refused" if got is None else "wrong_accepted"
        if (_REFUSE if got is None else got) in case.want:
            verdict = "passed"
        yield Judged(case=case, verdict=verdict, got=got, message=message)


def _make_edit(case: ReplyCase, request: EditRequest) -> Outcome:
    prompt = prompt_without_model(request, DecodeOptions(route=case.route))
    text = case.reply
    for stop in () if case.is_raw else prompt.stop:
        text = text.partition(stop)[0]
    return outcome_of_reply(request, prompt, Completion(text=text, finish="stop", stats=Stats()))


def summarize(judged: Sequence[Judged]) -> dict[str, Any]:
    """Return the verdicts counted, together and by kind, and the cases that failed."""
    kinds = sorted({each.case.kind for each in judged})
    return {
        "summary": _count(judged),
        "kinds": {
            kind: _count([each for each in judged if each.case.kind == kind]) for kind in kinds
        },
        "failed": [each.as_dict() for each in judged if each.verdict != "passed"],
    }


def _count(judged: Sequence[Judged]) -> dict[str, int]:
    counts = Counter(each.verdict for each in judged)
    return {verdict: counts[verdict] for verdict in get_args(Verdict)}
