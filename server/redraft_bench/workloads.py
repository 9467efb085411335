"""`python -m redraft_bench workloads`: strategies on five kinds of request, chat among them.

Prompts are plain user turns: no source is named, so that copying drafts find their text themselves.
As with edits, only decoding is timed and the order of the strategies turns.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

from redraft.bench.engine import (
    BenchEngine,
    answer_tokens,
    decode_in_turns,
    first_difference,
    parse_strategies,
    speedup_spread,
)
from redraft.bench.results import format_figure, markdown_table
from redraft.cli import bench_options, options, output
from redraft.errors import InputError
from redraft.prompting import template
from redraft.records import Exactness, Piece, Prompt
from redraft_bench.simulate import built_in_scripts

__all__ = [
    "Question",
    "WorkloadRecord",
    "add_parser",
    "built_in_questions",
    "load",
    "measure",
    "summarize",
    "take_first_of_each",
]

MAX_TOKENS: Final = 200  # of an answer to a built-in question

_COLUMNS: Final = (
    *("tokens_per_s", "speedup", "least_speedup", "most_speedup", "tokens_per_pass"),
    *("acceptance", "differences"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One prompt of a workload."""

    workload: str
    user: str
    max_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadRecord:
    """One strategy on one question. `decode_s`, in seconds, is the median of `runs_s`.

    `first_difference` is the token where the answer parts from the plain one, None where it is
    equal.
    """

    workload: str
    question: int
    strategy: str
    output_tokens: int
    passes: int
    drafted: int
    accepted: int
    decode_s: float
    runs_s: tuple[float, ...]
    first_difference: int | None


def built_in_questions() -> tuple[Question, ...]:
    """Return the questions that the simulation answers by script."""
    return tuple(
        Question(workload=script.workload, user=script.prompt, max_tokens=MAX_TOKENS)
        for script in built_in_scripts()
    )


def load(path: Path) -> tuple[Question, ...]:
    """Read questions from JSON lines with workload, user and max_tokens. Raises InputError."""
    questions: list[Question] = []
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
        for record in map(json.loads, filter(str.strip, lines)):
            question = Question(
                workload=str(record["workload"]),
                user=str(record["user"]),
                max_tokens=int(record["max_tokens"]),
            )
            questions.append(question)
    except (OSError, UnicodeDecodeError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"cannot read the questions in {path}: {error!r}; each line is an object with workload,"
            " user and max_tokens"
        ) from error
    return tuple(questions)


def take_first_of_each(questions: Sequence[Question], n: int) -> tuple[Question, ...]:
    """Return the first `n` questions of every workload, in their order."""
    n_of_workload: Counter[str] = Counter()
    taken: list[Question] = []
    for question in questions:
        n_of_workload[question.workload] += 1
        if n_of_workload[question.workload] <= n:
            taken.append(question)
    return tuple(taken)


def measure(
    engine: BenchEngine,
    questions: Sequence[Question],
    strategies: Sequence[str],
    *,
    exactness: Exactness,
    n_repeats: int,
) -> Iterator[tuple[WorkloadRecord, ...]]:
    """Yield each question's records, one for each of `strategies`, "plain" among them."""
    frame = template.render_frame(engine.chat_template)
    for number, question in enumerate(questions):
        # No source is named, as in a chat: copying has to find its text in the prompt.
        file = (frame.opening, Piece(question.user))
        prompt = Prompt(file=file, request=(frame.closing,), source="", stop=())
        engine.warm_up(prompt, exactness)
        completions = decode_in_turns(
            engine,
            prompt,
            strategies,
            n_repeats=n_repeats,
            first=number,
            exactness=exactness,
            max_tokens=question.max_tokens,
        )
        plain = answer_tokens(completions["plain"][0])
        records = []
        for strategy, runs in completions.items():
            stats = runs[0].stats
            runs_s = tuple(run.stats.decode_s for run in runs)
            records.append(
                WorkloadRecord(
                    workload=question.workload,
                    question=number,
                    strategy=strategy,
                    output_tokens=stats.output_tokens,
                    passes=stats.passes,
                    drafted=stats.drafted,
                    accepted=stats.accepted,
                    decode_s=median(runs_s),
                    runs_s=runs_s,
                    first_difference=first_difference(answer_tokens(runs[0]), plain),
                )
            )
        yield tuple(records)


