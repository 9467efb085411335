"""What a comparison with peers found: records, sums, and the file that a run goes on from."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from statistics import median
from typing import Any, Final

from redraft.errors import InputError

__all__ = ["COPY", "PLAIN", "Failed", "PeerRecord", "PeerResults", "load", "summary"]

PLAIN: Final = "redraft/plain"
COPY: Final = "redraft/copy"


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerRecord:
    """One peer on one task: `timed_tokens` of its tokens took `decode_s` seconds.

    `passes` made them, where that is known. `first_difference` is the token where the answer parts
    from redraft's plain one, None where it does not.
    """

    id: str
    peer: str
    prompt_tokens: int
    output_tokens: int
    timed_tokens: int
    decode_s: float
    passes: int | None
    first_difference: int | None

    @property
    def tokens_per_s(self) -> float:
        return _ratio(self.timed_tokens, self.decode_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """A peer that gave no answer to a task, or a task that no peer was asked; and why."""

    id: str
    peer: str | None
    reason: str


@dataclass(slots=True, kw_only=True)
class PeerResults:
    """All results so far."""

    records: list[PeerRecord] = field(default_factory=list)
    failures: list[Failed] = field(default_factory=list)
    earlier: list[dict[str, Any]] = field(default_factory=list)  # conditions of runs before this

    @property
    def done(self) -> frozenset[str]:
        """The tasks that every peer was asked."""
        asked: list[PeerRecord | Failed] = [*self.records, *self.failures]
        return frozenset(one.id for one in asked)

    def as_json(self) -> dict[str, Any]:
        return {
            "summary": summary(self.records),
            "results": [asdict(one) for one in self.records],
            "failures": [asdict(one) for one in self.failures],
            "earlier_runs": self.earlier,
        }


def load(path: Path, given: Mapping[str, Any]) -> PeerResults:
    """What an earlier run wrote to `path`; nothing where there is no such file.

    Raises InputError where it is of another kind, or compared something else than `given`.
    """
    if not path.exists():
        return PeerResults()
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
        found = PeerResults(
            records=[PeerRecord(**_own(PeerRecord, one)) for one in known["results"]],
            failures=[Failed(**_own(Failed, one)) for one in known["failures"]],
            earlier=[*known["earlier_runs"], known["conditions"]],
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path} is there and holds no results of bench peers ({error!r}): name another file"
        ) from error
    for key, value in given.items():
        if known.get(key) != value:
            raise InputError(
                f"{path} holds results with {key} {known.get(key)!r}, this run has {value!r}: name"
                " another file, or run as before"
            )
    return found


def _own(kind: type, record: Mapping[str, Any]) -> dict[str, Any]:
    return {one.name: record[one.name] for one in fields(kind)}


def summary(records: Sequence[PeerRecord]) -> dict[str, dict[str, Any]]:
    """For each peer its figures over the tasks that it answered; ratios are of the same tasks.

    to_plain, median_to_plain: its speed, of redraft's plain decoding. to_own_plain: of its
    program's plain decoding. copy_to_it: the speed of redraft's copying, of its own.
    """
    of = {(one.peer, one.id): one for one in records}
    return {
        name: _figures([one for one in records if one.peer == name], of)
        for name in dict.fromkeys(one.peer for one in records)
    }


def _figures(own: Sequence[PeerRecord], of: Mapping[tuple[str, str], PeerRecord]) -> dict[str, Any]:
    own_plain = f"{own[0].peer.partition('/')[0]}/plain"
    gains = [
        one.tokens_per_s / plain.tokens_per_s
        for one in own
        if (plain := of.get((PLAIN, one.id))) and plain.tokens_per_s
    ]
    with_passes = [one for one in own if one.passes]
    parted = [one.first_difference for one in own if one.first_difference is not None]
    copied = _speed_ratio(COPY, own, of)
    return {
        "tasks": len(own),
        "output_tokens": sum(one.output_tokens for one in own),
        "decode_s": sum(one.decode_s for one in own),
        "tokens_per_s": _speed(own),
        "to_plain": _inverse(_speed_ratio(PLAIN, own, of)),
        "median_to_plain": median(gains) if gains else None,
        "to_own_plain": _inverse(_speed_ratio(own_plain, own, of)),
        "copy_to_it": copied,
        "tokens_per_pass": _ratio(
            sum(one.timed_tokens for one in with_passes),
            sum(one.passes or 0 for one in with_passes),
        )
        or None,
        "differences": len(parted),
    }


def _speed_ratio(
    name: str, own: Sequence[PeerRecord], of: Mapping[tuple[str, str], PeerRecord]
) -> float | None:
    """The speed of the peer `name` divided by that of `own`, over the tasks of both."""
    both = [(other, one) for one in own if (other := of.get((name, one.id)))]
    others, owns = [pair[0] for pair in both], [pair[1] for pair in both]
    return _ratio(_speed(others), _speed(owns)) or None


def _inverse(ratio: float | None) -> float | None:
    return 1 / ratio if ratio else None


def _speed(records: Sequence[PeerRecord]) -> float:
    return _ratio(sum(r.timed_tokens for r in records), sum(r.decode_s for r in records))


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
