"""`python -m redraft_bench simulate`: SIMULATED speed-up on Apple's chips, not a measurement.

Scripted answers are written with real drafters against a cost curve put together from stated
figures. On these chips one row is a matrix-vector product, two to eight rows cost nearly as much as
that many single ones, and from nine rows on whole tiles of 32 are computed.
"""

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Final

from redraft.bench.results import format_figure, markdown_table
from redraft.bench.tasks import built_in_tasks
from redraft.cli import bench_options, options
from redraft.engine.calibration import GPU_COUNTS
from redraft.engine.drafters import PRIORS
from redraft.errors import InputError
from redraft_bench.scripted import ScriptedVocabulary, play
from redraft_lookup import (
    Auto,
    Candidate,
    CopyDrafter,
    CostCurve,
    Drafter,
    GainTracker,
    NgramDrafter,
)

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["PUBLISHED", "Chip", "Script", "add_parser", "built_in_scripts", "load", "simulate"]

# Speed-up of 3-5-gram lookup with drafts of 8 over plain decoding, published for a 32B model.
PUBLISHED: Final = {
    "code editing": 2.9,
    "summarisation": 2.3,
    "extraction": 2.1,
    "retrieval QA": 1.9,
    "chat": 1.0,
}

# bench-style files name the same workloads in their own way.
_NAMES: Final = {"code_edit": "code editing", "rag_qa": "retrieval QA"}

# T(k) / T(1) of one matrix product (q4_0, 4,096 x 14,336) on an M4 Pro: llama.cpp issue #25250.
FEW_ROWS: Final = {1: 1.0, 2: 1.81, 5: 5.65, 8: 7.44}
LARGEST: Final = 128  # rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Chip:
    """The inputs: plain decoding in tokens/s, and what tiles cost in plain passes.

    The defaults suit a 32B model on the fastest of these chips: drafts of 8 bring 9 tokens at
    most, so that the published 2.9 leaves a tile no more than 3.1, and prefill is some 20 times as
    fast as decoding.
    """

    tokens_per_s: float = 27.0
    tile: int = 32
    first_tile: float = 2.5
    next_tile: float = 1.5

    @property
    def curve(self) -> CostCurve:
        """The cost of a pass by its rows, in seconds: the few kernels first, then the tiles."""
        # Few rows never cost more than the first tile, which could compute them as well.
        times = {k: t for k, t in FEW_ROWS.items() if t < self.first_tile or k == 1}
        start, cost = max(times) + 1, self.first_tile
        while start <= LARGEST:
            # The tile that `start` is in ends at a multiple of its size: 9 rows cost what 32 do.
            stop = start - (start - 1) % self.tile + self.tile - 1
            times |= {start: cost, stop: cost}
            start, cost = stop + 1, cost + self.next_tile
        return CostCurve.of({k: t / self.tokens_per_s for k, t in times.items()})

    @property
    def calibrated_curve(self) -> CostCurve:
        """The curve as calibration would measure it: straight between the row counts it times."""
        timed = {k for k in GPU_COUNTS if k <= LARGEST}
        return CostCurve.of({k: self.curve.seconds(k) for k in timed})


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """A prompt, the part of it that the answer may rewrite ("" for none), and the answer."""

    workload: str
    prompt: str
    source: str
    answer: str


def built_in_scripts() -> tuple[Script, ...]:
    """Return examples of all five workloads."""
    edits = (
        Script(
            workload="code editing",
            prompt=f"{task.path}\n```\n{task.before}```\n{task.instruction}\n```\n",
            source=task.before,
            answer=f"{task.after}```",
        )
        for task in built_in_tasks()
    )
    text = resources.files("redraft_bench").joinpath("texts/workloads.toml").read_text("utf-8")
    others = (Script(source="", **task) for task in tomllib.loads(text)["task"])
    return (*edits, *others)


def load(path: Path) -> tuple[Script, ...]:
    """Read scripts from a JSON-lines file of `workload`, `user` and `reference`.

    Records whose reference is no text, or a list with one in it, are left out: there is nothing to
    write. Raises InputError where the file cannot be read or no record is left.
    """
    try:
        records = [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]
        scripts = [_parse_script(record) for record in records if _read_reference(record)]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"cannot read {path}: {error}; give lines of JSON with workload, user and reference"
        ) from error
    if not scripts:
        raise InputError(f"no record of {path} has a reference to write")
    return tuple(scripts)


