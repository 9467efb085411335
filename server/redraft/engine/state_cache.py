"""The KV cells of files that are not in the cache right now, kept in memory.

Knows bytes and token ids; which files matter and when they are swapped is the caller's business.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["SavedState", "StateCache", "reusable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedState:
    """`cells` is what llama.cpp wrote for `tokens`; `ends` is where its prefill passes ended."""

    tokens: tuple[int, ...]
    ends: tuple[int, ...]
    cells: bytes


class StateCache:
    """Saved states within a budget of bytes; the least recently used go first."""

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._states: OrderedDict[tuple[int, ...], SavedState] = OrderedDict()

    @property
    def size(self) -> int:
        """Bytes of KV cells held."""
        return sum(len(state.cells) for state in self._states.values())

    def clear(self) -> None:
        self._states.clear()

    def put(self, state: SavedState) -> None:
        """Keep a state; one that is larger than the whole budget is not kept."""
        if len(state.cells) > self._budget:
            return
        self._states[state.tokens] = state
        self._states.move_to_end(state.tokens)
        while self.size > self._budget:
            self._states.popitem(last=False)

    def take_best(
        self, wanted: Sequence[int], ends: Sequence[int], *, above: int
    ) -> SavedState | None:
        """Take out the state of which `wanted` can reuse most; None where `above` is as much."""
        scored = [
            (reusable(wanted, ends, state.tokens, state.ends), key)
            for key, state in self._states.items()
        ]
        length, key = max(scored, default=(0, ()))
        return self._states.pop(key) if length > above else None


def reusable(
    wanted: Sequence[int], ends: Sequence[int], have: Sequence[int], have_ends: Sequence[int]
) -> int:
    """How many tokens of `have` a cold prefill of `wanted` would have made the very same way.

    That is the last pass border before the texts part, as long as all borders before it agree.
    """
    limit = min(len(wanted), len(have))
    common = next((i for i in range(limit) if wanted[i] != have[i]), limit)
    kept = 0
    for mine, theirs in zip(have_ends, ends, strict=False):
        if mine != theirs or mine > common:
            break
        kept = mine
    return kept
