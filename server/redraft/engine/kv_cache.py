"""The text in a context's KV cache: prefill with reuse, verification passes, rollback.

Implements `redraft_lookup.TargetModel`. Invariant: between calls, sequence 0 of the context holds
exactly `tokens`, and every other sequence is empty. Knows nothing of requests, nor of why a draft
was made.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from redraft.engine.llama import Context
from redraft.engine.state_cache import DiskCache, SavedState, StateCache, count_reusable
from redraft.errors import EngineError
from redraft_lookup import Draft
from redraft_lookup.draft import ROOT

__all__ = ["KVCache", "chunk_ends"]


def chunk_ends(lengths: Sequence[int], chunk: int) -> list[int]:
    """Return where prefill passes end for a prompt of parts of these `lengths`, ascending.

    A function of the parts alone: how a row rounds depends on how many rows share its pass, so a
    warm start fills the cache with the same bits as a cold one only if both cut at the same places.
    """
    # Parts of 300 and 20 in chunks of 128: [128, 256, 300, 320]. The second part has a pass of its
    # own, so the cells of the first are the same whatever follows.
    ends: list[int] = []
    start = 0
    for length in lengths:
        stop = start + length
        ends += range(start + chunk, stop, chunk)
        if length:
            ends.append(stop)
        start = stop
    return ends


class KVCache:
    """One text and its context. `chunk` is the number of rows of a prefill pass.

    Prefill passes are padded to one of `prefill_counts`, if there are any, and have as many rows as
    the last of them; verification passes are padded to one of `row_counts`, which may change
    between requests. The file parts of earlier texts are in `state_cache`, and in `disk_cache` if
    there is one.
    """

    def __init__(
        self,
        context: Context,
        *,
        chunk: int,
        state_cache: StateCache,
        disk_cache: DiskCache | None = None,
        prefill_counts: tuple[int, ...] = (),
    ) -> None:
        self.context = context
        self.tokens: list[int] = []
        self.row_counts: tuple[int, ...] = ()
        self._prefill_counts = prefill_counts
        self._chunk = prefill_counts[-1] if prefill_counts else chunk
        self._state_cache = state_cache
        self._disk_cache = disk_cache
        self._n_file = 0  # tokens of the part that stays while the file stays
        self._ends: list[int] = []  # where the prefill passes that filled the cache ended
        self._pass: tuple[int, ...] = ()
        self._aside: tuple[int, ...] = ()  # tokens of rows that the last commit set aside
        self._sequences: list[tuple[int, ...]] = []  # of the last pass's rows
        self._pending: tuple[int, ...] = ()  # committed tokens whose cells the next pass makes

    @property
    def flash_attention(self) -> bool:
        return self.context.flash_attention

    @property
    def max_rows(self) -> int:
        limit = self.row_counts[-1] if self.row_counts else self.context.n_batch
        n_free = self.context.n_ctx - len(self.tokens)
        return max(1, min(limit, n_free) - len(self._pending))

    def rewind(self, n_tokens: int) -> None:
        """Remove the last `n_tokens` tokens."""
        if n_tokens:
            self._truncate(len(self.tokens) - n_tokens)

    def prefill(self, parts: Sequence[Sequence[int]]) -> Iterator[int]:
        """Make the cache hold all of `parts`; yields after each pass how many tokens it holds.

        The first yield tells how many were there already. A caller that stops iterating leaves a
        valid, shorter cache.
        """
        wanted = [token for part in parts for token in part]
        ends = chunk_ends([len(part) for part in parts], self._chunk)
        self._truncate(self._load_best(wanted, ends, len(parts[0])))
        self._n_file = len(parts[0])
        yield len(self.tokens)
        for stop in ends:
            start = len(self.tokens)
            if stop <= start:
                continue
            rows = wanted[start:stop]
            self._run(rows, list(range(start, stop)), [(0,)] * len(rows), outputs=False)
            self.tokens += rows
            self._ends.append(stop)
            yield stop

    def take_file(self) -> SavedState | None:
        """Free the context and return its file part, which `restore` puts into another; if any."""
        self._truncate(self._n_file)
        state = self._save() if self.tokens else None
        self.context.close()
        return state

    def restore(self, state: SavedState) -> None:
        """Make the cache hold the file part `state`, or nothing if llama.cpp refuses it."""
        self._pending = self._aside = ()
        self._n_file = len(state.tokens)
        self.context.clear()
        is_loaded = self.context.load(0, state.cells)
        self.tokens = list(state.tokens) if is_loaded else []
        self._ends = list(state.ends) if is_loaded else []
        if not is_loaded:
            self.context.clear()

    def forward(self, token: int, draft: Draft) -> npt.NDArray[np.float32]:
        n_past, n_pending = len(self.tokens), len(self._pending)
        self._pass = (token, *draft.tokens)
        self._sequences = _assign_sequences(draft, self.context.n_texts)
        # The root is in the sequences of all leaves: each of them needs the text before it.
        for sequence in self._sequences[0][1:]:
            self.context.share(0, sequence, 0, n_past)
        # Siblings have the same position: it counts the tokens above a node, not the rows.
        depths = [0]
        for parent in draft.parents:
            depths.append(depths[parent + 1] + 1)
        positions = list(range(n_past, n_past + n_pending))
        positions += (n_past + n_pending + depth for depth in depths)
        sequences = [self._sequences[0]] * n_pending + self._sequences
        rows = [*self._pending, *self._pass]
        return self._run(rows, positions, sequences, outputs=True)[n_pending:]

    def commit(self, rows: Sequence[int], aside: Sequence[int] = ()) -> None:
        n_past = len(self.tokens)
        n_pending = len(self._pending)
        known = self._take_back_aside()
        committed = [*self._pending, *(known[row] for row in rows)]
        n_cells = len(committed)
        self._pending = ()
        if self.row_counts:
            # Only rows that follow each other from the first on keep their cells. Behind a dropped
            # row there would be a gap, which later tokens fill: attention would add up in another
            # order, and round differently. The tokens of those rows are decoded once more, in front
            # of the next pass. Of rows 0, 1, 4 the third is pending.
            n_in_place = next((i for i, row in enumerate(rows) if row != i), len(rows))
            n_cells = n_pending + n_in_place
            self._pending = tuple(committed[n_cells:])
        # The path that was kept becomes sequence 0; the other sequences are empty again.
        sequence = self._sequences[rows[-1]][0] if rows else 0
        if sequence:
            self.context.remove(0, n_past)
            self.context.share(sequence, 0, n_past, n_past + n_cells)
        for branch in self._sequences[0][1:]:
            self.context.remove(branch, 0)
        self.tokens += committed[:n_cells]
        if aside:
            start = n_past + n_pending
            self.context.share(0, self._aside_sequence, start + aside[0], start + aside[-1] + 1)
            self._aside = tuple(known[row] for row in aside)
        n_dropped = n_pending + len(known) - n_cells
        if n_dropped and not self.context.remove(0, len(self.tokens)):
            raise EngineError("this model cannot take tokens back: decode it with strategy plain")

    @property
    def _aside_sequence(self) -> int:
        return self.context.n_texts - 1

    def _take_back_aside(self) -> tuple[int, ...]:
        """Put what was set aside behind the last pass; return the tokens of all its rows then."""
        known = (*self._pass, *self._aside)
        if self._aside:
            start = len(self.tokens) + len(self._pending)
            self.context.share(self._aside_sequence, 0, start + len(self._pass), start + len(known))
            self.context.remove(self._aside_sequence, 0)
            self._sequences += [(0,)] * len(self._aside)
            self._aside = ()
        return known

    def close(self) -> None:
        """Free the context; the file part stays on disk if there is a disk cache."""
        self._keep(StateCache(0))  # memory is about to go
        self.context.close()

    def _load_best(self, wanted: Sequence[int], ends: Sequence[int], n_file: int) -> int:
        """Put the most reusable state into the cache; return how many of its tokens to keep."""
        n_kept = count_reusable(wanted, ends, self.tokens, self._ends)
        # Half of the file part is still of use: this is the same file, edited.
        if n_kept and n_kept * 2 >= self._n_file:
            return n_kept
        best = self._state_cache.pop_best(wanted, ends, above=n_kept)
        # Another file is prefilled: this one's cells are saved, in case it comes back.
        self.stash()
        n_best = count_reusable(wanted, ends, best.tokens, best.ends) if best else n_kept
        if self._disk_cache and n_best < n_file:
            # An earlier process may have left the whole file part.
            file, file_ends = wanted[:n_file], [end for end in ends if end <= n_file]
            cells = self._disk_cache.get(file, file_ends, self._prefill_counts)
            if cells is not None:
                best = SavedState(tokens=tuple(file), ends=tuple(file_ends), cells=cells)
        if best is None:
            return n_kept
        self.restore(best)
        return count_reusable(wanted, ends, self.tokens, self._ends)

    def stash(self) -> None:
        """Save the file part's cells for later; on disk only if they are complete."""
        self._keep(self._state_cache)

    def _keep(self, memory: StateCache) -> None:
        """Save the file part's cells to `memory` and on disk; what neither wants is not read."""
        self._truncate(self._n_file)
        if not self.tokens:
            return
        n_bytes = self.context.saved_size(0)
        disk = self._disk_cache if len(self.tokens) == self._n_file else None
        if disk and not disk.wants(self.tokens, self._ends, self._prefill_counts, n_bytes):
            disk = None
        if not disk and not memory.takes(n_bytes):
            return
        memory.make_room(n_bytes)
        state = self._save()
        memory.put(state)
        if disk:
            disk.put(state.tokens, state.ends, self._prefill_counts, state.cells)

    def _save(self) -> SavedState:
        cells = self.context.save(0)
        return SavedState(tokens=tuple(self.tokens), ends=tuple(self._ends), cells=cells)

    def _truncate(self, length: int) -> None:
        """Keep `length` tokens at most, and nothing that a pass left behind uncommitted."""
        for sequence in range(1, self.context.n_seq):
            self.context.remove(sequence, 0)
        length = min(length, len(self.tokens))
        # A recurrent state cannot drop its last tokens: it goes as a whole.
        if length == 0 or not self.context.remove(0, length):
            self.context.clear()
            length = 0
        self._pending = self._aside = ()
        del self.tokens[length:]
        self._ends = [end for end in self._ends if end <= length]

    def _run(
        self,
        tokens: list[int],
        positions: list[int],
        sequences: list[tuple[int, ...]],
        *,
        outputs: bool,
    ) -> npt.NDArray[np.float32]:
        """Run a pass that is padded to an allowed row count."""
        row_counts = self.row_counts if outputs else self._prefill_counts
        try:
            return self.context.run_padded(
                tokens, positions, sequences, row_counts=row_counts, outputs=outputs
            )
        except EngineError:
            # A failed pass may leave finished rows behind. If they cannot be removed one by one,
            # the whole text goes.
            self._truncate(len(self.tokens))
            raise


def _assign_sequences(draft: Draft, n_texts: int) -> list[tuple[int, ...]]:
    """Return for the root and each node the sequences of the leaves below it, ascending.

    A row attends to the cells of its own sequences, so each leaf sees its path alone. Raises
    EngineError if the tree has more leaves than there are sequences.
    """
    if draft.is_chain:
        return [(0,)] * (1 + len(draft))
    # The tree a-(b, c) has the leaves b and c: root (0, 1), a (0, 1), b (0,), c (1,).
    parents = set(draft.parents)
    leaves = [node for node in range(len(draft)) if node not in parents]
    if len(leaves) > n_texts:
        raise EngineError(
            f"a token tree of {len(leaves)} leaves needs more than {n_texts} sequences"
        )
    sequences: list[list[int]] = [[] for _ in range(1 + len(draft))]
    for sequence, leaf in enumerate(leaves):
        node = leaf
        while node != ROOT:
            sequences[node + 1].append(sequence)
            node = draft.parents[node]
        sequences[0].append(sequence)
    return [tuple(owners) for owners in sequences]