def summarize(records: Sequence[WorkloadRecord]) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the figures of each workload and strategy; `speedup` is of total decode times.

    `median_speedup`, `least_speedup` and `most_speedup` are of single questions.
    """
    figures: dict[str, dict[str, dict[str, Any]]] = {}
    for workload in dict.fromkeys(record.workload for record in records):
        of_workload = [record for record in records if record.workload == workload]
        plain_s = {r.question: r.decode_s for r in of_workload if r.strategy == "plain"}
        figures[workload] = {
            name: _summarize_strategy([r for r in of_workload if r.strategy == name], plain_s)
            for name in dict.fromkeys(record.strategy for record in of_workload)
        }
    return figures


def _summarize_strategy(
    records: Sequence[WorkloadRecord], plain_s: Mapping[int, float]
) -> dict[str, Any]:
    n_tokens = sum(record.output_tokens for record in records)
    decode_s = sum(record.decode_s for record in records)
    drafted = sum(record.drafted for record in records)
    return {
        "tokens_per_s": n_tokens / decode_s,
        "speedup": sum(plain_s[record.question] for record in records) / decode_s,
        **speedup_spread([plain_s[record.question] / record.decode_s for record in records]),
        "tokens_per_pass": n_tokens / sum(record.passes for record in records),
        "acceptance": sum(record.accepted for record in records) / drafted if drafted else None,
        "differences": sum(record.first_difference is not None for record in records),
    }


def add_parser(commands: options.Subparsers) -> None:
    """Add the command `workloads`."""
    parser = bench_options.add_command(
        commands,
        "workloads",
        "compare strategies on five kinds of request, chat among them",
        run,
    )
    bench_options.add_model_flags(parser)
    bench_options.add_decoding_flags(parser, "fast", "plain,lookup,copy,auto")
    flag = parser.add_argument
    flag("--tasks", metavar="FILE.jsonl", type=Path, help="default: built-in questions")
    bench_options.add_repeat_flag(parser)
    bench_options.add_plot_flag(parser)
    flag("--each", type=bench_options.parse_count, help="the first so many of each workload only")


def run(args: argparse.Namespace) -> int:
    """Run the command `workloads`. Returns its exit code."""
    strategies = parse_strategies(args.strategies)
    questions = load(args.tasks) if args.tasks else built_in_questions()
    if args.each:
        questions = take_first_of_each(questions, args.each)
    all_records: list[WorkloadRecord] = []
    with bench_options.load_engine(args) as (engine, conditions):
        for records in measure(
            engine, questions, strategies, exactness=args.exactness, n_repeats=args.repeat
        ):
            all_records += records
            times = ", ".join(f"{record.strategy} {record.decode_s:.1f} s" for record in records)
            output.print_status(f"{records[0].workload}: {times}")
    summary = summarize(all_records)
    rows = [
        (f"{workload}, {name}", *(format_figure(figures[key]) for key in _COLUMNS))
        for workload, by_strategy in summary.items()
        for name, figures in by_strategy.items()
    ]
    print(markdown_table(("", *(key.replace("_", " ") for key in _COLUMNS)), rows), end="")
    results = {
        "conditions": conditions,
        "exactness": args.exactness,
        "repeat": args.repeat,
        "summary": summary,
        "runs": [asdict(record) for record in all_records],
    }
    bench_options.write_results(args.json, results)
    bench_options.draw_plot(args.plot, results)
    return 0
