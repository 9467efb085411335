"""`redraft bench`: cost of passes, strategies on edits, exactness, waiting times, kept replies.

Tables go to stdout, progress and notes to stderr, all figures to the file of --json. What redraft's
developers measure besides is in redraft_bench.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from redraft import models
from redraft.cli import bench_options, options, output
from redraft.cli.target_spec import TargetSpec
from redraft.errors import InputError
from redraft.records import Span

if TYPE_CHECKING:  # loads the native library: not for `redraft --help`
    from redraft.bench.edits import EditRecord, SkippedTask
    from redraft.bench.exact import Tally

__all__ = ["add_parser"]

_EDIT_COLUMNS: Final = (
    *("tokens_per_pass", "tokens_per_s", "speedup", "least_speedup", "most_speedup"),
    *("copied_median_speedup", "oracle_ratio", "oracle_time_ratio", "equal_to_plain"),
    *("differences_per_1000_tokens", "near_tie_redecodes"),
)


def add_parser(subparsers: options.Subparsers) -> None:
    """Add the command `bench` with its own commands."""
    parser = subparsers.add_parser(
        "bench", description="Measure speed, exactness and costs on this machine."
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for add_command in (_add_cost, _add_edits, _add_exact, _add_latency, _add_replies):
        add_command(commands)


def _add_cost(commands: options.Subparsers) -> None:
    parser = bench_options.add_command(
        commands,
        "cost",
        "what a pass costs by its rows: the curve that sizes drafts, as a table and a plot",
        _run_cost,
    )
    bench_options.add_model_flags(parser)
    parser.add_argument(
        "--depths", default="0,1024,4096", help="tokens of context (default: %(default)s)"
    )
    bench_options.add_exactness_flag(parser, "fast")
    bench_options.add_plot_flag(parser)


def _run_cost(args: argparse.Namespace) -> int:
    from redraft.bench.cost import cost_records, cost_table

    depths = bench_options.split_numbers("--depths", args.depths, least=0)
    records = []
    with bench_options.load_engine(args) as (engine, conditions):
        for depth in depths:
            measurement = engine.measure(depth, args.exactness)
            print(cost_table(measurement), flush=True)
            records += cost_records(measurement)
    record = {"conditions": conditions, "passes": records}
    bench_options.write_results(args.json, record)
    bench_options.draw_plot(args.plot, record)
    return 0


def _add_edits(commands: options.Subparsers) -> None:
    parser = bench_options.add_command(
        commands,
        "edits",
        "compare strategies on edits with plain decoding and with an oracle that copies",
        _run_edits,
    )
    bench_options.add_model_flags(parser)
    strategies = ("plain", "lookup", "copy", *bench_options.LLAMA_CPP_RULES)
    bench_options.add_decoding_flags(parser, "fast", ",".join(strategies))
    tasks = parser.add_mutually_exclusive_group()
    tasks.add_argument(
        "--tasks", metavar="FILE.jsonl", type=Path, help="default: 12 built-in edits"
    )
    tasks.add_argument(
        "--verbatim",
        metavar="FILE",
        type=Path,
        nargs="+",
        help="ask for these files as they are: the most that copying can bring",
    )
    parser.add_argument(
        "--scope", choices=("function", "file"), default="function", help="what is rewritten"
    )
    bench_options.add_repeat_flag(parser)
    bench_options.add_plot_flag(parser)
    parser.add_argument(
        "--limit", type=bench_options.parse_count, help="the first so many tasks only"
    )


def _run_edits(args: argparse.Namespace) -> int:
    from redraft.bench import edits, tasks
    from redraft.bench.engine import parse_strategies
    from redraft.bench.results import format_figure, markdown_table

    strategies = parse_strategies(args.strategies)
    if args.verbatim:
        todo = tuple(map(tasks.verbatim_task, args.verbatim))
    else:
        todo = tasks.load(args.tasks) if args.tasks else tasks.built_in_tasks()
    results: list[EditRecord] = []
    skipped: list[SkippedTask] = []
    with bench_options.load_engine(args) as (engine, conditions):
        for records in edits.measure(
            engine,
            todo[: args.limit],
            strategies,
            scope=args.scope,
            exactness=args.exactness,
            n_repeats=args.repeat,
        ):
            if isinstance(records, edits.SkippedTask):
                skipped.append(records)
                output.print_status(f"{records.id} is left out: {records.reason}")
                continue
            results += records
            times = ", ".join(f"{r.strategy} {r.decode_s:.1f} s" for r in records)
            output.print_status(f"{records[0].id}: {times}")
            # Written after each task, so that a run that is interrupted is not lost.
            bench_options.write_results(
                args.json, _edits_results(args, conditions, results, skipped)
            )
    record = _edits_results(args, conditions, results, skipped)
    bench_options.write_results(args.json, record)
    rows = [
        (name, *(format_figure(figures[key]) for key in _EDIT_COLUMNS))
        for name, figures in record["summary"].items()
    ]
    head = ("strategy", *(key.replace("_", " ") for key in _EDIT_COLUMNS))
    print(markdown_table(head, rows), end="")
    bench_options.draw_plot(args.plot, record)
    return 0


def _edits_results(
    args: argparse.Namespace,
    conditions: Mapping[str, Any],
    results: "Sequence[EditRecord]",
    skipped: "Sequence[SkippedTask]",
) -> dict[str, Any]:
    from redraft.bench import edits

    return {
        "conditions": conditions,
        "scope": args.scope,
        "exactness": args.exactness,
        "repeat": args.repeat,
        "summary": edits.summarize(results),
        "results": [asdict(result) for result in results],
        "skipped": [asdict(task) for task in skipped],
    }


def _add_exact(commands: options.Subparsers) -> None:
    parser = bench_options.add_command(
        commands,
        "exact",
        "check token by token that strategies write what plain decoding writes",
        _run_exact,
    )
    bench_options.add_model_flags(parser)
    bench_options.add_decoding_flags(
        parser, "invariant", "lookup,copy,copy@1,copy@6,copy@20,jacobi,lookahead,auto"
    )
    parser.add_argument(
        "--tokens",
        type=bench_options.parse_count,
        default=2000,
        help="plain tokens to compare (default: %(default)s)",
    )
    parser.add_argument(
        "--parallel",
        metavar="N,...",
        default="2,4",
        help="texts at once, besides one (default: %(default)s)",
    )


def _run_exact(args: argparse.Namespace) -> int:
    from redraft.bench import exact
    from redraft.bench.engine import parse_strategies

    strategies = parse_strategies(args.strategies)
    if args.draft_model:
        strategies = tuple(dict.fromkeys((*strategies, "draft", "lookup+draft")))
    if len(strategies) == 1:
        raise InputError("--strategies names nothing but plain: there is nothing to compare")
    n_together = bench_options.split_numbers("--parallel", args.parallel, least=2)
    tallies: dict[str, Tally] = {}
    with bench_options.load_engine(args) as (engine, conditions), TemporaryDirectory() as folder:
        engine.save_states(Path(folder))
        for tallies in exact.compare(
            engine,
            strategies,
            exactness=args.exactness,
            n_tokens=args.tokens,
            n_together=n_together,
        ):
            n_tokens = sum(tally.tokens for tally in tallies.values())
            n_parted = sum(len(tally.differences) for tally in tallies.values())
            output.print_status(f"{n_tokens} tokens compared, {n_parted} differences")
    print(exact.format_tallies(tallies), end="")
    for line in exact.describe_differences(tallies):
        output.print_status(line)
    strategies_record = {name: asdict(tally) for name, tally in tallies.items()}
    bench_options.write_results(
        args.json,
        {"conditions": conditions, "exactness": args.exactness, "strategies": strategies_record},
    )
    is_different = any(tally.differences for tally in tallies.values())
    return 2 if args.exactness == "invariant" and is_different else 0


def _add_latency(commands: options.Subparsers) -> None:
    parser = bench_options.add_command(
        commands,
        "latency",
        "how long an editor waits: the language server driven over its pipes",
        _run_latency,
    )
    options.add_flag(parser, "model")


def _run_latency(args: argparse.Namespace) -> int:
    from redraft.bench import latency
    from redraft.bench.results import markdown_table

    model = models.resolve(bench_options.load_settings(args, "model").model)
    conditions = bench_options.begin_run(args, model)
    measured = latency.measure(model)
    rows = [(label, f"{seconds:.3g} s", aim) for label, seconds, aim in measured.rows()]
    print(markdown_table(("what", "median", "aim"), rows), end="")
    aims = [
        {"what": label, "seconds": seconds, "aim": aim} for label, seconds, aim in measured.rows()
    ]
    bench_options.write_results(
        args.json, {"conditions": conditions, **asdict(measured), "rows": aims}
    )
    return 0


def _add_replies(commands: options.Subparsers) -> None:
    parser = bench_options.add_command(
        commands,
        "replies",
        "what is made of replies that are known to be good or bad, without a model",
        _run_replies,
    )
    parser.add_argument(
        "replies", metavar="FILE.jsonl", type=Path, help="a set as docs/replies.md describes it"
    )


def _run_replies(args: argparse.Namespace) -> int:
    from redraft.bench import replies
    from redraft.bench.results import markdown_table

    def find_span(path: str, part: str, text: str, language: str | None) -> Span:
        return TargetSpec(path=path, part=part).find_span(text, language)

    conditions = bench_options.begin_run(args)
    judged = tuple(replies.judge(replies.load(args.replies, find_span)))
    record = replies.summarize(judged)
    rows = [(kind, *map(str, counts.values())) for kind, counts in record["kinds"].items()]
    rows.append(("all", *map(str, record["summary"].values())))
    head = ("kind", *(verdict.replace("_", " ") for verdict in record["summary"]))
    print(markdown_table(head, rows), end="")
    for case in record["failed"]:
        message = f": {case['message']}" if case["message"] else ""
        output.print_status(f"{case['id']} {case['verdict'].replace('_', ' ')}{message}")
    bench_options.write_results(args.json, {"conditions": conditions, **record})
    return 2 if record["summary"]["wrong_accepted"] else 0
