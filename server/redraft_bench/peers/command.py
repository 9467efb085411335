"""`python -m redraft_bench peers`: other programs on the same edits, beside redraft, in one run."""

import argparse
import math
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args

from redraft import models
from redraft.cli import options, output
from redraft.cli.bench import common
from redraft.errors import InputError
from redraft.records import Exactness

if TYPE_CHECKING:
    from redraft.bench.subject import Subject
    from redraft_bench.peers.process import Family
    from redraft_bench.peers.programs import Chosen
    from redraft_bench.peers.results import Failed, PeerRecord, PeerResults

__all__ = ["add_parser"]

_SHOWN: Final = (
    *("tasks", "output_tokens", "tokens_per_s", "to_plain", "median_to_plain", "to_own_plain"),
    *("copy_to_it", "tokens_per_pass", "differences"),
)


def add_parser(verbs: options.Subparsers) -> None:
    """Add the command `peers`."""
    parser = common.command(
        verbs,
        "peers",
        "compare with other programs that draft without a model, run for real on the same edits",
        _run,
    )
    common.add_model(parser)
    flag = parser.add_argument
    flag("--tasks", metavar="FILE.jsonl", type=Path, help="default: 12 built-in edits")
    flag("--limit", type=common.count, help="the first so many tasks only")
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
        type=common.count,
        metavar="N",
        help="end the peers' own plain decoding after N tokens, to save time",
    )
    flag("--minutes", type=float, default=math.inf, help="begin no task after so many minutes")


def _run(args: argparse.Namespace) -> int:
    from redraft.bench import tasks
    from redraft_bench.peers import compare, programs, results

    ends_at = time.monotonic() + 60 * args.minutes
    todo = (tasks.load(args.tasks) if args.tasks else tasks.built_in())[: args.limit]
    chosen = programs.choose(args.peers, has_draft=bool(args.draft_model))
    for name, reason in chosen.left_out.items():
        output.print_status(f"{name} is left out: {reason}")
    if not chosen.peers:
        raise InputError("none of the peers can be run here: install one of them, as said above")
    with common.loaded(args) as (model, conditions):
        given = {
            "scope": args.scope,
            "exactness": args.exactness,
            "plain_tokens": args.plain_tokens,
            "peers": [peer.name for peer in chosen.peers],
            "model": conditions["model"],
        }
        found = results.load(args.json, given) if args.json else results.PeerResults()
        if found.done:
            output.print_status(
                f"{args.json} holds {len(found.done)} tasks: they are not run again"
            )
        every = compare.jobs(model, todo, args.scope)
        record = {"conditions": conditions, **given, "left_out": dict(chosen.left_out)}
        with _opened(args, chosen, model, compare.needed_context(every)) as families:
            new = [one for one in every if one.id not in found.done]
            found.failures += (one for one in new if isinstance(one, results.Failed))
            for done in compare.measure(
                model,
                [one for one in new if isinstance(one, compare.PeerTask)],
                chosen.peers,
                families,
                exactness=args.exactness,
                plain_tokens=args.plain_tokens,
            ):
                _keep(found, done)
                record["versions"] = {name: one.version for name, one in families.items()}
                common.write(args.json, record | found.as_json())
                if time.monotonic() > ends_at:
                    output.print_status(
                        "the time is up: run the same command again for the other tasks"
                    )
                    break
    # Once more, since what the peers took is known as theirs only when they have ended.
    common.write(args.json, record | found.as_json())
    _tell(found)
    return 0


@contextmanager
def _opened(
    args: argparse.Namespace, chosen: "Chosen", model: "Subject", n_ctx: int
) -> Iterator[dict[str, "Family"]]:
    """The programs, in a folder that goes with them; each starts when it is first asked."""
    from redraft.engine import backend
    from redraft_bench.peers.llama_server import PeerSettings
    from redraft_bench.peers.programs import FAMILIES

    with tempfile.TemporaryDirectory(prefix="redraft-peers-") as folder:
        settings = PeerSettings(
            model=model.path.resolve(),
            draft=models.resolve(args.draft_model).resolve() if args.draft_model else None,
            n_ctx=n_ctx,
            n_threads=model.n_threads,
            gpu=backend() != "cpu",
            folder=Path(folder),
        )
        names = dict.fromkeys(peer.family for peer in chosen.peers)
        families = {name: FAMILIES[name].open(settings) for name in names}
        try:
            yield families
        finally:
            for family in families.values():
                family.close()


def _keep(found: "PeerResults", done: "list[PeerRecord | Failed]") -> None:
    from redraft_bench.peers.results import PeerRecord

    for one in done:
        if isinstance(one, PeerRecord):
            found.records.append(one)
        else:
            found.failures.append(one)
            output.print_status(f"{one.id}: {one.peer} failed: {one.reason}")
    speeds = [f"{r.peer} {r.tokens_per_s:.1f}" for r in done if isinstance(r, PeerRecord)]
    output.print_status(f"{done[0].id}, tokens/s: {', '.join(speeds)}")


def _tell(found: "PeerResults") -> None:
    from redraft.bench import table
    from redraft_bench.peers.programs import FAMILIES
    from redraft_bench.peers.results import summary

    figures: dict[str, dict[str, Any]] = summary(found.records)
    rows = [(name, *(table.figure(own[key]) for key in _SHOWN)) for name, own in figures.items()]
    print(table.markdown(("peer", *(key.replace("_", " ") for key in _SHOWN)), rows), end="")
    for name in dict.fromkeys(one.peer.partition("/")[0] for one in found.records):
        if name in FAMILIES:
            print(f"\n{name} is timed {FAMILIES[name].clock}.", end="")
    print()
    for one in found.failures:
        output.print_status(f"{one.id}: {one.peer or 'not asked'}: {one.reason}")
