"""One decoding: propose rows, take the logits back, commit what the model would have chosen anyway.

`Decoding` is the state machine and does no I/O; `decode` drives one against a `TargetModel`,
`decode_many` several against a `BatchTargetModel`. Greedy or sampled, the tokens equal those of
plain decoding over the same logits, whatever was drafted. Knows nothing of how drafts are made,
how a model runs, cancellation or time.

One pass, after "total = price" was committed and with the chain `* count ;` drafted:

    row      0         1       2        3
    input    price     *       count    ;
    chosen   *         count   +        (never read)

Rows 0 and 1 confirm the guesses `*` and `count`; row 2 corrects the third. Three tokens are
committed in the time of one pass, `commit` keeps rows 0, 1 and 2, and `+` is row 0 of the next.
"""

from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from redraft_lookup.draft import EMPTY, ROOT, Draft, Drafter, Observation, Origin
from redraft_lookup.rows import RowAllocator
from redraft_lookup.sampling import Chooser, Greedy, top_two

__all__ = ["BatchTargetModel", "Decoding", "Limits", "Step", "TargetModel", "decode", "decode_many"]

Finish: TypeAlias = Literal["stop", "length"]
Logits = npt.NDArray[np.float32]


class TargetModel(Protocol):
    """A model that holds one text in its KV cache, up to but without the last committed token."""

    @property
    def max_rows(self) -> int:
        """The most rows that the next pass may have, at least 1."""

    def forward(self, token: int, draft: Draft) -> Logits:
        """Run one verification pass over `token` and the draft behind it.

        Returns (1 + k, n_vocab) logits: after `token`, then after each draft node. The array is
        valid until the next call.
        """

    def commit(self, rows: Sequence[int], aside: Sequence[int] = ()) -> None:
        """Keep these rows of the last pass (0 is `token`, i + 1 is draft node i), drop the rest.

        They are ascending, and each is a child of the one before. aside: rows that follow each
        other, which the next pass, of `token` alone, does not see; the commit of that pass counts
        them on behind its own row, and drops those that it does not keep.
        """


