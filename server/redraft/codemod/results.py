"""Records of how targets, files and whole runs ended, and their sums.

Knows nothing of models, journals or terminals.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final, Literal, TypeAlias

from redraft.records import Outcome, Refused, Rewritten, Stats, Unchanged
from redraft.syntax import Target
from redraft.text.files import Document

__all__ = ["Declined", "FileResult", "FileState", "Summary", "TargetResult"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Declined:
    """The person at the terminal did not want the edit."""

    stats: Stats


FileState: TypeAlias = Literal[
    "changed",  # there is a new text; `written` says whether the file holds it
    "unchanged",  # nothing to change, or everything was refused or declined
    "rolled_back",  # written, and put back since the verification failed
    "failed",  # the file could not be read, formatted or written, or the model's library failed
]


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetResult:
    """The ending of one target. `line` and `last_line` count from 1."""

    target: Target
    line: int
    last_line: int
    outcome: Outcome | Declined
    is_cached: bool = False  # the reply was known from an earlier run

    @property
    def kind(self) -> str:
        """The outcome in one word, a refusal with its reason."""
        match self.outcome:
            case Rewritten():
                return "rewritten"
            case Unchanged():
                return "unchanged"
            case Declined():
                return "declined"
            case Refused(reason=reason):
                return f"refused: {reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileResult:
    """The ending of one file. `new_text` is there for a changed file only."""

    path: str
    state: FileState
    targets: tuple[TargetResult, ...] = ()
    document: Document | None = None  # as it was read
    new_text: str | None = None
    message: str = ""  # why it failed or was put back
    written: bool = False

    @property
    def kinds(self) -> Mapping[str, int]:
        """The number of targets by `TargetResult.kind`."""
        return Counter(result.kind for result in self.targets)


@dataclass(slots=True, kw_only=True)
class Summary:
    """The sums of a run so far. Times in seconds.

    A field that is called like one of `redraft.records.Stats` is summed over all replies by
    itself; `redraft.codemod.output.summary` puts the sums into words.
    """

    files: Counter[str] = field(default_factory=Counter)  # by FileState
    targets: Counter[str] = field(default_factory=Counter)  # by TargetResult.kind
    prompt_tokens: int = 0
    reused_tokens: int = 0
    output_tokens: int = 0
    accepted: int = 0
    passes: int = 0
    decode_s: float = 0.0
    prefill_s: float = 0.0
    calibration_s: float = 0.0
    draft_s: float = 0.0

    def count(self, state: FileState, kinds: Mapping[str, int]) -> None:
        """Count one more file, which cost nothing this time."""
        self.files[state] += 1
        self.targets.update(kinds)

    def add(self, result: FileResult) -> None:
        """Count one more file; what a cached reply once cost is not counted again."""
        self.count(result.state, result.kinds)
        for stats in (target.outcome.stats for target in result.targets if not target.is_cached):
            for name in _SUMMED:
                setattr(self, name, getattr(self, name) + getattr(stats, name))

    def as_dict(self) -> dict[str, Any]:
        """Return the sums as JSON has them."""
        values = {sum_.name: getattr(self, sum_.name) for sum_ in fields(self)}
        return values | {"files": dict(self.files), "targets": dict(self.targets)}

    @property
    def copied_share(self) -> float:
        """The share of the written tokens that a draft had guessed, 0 to 1."""
        return self.accepted / self.output_tokens if self.output_tokens else 0.0

    @property
    def is_failed(self) -> bool:
        """True where anything was refused, failed or had to be put back."""
        refused = any(kind.startswith("refused") for kind in self.targets)
        return refused or bool(self.files["failed"] or self.files["rolled_back"])


_SUMMED: Final = tuple(
    stat.name for stat in fields(Stats) if stat.name in {sum_.name for sum_ in fields(Summary)}
)
