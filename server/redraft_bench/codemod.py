"""`python -m redraft_bench codemod`: a codemod's replies one after another and several at once.

Whole runs are timed, prefill included, over the same prompts and each from an empty cache; the
numbers of replies at once take turns, so that a machine that slows down favours none.
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final, get_args

from redraft import syntax
from redraft.bench.engine import BenchEngine, rotate
from redraft.bench.results import format_figure, markdown_table
from redraft.bench.tasks import Task, built_in_tasks, load
from redraft.cli import bench_options, options, output
from redraft.codemod.plan import choose_jobs
from redraft.edit import PromptRequest, build_prompt_request
from redraft.errors import InputError
from redraft.records import DecodeOptions, EditRequest, Exactness

__all__ = ["ThroughputRun", "add_parser", "build_prompts", "measure", "summarize"]

_COLUMNS: Final = (
    *("tokens_per_s", "wall_s", "prefill_s", "speedup", "least_speedup", "decode_speedup"),
    "same_text",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ThroughputRun:
    """All prompts once, `jobs` replies at once. Times in seconds.

    `same_text`: every reply is the one that the very first run gave.
    """

    jobs: int
    turn: int
    wall_s: float
    prefill_s: float
    prefilled_tokens: int
    output_tokens: int
    accepted: int
    same_text: bool

    @property
    def decode_s(self) -> float:
        return self.wall_s - self.prefill_s


def build_prompts(
    engine: BenchEngine, tasks: Sequence[Task], decoding: DecodeOptions
) -> tuple[PromptRequest, ...]:
    """Return a codemod's prompts for every outermost function of the tasks' files."""
    requests = (request for task in tasks for request in _build_requests(task))
    prompts = (build_prompt_request(request, engine, decoding) for request in requests)
    return tuple(prompt for prompt in prompts if isinstance(prompt, PromptRequest))


def _build_requests(task: Task) -> Iterator[EditRequest]:
    language = syntax.language_of(task.path, task.before)
    end = 0
    for target in syntax.targets(task.before, language) if language else ():
        # Functions inside of a function that was taken already belong to its edit.
        if target.kind in ("function", "method") and target.span.start >= end:
            end = target.span.stop
            yield EditRequest(
                path=task.path,
                text=task.before,
                target=target.span,
                instruction=task.instruction,
                language=language,
            )


def measure(
    engine: BenchEngine,
    prompts: Sequence[PromptRequest],
    counts: Sequence[int],
    decoding: DecodeOptions,
    *,
    n_repeats: int,
) -> Iterator[ThroughputRun]:
    """Decode all prompts with each of `counts` replies at once, `n_repeats` times in turn."""
    batch = [(prompt.prompt, prompt.max_tokens) for prompt in prompts]
    first_texts: list[str] = []
    for turn in range(n_repeats):
        for jobs in rotate(counts, turn):
            engine.forget()  # every run prefills all of its prompts anew
            began = time.perf_counter()
            completions = dict(engine.complete_many(batch, decoding, n_parallel=jobs))
            wall_s = time.perf_counter() - began
            texts = [completions[i].text for i in range(len(batch))]
            first_texts = first_texts or texts
            stats = [completion.stats for completion in completions.values()]
            yield ThroughputRun(
                jobs=jobs,
                turn=turn,
                wall_s=wall_s,
                prefill_s=sum(s.prefill_s for s in stats),
                prefilled_tokens=sum(s.prompt_tokens - s.reused_tokens for s in stats),
                output_tokens=sum(s.output_tokens for s in stats),
                accepted=sum(s.accepted for s in stats),
                same_text=texts == first_texts,
            )


def summarize(runs: Sequence[ThroughputRun]) -> dict[int, dict[str, Any]]:
    """Return the medians for each number of replies at once; `speedup` is over one, by turn."""
    single = {run.turn: run for run in runs if run.jobs == 1}
    figures: dict[int, dict[str, Any]] = {}
    for jobs in sorted({run.jobs for run in runs}):
        with_jobs = [run for run in runs if run.jobs == jobs]
        pairs = [(single[run.turn], run) for run in with_jobs if run.turn in single]
        speedups = [before.wall_s / run.wall_s for before, run in pairs]
        figures[jobs] = {
            "wall_s": median(run.wall_s for run in with_jobs),
            "prefill_s": median(run.prefill_s for run in with_jobs),
            "tokens_per_s": median(run.output_tokens / run.wall_s for run in with_jobs),
            "speedup": median(speedups),
            "least_speedup": min(speedups),
            "decode_speedup": median(before.decode_s / run.decode_s for before, run in pairs),
            "same_text": all(run.same_text for run in with_jobs),
        }
    return figures


def add_parser(commands: options.Subparsers) -> None:
    """Add the command `codemod`."""
    parser = bench_options.add_command(
        commands,
        "codemod",
        "throughput of codemods: replies one after another and several at once, prefill included",
        run,
    )
    bench_options.add_model_flags(parser)
    flag = parser.add_argument
    flag("--jobs", default="1,2,4", help="replies at once (default: %(default)s)")
    flag("--exactness", choices=get_args(Exactness), default="invariant", help="as of codemod")
    flag("--tasks", metavar="FILE.jsonl", type=Path, help="default: 12 built-in files")
    flag("--limit", type=bench_options.parse_count, help="the first so many files only")
    flag(
        "--max-tokens",
        type=bench_options.parse_count,
        default=200,
        help="end each reply after N (default: %(default)s)",
    )
    bench_options.add_repeat_flag(parser)


def run(args: argparse.Namespace) -> int:
    """Run the command `codemod`. Returns its exit code."""
    numbers = bench_options.split_numbers("--jobs", args.jobs, least=1)
    counts = tuple(dict.fromkeys([1, *numbers]))
    tasks = (load(args.tasks) if args.tasks else built_in_tasks())[: args.limit]
    decoding = DecodeOptions(route="codemod", exactness=args.exactness, max_tokens=args.max_tokens)
    runs: list[ThroughputRun] = []
    with bench_options.load_engine(args) as (engine, conditions):
        prompts = build_prompts(engine, tasks, decoding)
        if not prompts:
            raise InputError("the files have no function to edit: give others")
        depth = sum(engine.count_tokens(task.before) for task in tasks) // len(tasks)
        costs = engine.costs(depth, args.exactness)
        chosen = choose_jobs(costs) if costs else 1
        for run in measure(engine, prompts, counts, decoding, n_repeats=args.repeat):
            runs.append(run)
            output.print_status(
                f"{run.jobs} at once: {run.wall_s:.1f} s, {run.prefill_s:.1f} s of prefill"
            )
    summary = summarize(runs)
    head = ("at once", *(key.replace("_", " ") for key in _COLUMNS))
    rows = [
        (str(jobs), *(format_figure(figures[key]) for key in _COLUMNS))
        for jobs, figures in summary.items()
    ]
    print(markdown_table(head, rows), end="")
    print(f"\n{len(prompts)} functions in {len(tasks)} files; by its costs redraft takes {chosen}.")
    record = {
        "conditions": conditions,
        "exactness": args.exactness,
        "functions": len(prompts),
        "chosen": chosen,
        "summary": summary,
        "runs": [asdict(run) for run in runs],
    }
    bench_options.write_results(args.json, record)
    is_exact = all(run.same_text for run in runs)
    return 0 if is_exact or args.exactness == "fast" else 2
