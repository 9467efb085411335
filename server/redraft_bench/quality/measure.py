"""`python -m redraft_bench quality`: are edits right? Made as the product does it, judged by tests.

Beside the product's way runs a naive one, with the same model on the same problems: the file, the
instruction, "reply with the complete edited file", and whatever comes back is taken. Both decode
greedily by copying. Problems that cannot tell right from wrong on this machine are left out.
"""

import argparse
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from redraft import syntax
from redraft.cli import bench_options, options, output
from redraft.edit import build_prompt_request, rewrite
from redraft.errors import InputError
from redraft.records import (
    Completion,
    DecodeOptions,
    EditRequest,
    Model,
    Piece,
    Reason,
    Refused,
    Rewritten,
    Unchanged,
)
from redraft.text.lines import split_lines
from redraft_bench.quality.sandbox import Sandbox
from redraft_bench.quality.sets import Problem, load
from redraft_bench.quality.summary import QualityRecord, quality_table, summarize

__all__ = [
    "PROMPTS",
    "LeftOut",
    "ProblemReply",
    "add_parser",
    "count_changed_lines",
    "measure",
]

OPTIONS: Final = DecodeOptions(strategy="copy", exactness="fast")
NAIVE: Final = (
    "Reply with the complete edited file in one code block and keep everything else exactly as it"
    " is."
)
# Room of a naive reply, as a share of the file's tokens and more: the product's most generous room.
NAIVE_ROOM: Final = (1.5, 512)

Miss: TypeAlias = Reason | Literal["unchanged"]  # why there is no edit

_BLOCK = re.compile(r"^```[^\n]*\n(.*?)(?:^```|\Z)", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemReply:
    """The edited file that came of one request, or None with the reason."""

    text: str | None
    reason: Miss | None = None
    n_replies: int = 1  # 2: the model was asked again
    output_tokens: int = 0
    seconds: float = 0.0  # prefill and decoding


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
        if todo and (why := _explain_unfit(problem, sandbox)):
            yield LeftOut(id=problem.id, why=why)
            continue
        for name in todo:
            reply = PROMPTS[name](problem.request, model)
            yield judge(problem, name, reply, sandbox)


def _explain_unfit(problem: Problem, sandbox: Sandbox) -> str | None:
    """Return why the problem's tests say nothing here (a package may be missing), else None."""
    reference = sandbox.run(problem.program(problem.reference))
    if reference.ending != "passed":
        return f"its own answer does not pass here ({reference.detail or reference.ending})"
    if sandbox.run(problem.program(problem.request.text)).ending == "passed":
        return "its tests pass before the edit"
    return None


def judge(problem: Problem, name: str, reply: ProblemReply, sandbox: Sandbox) -> QualityRecord:
    """Run the problem's tests on the edited file, if there is one."""
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
        out_of_target=new is not None and _changes_outside(problem.request, new),
        changed_lines=None if new is None else count_changed_lines(before, new),
        reference_lines=count_changed_lines(before, problem.reference),
        n_replies=reply.n_replies,
        output_tokens=reply.output_tokens,
        seconds=reply.seconds,
    )


def ask_as_product(request: EditRequest, model: Model) -> ProblemReply:
    """Make the edit as every front end of redraft makes it.

    All problems ask for a change: as a user would who sees that there is none, ask for another
    version then. `n_replies` tells the problems where that, or a refusal, made a second try.
    """
    replies: list[Completion] = []
    request = replace(request, wants_another_version=True)
    outcome = rewrite(request, model, OPTIONS, on_completion=replies.append)
    text: str | None = None
    reason: Miss | None = None
    match outcome:
        case Rewritten():
            text = outcome.new_text
        case Unchanged():
            reason = "unchanged"
        case Refused():
            reason = outcome.reason
    return ProblemReply(
        text=text,
        reason=reason,
        n_replies=len(replies),
        output_tokens=outcome.stats.output_tokens,
        seconds=outcome.stats.prefill_s + outcome.stats.decode_s,
    )


def ask_naively(request: EditRequest, model: Model) -> ProblemReply:
    """Take the first code block of a reply, without any check."""
    product = build_prompt_request(request, model, OPTIONS)
    if isinstance(product, Refused):
        return ProblemReply(text=None, reason=product.reason, n_replies=0)
    # The product's request ends in the closing of the chat turn and the start of its own fence.
    *_, closing, _ = product.prompt.request
    instruction = Piece(f"\n{request.instruction}\n\n{NAIVE}")
    # The file is in the prompt as the product has it, so that both ways reuse its cells.
    prompt = replace(product.prompt, request=(instruction, closing), source=request.text, stop=())
    n_tokens = int(NAIVE_ROOM[0] * model.count_tokens(request.text)) + NAIVE_ROOM[1]
    completion = model.complete(prompt, OPTIONS, max_tokens=n_tokens)
    block = _BLOCK.search(completion.text)
    text = block.group(1) if block else None
    reason: Miss | None = None if block else "no_code"
    if text is not None and text.rstrip() == request.text.rstrip():
        text, reason = None, "unchanged"
    stats = completion.stats
    return ProblemReply(
        text=text,
        reason=reason,
        output_tokens=stats.output_tokens,
        seconds=stats.prefill_s + stats.decode_s,
    )


