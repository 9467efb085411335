"""`redraft bench`: what decoding costs here, how strategies compare, whether they are exact.

Tables go to stdout, progress and notes to stderr, all figures to the file that --json names.
"""

import argparse
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args

from redraft import models, settings
from redraft.cli import bench_flags, cpu, options, show
from redraft.errors import InputError
from redraft.messages import Exactness

if TYPE_CHECKING:
    from redraft.bench.subject import Subject

__all__ = ["add_parser"]

_VERBS: Final = {
    "cost": "what a pass costs by its rows: the curve that sizes drafts, as a table and a plot",
    "edits": "compare strategies on edits with plain decoding and with an oracle that copies",
    "exact": "check token by token that strategies write what plain decoding writes",
    "drafter": "time and memory of drafting itself, without a model",
    "workloads": "compare strategies on five kinds of request, chat among them",
    "latency": "how long an editor waits: the language server driven over its pipes",
    "simulate": "SIMULATE the speed-up on Apple's chips by scripted answers; states its inputs",
}

_PEERS: Final = ("ngram-simple", "ngram-map-k", "ngram-mod")
_STRATEGIES: Final = {
    "edits": f"plain,lookup,copy,{','.join(_PEERS)}",
    "workloads": "plain,lookup,copy,auto",
    "exact": "lookup,copy,copy@1,copy@6,copy@20,jacobi,lookahead,auto",
}
_EXACTNESS: Final = {"edits": "fast", "exact": "invariant", "workloads": "fast"}
_SHOWN: Final = (
    *("tokens_per_pass", "tokens_per_s", "speedup", "copied_median_speedup", "oracle_ratio"),
    *("oracle_time_ratio", "equal_to_plain", "differences_per_1000_tokens", "guarded"),
)


def add_parser(subparsers: options.Subparsers) -> None:
    """Add the verb `bench` with its commands."""
    parser = subparsers.add_parser("bench", help="measure speed, exactness and costs here")
    verbs = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    handlers = {
        "cost": _cost,
        "edits": _edits,
        "exact": _exact,
        "drafter": _drafter,
        "workloads": _workloads,
        "latency": _latency,
        "simulate": _simulate,
    }
    made = {name: verbs.add_parser(name, help=_VERBS[name]) for name in _VERBS}
    for name, verb in made.items():
        verb.description = f"{_VERBS[name]}."
        verb.set_defaults(handler=handlers[name])
        verb.add_argument("--json", metavar="OUT", type=Path, help="write all figures here")
    for name in ("cost", "edits", "exact", "workloads"):
        for key in ("model", "draft_model", "n_ctx", "threads"):
            options.add_flag(made[name], key)
    options.add_flag(made["latency"], "model")
    for name in ("edits", "exact", "workloads"):
        made[name].add_argument(
            "--exactness",
            choices=get_args(Exactness),
            default=_EXACTNESS[name],
            help="default: %(default)s",
        )
        made[name].add_argument(
            "--strategies",
            metavar="A,B,...",
            default=_STRATEGIES[name],
            help=f"as --strategy of edit, {', '.join(_PEERS)}; copy@6 drafts 6 tokens at most"
            " (default: %(default)s)",
        )
    bench_flags.add(made)


def _cost(args: argparse.Namespace) -> int:
    from redraft.bench import cost

    depths = args.depths.split(",")
    if not all(depth.isdecimal() for depth in depths):
        raise InputError(f"--depths takes whole numbers with commas, not {args.depths!r}")
    with _subject(args) as (subject, known):
        measured = []
        for depth in map(int, depths):
            measured.append(subject.measure(depth))
            print(cost.table(measured[-1]), flush=True)
    lines = [line for one in measured for line in cost.records(one)]
    _write(args.json, {"conditions": known, "passes": lines})
    if args.plot:
        args.plot.write_text(cost.plot(measured, f"{known['model']}, {known['cpu']}"), "utf-8")
    return 0


def _edits(args: argparse.Namespace) -> int:
    from redraft.bench import edits, subject, table, tasks

    names = subject.strategies(args.strategies)
    todo = (tasks.load(args.tasks) if args.tasks else tasks.built_in())[: args.limit]
    results: list[edits.Record] = []
    skipped: list[edits.Skipped] = []
    given = {"scope": args.scope, "exactness": args.exactness, "repeat": args.repeat}
    with _subject(args) as (model, known):
        for done in edits.measure(
            model,
            todo,
            names,
            scope=args.scope,
            exactness=args.exactness,
            n_repeats=args.repeat,
        ):
            if isinstance(done, edits.Skipped):
                skipped.append(done)
                show.say(f"{done.id} is left out: {done.reason}")
                continue
            results += done
            show.say(
                f"{done[0].id}: " + ", ".join(f"{r.strategy} {r.decode_s:.1f} s" for r in done)
            )
            # Written after each task, so that a run that is interrupted is not lost.
            _write(
                args.json,
                {
                    "conditions": known | {"load_average_after": os.getloadavg()},
                    **given,
                    "summary": edits.summary(results),
                    "results": [asdict(one) for one in results],
                    "skipped": [asdict(one) for one in skipped],
                },
            )
    figures = edits.summary(results)
    rows = [(name, *(table.figure(own[key]) for key in _SHOWN)) for name, own in figures.items()]
    print(table.markdown(("strategy", *(key.replace("_", " ") for key in _SHOWN)), rows), end="")
    return 0


