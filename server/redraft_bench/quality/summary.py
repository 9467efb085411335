"""The figures of a quality run: shares with their intervals, and two ways on the same problems.

Pure: records in, figures and Markdown out.
"""

from collections import Counter
from collections.abc import Sequence
from math import comb, sqrt
from statistics import mean
from typing import Any, Final

from redraft.bench.table import markdown
from redraft_bench.quality.measure import QualityRecord

__all__ = ["mcnemar", "summary", "table", "wilson"]

Z_95: Final = 1.959964  # standard deviations on either side that hold 95 % of a normal variable


def summary(records: Sequence[QualityRecord]) -> dict[str, Any]:
    """The figures of each prompt, and of each one against the first on the problems of both."""
    names = list(dict.fromkeys(record.prompt for record in records))
    own = {name: [one for one in records if one.prompt == name] for name in names}
    return {
        "prompts": {name: _figures(own[name]) for name in names},
        "differences": {
            f"{name} over {names[0]}": _difference(own[names[0]], own[name]) for name in names[1:]
        },
    }


def _figures(own: Sequence[QualityRecord]) -> dict[str, Any]:
    n_passed = sum(one.ending == "passed" for one in own)
    accepted = [one for one in own if one.changed_lines is not None]
    return {
        "n": len(own),
        "passed": n_passed,
        "pass_at_1": n_passed / len(own),
        "interval_95": wilson(n_passed, len(own)),
        "unchanged": sum(one.ending == "unchanged" for one in own),
        "refused": dict(Counter(one.detail for one in own if one.ending == "refused")),
        "timeouts": sum(one.ending == "timeout" for one in own),
        "parse_broken": sum(one.parse_broken for one in own),
        "out_of_target": sum(one.out_of_target for one in own),
        "asked_again": sum(one.n_replies > 1 for one in own),
        "passed_when_asked_again": sum(one.n_replies > 1 and one.ending == "passed" for one in own),
        "changed_lines": mean(one.changed_lines or 0 for one in accepted) if accepted else None,
        "reference_lines": mean(one.reference_lines for one in accepted) if accepted else None,
        "output_tokens": sum(one.output_tokens for one in own),
        "seconds": sum(one.seconds for one in own),
    }


def _difference(base: Sequence[QualityRecord], other: Sequence[QualityRecord]) -> dict[str, Any]:
    """Passes of `other` against those of `base`, problem by problem."""
    passed = {one.id: one.ending == "passed" for one in base}
    pairs = [(passed[one.id], one.ending == "passed") for one in other if one.id in passed]
    won, lost = pairs.count((False, True)), pairs.count((True, False))
    return {
        "n": len(pairs),
        "points": 100 * (won - lost) / len(pairs) if pairs else None,
        "only_this_passes": won,
        "only_the_other_passes": lost,
        "p": mcnemar(won, lost),
    }


def wilson(n_passed: int, n: int) -> tuple[float, float]:
    """The 95 % interval of a share. Wilson (1927), JASA 22, 209-212."""
    share, z2 = n_passed / n, Z_95**2
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = Z_95 * sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return middle - half, middle + half


def mcnemar(won: int, lost: int) -> float:
    """How likely a split at least as uneven is where both ways are as good (exact, two-sided)."""
    n = won + lost
    tail = sum(comb(n, k) for k in range(min(won, lost) + 1))
    return min(1.0, 2 * tail / (1 << n))


def table(figures: dict[str, Any]) -> str:
    """One line for each prompt, and a sentence for each difference."""
    head = (
        *("prompt", "pass@1", "95 %", "passed", "unchanged", "refused", "timeouts", "parse broken"),
        *("out of target", "asked again (passed)", "changed lines", "reference's"),
    )
    rows = [_row(name, own) for name, own in figures["prompts"].items()]
    said = [
        f"\n{name}: {one['points']:+.1f} points on {one['n']} problems"
        f" ({one['only_this_passes']} won, {one['only_the_other_passes']} lost,"
        f" p = {one['p']:.3f})\n"
        for name, one in figures["differences"].items()
        if one["points"] is not None
    ]
    return markdown(head, rows) + "".join(said)


def _row(name: str, own: dict[str, Any]) -> tuple[str, ...]:
    low, high = own["interval_95"]
    refused = ", ".join(f"{n} {reason}" for reason, n in own["refused"].items())
    lines = (own["changed_lines"], own["reference_lines"])
    return (
        name,
        f"{own['pass_at_1']:.1%}",
        f"{low:.0%}-{high:.0%}",
        f"{own['passed']}/{own['n']}",
        str(own["unchanged"]),
        refused or "0",
        str(own["timeouts"]),
        str(own["parse_broken"]),
        str(own["out_of_target"]),
        f"{own['asked_again']} ({own['passed_when_asked_again']})",
        *("-" if n is None else f"{n:.1f}" for n in lines),
    )