PROMPTS: Final[Mapping[str, Callable[[EditRequest, Model], ProblemReply]]] = {
    "naive": ask_naively,
    "product": ask_as_product,
}


def count_changed_lines(before: str, after: str) -> int:
    """Count the lines that a line diff deletes and inserts, ignoring white space at their ends."""
    old, new = ([line.rstrip() for line in split_lines(text)] for text in (before, after))
    codes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return sum(i2 - i1 + j2 - j1 for tag, i1, i2, j1, j2 in codes if tag != "equal")


def _changes_outside(request: EditRequest, new: str) -> bool:
    """Return True where text around the target changed; blank lines at the file's ends may."""
    head = request.text[: request.target.start].lstrip()
    tail = request.text[request.target.stop :].rstrip()
    return not (new.lstrip().startswith(head) and new.rstrip().endswith(tail))


def add_parser(commands: options.Subparsers) -> None:
    """Add the command `quality`."""
    parser = bench_options.add_command(
        commands,
        "quality",
        "run the tests of edits that the model makes, beside those of a naive prompt",
        run,
    )
    bench_options.add_model_flags(parser)
    flag = parser.add_argument
    flag("--set", required=True, help="canitedit, canitedit-lazy, humanevalfix or editeval")
    flag("--data", metavar="FILE.jsonl", type=Path, required=True, help="the records of the set")
    flag("--limit", type=bench_options.parse_count, help="the first so many records only")
    flag(
        "--prompts",
        metavar="A,B",
        default="naive,product",
        help="the ways of asking; differences are against the first (default: %(default)s)",
    )
    flag(
        "--resume",
        action="store_true",
        help="go on with the run that the file of --json holds, if there is one",
    )


def run(args: argparse.Namespace) -> int:
    """Run the command `quality`. Returns its exit code."""
    prompts = _parse_prompts(args.prompts)
    problems = load(args.set, args.data)[: args.limit]
    sandbox = Sandbox()
    results, left_out = _load_earlier(args)
    done = {(record.id, record.prompt) for record in results}
    done |= {(problem.id, name) for problem in left_out for name in prompts}
    with bench_options.load_engine(args) as (engine, conditions):
        for record in measure(engine, problems, prompts, sandbox, done=done):
            if isinstance(record, LeftOut):
                left_out.append(record)
                output.print_status(f"{record.id} is left out: {record.why}")
            else:
                results.append(record)
                status = f"{record.id}, {record.prompt}: {record.ending} {record.detail}"
                output.print_status(status.rstrip())
            # Written after each problem, so that --resume can go on from there.
            written: dict[str, Any] = {
                "conditions": conditions,
                "set": args.set,
                "data": args.data.name,
                "isolation": sandbox.isolation,
                "summary": summarize(results),
                "results": [asdict(result) for result in results],
                "left_out": [asdict(problem) for problem in left_out],
            }
            bench_options.write_results(args.json, written)
    if not results:
        raise InputError(f"no problem of {args.data} can be judged here: see what was left out")
    print(quality_table(summarize(results)), end="")
    return 0


def _parse_prompts(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    for name in names:
        if name not in PROMPTS:
            raise InputError(f"no prompt {name!r}: it is one of {', '.join(PROMPTS)}")
    if not names:
        raise InputError("--prompts names none")
    return names


def _load_earlier(args: argparse.Namespace) -> tuple[list[QualityRecord], list[LeftOut]]:
    """Return the results that --resume continues from; none without it or without a file."""
    if not args.resume:
        return [], []
    if args.json is None:
        raise InputError("--resume goes on from the file that --json names: name one")
    if not args.json.exists():
        return [], []
    try:
        written = json.loads(args.json.read_text("utf-8"))
        results = [QualityRecord(**record) for record in written["results"]]
        left_out = [LeftOut(**problem) for problem in written["left_out"]]
        run = (written["set"], written["data"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{args.json} holds no run of the benchmark quality: {error!r}") from error
    if run != (args.set, args.data.name):
        raise InputError(f"{args.json} holds a run of {' and '.join(run)}: name another file")
    return results, left_out
