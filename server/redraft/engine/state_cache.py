"""The KV cells of files that are not in the context right now, in memory and on disk.

Knows bytes, token ids and files; which text is stored, and when, is the caller's business. The
folder on disk is a cache: whatever is wrong with it costs time, never an error and never half a
file.
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

__all__ = ["DiskCache", "SavedState", "StateCache", "count_reusable"]

DISK_BUDGET = 4 * 2**30  # bytes, of all models together
MIN_TOKENS = 2048  # shorter files are prefilled soon, and there are many of them
SUFFIX = ".cells"
DIGEST_SIZE = hashlib.sha256().digest_size


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedState:
    """`cells` is what llama.cpp wrote for `tokens`; `ends` is where its prefill passes ended."""

    tokens: tuple[int, ...]
    ends: tuple[int, ...]
    cells: bytearray


def count_reusable(
    wanted: Sequence[int], ends: Sequence[int], cached: Sequence[int], cached_ends: Sequence[int]
) -> int:
    """Return how many tokens of `cached` a cold prefill of `wanted` would have made bit by bit.

    That is up to the last pass end before the texts differ, if all pass ends before it agree.
    """
    # Passes of 4, wanted [a b c d | e f X], cached [a b c d | e f g h]: 4 of the 6 equal tokens.
    # The cells of e and f come from a pass of 4 rows; in one of 3 they may be rounded differently.
    limit = min(len(wanted), len(cached))
    n_common = next((i for i in range(limit) if wanted[i] != cached[i]), limit)
    n_reusable = 0
    for end, cached_end in zip(ends, cached_ends, strict=False):
        if end != cached_end or end > n_common:
            break
        n_reusable = end
    return n_reusable


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

    def takes(self, n_bytes: int) -> bool:
        """Return True where `put` keeps a state of so many bytes: up to the whole budget."""
        return n_bytes <= self._budget

    def put(self, state: SavedState) -> None:
        """Keep a state that is not too large."""
        if not self.takes(len(state.cells)):
            return
        self._states.pop(state.tokens, None)
        self.make_room(len(state.cells))
        self._states[state.tokens] = state

    def make_room(self, n_bytes: int) -> None:
        """Drop states until `n_bytes` more are within the budget; none for what it never takes."""
        while self.takes(n_bytes) and self.size + n_bytes > self._budget:
            self._states.popitem(last=False)

    def pop_best(
        self, wanted: Sequence[int], ends: Sequence[int], *, above: int
    ) -> SavedState | None:
        """Remove and return the state of which `wanted` can reuse most tokens.

        None if that is no more than `above`.
        """
        scores = [
            (count_reusable(wanted, ends, state.tokens, state.ends), key)
            for key, state in self._states.items()
        ]
        n_reusable, key = max(scores, default=(0, ()))
        return self._states.pop(key) if n_reusable > above else None


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
    ) -> bytearray | None:
        """Return the cells of exactly `tokens`, from passes that ended at `ends`, padded alike.

        A damaged file is removed.
        """
        path = self._path(tokens, ends, row_counts)
        try:
            with path.open("rb") as file:
                digest = file.read(DIGEST_SIZE)
                cells = bytearray(max(0, os.fstat(file.fileno()).st_size - DIGEST_SIZE))
                file.readinto(cells)
        except OSError:
            return None
        is_whole = hashlib.sha256(cells).digest() == digest
        with contextlib.suppress(OSError):
            if is_whole:
                os.utime(path)  # the time of the last use: access times are off on most systems
            else:
                path.unlink()
        return cells if is_whole else None

    def wants(
        self, tokens: Sequence[int], ends: Sequence[int], row_counts: Sequence[int], n_bytes: int
    ) -> bool:
        """Return True where `put` writes `n_bytes` of cells.

        That is, neither too few tokens nor too many bytes, and not there yet: what is there counts
        as used now.
        """
        if len(tokens) < self._min_tokens or DIGEST_SIZE + n_bytes > self._budget:
            return False
        try:
            os.utime(self._path(tokens, ends, row_counts))
        except OSError:
            return True
        return False

    def put(
        self,
        tokens: Sequence[int],
        ends: Sequence[int],
        row_counts: Sequence[int],
        cells: bytearray,
    ) -> None:
        """Keep what `get` returns, where it `wants` it."""
        if not self.wants(tokens, ends, row_counts, len(cells)):
            return
        size = DIGEST_SIZE + len(cells)
        path = self._path(tokens, ends, row_counts)
        with contextlib.suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._evict(size)
            # Whole or not at all: another process may read the folder meanwhile.
            descriptor, name = tempfile.mkstemp(dir=self._folder, suffix=SUFFIX)
            scratch = Path(name)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(hashlib.sha256(cells).digest())
                    file.write(cells)
                scratch.replace(path)
            finally:
                scratch.unlink(missing_ok=True)

    def _path(self, tokens: Sequence[int], ends: Sequence[int], row_counts: Sequence[int]) -> Path:
        key = json.dumps([self._made_by, tokens, ends, row_counts])
        return self._folder / (hashlib.sha256(key.encode()).hexdigest() + SUFFIX)

    def _evict(self, n_bytes: int) -> None:
        """Remove the least recently used files until `n_bytes` more are within the budget.

        What a killed process left unfinished has the same suffix, and goes when its turn comes.
        """
        files: list[tuple[int, int, Path]] = []
        for path in self._folder.glob(f"*{SUFFIX}"):
            with contextlib.suppress(FileNotFoundError):  # another process may evict too
                stat = path.stat()
                files.append((stat.st_mtime_ns, stat.st_size, path))
        total = n_bytes + sum(size for _, size, _ in files)
        for _, size, path in sorted(files):
            if total <= self._budget:
                return
            path.unlink(missing_ok=True)
            total -= size
