"""What to expect on Apple's chips: a simulation, not a measurement.

Scripted answers are written with real drafters against a cost curve put together from stated
figures. On these chips one row is a matrix-vector product, two to eight rows cost nearly as much as
that many single ones, and from nine rows on whole tiles of 32 are computed.
"""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Final

from redraft.bench.tasks import built_in
from redraft.engine.calibration import ROW_COUNTS, WIDE_ROW_COUNTS
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

__all__ = ["PUBLISHED", "Chip", "Scripted", "built_in_scripts", "load", "simulate"]

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
        times = {k: t for k, t in FEW_ROWS.items() if t < self.first_tile or k == 1}
        start, cost = max(times) + 1, self.first_tile
        while start <= LARGEST:
            stop = start - (start - 1) % self.tile + self.tile - 1
            times |= {start: cost, stop: cost}
            start, cost = stop + 1, cost + self.next_tile
        return CostCurve.of({k: t / self.tokens_per_s for k, t in times.items()})

    @property
    def measured(self) -> CostCurve:
        """The curve as drafters would know it: straight between the row counts that are timed."""
        timed = {k for k in (*ROW_COUNTS, *WIDE_ROW_COUNTS) if k <= LARGEST}
        return CostCurve.of({k: self.curve.seconds(k) for k in timed})


@dataclass(frozen=True, slots=True, kw_only=True)
class Scripted:
    """A prompt, the part of it that the answer may rewrite ("" for none), and the answer."""

    workload: str
    prompt: str
    source: str
    answer: str


def built_in_scripts() -> tuple[Scripted, ...]:
    """Examples of all five workloads."""
    edits = (
        Scripted(
            workload="code editing",
            prompt=f"{task.path}\n```\n{task.before}```\n{task.instruction}\n```\n",
            source=task.before,
            answer=f"{task.after}```",
        )
        for task in built_in()
    )
    text = resources.files("redraft_bench").joinpath("texts/workloads.toml").read_text("utf-8")
    others = (Scripted(source="", **task) for task in tomllib.loads(text)["task"])
    return (*edits, *others)


def load(path: Path) -> tuple[Scripted, ...]:
    """Scripts from a JSON-lines file of `workload`, `user` and `reference`.

    Records whose reference is no text, or a list with one in it, are left out: there is nothing to
    write. Raises InputError where the file cannot be read or no record is left.
    """
    try:
        records = [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]
        found = [_script(record) for record in records if _reference(record["reference"])]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"cannot read {path}: {error}; give lines of JSON with workload, user and reference"
        ) from error
    if not found:
        raise InputError(f"no record of {path} has a reference to write")
    return tuple(found)


def _script(record: Mapping[str, Any]) -> Scripted:
    workload, prompt = record["workload"], record["user"]
    blocks = prompt.split("```")[1::2] if workload == "code_edit" else []
    block = max(blocks, key=len, default="").partition("\n")[2]
    return Scripted(
        workload=_NAMES.get(workload, workload),
        prompt=prompt,
        source=block,
        answer=_reference(record["reference"]),
    )


def _reference(given: object) -> str:
    match given:
        case str():
            return given
        case [str() as text, *_]:
            return text
        case [dict(), *_]:
            return json.dumps(given, ensure_ascii=False)
    return ""


def simulate(scripts: Sequence[Scripted], chip: Chip) -> dict[str, dict[str, float]]:
    """For each workload and drafter the speed-up over plain decoding, over all its scripts."""
    curve = chip.curve
    plain: dict[str, float] = {}
    spent: dict[str, dict[str, float]] = {}
    for script in scripts:
        workload = spent.setdefault(script.workload, {})
        vocabulary = ScriptedVocabulary()
        answer = vocabulary.tokenize(script.answer.encode())
        alone = (len(answer) + 1) * curve.seconds(1)
        plain[script.workload] = plain.get(script.workload, 0.0) + alone
        for name, make in _drafters(script, vocabulary, chip.measured).items():
            seconds = play(make(), answer, curve).seconds
            workload[name] = workload.get(name, 0.0) + seconds
    return {
        workload: {name: plain[workload] / seconds for name, seconds in times.items()}
        for workload, times in spent.items()
    }


def _drafters(
    script: Scripted, vocabulary: ScriptedVocabulary, curve: CostCurve
) -> dict[str, Callable[[], Drafter]]:
    prompt = vocabulary.tokenize(script.prompt.encode())
    source = vocabulary.tokenize(script.source.encode())

    def copy() -> CopyDrafter:
        return CopyDrafter(prompt, source, curve=curve, vocabulary=vocabulary)

    def auto() -> Auto:
        candidates = [Candidate(name="copy", drafter=copy())]
        prior = PRIORS["edit" if source else "question"]
        return Auto(candidates, prior=prior, curve=curve, gains=GainTracker())

    return {"lookup": lambda: NgramDrafter(prompt), "copy": copy, "auto": auto}
