"""In which order strategies decode: in turn, so that no machine that slows down favours one."""

from collections.abc import Sequence
from statistics import median

from redraft.bench.subject import Subject
from redraft.messages import Completion, Exactness, Prompt, Route

__all__ = ["decode", "spread"]


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
        first = (begin_with + turn) % len(strategies)
        for name in (*strategies[first:], *strategies[:first]):
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
