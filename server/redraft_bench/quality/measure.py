"""Edit quality: are edits right? Generated as the product does it, then judged by tests.

Beside the product's way stands a naive one, with the same model on the same problems: the file, the
instruction, "reply with the complete edited file", and whatever comes back is taken. Both decode
greedily by copying. Problems that cannot tell right from wrong on this machine are left out.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Final, Literal, TypeAlias

from redraft import syntax
from redraft.edit import ask, rewrite
from redraft.records import (
    Completion,
    DecodeOptions,
    EditRequest,
    Model,
    Outcome,
    Piece,
    Reason,
    Refused,
    Rewritten,
    Unchanged,
)
from redraft.text.lines import split_lines
from redraft_bench.quality.sandbox import Sandbox
from redraft_bench.quality.sets import Problem

__all__ = ["PROMPTS", "LeftOut", "ProblemReply", "QualityRecord", "measure"]

OPTIONS: Final = DecodeOptions(strategy="copy", exactness="fast")
NAIVE: Final = (
    "Reply with the complete edited file in one code block and keep everything else exactly as it"
    " is."
)
ROOM: Final = (1.5, 512)  # tokens of a naive reply: the product's most generous room

Miss: TypeAlias = Reason | Literal["unchanged"]  # why there is no edit

_BLOCK = re.compile(r"^```[^\n]*\n(.*?)(?:^```|\Z)", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemReply:
    """What came of one request: the edited file, or None and why there is none."""

    text: str | None
    reason: Miss | None = None
    n_replies: int = 1  # 2: the model was asked again
    output_tokens: int = 0
    seconds: float = 0.0  # prefill and decoding


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityRecord:
    """One problem asked in one way. `changed_lines` counts lines taken out and put in."""

    id: str
    prompt: str
    ending: Literal["passed", "failed", "timeout", "unchanged", "refused"]
    detail: str  # the reason of a refusal, or the last words of the tests
    parse_broken: bool  # accepted, and no longer Python
    out_of_target: bool  # accepted, and changed outside what was to be edited
    changed_lines: int | None  # None where no edit was accepted
    reference_lines: int
    n_replies: int
    output_tokens: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A problem whose tests cannot judge here, and why."""

    id: str
    why: str


def measure(
    model: Model,
    problems: Sequence[Problem],
    prompts: Sequence[str],
    sandbox: Sandbox,
    *,
    done: Collection[tuple[str, str]] = (),
) -> Iterator[QualityRecord | LeftOut]:
    """Ask and judge each problem in each way that is not among the (id, prompt) of `done`."""
    for problem in problems:
        todo = [name for name in prompts if (problem.id, name) not in done]
        if todo and (why := _unfit(problem, sandbox)):
            yield LeftOut(id=problem.id, why=why)
            continue
        for name in todo:
            reply = PROMPTS[name](problem.request, model)
            yield judge(problem, name, reply, sandbox)


def _unfit(problem: Problem, sandbox: Sandbox) -> str | None:
    """Why the problem's tests say nothing here: a package may be missing."""
    reference = sandbox.run(problem.program(problem.reference))
    if reference.ending != "passed":
        return f"its own answer does not pass here ({reference.detail or reference.ending})"
    if sandbox.run(problem.program(problem.request.text)).ending == "passed":
        return "its tests pass before the edit"
    return None


def judge(problem: Problem, name: str, reply: ProblemReply, sandbox: Sandbox) -> QualityRecord:
    """Run the tests on what came back."""
    before, new = problem.request.text, reply.text
    ending: Literal["passed", "failed", "timeout", "unchanged", "refused"]
    if new is None:
        ending, detail = ("unchanged" if reply.reason == "unchanged" else "refused"), ""
    else:
        verdict = sandbox.run(problem.program(new))
        ending, detail = verdict.ending, verdict.detail
    return QualityRecord(
        id=problem.id,
        prompt=name,
        ending=ending,
        detail=detail or reply.reason or "",
        parse_broken=new is not None
        and syntax.compiles(before, "python")
        and not syntax.compiles(new, "python"),
        out_of_target=new is not None and _reaches_outside(problem.request, new),
        changed_lines=None if new is None else changed_lines(before, new),
        reference_lines=changed_lines(before, problem.reference),
        n_replies=reply.n_replies,
        output_tokens=reply.output_tokens,
        seconds=reply.seconds,
    )


def _product(request: EditRequest, model: Model) -> ProblemReply:
    """The edit as every front end of redraft makes it."""
    replies: list[Completion] = []
    outcome = rewrite(request, model, OPTIONS, on_completion=replies.append)
    text, reason = _ending(outcome)
    return ProblemReply(
        text=text,
        reason=reason,
        n_replies=len(replies),
        output_tokens=outcome.stats.output_tokens,
        seconds=outcome.stats.prefill_s + outcome.stats.decode_s,
    )


def _ending(outcome: Outcome) -> tuple[str | None, Miss | None]:
    match outcome:
        case Rewritten():
            return outcome.new_text, None
        case Unchanged():
            return None, "unchanged"
        case Refused():
            return None, outcome.reason


def _naive(request: EditRequest, model: Model) -> ProblemReply:
    """The first code block of a reply, unguarded."""
    asked = ask(request, model, OPTIONS)
    if isinstance(asked, Refused):
        return ProblemReply(text=None, reason=asked.reason, n_replies=0)
    *_, closing, _ = asked.prompt.request
    said = Piece(f"\n{request.instruction}\n\n{NAIVE}")
    # The file is shown as the product shows it, so that both ways reuse its cells.
    prompt = replace(asked.prompt, request=(said, closing), source=request.text, stop=())
    n_tokens = int(ROOM[0] * model.count_tokens(request.text)) + ROOM[1]
    completion = model.complete(prompt, OPTIONS, max_tokens=n_tokens)
    text, reason = _first_block(completion.text, request.text)
    stats = completion.stats
    return ProblemReply(
        text=text,
        reason=reason,
        output_tokens=stats.output_tokens,
        seconds=stats.prefill_s + stats.decode_s,
    )


def _first_block(reply: str, before: str) -> tuple[str | None, Miss | None]:
    block = _BLOCK.search(reply)
    if block is None:
        return None, "no_code"
    text = block.group(1)
    return (None, "unchanged") if text.rstrip() == before.rstrip() else (text, None)


PROMPTS: Final[Mapping[str, Callable[[EditRequest, Model], ProblemReply]]] = {
    "naive": _naive,
    "product": _product,
}


def changed_lines(before: str, after: str) -> int:
    """How many lines a line diff takes out and puts in; white space at their ends aside."""
    old, new = ([line.rstrip() for line in split_lines(text)] for text in (before, after))
    codes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return sum(i2 - i1 + j2 - j1 for tag, i1, i2, j1, j2 in codes if tag != "equal")


def _reaches_outside(request: EditRequest, new: str) -> bool:
    """Whether text around the target, blank lines at the ends of the file aside, is another."""
    head = request.text[: request.target.start].lstrip()
    tail = request.text[request.target.stop :].rstrip()
    return not (new.lstrip().startswith(head) and new.rstrip().endswith(tail))
