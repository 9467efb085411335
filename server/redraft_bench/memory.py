"""Resident memory with and without drafting by copying: what speculation costs beside the model.

Each strategy runs in a process of its own, on prompts that grow: what it holds after each is
compared with what plain decoding holds there. Bytes everywhere.
"""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Final

import psutil

from redraft.bench.subject import Subject
from redraft.prompting import template
from redraft.records import Piece, Prompt
from redraft_bench.drafter import long_text

__all__ = ["Held", "compared", "measure"]

SEAMS: Final = 64  # tokens beside the text: the chat template's and the request's
_ASK: Final = "\nReply with this code exactly as it is. Change nothing.\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What a process holds behind `prompt_tokens` tokens of prompt and `output_tokens` of answer.

    `unique` is what only this process has and would be free without it; `resident` counts what it
    shares too, and the mapped model file. Both 0 tokens: the model is loaded, nothing else.
    """

    strategy: str
    prompt_tokens: int
    output_tokens: int
    unique: int
    resident: int


def measure(
    model: Path,
    strategies: Sequence[str],
    prompts: Sequence[int],
    *,
    n_answer: int,
    n_threads: int | None,
) -> Iterator[tuple[Held, ...]]:
    """For each strategy what it holds once loaded and behind prompts of so many tokens, ascending.

    `n_answer`: tokens that are written behind each. Raises what loading and decoding raise.
    """
    for strategy in strategies:
        # A new process each: what another one left behind would count.
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as alone:
            yield alone.submit(
                _held, model, strategy, sorted(prompts), n_answer, n_threads
            ).result()


def _held(
    model: Path, strategy: str, prompts: Sequence[int], n_answer: int, n_threads: int | None
) -> tuple[Held, ...]:
    subject = Subject.load(model, n_threads=n_threads)
    with subject:
        found = [_now(strategy, 0, 0)]
        for n_tokens in prompts:
            asked = _prompt(subject, min(n_tokens, subject.n_ctx - n_answer) - SEAMS)
            stats = subject.decode(asked, strategy, "fast", max_tokens=n_answer).stats
            found.append(_now(strategy, stats.prompt_tokens, stats.output_tokens))
        return tuple(found)


def _prompt(subject: Subject, n_tokens: int) -> Prompt:
    """Asks for a code of about `n_tokens` tokens again; a longer one begins as a shorter one."""
    text = long_text(4 * n_tokens)
    text = text[: len(text) * n_tokens // max(n_tokens, subject.count_tokens(text))]
    frame = template.render_frame(subject.chat_template)
    ask = (Piece(_ASK), frame.closing)
    return Prompt(file=(frame.opening, Piece(text)), request=ask, source=text, stop=())


def _now(strategy: str, prompt_tokens: int, output_tokens: int) -> Held:
    used = psutil.Process(os.getpid()).memory_full_info()
    return Held(
        strategy=strategy,
        prompt_tokens=prompt_tokens,
        output_tokens=output_tokens,
        unique=used.uss,
        resident=used.rss,
    )


def compared(held: Sequence[Held]) -> list[tuple[Held, int | None]]:
    """Each with how many more bytes are its own than plain decoding's at the same place."""
    plain = {one.prompt_tokens: one.unique for one in held if one.strategy == "plain"}
    return [
        (one, one.unique - plain[one.prompt_tokens] if one.prompt_tokens in plain else None)
        for one in held
    ]