def _exact(args: argparse.Namespace) -> int:
    from redraft.bench import exact, subject, table

    names = subject.strategies(args.strategies)
    if args.draft_model:
        names = tuple(dict.fromkeys((*names, "draft", "lookup+draft")))
    if len(names) == 1:
        raise InputError("--strategies names nothing but plain: there is nothing to compare")
    n_tokens = 0
    tallies: dict[str, exact.Tally] = {}
    with _subject(args) as (model, known):
        for tallies in exact.compare(model, names, exactness=args.exactness, n_tokens=args.tokens):
            n_tokens = max(tally.tokens for tally in tallies.values())
            n_parted = sum(len(tally.differences) for tally in tallies.values())
            show.say(f"{n_tokens} tokens, {n_parted} differences")
    if n_tokens < args.tokens:
        show.say(f"note: the built-in prompts were used up after {n_tokens} tokens")
    rows = [
        (name, str(one.tokens), str(len(one.differences)), f"{one.per_1000_tokens:.2f}")
        for name, one in tallies.items()
    ]
    print(table.markdown(("strategy", "tokens", "differences", "per 1,000 tokens"), rows), end="")
    for name, one in tallies.items():
        for parted in one.differences:
            show.say(f"{name} parts after {parted.token} tokens of {parted.case}")
    record = {name: asdict(one) for name, one in tallies.items()}
    _write(args.json, {"conditions": known, "exactness": args.exactness, "strategies": record})
    is_broken = args.exactness == "invariant" and any(one.differences for one in tallies.values())
    return 2 if is_broken else 0


def _drafter(args: argparse.Namespace) -> int:
    from redraft.bench.drafter import drafting_cost

    cost = drafting_cost(args.history, args.answer)
    _write(args.json, asdict(cost))
    print(
        f"{cost.passes} passes behind {cost.history_tokens:,} tokens, drafting:"
        f" {cost.mean_ms:.3f} ms a pass in the mean, {cost.median_ms:.3f} in the median,"
        f" {cost.p99_ms:.2f} at the 99th percentile, {cost.max_ms:.2f} at most;"
        f" {cost.start_ms:.0f} ms to start, {cost.bytes_per_10k / 1e3:.0f} kB for 10,000 tokens"
    )
    return 0


def _workloads(args: argparse.Namespace) -> int:
    from redraft.bench import subject, table, workloads

    names = subject.strategies(args.strategies)
    todo = workloads.load(args.tasks) if args.tasks else workloads.built_in()
    if args.each:
        todo = workloads.first_of_each(todo, args.each)
    runs: list[workloads.Ran] = []
    with _subject(args) as (model, known):
        for done in workloads.measure(model, todo, names, exactness=args.exactness):
            runs += done
            times = ", ".join(f"{one.strategy} {one.decode_s:.1f} s" for one in done)
            show.say(f"{done[0].workload}: {times}")
    found = workloads.summary(runs)
    columns = ("tokens_per_s", "speedup", "tokens_per_pass", "acceptance", "differences")
    rows = [
        (f"{workload}, {name}", *(table.figure(figures[key]) for key in columns))
        for workload, own in found.items()
        for name, figures in own.items()
    ]
    print(table.markdown(("", *(key.replace("_", " ") for key in columns)), rows), end="")
    _write(args.json, {"conditions": known, "summary": found, "runs": [asdict(r) for r in runs]})
    return 0


def _latency(args: argparse.Namespace) -> int:
    from redraft.bench import latency, table

    chosen = settings.load(Path.cwd(), {"model": args.model}, os.environ)
    found = latency.run(models.resolve(chosen.model))
    rows = [(name, f"{seconds:.3g} s", limit) for name, seconds, limit in found.rows()]
    print(table.markdown(("what", "median", "aim"), rows), end="")
    _write(args.json, asdict(found))
    return 0


def _simulate(args: argparse.Namespace) -> int:
    from redraft.bench import simulate, table

    chip = simulate.Chip(
        tokens_per_s=args.tokens_per_s,
        tile=args.tile,
        first_tile=args.first_tile,
        next_tile=args.next_tile,
    )
    scripts = simulate.load(args.tasks) if args.tasks else simulate.built_in_scripts()
    found = simulate.simulate(scripts, chip)
    names = list(next(iter(found.values())))
    rows = [
        (workload, *(table.figure(own[name]) for name in names), table.figure(published))
        for workload, published in simulate.PUBLISHED.items()
        if (own := found.get(workload))
    ]
    print("SIMULATION, nothing was measured: scripted answers, a made-up vocabulary, and passes of")
    for rows_, seconds in zip(chip.curve.rows, chip.curve.measured, strict=True):
        print(f"  {rows_:3} rows  {1000 * seconds:5.0f} ms")
    print("\nSpeed-up over plain decoding:\n")
    print(table.markdown(("workload", *names, "lookup, published"), rows), end="")
    _write(args.json, {"simulation": True, "inputs": asdict(chip), "speedup": found})
    return 0


@contextmanager
def _subject(args: argparse.Namespace) -> Iterator[tuple["Subject", dict[str, Any]]]:
    """The loaded model, and the conditions of the run."""
    from redraft.bench.conditions import conditions, warning
    from redraft.bench.subject import Subject

    flags = {key: getattr(args, key) for key in ("model", "draft_model", "n_ctx", "threads")}
    chosen = settings.load(Path.cwd(), flags, os.environ)
    path = models.resolve(chosen.model)
    draft = models.resolve(chosen.draft_model) if chosen.draft_model else None
    subject = Subject.load(path, n_ctx=chosen.n_ctx, n_threads=chosen.threads, draft=draft)
    with subject:
        known = conditions(path, cpu=cpu.describe(), n_threads=subject.n_threads)
        if said := warning(known):
            show.say(f"note: {said}")
        yield subject, known


def _write(path: Path | None, record: dict[str, Any]) -> None:
    if path:
        path.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
