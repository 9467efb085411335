"""The contract between a drafter and a decoding: a `Draft` goes out, an `Observation` comes back.

A draft is a token tree: a chain in the ordinary case, with branches where alternatives are worth
their rows. Knows nothing of how drafts are made or verified.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

__all__ = [
    "EMPTY",
    "ROOT",
    "Draft",
    "Drafter",
    "Observation",
    "Origin",
    "PlainDrafter",
    "common_prefix_length",
]

Origin: TypeAlias = Literal["copied", "learned", "lookup", "model", "guess"]

ROOT = -1  # the parent of a draft's first tokens: the last committed token


@dataclass(frozen=True, slots=True)
class Draft:
    """Guessed continuations of the text so far.

    tokens: (k,) ids. parents: (k,) the node each token follows, `ROOT` for the last committed
    token; a parent stands before its children. origins: (k,) where each guess came from. survival:
    (k,) the probability that a guess and all its ancestors are right, where somebody else decides
    how many of them to submit (see `RowAllocator`), else (). Raises ValueError where lengths differ
    or a parent does not stand before its child.

    After `x =`, the guesses `a + b` and `a - 1` share their first token:

        node      0    1    2    3    4
        token     a    +    b    -    1
        parent   -1    0    1    0    3
    """

    tokens: tuple[int, ...]
    parents: tuple[int, ...]
    origins: tuple[Origin, ...]
    survival: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not len(self.tokens) == len(self.parents) == len(self.origins):
            raise ValueError("tokens, parents and origins differ in length")
        if self.survival and len(self.survival) != len(self.tokens):
            raise ValueError("tokens and survival differ in length")
        for node, parent in enumerate(self.parents):
            if not ROOT <= parent < node:
                raise ValueError(f"node {node} has parent {parent}: a parent stands before it")

    @staticmethod
    def chain(
        tokens: Sequence[int], origin: Origin | Sequence[Origin], survival: Sequence[float] = ()
    ) -> "Draft":
        """Return a draft of one continuation, token after token."""
        k = len(tokens)
        origins = (origin,) * k if isinstance(origin, str) else tuple(origin)
        return Draft(tuple(tokens), tuple(range(ROOT, k - 1)), origins, tuple(survival))

    @staticmethod
    def tree(branches: Iterable[Sequence[int]], origin: Origin) -> "Draft":
        """Return a draft of several continuations; a common beginning is drafted once."""
        nodes: dict[tuple[int, int], int] = {}
        for branch in branches:
            node = ROOT
            for token in branch:
                node = nodes.setdefault((node, token), len(nodes))
        parents, tokens = zip(*nodes, strict=True) if nodes else ((), ())
        return Draft(tokens, parents, (origin,) * len(nodes))

    def edges(self) -> dict[tuple[int, int], int]:
        """Return {(parent, token): node}: the way down from `ROOT` and from each node."""
        edges = zip(self.parents, self.tokens, strict=True)
        return {edge: node for node, edge in enumerate(edges)}

    @property
    def is_chain(self) -> bool:
        """True where no two nodes have the same parent."""
        return all(parent == node - 1 for node, parent in enumerate(self.parents))

    def __len__(self) -> int:
        return len(self.tokens)

    def prune(self, size: int, depth: int, forbidden: frozenset[int]) -> "Draft":
        """Return the part of at most `size` nodes and `depth` tokens in a row, earlier nodes first.

        No id of `forbidden` is in it, and nothing that follows one.
        """
        if len(self) <= min(size, depth) and forbidden.isdisjoint(self.tokens):
            return self
        new_nodes: dict[int, int] = {ROOT: ROOT}  # by their old number
        depths: dict[int, int] = {ROOT: 0}
        for node, (token, parent) in enumerate(zip(self.tokens, self.parents, strict=True)):
            is_full = len(new_nodes) > size
            if is_full or parent not in new_nodes or depths[parent] >= depth or token in forbidden:
                continue
            depths[node] = depths[parent] + 1
            new_nodes[node] = len(new_nodes) - 1
        nodes = [node for node in new_nodes if node != ROOT]
        return Draft(
            tuple(self.tokens[node] for node in nodes),
            tuple(new_nodes[self.parents[node]] for node in nodes),
            tuple(self.origins[node] for node in nodes),
            tuple(self.survival[node] for node in nodes if self.survival),
        )

    def behind(self, node: int) -> "Draft":
        """Return what follows `node` of a chain, all of it behind ROOT."""
        start = node + 1
        n_left = len(self) - start
        return Draft(
            self.tokens[start:],
            tuple(range(ROOT, n_left - 1)),
            self.origins[start:],
            self.survival[start:],
        )


EMPTY = Draft((), (), ())


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """The outcome of one pass.

    tokens: (n,) ids committed by the pass, in order; the last one was chosen by the model after
    the last accepted draft token (unless the text ended). path: (a,) accepted draft nodes.
    predictions: (1 + k,) the model's choice after the root and after every draft node, only for
    drafters that want them, else empty.
    """

    tokens: tuple[int, ...]
    draft: Draft
    path: tuple[int, ...]
    predictions: tuple[int, ...] = ()


class Drafter(Protocol):
    """Guesses how the text goes on. A wrong guess costs time, never a wrong token.

    `wants_predictions`: whether observations shall hold the model's choice after every guess, right
    or wrong.
    """

    wants_predictions: bool

    def propose(self, budget: int) -> Draft:
        """Guess at most `budget` >= 0 tokens after the text observed so far."""

    def observe(self, observation: Observation) -> None:
        """Take in the tokens that the last pass committed."""


class PlainDrafter:
    """Never guesses: plain decoding, one token per pass."""

    wants_predictions = False

    def propose(self, budget: int) -> Draft:  # noqa: ARG002 - the protocol's signature
        return EMPTY

    def observe(self, observation: Observation) -> None:
        pass


def common_prefix_length(guesses: Sequence[int], tokens: Sequence[int]) -> int:
    """Return how many leading `guesses` equal `tokens`, up to the end of the shorter one."""
    limit = min(len(guesses), len(tokens))
    return next((i for i in range(limit) if guesses[i] != tokens[i]), limit)