class BatchTargetModel(Protocol):
    """A model that holds several texts, each as a `TargetModel` does, and runs them together."""

    @property
    def max_rows(self) -> int:
        """The most rows that the next pass may have, at least as many as there are texts."""

    def forward(self, texts: Mapping[int, tuple[int, Draft]]) -> Mapping[int, Logits]:
        """Run one pass over each text's last token and the draft behind it.

        Returns for each text the logits that `TargetModel.forward` would.
        """

    def commit(self, rows: Mapping[int, Sequence[int]]) -> None:
        """Keep these rows of each text's part of the last pass, drop the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The end of a text, and what its drafts must not do. `end_ids` end it when chosen.

    max_tokens: at least 1, else ValueError. control_ids: never drafted. min_margin: a choice whose
    two best logits are closer than this after a pass of several rows is made again in a pass of one
    row, because kernels for one row and for many round differently; what stands behind it in a
    chain is kept where that pass agrees. Only for greedy choices: a draw hangs on all logits, and
    the two best are no closer to deciding it than others.
    """

    max_tokens: int
    end_ids: frozenset[int] = frozenset()
    control_ids: frozenset[int] = frozenset()
    min_margin: float = 0.0

    def __post_init__(self) -> None:
        if self.max_tokens < 1:
            raise ValueError(f"max_tokens must be at least 1, not {self.max_tokens}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The outcome of one pass, for whoever decodes.

    tokens: (n,) committed ids, an end token not among them. runners_up: (n,) for each token the
    likeliest other one, and by how many logits it was behind. origins: (n,) the origin of the guess
    that a token confirmed, None where it confirmed none. drafted, accepted: numbers of guesses.
    near_tie_redecode: the pass ended at a near-tie, which the next pass decides alone, so `tokens`
    may be empty.
    """

    tokens: tuple[int, ...]
    runners_up: tuple[tuple[int, float], ...]
    origins: tuple[Origin | None, ...]
    drafted: int
    accepted: int
    near_tie_redecode: bool = False
    finish: Finish | None = None


@dataclass(slots=True)
class Decoding:
    """The state of one text being decoded: `propose` and `receive` take turns.

    prompt: at least one id, else ValueError. `n_tokens` counts what was committed behind it.
    """

    prompt: Sequence[int]
    drafter: Drafter
    limits: Limits
    chooser: Chooser = field(default_factory=Greedy)
    n_tokens: int = 0
    finish: Finish | None = None
    _last: int = field(init=False)
    _draft: Draft = EMPTY
    _min_margin: float = 0.0
    _is_redecoding: bool = False  # the next pass decides a near-tie: no draft
    _behind: tuple[Draft, Logits] | None = None  # of a near-tie: the guesses and their logits
    _aside: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not self.prompt:
            raise ValueError("the prompt is empty: there is no row to decode")
        self._last = self.prompt[-1]
        if isinstance(self.chooser, Greedy):
            self._min_margin = self.limits.min_margin

    def propose(self, max_rows: int) -> tuple[int, Draft]:
        """Return the next pass: the last committed token, and a draft of under `max_rows` nodes."""
        # A pass commits a token beyond its draft, so the last token of the text is never drafted.
        depth = self.limits.max_tokens - self.n_tokens - 1
        budget = 0 if self._is_redecoding else min(max_rows - 1, depth)
        draft = self.drafter.propose(budget) if budget > 0 else EMPTY
        self._draft = draft.prune(max_rows - 1, depth, self.limits.control_ids)
        return self._last, self._draft

    def shorten(self, size: int) -> tuple[int, Draft]:
        """Return the pass that was proposed last, with at most `size` nodes in its draft."""
        self._draft = self._draft.prune(size, len(self._draft), frozenset())
        return self._last, self._draft

    @property
    def aside(self) -> tuple[int, ...]:
        """The rows of the last pass that may be kept by the next one; see `TargetModel.commit`."""
        return self._aside

    def receive(self, logits: Logits) -> tuple[Step, tuple[int, ...]]:
        """Verify the draft against the (1 + k, n_vocab) logits of the pass.

        Returns what was committed, and the rows of the pass that stay in the cache: 0 for the last
        committed token, i + 1 for draft node i. Raises BadLogitsError for unusable logits.
        """
        is_redecoding, n_drafted = self._is_redecoding, len(self._draft)
        self._draft, logits = self._take_behind(logits)
        draft = self._draft
        children = draft.edges()
        path: list[int] = []
        tokens: list[int] = []
        runners_up: list[tuple[int, float]] = []
        node, near_tie_redecode = ROOT, False
        # Down the tree: the model's choice after each node is the child to go on with, if there is
        # one. The first choice that is no child is the token that the pass brings for nothing.
        while True:
            row = logits[node + 1]
            best, second = top_two(row)
            is_alone = is_redecoding and node == ROOT
            if len(draft) and not is_alone and row[best] - row[second] < self._min_margin:
                near_tie_redecode = True
                break
            token = self.chooser.choose(row, len(self.prompt) + self.n_tokens + len(tokens))
            if token in self.limits.end_ids:
                self.finish = "stop"
                break
            tokens.append(token)
            other = second if token == best else best
            runners_up.append((other, float(row[token] - row[other])))
            if self.n_tokens + len(tokens) >= self.limits.max_tokens:
                self.finish = "length"
                break
            node = children.get((node, token), ROOT)
            if node == ROOT:
                break
            path.append(node)
        self._is_redecoding = near_tie_redecode
        self._behind, self._aside = None, ()
        if near_tie_redecode and draft.is_chain and node + 1 < len(draft):
            self._behind = draft.behind(node), logits[node + 2 :].copy()
            self._aside = tuple(range(node + 2, len(draft) + 1))
        return self._commit(tokens, runners_up, path, logits, n_drafted=n_drafted)

    def _take_behind(self, logits: Logits) -> tuple[Draft, Logits]:
        """Return draft and logits of the pass: with what stood behind a near-tie, if it holds.

        Where the pass of one row chose the guess that comes next, it is as if it had drafted all.
        """
        if self._behind is None:
            return self._draft, logits
        draft, behind = self._behind
        position = len(self.prompt) + self.n_tokens
        if self.chooser.choose(logits[0], position) != draft.tokens[0]:
            return self._draft, logits
        return draft, np.concatenate((logits, behind))

    def _commit(
        self,
        tokens: list[int],
        runners_up: list[tuple[int, float]],
        path: list[int],
        logits: Logits,
        *,
        n_drafted: int,
    ) -> tuple[Step, tuple[int, ...]]:
        """Tell the drafter, move on by `tokens`, and return the step and the rows to keep."""
        draft = self._draft
        predictions: tuple[int, ...] = ()
        if self.drafter.wants_predictions:
            predictions = tuple(int(i) for i in np.argmax(logits, axis=1))
        observation = Observation(
            tokens=tuple(tokens), draft=draft, path=tuple(path), predictions=predictions
        )
        self.drafter.observe(observation)
        self.n_tokens += len(tokens)
        self._last = tokens[-1] if tokens else self._last
        rows = (0, *(node + 1 for node in path))
        origins = [draft.origins[node] for node in path]
        step = Step(
            tokens=observation.tokens,
            runners_up=tuple(runners_up),
            origins=(*origins, *(None,) * (len(tokens) - len(origins))),
            drafted=n_drafted,
            accepted=len(path),
            near_tie_redecode=self._is_redecoding,
            finish=self.finish,
        )
        # A near-tie is decided by decoding its own row again: that row must leave the cache.
        return step, rows[:-1] if self._is_redecoding else rows


def decode(target: TargetModel, decoding: Decoding) -> Iterator[Step]:
    """Run passes until the text ends; at each yield the cache holds exactly what is committed.

    The prompt but its last token must be in the target's cache. The caller owns cancellation and
    deadlines: stop iterating between passes.
    """
    while decoding.finish is None:
        token, draft = decoding.propose(target.max_rows)
        step, rows = decoding.receive(target.forward(token, draft))
        target.commit(rows, decoding.aside)
        yield step


def decode_many(
    target: BatchTargetModel, decodings: MutableMapping[int, Decoding], allocator: RowAllocator
) -> Iterator[dict[int, Step]]:
    """Run several texts in shared passes until all end; yields what each pass committed.

    Keys are the target's names for its texts. Ended decodings leave the mapping before the yield,
    and the caller may put in others between two passes. `allocator` decides which guesses get the
    rows of a pass. The tokens of a text do not depend on the others, as far as the target's logits
    do not.
    """
    while decodings:
        proposals = _propose_together(decodings, target.max_rows, allocator)
        logits = target.forward(proposals)
        steps: dict[int, Step] = {}
        kept_rows: dict[int, tuple[int, ...]] = {}
        for key in proposals:
            steps[key], kept_rows[key] = decodings[key].receive(logits[key])
        target.commit(kept_rows)
        n_rows = sum(1 + len(draft) for _, draft in proposals.values())
        allocator.update(n_rows, sum(len(step.tokens) for step in steps.values()))
        for key, step in steps.items():
            if step.finish:
                del decodings[key]
        yield steps


def _propose_together(
    decodings: Mapping[int, Decoding], max_rows: int, allocator: RowAllocator
) -> dict[int, tuple[int, Draft]]:
    """Return what each text puts into a pass of at most `max_rows` rows."""
    equal_share = max_rows // len(decodings)
    survival: dict[int, Sequence[float]] = {}
    for key, decoding in decodings.items():
        _, draft = decoding.propose(max_rows - len(decodings) + 1)
        # Where a drafter does not say how likely its guesses are, an equal part of the rows counts
        # as certain.
        survival[key] = draft.survival or (1.0,) * min(len(draft), equal_share - 1)
    allotted = allocator.allot(survival, max_rows)
    return {key: decoding.shorten(allotted[key]) for key, decoding in decodings.items()}
