"""What a drafter proposes and what it is told afterwards.

A draft is a token tree: a chain in the ordinary case, with branches where alternatives are worth
their rows. Knows nothing of how drafts are made or verified.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

__all__ = ["EMPTY", "Draft", "Drafter", "Observation", "Origin", "PlainDrafter"]

Origin: TypeAlias = Literal["copied", "learned", "lookup", "model", "guess"]

ROOT = -1


@dataclass(frozen=True, slots=True)
class Draft:
    """Guessed continuations of the text so far.

    tokens: (k,) ids. parents: (k,) the node each token follows, -1 for the last committed token;
    a parent stands before its children. origins: (k,) where each guess came from. chances: (k,) the
    probabilities that a guess and all before it are right, for whoever chooses among them; () where
    nobody is to.
    """

    tokens: tuple[int, ...]
    parents: tuple[int, ...]
    origins: tuple[Origin, ...]
    chances: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not len(self.tokens) == len(self.parents) == len(self.origins):
            raise ValueError("tokens, parents and origins differ in length")
        if self.chances and len(self.chances) != len(self.tokens):
            raise ValueError("there is not one chance for each token")
        for node, parent in enumerate(self.parents):
            if not ROOT <= parent < node:
                raise ValueError(f"node {node} has parent {parent}: a parent stands before it")

    @staticmethod
    def chain(
        tokens: Sequence[int], origin: Origin | Sequence[Origin], chances: Sequence[float] = ()
    ) -> "Draft":
        """One continuation, token after token."""
        k = len(tokens)
        origins = (origin,) * k if isinstance(origin, str) else tuple(origin)
        return Draft(tuple(tokens), tuple(range(ROOT, k - 1)), origins, tuple(chances))

    @staticmethod
    def tree(branches: Iterable[Sequence[int]], origin: Origin) -> "Draft":
        """Several continuations; what two of them begin with alike is drafted once."""
        nodes: dict[tuple[int, int], int] = {}
        for branch in branches:
            node = ROOT
            for token in branch:
                node = nodes.setdefault((node, token), len(nodes))
        parents, tokens = zip(*nodes, strict=True) if nodes else ((), ())
        return Draft(tokens, parents, (origin,) * len(nodes))

    def edges(self) -> dict[tuple[int, int], int]:
        """(parent, token) -> node: the way down from a node, -1 being the root."""
        edges = zip(self.parents, self.tokens, strict=True)
        return {edge: node for node, edge in enumerate(edges)}

    @property
    def is_chain(self) -> bool:
        return all(parent == node - 1 for node, parent in enumerate(self.parents))

    def __len__(self) -> int:
        return len(self.tokens)

    def limited(self, size: int, depth: int, forbidden: frozenset[int]) -> "Draft":
        """The part of at most `size` nodes and `depth` tokens in a row without `forbidden` ids."""
        if len(self) <= min(size, depth) and forbidden.isdisjoint(self.tokens):
            return self
        kept: dict[int, int] = {ROOT: ROOT}
        depths: dict[int, int] = {ROOT: 0}
        for node, (token, parent) in enumerate(zip(self.tokens, self.parents, strict=True)):
            full = len(kept) > size
            if full or parent not in kept or depths[parent] >= depth or token in forbidden:
                continue
            depths[node] = depths[parent] + 1
            kept[node] = len(kept) - 1
        nodes = [node for node in kept if node != ROOT]
        return Draft(
            tuple(self.tokens[node] for node in nodes),
            tuple(kept[self.parents[node]] for node in nodes),
            tuple(self.origins[node] for node in nodes),
            tuple(self.chances[node] for node in nodes if self.chances),
        )


EMPTY = Draft((), (), ())


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What one pass showed.

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
    """Guesses how the text goes on. A wrong guess costs time, never a wrong token."""

    wants_predictions: bool

    def propose(self, budget: int) -> Draft:
        """At most `budget` >= 0 guessed tokens after the text observed so far."""

    def observe(self, observation: Observation) -> None:
        """Take in the tokens that the last pass committed."""


class PlainDrafter:
    """Never guesses: plain decoding, one token per pass."""

    wants_predictions = False

    def propose(self, budget: int) -> Draft:  # noqa: ARG002 - the protocol's signature
        return EMPTY

    def observe(self, observation: Observation) -> None:
        pass
