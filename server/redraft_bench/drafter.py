"""What drafting itself takes: time of each pass and memory, without any model.

A source of thousands of tokens is written again with an edit every few lines, some of which come
back (a renamed variable), so that the drafter loses its place, finds it, and learns.
"""

import re
import time
import tracemalloc
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, quantiles
from typing import Final

from redraft.bench.tasks import built_in
from redraft_bench.scripted import ScriptedVocabulary, play
from redraft_lookup import CopyDrafter, CostCurve

__all__ = ["CURVE", "DraftingCost", "bytes_per_10k", "drafting_cost", "long_text", "scripted_edit"]

# T(k) / T(1) of a two-core x86 machine without a GPU, which drafts of many lengths pay on.
CURVE: Final = CostCurve.of(
    {1: 1.0, 2: 1.5, 4: 1.6, 8: 2.6, 16: 3.6, 32: 6.1, 48: 8.6, 64: 9.9, 128: 19.9}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftingCost:
    """Milliseconds a pass (propose and observe), and bytes for each 10,000 tokens of history.

    `start_ms`: making the drafter, once a request.
    """

    history_tokens: int
    answer_tokens: int
    passes: int
    start_ms: float
    mean_ms: float
    median_ms: float
    p99_ms: float
    max_ms: float
    bytes_per_10k: float


def drafting_cost(n_history: int, n_answer: int) -> DraftingCost:
    """Time and then weigh a `CopyDrafter` behind `n_history` tokens that it may copy."""
    source, answer, vocabulary = scripted_edit(n_history, n_answer)
    times = [1000 * t for t in _passes(source, answer, vocabulary)]
    cuts = quantiles(times[1:], n=100, method="inclusive")
    return DraftingCost(
        history_tokens=len(source),
        answer_tokens=len(answer),
        passes=len(times) - 1,
        start_ms=times[0],
        mean_ms=mean(times[1:]),
        median_ms=cuts[49],
        p99_ms=cuts[98],
        max_ms=max(times[1:]),
        bytes_per_10k=_bytes_per_10k(source, answer, vocabulary),
    )


def _drafter(source: Sequence[int], vocabulary: ScriptedVocabulary) -> CopyDrafter:
    return CopyDrafter(source, source, curve=CURVE, vocabulary=vocabulary)


def _passes(source: list[int], answer: list[int], vocabulary: ScriptedVocabulary) -> list[float]:
    """Seconds to make the drafter, and then of each pass."""
    start = time.perf_counter()
    drafter = _drafter(source, vocabulary)
    made = time.perf_counter() - start
    return [made, *play(drafter, answer, CURVE).drafting_s]


def bytes_per_10k(n_history: int, n_answer: int) -> float:
    """What a `CopyDrafter` holds for 10,000 tokens of text at the end of such an answer."""
    return _bytes_per_10k(*scripted_edit(n_history, n_answer))


def _bytes_per_10k(source: list[int], answer: list[int], vocabulary: ScriptedVocabulary) -> float:
    tracemalloc.start()
    try:
        drafter = _drafter(source, vocabulary)
        play(drafter, answer, CURVE)
        held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    return held / (len(source) + len(answer)) * 10_000


def scripted_edit(n_source: int, n_answer: int) -> tuple[list[int], list[int], ScriptedVocabulary]:
    """A source of `n_source` tokens, how it begins once edited, and their vocabulary."""
    vocabulary = ScriptedVocabulary()
    source = vocabulary.tokenize(long_text(4 * n_source).encode())[:n_source]
    text = b"".join(map(vocabulary.piece, source)).decode()
    answer = vocabulary.tokenize(_edited(text[: 4 * n_answer]).encode())[:n_answer]
    return source, answer, vocabulary


def long_text(n_characters: int) -> str:
    """The built-in files over and over, each time with other names."""
    parts: list[str] = []
    size = number = 0
    tasks = built_in()
    while size < n_characters:
        text = tasks[number % len(tasks)].before
        names = list(dict.fromkeys(re.findall(r"\b[a-z]{4,}\b", text)))
        pattern = re.compile(rf"\b({'|'.join(names[number % 2 :: 2])})\b")
        parts.append(pattern.sub(rf"\1_{number}", text))
        size += len(parts[-1])
        number += 1
    return "".join(parts)


def _edited(text: str) -> str:
    """`text` with two names changed, a new line after every 24, and every 24th line deleted."""
    lines: list[str] = []
    for number, line in enumerate(text.split("\n")):
        if number % 24 == 7:
            continue
        lines.append(line.replace("value", "amount").replace("self", "this"))
        if number % 24 == 19:
            lines.append(f"{line[: len(line) - len(line.lstrip())]}check({number})")
    return "\n".join(lines)
