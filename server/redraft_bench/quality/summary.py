"""The figures of a quality run: shares with their intervals, and two ways on the same problems.

Pure: records in, figures and Markdown out.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import comb, sqrt
from statistics import mean
from typing import Any, Final, Literal

from redraft.bench.results import markdown_table

__all__ = ["QualityRecord", "mcnemar_p", "quality_table", "summarize", "wilson_interval"]

Z_95: Final = 1.959964  # standard deviations on either side that hold 95 % of a normal variable


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityRecord:
    """One problem asked in one way. `changed_lines` counts lines taken out and put in."""

    id: str
    prompt: str
    ending: Literal["passed", "failed", "timeout", "unchanged", "refused"]
    detail: str  # the reason of a refusal, or the last words of the tests
    parse_broken: bool  # accepted, and no longer Python
    out_of_target: bool  # accepted, and changed outside what was to be edited
    changed_lines: int | None  # None where no edit was accepted
    reference_lines: int
    n_replies: int
    output_tokens: int
    seconds: float


def summarize(records: Sequence[QualityRecord]) -> dict[str, Any]:
    """Return the figures of each prompt, and each one's difference from the first prompt.

    Differences are over the problems that both prompts were asked.
    """
    names = list(dict.fromkeys(record.prompt for record in records))
    by_prompt = {name: [r for r in records if r.prompt == name] for name in names}
    return {
        "prompts": {name: _summarize_prompt(by_prompt[name]) for name in names},
        "differences": {
            f"{name} over {names[0]}": _compare(by_prompt[names[0]], by_prompt[name])
            for name in names[1:]
        },
    }


def _summarize_prompt(records: Sequence[QualityRecord]) -> dict[str, Any]:
    n = len(records)
    endings = Counter(record.ending for record in records)
    accepted = [record for record in records if record.changed_lines is not None]
    asked_again = [record for record in records if record.n_replies > 1]
    return {
        "n": n,
        "passed": endings["passed"],
        "pass_at_1": endings["passed"] / n,
        "interval_95": wilson_interval(endings["passed"], n),
        "unchanged": endings["unchanged"],
        "refused": dict(Counter(r.detail for r in records if r.ending == "refused")),
        "timeouts": endings["timeout"],
        "parse_broken": sum(record.parse_broken for record in records),
        "out_of_target": sum(record.out_of_target for record in records),
        "asked_again": len(asked_again),
        "passed_when_asked_again": sum(record.ending == "passed" for record in asked_again),
        "changed_lines": mean(r.changed_lines or 0 for r in accepted) if accepted else None,
        "reference_lines": mean(r.reference_lines for r in accepted) if accepted else None,
        "output_tokens": sum(record.output_tokens for record in records),
        "seconds": sum(record.seconds for record in records),
    }


def _compare(base: Sequence[QualityRecord], records: Sequence[QualityRecord]) -> dict[str, Any]:
    """Compare the passes of `records` with those of `base`, problem by problem."""
    passed = {record.id: record.ending == "passed" for record in base}
    pairs = [(passed[r.id], r.ending == "passed") for r in records if r.id in passed]
    won, lost = pairs.count((False, True)), pairs.count((True, False))
    return {
        "n": len(pairs),
        "points": 100 * (won - lost) / len(pairs) if pairs else None,
        "only_this_passes": won,
        "only_the_other_passes": lost,
        "p": mcnemar_p(won, lost),
    }


def wilson_interval(n_passed: int, n: int) -> tuple[float, float]:
    """Return the 95 % interval of a share. Wilson (1927), JASA 22, 209-212."""
    share, z2 = n_passed / n, Z_95**2
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = Z_95 * sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return middle - half, middle + half


def mcnemar_p(won: int, lost: int) -> float:
    """Return the p-value of McNemar's exact two-sided test. McNemar (1947), Psychometrika 12.

    That is the probability of a split at least as uneven where both ways are equally good.
    """
    n = won + lost
    tail = sum(comb(n, k) for k in range(min(won, lost) + 1))
    return min(1.0, 2 * tail / (1 << n))


def quality_table(summary: dict[str, Any]) -> str:
    """Return a line for each prompt, and a sentence for each difference."""
    head = (
        *("prompt", "pass@1", "95 %", "passed", "unchanged", "refused", "timeouts", "parse broken"),
        *("out of target", "asked again (passed)", "changed lines", "reference's"),
    )
    rows = []
    for name, figures in summary["prompts"].items():
        low, high = figures["interval_95"]
        refused = ", ".join(f"{n} {reason}" for reason, n in figures["refused"].items())
        lines = (figures["changed_lines"], figures["reference_lines"])
        rows.append(
            (
                name,
                f"{figures['pass_at_1']:.1%}",
                f"{low:.0%}-{high:.0%}",
                f"{figures['passed']}/{figures['n']}",
                str(figures["unchanged"]),
                refused or "0",
                str(figures["timeouts"]),
                str(figures["parse_broken"]),
                str(figures["out_of_target"]),
                f"{figures['asked_again']} ({figures['passed_when_asked_again']})",
                *("-" if n is None else f"{n:.1f}" for n in lines),
            )
        )
    sentences = [
        f"\n{name}: {difference['points']:+.1f} points on {difference['n']} problems"
        f" ({difference['only_this_passes']} won, {difference['only_the_other_passes']} lost,"
        f" p = {difference['p']:.3f})\n"
        for name, difference in summary["differences"].items()
        if difference["points"] is not None
    ]
    return markdown_table(head, rows) + "".join(sentences)
