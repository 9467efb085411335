"""`python -m redraft_bench peers`: redraft and its peers on the same edits, task by task.

Each prompt goes to all of them before the next one does, in an order that turns; only decoding is
timed. Answers are compared with redraft's plain ones token by token: builds round differently, so
that near-ties part them.
"""

import argparse
import math
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, get_args

from redraft import models
from redraft.bench import tasks
from redraft.bench.engine import BenchEngine, answer_tokens, first_difference, rotate
from redraft.bench.results import format_figure, markdown_table
from redraft.bench.tasks import Scope, Task, build_request
from redraft.cli import bench_options, options, output
from redraft.engine import backend
from redraft.errors import InputError
from redraft.prompting.build import build_prompt
from redraft.records import Exactness, Prompt, Refused
from redraft_bench.peers.llama_server import PeerSettings
from redraft_bench.peers.process import PeerAnswer, PeerError, PeerProgram, PeerRequest
from redraft_bench.peers.programs import PROGRAMS, Peer, PeerSelection, select_peers
from redraft_bench.peers.results import (
    COPY,
    PLAIN,
    PeerFailure,
    PeerRecord,
    PeerResults,
    load,
    summarize,
)

__all__ = ["PeerTask", "add_parser", "build_task", "measure", "needed_context"]

SPARE: Final = 256  # tokens of context behind the longest answer: drafts need room too
DEPTHS: Final = (512, 2048, 4096)  # tokens that redraft's costs are measured behind, at first