def _parse_script(record: Mapping[str, Any]) -> Script:
    workload, prompt = record["workload"], record["user"]
    # The longest fenced block of an edit's prompt, without the line that opens it, is the code.
    blocks = prompt.split("```")[1::2] if workload == "code_edit" else []
    block = max(blocks, key=len, default="").partition("\n")[2]
    return Script(
        workload=_NAMES.get(workload, workload),
        prompt=prompt,
        source=block,
        answer=_read_reference(record),
    )


def _read_reference(record: Mapping[str, Any]) -> str:
    """Return the text to write; "" where the reference holds none."""
    match record["reference"]:
        case str() as text:
            return text
        case [str() as text, *_]:
            return text
        case [dict(), *_] as objects:
            return json.dumps(objects, ensure_ascii=False)
    return ""


def simulate(scripts: Sequence[Script], chip: Chip) -> dict[str, dict[str, float]]:
    """Return each workload's speed-up over plain decoding by drafter, over all its scripts."""
    curve = chip.curve
    plain_s: dict[str, float] = {}
    drafters_s: dict[str, dict[str, float]] = {}
    for script in scripts:
        of_workload = drafters_s.setdefault(script.workload, {})
        vocabulary = ScriptedVocabulary()
        answer = vocabulary.tokenize(script.answer.encode())
        n_plain_passes = len(answer) + 1  # one more for the end of the text
        plain_s.setdefault(script.workload, 0.0)
        plain_s[script.workload] += n_plain_passes * curve.seconds(1)
        for name, make in _drafter_makers(script, vocabulary, chip.calibrated_curve).items():
            seconds = play(make(), answer, curve).seconds
            of_workload[name] = of_workload.get(name, 0.0) + seconds
    return {
        workload: {name: plain_s[workload] / seconds for name, seconds in of_workload.items()}
        for workload, of_workload in drafters_s.items()
    }


def _drafter_makers(
    script: Script, vocabulary: ScriptedVocabulary, curve: CostCurve
) -> dict[str, Callable[[], Drafter]]:
    prompt = vocabulary.tokenize(script.prompt.encode())
    source = vocabulary.tokenize(script.source.encode())

    def copy() -> CopyDrafter:
        return CopyDrafter(prompt, source, curve=curve, vocabulary=vocabulary)

    def auto() -> Auto:
        candidates = [Candidate(name="copy", drafter=copy())]
        prior = PRIORS["edit" if source else "new text"]
        return Auto(candidates, prior=prior, curve=curve, gains=GainTracker())

    return {"lookup": lambda: NgramDrafter(prompt), "copy": copy, "auto": auto}


def add_parser(commands: options.Subparsers) -> None:
    """Add the command `simulate`."""
    parser = bench_options.add_command(
        commands,
        "simulate",
        "SIMULATE the speed-up on Apple's chips by scripted answers; states its inputs",
        run,
    )
    flag = parser.add_argument
    flag("--tasks", metavar="FILE.jsonl", type=Path, help="workload, user, reference; or built-in")
    flag(
        "--tokens-per-s", type=float, default=27.0, help="of plain decoding (default: %(default)s)"
    )
    flag(
        "--tile",
        type=bench_options.parse_count,
        default=32,
        help="rows computed together (default: %(default)s)",
    )
    flag("--first-tile", type=float, default=2.5, help="its cost, in passes of one row")
    flag("--next-tile", type=float, default=1.5, help="what each further tile adds")


def run(args: argparse.Namespace) -> int:
    """Run the command `simulate`. Returns its exit code."""
    conditions = bench_options.begin_run(args)
    chip = Chip(
        tokens_per_s=args.tokens_per_s,
        tile=args.tile,
        first_tile=args.first_tile,
        next_tile=args.next_tile,
    )
    speedups = simulate(load(args.tasks) if args.tasks else built_in_scripts(), chip)
    names = list(next(iter(speedups.values())))
    table = [
        (workload, *(format_figure(by_drafter[name]) for name in names), format_figure(published))
        for workload, published in PUBLISHED.items()
        if (by_drafter := speedups.get(workload))
    ]
    curve = chip.curve
    pass_seconds = dict(zip(curve.rows, curve.measured, strict=True))
    print("SIMULATION, nothing was measured: scripted answers, a made-up vocabulary, and passes of")
    for rows, seconds in pass_seconds.items():
        print(f"  {rows:3} rows  {1000 * seconds:5.0f} ms")
    print("\nSpeed-up over plain decoding:\n")
    print(markdown_table(("workload", *names, "lookup, published"), table), end="")
    bench_options.write_results(
        args.json,
        {
            "conditions": conditions,
            "simulation": True,
            "inputs": asdict(chip),
            "pass_seconds": pass_seconds,
            "speedup": speedups,
            "published": PUBLISHED,
        },
    )
    return 0
