"""How targets, files and whole runs ended.

Records and sums only; nothing of models, journals or terminals.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Literal, TypeAlias

from redraft.records import Outcome, Refused, Rewritten, Stats, Unchanged
from redraft.syntax import Target
from redraft.text.files import Document

__all__ = ["Declined", "Ending", "FileResult", "State", "Summary", "TargetResult", "kind_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Declined:
    """The person at the terminal did not want the edit."""

    stats: Stats


Ending: TypeAlias = Outcome | Declined

State: TypeAlias = Literal[
    "changed",  # there is a new text; `written` says whether the file holds it
    "unchanged",  # nothing to change, or everything was refused or declined
    "rolled_back",  # written, and put back since the verification failed
    "failed",  # the file could not be read, formatted or written, or the model's library failed
]


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetResult:
    """How one target ended. `line` and `last_line` count from 1."""

    target: Target
    line: int
    last_line: int
    ending: Ending
    cached: bool = False  # the reply was known from an earlier run


@dataclass(frozen=True, slots=True, kw_only=True)
class FileResult:
    """How one file ended. `new_text` is there for a changed file only."""

    path: str
    state: State
    targets: tuple[TargetResult, ...] = ()
    document: Document | None = None  # as it was read
    new_text: str | None = None
    message: str = ""  # why it failed or was put back
    written: bool = False

    @property
    def kinds(self) -> Mapping[str, int]:
        """How many targets ended in which way, as `kind_of` says."""
        return Counter(kind_of(result.ending) for result in self.targets)


def kind_of(ending: Ending) -> str:
    """One word for an ending, refusals with their reason."""
    match ending:
        case Rewritten():
            return "rewritten"
        case Unchanged():
            return "unchanged"
        case Declined():
            return "declined"
        case Refused(reason=reason):
            return f"refused: {reason}"


@dataclass(slots=True, kw_only=True)
class Summary:
    """The sums of a run so far. Time in seconds, of decoding and of prefill."""

    files: Counter[str] = field(default_factory=Counter)  # by State
    targets: Counter[str] = field(default_factory=Counter)  # by `kind_of`
    prompt_tokens: int = 0
    reused_tokens: int = 0
    output_tokens: int = 0
    accepted: int = 0
    passes: int = 0
    decode_s: float = 0.0
    prefill_s: float = 0.0

    def count(self, state: State, kinds: Mapping[str, int]) -> None:
        """Count one more file, which cost nothing this time."""
        self.files[state] += 1
        self.targets.update(kinds)

    def add(self, result: FileResult) -> None:
        """Count one more file; what a known reply once cost is not counted again."""
        self.count(result.state, result.kinds)
        for stats in (one.ending.stats for one in result.targets if not one.cached):
            self.prompt_tokens += stats.prompt_tokens
            self.reused_tokens += stats.reused_tokens
            self.output_tokens += stats.output_tokens
            self.accepted += stats.accepted
            self.passes += stats.passes
            self.decode_s += stats.decode_s
            self.prefill_s += stats.prefill_s

    def as_dict(self) -> dict[str, object]:
        """The sums as JSON has them."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return values | {"files": dict(self.files), "targets": dict(self.targets)}

    @property
    def copied_share(self) -> float:
        """The share of the written tokens that a draft had guessed, 0 to 1."""
        return self.accepted / self.output_tokens if self.output_tokens else 0.0

    @property
    def is_failed(self) -> bool:
        """Whether anything was refused, failed or had to be put back."""
        refused = any(kind.startswith("refused") for kind in self.targets)
        return refused or bool(self.files["failed"] or self.files["rolled_back"])