_COLUMNS: Final = (
    *("tasks", "output_tokens", "tokens_per_s", "to_plain", "median_to_plain", "to_own_plain"),
    *("copy_to_it", "tokens_per_pass", "differences"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerTask:
    """A task as a prompt for redraft, and as tokens for its peers."""

    id: str
    prompt: Prompt
    request: PeerRequest


def build_task(engine: BenchEngine, task: Task, scope: Scope) -> PeerTask | PeerFailure:
    """Return the prompt for a task, or the reason where it does not fit."""
    prompt = build_prompt(build_request(task, scope), engine, max_tokens=task.max_tokens)
    if isinstance(prompt, Refused):
        return PeerFailure(id=task.id, peer=None, reason=prompt.message)
    tokens = tuple(engine.prompt_tokens(prompt))
    request = PeerRequest(tokens=tokens, max_tokens=task.max_tokens, stop=prompt.stop)
    return PeerTask(id=task.id, prompt=prompt, request=request)


def needed_context(peer_tasks: Sequence[PeerTask]) -> int:
    """Return the tokens of context that the longest of all tasks needs, in whole 256s."""
    requests = [task.request for task in peer_tasks]
    longest = max((len(request.tokens) + request.max_tokens for request in requests), default=0)
    # Rounded up, and 256 more: a draft at the end of the longest answer has to fit as well.
    return -(-longest // SPARE) * SPARE + SPARE


def measure(
    engine: BenchEngine,
    peer_tasks: Sequence[PeerTask],
    peers: Sequence[Peer],
    programs: Mapping[str, PeerProgram],
    *,
    exactness: Exactness,
    plain_tokens: int | None,
) -> Iterator[list[PeerRecord | PeerFailure]]:
    """Yield for each task the records of redraft and of all `peers`.

    With `plain_tokens` the peers' own plain decoding ends after so many tokens: its speed is known
    by then.
    """
    engine.calibrate(DEPTHS, exactness)
    names = [PLAIN, COPY, *(peer.name for peer in peers)]
    for number, task in enumerate(peer_tasks):
        # As for the peers, of which each loads the prefilled prompt: only decoding is timed.
        engine.warm_up(task.prompt, exactness)
        answers: dict[str, PeerAnswer | PeerError] = {}
        for name in rotate(names, number):
            if name in (PLAIN, COPY):
                answers[name] = _decode_with_redraft(engine, task, name, exactness)
                continue
            request = task.request
            if name.endswith("/plain") and plain_tokens is not None:
                request = replace(request, max_tokens=min(plain_tokens, request.max_tokens))
            family, _, mode = name.partition("/")
            try:
                answers[name] = programs[family].answer(mode, request)
            except PeerError as error:
                answers[name] = error
        plain = answers[PLAIN]
        assert isinstance(plain, PeerAnswer)  # noqa: S101 - redraft's own errors end the run
        yield [_build_record(task, name, answers[name], plain, plain_tokens) for name in names]


def _decode_with_redraft(
    engine: BenchEngine, task: PeerTask, name: str, exactness: Exactness
) -> PeerAnswer:
    strategy = name.partition("/")[2]
    completion = engine.decode(task.prompt, strategy, exactness, max_tokens=task.request.max_tokens)
    return PeerAnswer(
        tokens=answer_tokens(completion),
        timed=completion.stats.output_tokens,
        seconds=completion.stats.decode_s,
        passes=completion.stats.passes,
    )


def _build_record(
    task: PeerTask,
    name: str,
    answer: PeerAnswer | PeerError,
    plain: PeerAnswer,
    plain_tokens: int | None,
) -> PeerRecord | PeerFailure:
    if isinstance(answer, PeerError):
        return PeerFailure(id=task.id, peer=name, reason=str(answer))
    # A peer's plain answer that was told to end early is compared as far as it goes.
    is_cut = name != PLAIN and name.endswith("/plain") and len(answer.tokens) == plain_tokens
    compared = plain.tokens[:plain_tokens] if is_cut else plain.tokens
    return PeerRecord(
        id=task.id,
        peer=name,
        prompt_tokens=len(task.request.tokens),
        output_tokens=len(answer.tokens),
        timed_tokens=answer.timed,
        decode_s=answer.seconds,
        passes=answer.passes,
        first_difference=first_difference(answer.tokens, compared),
    )


def add_parser(commands: options.Subparsers) -> None:
    """Add the command `peers`."""
    parser = bench_options.add_command(
        commands,
        "peers",
        "compare with other programs that draft without a model, run for real on the same edits",
        run,
    )
    bench_options.add_model_flags(parser)
    flag = parser.add_argument
    flag("--tasks", metavar="FILE.jsonl", type=Path, help="default: 12 built-in edits")
    flag("--limit", type=bench_options.parse_count, help="the first so many tasks only")
    flag("--scope", choices=("function", "file"), default="file", help="what is rewritten")
    flag("--exactness", choices=get_args(Exactness), default="fast", help="redraft's own")
    flag(
        "--peers",
        metavar="A,B/MODE,...",
        default="all",
        help="programs, or single modes of theirs (default: %(default)s)",
    )
    flag(
        "--plain-tokens",
        type=bench_options.parse_count,
        metavar="N",
        help="end the peers' own plain decoding after N tokens, to save time",
    )
    flag("--minutes", type=float, default=math.inf, help="begin no task after so many minutes")


def run(args: argparse.Namespace) -> int:
    """Run the command `peers`. Returns its exit code."""
    ends_at = time.monotonic() + 60 * args.minutes
    todo = (tasks.load(args.tasks) if args.tasks else tasks.built_in_tasks())[: args.limit]
    selection = select_peers(args.peers, has_draft=bool(args.draft_model))
    for name, reason in selection.left_out.items():
        output.print_status(f"{name} is left out: {reason}")
    if not selection.peers:
        raise InputError("none of the peers can be run here: install one of them, as said above")
    with bench_options.load_engine(args) as (engine, conditions):
        settings = {
            "scope": args.scope,
            "exactness": args.exactness,
            "plain_tokens": args.plain_tokens,
            "peers": [peer.name for peer in selection.peers],
            "model": conditions["model"],
        }
        results = load(args.json, settings) if args.json else PeerResults()
        if results.done:
            output.print_status(
                f"{args.json} holds {len(results.done)} tasks: they are not run again"
            )
        built = [build_task(engine, task, args.scope) for task in todo]
        peer_tasks = [task for task in built if isinstance(task, PeerTask)]
        record = {"conditions": conditions, **settings, "left_out": dict(selection.left_out)}
        with _open_programs(args, selection, engine, needed_context(peer_tasks)) as programs:
            new = [task for task in built if task.id not in results.done]
            results.failures += (task for task in new if isinstance(task, PeerFailure))
            for records in measure(
                engine,
                [task for task in new if isinstance(task, PeerTask)],
                selection.peers,
                programs,
                exactness=args.exactness,
                plain_tokens=args.plain_tokens,
            ):
                _keep_records(results, records)
                record["versions"] = {name: program.version for name, program in programs.items()}
                bench_options.write_results(args.json, record | results.as_json())
                if time.monotonic() > ends_at:
                    output.print_status(
                        "the time is up: run the same command again for the other tasks"
                    )
                    break
    # Once more: the time that the peers took is known as theirs only when they have ended.
    bench_options.write_results(args.json, record | results.as_json())
    _print_results(results)
    return 0


@contextmanager
def _open_programs(
    args: argparse.Namespace, selection: PeerSelection, engine: BenchEngine, n_ctx: int
) -> Iterator[dict[str, PeerProgram]]:
    """Yield the programs by name, with a temporary folder; each starts when it is first asked."""
    with tempfile.TemporaryDirectory(prefix="redraft-peers-") as folder:
        settings = PeerSettings(
            model=engine.path.resolve(),
            draft=models.resolve(args.draft_model).resolve() if args.draft_model else None,
            n_ctx=n_ctx,
            n_threads=engine.n_threads,
            gpu=backend() != "cpu",
            folder=Path(folder),
        )
        names = dict.fromkeys(peer.family for peer in selection.peers)
        programs = {name: PROGRAMS[name].open(settings) for name in names}
        try:
            yield programs
        finally:
            for program in programs.values():
                program.close()


def _keep_records(results: PeerResults, records: Sequence[PeerRecord | PeerFailure]) -> None:
    speeds = []
    for record in records:
        if isinstance(record, PeerRecord):
            results.records.append(record)
            speeds.append(f"{record.peer} {record.tokens_per_s:.1f}")
        else:
            results.failures.append(record)
            output.print_status(f"{record.id}: {record.peer} failed: {record.reason}")
    output.print_status(f"{records[0].id}, tokens/s: {', '.join(speeds)}")


def _print_results(results: PeerResults) -> None:
    rows = [
        (name, *(format_figure(figures[key]) for key in _COLUMNS))
        for name, figures in summarize(results.records).items()
    ]
    print(markdown_table(("peer", *(key.replace("_", " ") for key in _COLUMNS)), rows), end="")
    for name in dict.fromkeys(record.peer.partition("/")[0] for record in results.records):
        if name in PROGRAMS:
            print(f"\n{name} is timed {PROGRAMS[name].clock}.", end="")
    print()
    for failure in results.failures:
        output.print_status(f"{failure.id}: {failure.peer or 'not asked'}: {failure.reason}")
