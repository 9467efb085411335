"""The KV cells of files that are not in the cache right now, kept in memory.

Knows bytes and token ids; which files matter and when they are swapped is the caller's business.
"""

import contextlib
import hashlib
import json
import os
import tempfile
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from redraft import __version__
from redraft.engine.llama import versions

__all__ = ["DiskCache", "SavedState", "StateCache", "reusable"]

DISK_BUDGET = 4 * 2**30  # bytes, of all models together
MIN_TOKENS = 2048  # a shorter file is prefilled soon, and there are many of them
SUFFIX = ".cells"
DIGEST_SIZE = hashlib.sha256().digest_size


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


class DiskCache:
    """Cells that one model made on this machine, in files that only the user may read.

    `budget` bounds the bytes in `folder`, whichever model made them; the least recently used go
    first. Texts of fewer than `min_tokens` are not kept.
    """

    def __init__(
        self,
        folder: Path,
        model: Path,
        *,
        n_threads: int,
        budget: int = DISK_BUDGET,
        min_tokens: int = MIN_TOKENS,
    ) -> None:
        self._folder = folder
        self._budget = budget
        self._min_tokens = min_tokens
        stat = model.stat()
        # Attention splits a long cache between threads: their number decides how cells round.
        identity = [model.name, stat.st_size, stat.st_mtime_ns, n_threads]
        self._made_by = [*identity, versions(), __version__]

    def get(
        self, tokens: Sequence[int], ends: Sequence[int], row_counts: Sequence[int]
    ) -> bytes | None:
        """The cells of exactly `tokens`, made by passes that ended at `ends`, padded alike.

        A damaged file is removed.
        """
        path = self._path(tokens, ends, row_counts)
        try:
            with path.open("rb") as file:
                digest, cells = file.read(DIGEST_SIZE), file.read()
        except OSError:
            return None
        is_whole = hashlib.sha256(cells).digest() == digest
        with contextlib.suppress(OSError):
            if is_whole:
                os.utime(path)
            else:
                path.unlink()
        return cells if is_whole else None

    def put(
        self, tokens: Sequence[int], ends: Sequence[int], row_counts: Sequence[int], cells: bytes
    ) -> None:
        """Keep what `get` gives; not where it is too small, or larger than the whole budget."""
        size = DIGEST_SIZE + len(cells)
        if len(tokens) < self._min_tokens or size > self._budget:
            return
        path = self._path(tokens, ends, row_counts)
        with contextlib.suppress(OSError):
            if path.exists():
                os.utime(path)
                return
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._make_room(size)
            _write(path, cells)

    def _path(self, tokens: Sequence[int], ends: Sequence[int], row_counts: Sequence[int]) -> Path:
        key = json.dumps([self._made_by, tokens, ends, row_counts])
        return self._folder / (hashlib.sha256(key.encode()).hexdigest() + SUFFIX)

    def _make_room(self, n_bytes: int) -> None:
        """Remove what was used longest ago until `n_bytes` more are within the budget.

        What a killed process left unfinished has the same suffix, and goes when its turn comes.
        """
        found: list[tuple[int, int, Path]] = []
        for path in self._folder.glob(f"*{SUFFIX}"):
            with contextlib.suppress(FileNotFoundError):  # another process makes room too
                stat = path.stat()
                found.append((stat.st_mtime_ns, stat.st_size, path))
        total = n_bytes + sum(size for _, size, _ in found)
        for _, size, path in sorted(found):
            if total <= self._budget:
                return
            path.unlink(missing_ok=True)
            total -= size


def _write(path: Path, cells: bytes) -> None:
    """Make the file whole or not at all. Raises OSError."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, suffix=SUFFIX)
    scratch = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(hashlib.sha256(cells).digest())
            file.write(cells)
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)
