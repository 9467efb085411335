"""In which order rivals are measured: in turn, so that no machine that slows down favours one."""

from collections.abc import Sequence
from statistics import median
from typing import TypeVar

from redraft.bench.subject import Subject
from redraft.records import Completion, Exactness, Prompt, Route

__all__ = ["decode", "in_turn", "spread"]

_T = TypeVar("_T")


def in_turn(all_of: Sequence[_T], turn: int) -> tuple[_T, ...]:
    """All in order, from another one on in each turn."""
    first = turn % len(all_of)
    return (*all_of[first:], *all_of[:first])


def decode(
    subject: Subject,
    asked: Prompt,
    strategies: Sequence[str],
    *,
    n_repeats: int,
    begin_with: int,
    exactness: Exactness,
    max_tokens: int,
    route: Route = "edit",
) -> dict[str, list[Completion]]:
    """What each strategy made of the prompt, `n_repeats` times.

    The first turn begins with the strategy of that number, each further one with the next; so give
    the number of the prompt.
    """
    runs: dict[str, list[Completion]] = {name: [] for name in strategies}
    for turn in range(n_repeats):
        for name in in_turn(strategies, begin_with + turn):
            done = subject.decode(asked, name, exactness, max_tokens=max_tokens, route=route)
            runs[name].append(done)
    return runs


def spread(speedups: Sequence[float]) -> dict[str, float | None]:
    """Median, least and most of the speed-ups of single tasks; None where there are none."""
    return {
        "median_speedup": median(speedups) if speedups else None,
        "least_speedup": min(speedups, default=None),
        "most_speedup": max(speedups, default=None),
    }
