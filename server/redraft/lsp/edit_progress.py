"""An edit that is under way: what it is about, how far it is, and how that is told.

Knows nothing of how an edit is made. Times in seconds of the monotonic clock.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from redraft.lsp.client import WorkDoneProgress
from redraft.lsp.contract import EditProgress, EditResult, Ending, TracedEdit
from redraft.lsp.documents import OpenDocument, Snapshot
from redraft.lsp.params import EditCommand
from redraft.records import Progress

__all__ = ["RunningEdit", "throttled"]

_REPORT_S: Final = 0.1  # between two progress reports


@dataclass(kw_only=True, eq=False)
class RunningEdit:
    """An edit under way. `reason` says why it was cancelled, if it was."""

    id: str
    asked: EditCommand
    document: OpenDocument
    snapshot: Snapshot
    bar: WorkDoneProgress
    began: float = field(default_factory=time.monotonic)
    task: asyncio.Task[EditResult] | None = None
    reason: str = ""
    is_sent: bool = False  # what was sent cannot be called back
    _progress: Progress | None = None
    _decode_began: tuple[float, int] | None = None  # when, and how many tokens there were

    @property
    def label(self) -> str:
        """What the editor's undo list calls the edit."""
        first_line = self.asked.instruction.strip().partition("\n")[0]
        return f"redraft: {self.asked.title or first_line[:60]}"

    @property
    def standing(self) -> EditProgress:
        """How far it is, in the names of the wire."""
        progress = self._progress
        return {
            "id": self.id,
            "uri": self.document.uri,
            "phase": progress.phase if progress else "waiting",
            "done": progress.done if progress else 0,
            "expected": progress.expected if progress else 0,
            "tokensPerSecond": self._speed(),
        }

    def ended(self, task: asyncio.Task[EditResult]) -> TracedEdit:
        """How it ended and what it cost; `task` is its own, and done."""
        outcome: Ending = "cancelled"
        how: Mapping[str, Any] = {}
        if not task.cancelled():
            error = task.exception()
            how = task.result() if error is None else getattr(error, "data", None) or {}
            outcome = "failed" if error else task.result()["outcome"]
        return {
            **self.standing,
            "outcome": outcome,
            "reason": how.get("reason"),
            "seconds": time.monotonic() - self.began,
            "stats": how.get("stats"),
        }

    def cancel(self, reason: str) -> None:
        """End it, unless the client has the edit already."""
        if self.task and not self.is_sent:
            self.reason = self.reason or reason
            self.task.cancel()

    def note(self, progress: Progress) -> None:
        """Take in and display where the model is."""
        if progress.phase == "decode" and self._decode_began is None:
            self._decode_began = (time.monotonic(), progress.done)
        self._progress = progress
        self.bar.report(_percentage(progress), self._told(progress))

    def _speed(self) -> float:
        """Tokens a second since the first report of decoding."""
        if self._progress is None or self._decode_began is None:
            return 0.0
        since, n_then = self._decode_began
        spent = time.monotonic() - since
        return max(0, self._progress.done - n_then) / spent if spent else 0.0

    def _told(self, progress: Progress) -> str:
        if progress.phase == "prefill":
            return f"reading, {progress.done} of {progress.expected} tokens"
        speed = self._speed()
        more = f", {speed:.0f} tokens/s" if speed else ""
        return f"writing, {progress.done} of about {progress.expected} tokens{more}"


def throttled(report: Callable[[Progress], object]) -> Callable[[Progress], None]:
    """`report`, but only now and then; the first step of each phase at once."""
    last = 0.0
    phase = ""

    def relay(progress: Progress) -> None:
        nonlocal last, phase
        now = time.monotonic()
        if progress.phase != phase or now - last >= _REPORT_S:
            last, phase = now, progress.phase
            report(progress)

    return relay


def _percentage(progress: Progress) -> int:
    """Reading counts for a third: nobody knows beforehand how long the two phases take."""
    share = min(1.0, progress.done / max(1, progress.expected))
    return round(33 * share if progress.phase == "prefill" else 33 + 66 * share)
