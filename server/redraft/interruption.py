"""Stop long work between its steps, where whoever asked for it no longer wants it.

What a reply becomes is worked out by many small functions, none of which knows of requests: they
call `check_interruption` between two steps, and `interruptible` decides what that asks. Holds for
the thread, or task, that entered it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, Literal, TypeAlias

__all__ = ["Interrupted", "InterruptionReason", "check_interruption", "interruptible"]

InterruptionReason: TypeAlias = Literal["cancelled", "timeout"]


class Interrupted(Exception):  # noqa: N818 - no error: somebody wanted it
    """The work was given up; nothing came of it."""

    def __init__(self, reason: InterruptionReason) -> None:
        super().__init__(reason)
        self.reason = reason


def _never() -> None:
    return None


_find_reason: Final[ContextVar[Callable[[], InterruptionReason | None]]] = ContextVar(
    "find_reason", default=_never
)


@contextmanager
def interruptible(find_reason: Callable[[], InterruptionReason | None]) -> Iterator[None]:
    """Let `check_interruption` raise Interrupted inside, once `find_reason` returns one."""
    token = _find_reason.set(find_reason)
    try:
        yield
    finally:
        _find_reason.reset(token)


def check_interruption() -> None:
    """Raise Interrupted where the work that this is a part of is no longer wanted.

    To be called every few milliseconds of work: for each line, or before a text is parsed.
    """
    if reason := _find_reason.get()():
        raise Interrupted(reason)
