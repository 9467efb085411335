"""Results of a comparison with peers: records, sums, and the file that a run continues from."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from statistics import median
from typing import Any, Final

from redraft.errors import InputError

__all__ = ["COPY", "PLAIN", "PeerFailure", "PeerRecord", "PeerResults", "load", "summarize"]

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
class PeerFailure:
    """A peer that gave no answer to a task, or a task that no peer was asked; and why."""

    id: str
    peer: str | None
    reason: str


@dataclass(slots=True, kw_only=True)
class PeerResults:
    """All results so far."""

    records: list[PeerRecord] = field(default_factory=list)
    failures: list[PeerFailure] = field(default_factory=list)
    earlier: list[dict[str, Any]] = field(default_factory=list)  # conditions of runs before this

    @property
    def done(self) -> frozenset[str]:
        """The ids of tasks that every peer was asked."""
        results: list[PeerRecord | PeerFailure] = [*self.records, *self.failures]
        return frozenset(result.id for result in results)

    def as_json(self) -> dict[str, Any]:
        return {
            "summary": summarize(self.records),
            "results": [asdict(record) for record in self.records],
            "failures": [asdict(failure) for failure in self.failures],
            "earlier_runs": self.earlier,
        }


def load(path: Path, settings: Mapping[str, Any]) -> PeerResults:
    """Read the results of an earlier run from `path`; none where there is no such file.

    Raises InputError where it is of another kind, or its run had other `settings`.
    """
    if not path.exists():
        return PeerResults()
    try:
        written = json.loads(path.read_text(encoding="utf-8"))
        results = PeerResults(
            records=[PeerRecord(**_fields(PeerRecord, r)) for r in written["results"]],
            failures=[PeerFailure(**_fields(PeerFailure, f)) for f in written["failures"]],
            earlier=[*written["earlier_runs"], written["conditions"]],
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path} is there and holds no results of the benchmark peers ({error!r}):"
            " name another file"
        ) from error
    for key, value in settings.items():
        if written.get(key) != value:
            raise InputError(
                f"{path} holds results with {key} {written.get(key)!r}, this run has {value!r}:"
                " name another file, or run as before"
            )
    return results


def _fields(kind: type, record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of `record` that is a field of the data class `kind`."""
    return {field.name: record[field.name] for field in fields(kind)}


def summarize(records: Sequence[PeerRecord]) -> dict[str, dict[str, Any]]:
    """Return each peer's figures over the tasks that it answered; ratios are of the same tasks.

    to_plain, median_to_plain: its speed over that of redraft's plain decoding. to_own_plain: over
    that of its program's plain decoding. copy_to_it: the speed of redraft's copying over its own.
    """
    by_peer: dict[str, dict[str, PeerRecord]] = {}
    for record in records:
        by_peer.setdefault(record.peer, {})[record.id] = record
    return {name: _summarize_peer(name, by_peer) for name in by_peer}


def _summarize_peer(name: str, by_peer: Mapping[str, Mapping[str, PeerRecord]]) -> dict[str, Any]:
    records = by_peer[name]
    plain, own_plain = by_peer.get(PLAIN, {}), by_peer.get(f"{name.partition('/')[0]}/plain", {})
    gains = [
        record.tokens_per_s / plain[id_].tokens_per_s
        for id_, record in records.items()
        if id_ in plain and plain[id_].tokens_per_s
    ]
    with_passes = [record for record in records.values() if record.passes]
    n_timed, n_passes = (
        sum(record.timed_tokens for record in with_passes),
        sum(record.passes or 0 for record in with_passes),
    )
    return {
        "tasks": len(records),
        "output_tokens": sum(record.output_tokens for record in records.values()),
        "decode_s": sum(record.decode_s for record in records.values()),
        "tokens_per_s": _speed(records.values()),
        "to_plain": _speed_ratio(records, plain),
        "median_to_plain": median(gains) if gains else None,
        "to_own_plain": _speed_ratio(records, own_plain),
        "copy_to_it": _speed_ratio(by_peer.get(COPY, {}), records),
        "tokens_per_pass": _ratio(n_timed, n_passes) or None,
        "differences": sum(record.first_difference is not None for record in records.values()),
    }


def _speed_ratio(
    records: Mapping[str, PeerRecord], others: Mapping[str, PeerRecord]
) -> float | None:
    """Return the speed of `records` divided by that of `others`, over the tasks of both."""
    both = records.keys() & others.keys()
    speed = _speed(records[id_] for id_ in both)
    return _ratio(speed, _speed(others[id_] for id_ in both)) or None


def _speed(records: Iterable[PeerRecord]) -> float:
    pairs = [(record.timed_tokens, record.decode_s) for record in records]
    return _ratio(sum(tokens for tokens, _ in pairs), sum(seconds for _, seconds in pairs))


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
