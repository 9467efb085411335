"""The text in a context's KV cache: prefill with reuse, verification passes, rollback.

Implements `redraft_lookup.Target`. Invariant: between calls, sequence 0 of the context holds
exactly `tokens`, and every other sequence is empty.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from redraft.engine.llama import Context
from redraft.engine.state_cache import DiskCache, SavedState, StateCache, reusable
from redraft.errors import EngineError
from redraft_lookup import Draft
from redraft_lookup.draft import ROOT

__all__ = ["KVCache", "chunk_ends"]


def chunk_ends(lengths: Sequence[int], chunk: int) -> list[int]:
    """Where prefill passes end for a prompt of parts of these `lengths`, ascending.

    A function of the parts alone: how a row rounds depends on how many rows share its pass, so a
    warm start fills the cache with the same bits as a cold one only if both cut at the same places.
    """
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

    The file parts of earlier texts are in `store`, and on `disk` where there is one.
    """

    def __init__(
        self, context: Context, *, chunk: int, store: StateCache, disk: DiskCache | None = None
    ) -> None:
        self.context = context
        self.tokens: list[int] = []
        self.row_counts: tuple[int, ...] = ()
        self._chunk = chunk
        self._store = store
        self._disk = disk
        self._n_file = 0  # tokens of the part that stays while the file stays
        self._ends: list[int] = []  # where the prefill passes that filled the cache ended
        self._pass: tuple[int, ...] = ()
        self._n_rows = 0  # of the last pass, padding included
        self._branches: list[tuple[int, ...]] = []
        self._late: tuple[int, ...] = ()  # committed tokens whose cells the next pass makes

    @property
    def flash_attention(self) -> bool:
        return self.context.flash_attention

    @property
    def max_rows(self) -> int:
        most = self.row_counts[-1] if self.row_counts else self.context.n_batch
        return max(1, min(most, self.context.n_ctx - len(self.tokens)) - len(self._late))

    def keep_to(self, row_counts: tuple[int, ...]) -> None:
        """Pad every pass from now on to one of `row_counts`; none: leave them as they are.

        Cells that were made the other way round differently: they are forgotten.
        """
        if row_counts != self.row_counts:
            self._truncate(0)
            self._store.clear()
            self.row_counts = row_counts

    def rewind(self, n_tokens: int) -> None:
        """Forget the last `n_tokens` tokens."""
        if n_tokens:
            self._truncate(len(self.tokens) - n_tokens)

    def prefill(self, parts: Sequence[Sequence[int]]) -> Iterator[int]:
        """Make the cache hold all of `parts`; yields after each pass how many tokens it holds.

        The first yield says how many were there already. A caller that stops iterating leaves a
        true, shorter cache.
        """
        wanted = [token for part in parts for token in part]
        chunk = self.row_counts[-1] if self.row_counts else self._chunk
        ends = chunk_ends([len(part) for part in parts], chunk)
        kept = self._swap(wanted, ends, len(parts[0]))
        self._truncate(kept)
        self._n_file = len(parts[0])
        yield len(self.tokens)
        for stop in ends:
            start = len(self.tokens)
            if stop <= start:
                continue
            rows = wanted[start:stop]
            self._run_padded(rows, list(range(start, stop)), [(0,)] * len(rows), outputs=False)
            if self._n_rows > len(rows):
                self.context.remove(0, stop)
            self.tokens += rows
            self._ends.append(stop)
            yield stop

    def moved_to(self, context: Context) -> "KVCache":
        """The same text in another, larger context; the old one is closed."""
        text = KVCache(context, chunk=self._chunk, store=self._store, disk=self._disk)
        text.row_counts = self.row_counts
        text._n_file = self._n_file
        self._truncate(self._n_file)
        state = self._saved() if self.tokens else None
        self.context.close()
        if state:
            text.restore(state)
        return text

    def restore(self, state: SavedState) -> None:
        """Make the cache hold what `state` holds; where llama.cpp refuses it, nothing."""
        self._late = ()
        self.context.clear()
        done = self.context.load(0, state.cells)
        self.tokens = list(state.tokens) if done else []
        self._ends = list(state.ends) if done else []
        if not done:
            self.context.clear()

    def forward(self, token: int, draft: Draft) -> npt.NDArray[np.float32]:
        n_past, n_late = len(self.tokens), len(self._late)
        self._pass = (token, *draft.tokens)
        self._branches = _branches(draft, self.context.n_seq)
        for branch in range(1, len(self._branches[0])):
            self.context.share(0, branch, 0, n_past)
        depths = [0]
        for parent in draft.parents:
            depths.append(depths[parent + 1] + 1)
        positions = list(range(n_past, n_past + n_late))
        positions += (n_past + n_late + depth for depth in depths)
        owners = [self._branches[0]] * n_late + self._branches
        rows = [*self._late, *self._pass]
        return self._run_padded(rows, positions, owners, outputs=True)[n_late:]

    def commit(self, rows: Sequence[int]) -> None:
        n_past, n_branches = len(self.tokens), len(self._branches[0])
        late, self._late = self._late, ()
        kept = [*late, *(self._pass[row] for row in rows)]
        n_cells = len(kept)
        if self.row_counts:
            # Cells behind the first row that is dropped would lie behind a gap which later tokens
            # fill: attention would add up in another order, and round in another way. Their tokens
            # are decoded once more, in front of the next pass.
            in_place = next((i for i, row in enumerate(rows) if row != i), len(rows))
            n_cells = len(late) + in_place
            self._late = tuple(kept[n_cells:])
        branch = self._branches[rows[-1]][0] if rows else 0
        if branch:
            self.context.remove(0, n_past)
            self.context.share(branch, 0, n_past, n_past + n_cells)
        for other in range(1, n_branches):
            self.context.remove(other, 0)
        self.tokens += kept[:n_cells]
        dropped = self._n_rows - n_cells
        if dropped and not self.context.remove(0, len(self.tokens)):
            raise EngineError("this model cannot take tokens back: decode it with strategy plain")

    def close(self) -> None:
        """Free the context; the file part stays on the disk where there is one."""
        if self._disk:
            self._put_aside()
        self.context.close()

    def _swap(self, wanted: Sequence[int], ends: Sequence[int], n_file: int) -> int:
        """Bring the most reusable state into the cache; how many of its tokens to keep."""
        kept = reusable(wanted, ends, self.tokens, self._ends)
        if kept and kept * 2 >= self._n_file:
            return kept
        found = self._store.take_best(wanted, ends, above=kept)
        # Another file: this one's cells are put aside, in case it comes back.
        self._put_aside()
        best = reusable(wanted, ends, found.tokens, found.ends) if found else kept
        if best < n_file:
            found = self._on_disk(wanted[:n_file], ends) or found
        if found is None:
            return kept
        self.restore(found)
        return reusable(wanted, ends, self.tokens, self._ends)

    def _put_aside(self) -> None:
        """Keep the file part's cells for later; on disk only if they are all there."""
        self._truncate(self._n_file)
        if not self.tokens:
            return
        state = self._saved()
        self._store.put(state)
        if self._disk and len(state.tokens) == self._n_file:
            self._disk.put(state.tokens, state.ends, self.row_counts, state.cells)

    def _on_disk(self, file: Sequence[int], ends: Sequence[int]) -> SavedState | None:
        """The whole file part as an earlier process left it."""
        if not self._disk:
            return None
        ends = [end for end in ends if end <= len(file)]
        cells = self._disk.get(file, ends, self.row_counts)
        if cells is None:
            return None
        return SavedState(tokens=tuple(file), ends=tuple(ends), cells=cells)

    def _saved(self) -> SavedState:
        cells = self.context.save(0)
        return SavedState(tokens=tuple(self.tokens), ends=tuple(self._ends), cells=cells)

    def _truncate(self, length: int) -> None:
        """Keep `length` tokens at most, and nothing that a pass left behind uncommitted."""
        for branch in range(1, self.context.n_seq):
            self.context.remove(branch, 0)
        length = min(length, len(self.tokens))
        if length == 0 or not self.context.remove(0, length):
            self.context.clear()
            length = 0
        self._late = ()
        del self.tokens[length:]
        self._ends = [end for end in self._ends if end <= length]

    def _run_padded(
        self,
        tokens: list[int],
        positions: list[int],
        sequences: list[tuple[int, ...]],
        *,
        outputs: bool,
    ) -> npt.NDArray[np.float32]:
        """Add rows nobody asked for up to an allowed count; `commit` drops them."""
        n_real = len(tokens)
        n_rows = next((n for n in self.row_counts if n >= n_real), n_real)
        self._n_rows = n_rows
        ends = [at for at, owners in zip(positions, sequences, strict=True) if 0 in owners]
        last = max(ends)
        n_more = n_rows - n_real
        logits = self._run(
            tokens + [tokens[-1]] * n_more,
            positions + list(range(last + 1, last + 1 + n_more)),
            sequences + [(0,)] * n_more,
            n_outputs=n_rows if outputs else 0,
        )
        return logits[:n_real]

    def _run(
        self,
        tokens: list[int],
        positions: list[int],
        sequences: list[tuple[int, ...]],
        *,
        n_outputs: int,
    ) -> npt.NDArray[np.float32]:
        try:
            return self.context.run(tokens, positions, sequences, n_outputs=n_outputs)
        except EngineError:
            # A failed pass may leave finished rows behind. Where they cannot be taken out one by
            # one, the whole text goes.
            self._truncate(len(self.tokens))
            raise


def _branches(draft: Draft, n_seq: int) -> list[tuple[int, ...]]:
    """For the root and each node, the sequences of the leaves below it, ascending.

    Raises EngineError when the tree has more leaves than there are sequences.
    """
    if draft.is_chain:
        return [(0,)] * (1 + len(draft))
    parents = set(draft.parents)
    leaves = [node for node in range(len(draft)) if node not in parents]
    if len(leaves) > n_seq:
        raise EngineError(f"a token tree of {len(leaves)} leaves needs more than {n_seq} sequences")
    owners: list[list[int]] = [[] for _ in range(1 + len(draft))]
    for sequence, leaf in enumerate(leaves):
        node = leaf
        while node != ROOT:
            owners[node + 1].append(sequence)
            node = draft.parents[node]
        owners[0].append(sequence)
    return [tuple(owner) for owner in owners]
