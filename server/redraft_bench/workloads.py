"""Strategies compared on five kinds of request, of which edits are only one.

Prompts are plain user turns: no source is named, so that copying drafts find their text themselves.
As with edits, only decoding is timed and the order of the strategies turns.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

from redraft.bench import turns
from redraft.bench.subject import Subject, answer, first_difference
from redraft.errors import InputError
from redraft.prompting import template
from redraft.records import Completion, Exactness, Piece, Prompt, Route
from redraft_bench.simulate import built_in_scripts

__all__ = ["Question", "Ran", "built_in", "first_of_each", "load", "measure", "summary"]

ROUTES: Final[dict[str, Route]] = {"chat": "chat", "code_edit": "edit", "code editing": "edit"}
MAX_TOKENS: Final = 200  # of an answer to a built-in question


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One prompt of a workload."""

    workload: str
    user: str
    max_tokens: int

    @property
    def route(self) -> Route:
        return ROUTES.get(self.workload, "question")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
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


def built_in() -> tuple[Question, ...]:
    """The questions that the simulation answers by script."""
    return tuple(
        Question(workload=one.workload, user=one.prompt, max_tokens=MAX_TOKENS)
        for one in built_in_scripts()
    )


def load(path: Path) -> tuple[Question, ...]:
    """Questions from JSON lines with workload, user and max_tokens. Raises InputError."""
    found: list[Question] = []
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
        for line in filter(str.strip, lines):
            record = json.loads(line)
            workload, user = str(record["workload"]), str(record["user"])
            found.append(
                Question(workload=workload, user=user, max_tokens=int(record["max_tokens"]))
            )
    except (OSError, UnicodeDecodeError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"cannot read the questions in {path}: {error!r}; each line is an object with workload,"
            " user and max_tokens"
        ) from error
    return tuple(found)


def first_of_each(questions: Sequence[Question], n: int) -> tuple[Question, ...]:
    """The first `n` questions of every workload, in their order."""
    seen: Counter[str] = Counter()
    kept: list[Question] = []
    for one in questions:
        seen[one.workload] += 1
        if seen[one.workload] <= n:
            kept.append(one)
    return tuple(kept)


def measure(
    subject: Subject,
    questions: Sequence[Question],
    strategies: Sequence[str],
    *,
    exactness: Exactness,
    n_repeats: int,
) -> Iterator[tuple[Ran, ...]]:
    """For each question what every strategy did, plain first."""
    frame = template.render_frame(subject.chat_template)
    for number, question in enumerate(questions):
        file = (frame.opening, Piece(question.user))
        asked = Prompt(file=file, request=(frame.closing,), source="", stop=())
        subject.warm_up(asked, exactness)
        runs = turns.decode(
            subject,
            asked,
            strategies,
            n_repeats=n_repeats,
            begin_with=number,
            exactness=exactness,
            max_tokens=question.max_tokens,
            route=question.route,
        )
        plain = answer(runs["plain"][0])
        yield tuple(_ran(question.workload, number, name, runs[name], plain) for name in strategies)


def summary(runs: Sequence[Ran]) -> dict[str, dict[str, dict[str, Any]]]:
    """For each workload and strategy the figures; `speedup` is of total decode times.

    `median_speedup` and the other two are of single questions.
    """
    figures: dict[str, dict[str, dict[str, Any]]] = {}
    for workload in dict.fromkeys(one.workload for one in runs):
        own = [one for one in runs if one.workload == workload]
        plain_s = {one.question: one.decode_s for one in own if one.strategy == "plain"}
        figures[workload] = {
            name: _figures([one for one in own if one.strategy == name], plain_s)
            for name in dict.fromkeys(one.strategy for one in own)
        }
    return figures


def _figures(own: Sequence[Ran], plain_s: Mapping[int, float]) -> dict[str, Any]:
    n_tokens, decode_s = sum(one.output_tokens for one in own), sum(one.decode_s for one in own)
    drafted = sum(one.drafted for one in own)
    return {
        "tokens_per_s": n_tokens / decode_s,
        "speedup": sum(plain_s[one.question] for one in own) / decode_s,
        **turns.spread([plain_s[one.question] / one.decode_s for one in own]),
        "tokens_per_pass": n_tokens / sum(one.passes for one in own),
        "acceptance": sum(one.accepted for one in own) / drafted if drafted else None,
        "differences": sum(one.first_difference is not None for one in own),
    }


def _ran(
    workload: str, question: int, strategy: str, runs: Sequence[Completion], plain: Sequence[int]
) -> Ran:
    stats = runs[0].stats
    times = tuple(run.stats.decode_s for run in runs)
    return Ran(
        workload=workload,
        question=question,
        strategy=strategy,
        output_tokens=stats.output_tokens,
        passes=stats.passes,
        drafted=stats.drafted,
        accepted=stats.accepted,
        decode_s=median(times),
        runs_s=times,
        first_difference=first_difference(answer(runs[0]), plain),
    )
