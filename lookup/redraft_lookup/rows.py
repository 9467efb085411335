"""Which guesses get rows in a pass: for one text (`best_tree`), for several (`RowAllocator`).

Knows probabilities, costs and how many tokens earlier passes brought; nothing of where guesses come
from.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from redraft_lookup.cost import CostCurve
from redraft_lookup.draft import ROOT, Draft, Origin
from redraft_lookup.hazard import Odds

__all__ = ["Guess", "RowAllocator", "RowPolicy", "best_tree"]

UNLIKELY = 0.02  # no row is so cheap that a guess of this probability is worth it
SHARE = 0.6  # of the best rate that the curve allows: what texts reach together, to begin with
PRIOR_PASSES = 8.0  # that the figure above is worth


@dataclass(slots=True)
class Guess:
    """A chain of tokens and, for each length, the probability that all of it is right.

    `first` learns whether the first token was; `matched` counts the tokens that a lookup matched.
    """

    tokens: Sequence[int]
    origins: Sequence[Origin]
    survival: npt.NDArray[np.float64]
    first: Odds | None = None
    matched: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RowPolicy:
    """What makes a row worth while: T(rows), tokens per second on the whole.

    None: that is for somebody else to say, who compares the guesses of several texts.
    """

    curve: CostCurve
    rate: float | None

    def n_rows(self, chances: npt.NDArray[np.float64]) -> int:
        """How many guesses of these falling probabilities to submit."""
        if self.rate is None:
            return int(np.count_nonzero(chances >= UNLIKELY))
        return self.curve.best_draft(chances, self.rate)


def best_tree(guesses: Sequence[Guess], pays: RowPolicy, *, branches: int) -> Draft:
    """The likeliest tokens of several guesses, on at most `branches` branches, as many as pay.

    Where that is for somebody else to say, the draft tells how likely its tokens are.

    Where guesses begin alike their probabilities add up: positions to copy from exclude each
    other. A lookup is another witness of the same guess, so there the larger figure counts.
    """
    if len(guesses) == 1:
        only = guesses[0]
        k = pays.n_rows(only.survival)
        chances = only.survival[:k].tolist() if pays.rate is None else ()
        return Draft.chain(only.tokens[:k], only.origins[:k], chances)
    nodes: dict[tuple[int, int], int] = {}
    likely: list[float] = []
    origins: list[Origin] = []
    n_branches = 0
    for guess in sorted(guesses, key=lambda guess: -guess.survival.sum()):
        node, n_known = ROOT, len(likely)
        chain = zip(guess.tokens, guess.survival.tolist(), guess.origins, strict=True)
        for token, chance, origin in chain:
            edge = (node, token)
            if chance < UNLIKELY or (edge not in nodes and n_branches == branches):
                break
            node = nodes.setdefault(edge, len(nodes))
            if node == len(likely):
                likely.append(chance)
                origins.append(origin)
            else:
                known = likely[node]
                likely[node] = max(known, chance) if guess.matched else known + chance
        n_branches += len(likely) > n_known
    return _likeliest(list(nodes), likely, origins, pays)


def _likeliest(
    edges: Sequence[tuple[int, int]],
    chances: Sequence[float],
    origins: Sequence[Origin],
    pays: RowPolicy,
) -> Draft:
    """The part of a tree that pays. edges: (parent, token) of each node, parents first."""
    capped: list[float] = []
    for (parent, _), chance in zip(edges, chances, strict=True):
        capped.append(chance if parent == ROOT else min(chance, capped[parent]))
    # No node is likelier than its parent, so the first nodes of this order are a tree.
    order = sorted(range(len(edges)), key=lambda node: (-capped[node], node))
    k = pays.n_rows(np.array([capped[node] for node in order]))
    kept = sorted(order[:k])
    names = {ROOT: ROOT, **{node: i for i, node in enumerate(kept)}}
    return Draft(
        tuple(edges[node][1] for node in kept),
        tuple(names[edges[node][0]] for node in kept),
        tuple(origins[node] for node in kept),
        tuple(capped[node] for node in kept if pays.rate is None),
    )


@dataclass(slots=True)
class RowAllocator:
    """T(rows), and the tokens per second that the texts have made together so far."""

    curve: CostCurve
    _tokens: float = 0.0
    _seconds: float = 0.0

    @property
    def rate(self) -> float:
        """Tokens per second on the whole, by the curve; from a guess to what was seen."""
        rows = self.curve.best_rows
        seconds = PRIOR_PASSES * self.curve.seconds(rows)
        return (PRIOR_PASSES * SHARE * rows + self._tokens) / (seconds + self._seconds)

    def allot(self, chances: Mapping[int, Sequence[float]], max_rows: int) -> dict[int, int]:
        """For each text how many of its guesses to submit.

        chances: for each text the falling probabilities of its guesses. A text's last token has a
        row in any case. The rows are at most `max_rows` in all.
        """
        every = np.sort(np.concatenate([np.asarray(one, np.float64) for one in chances.values()]))
        every = every[::-1]
        n_texts = len(chances)
        k = self.curve.best_draft(every, self.rate, n_others=n_texts - 1)
        left = min(k, max_rows - n_texts)
        allotted = dict.fromkeys(chances, 0)
        if left < 1:
            return allotted
        least = every[left - 1]
        for key, own in chances.items():
            allotted[key] = sum(chance > least for chance in own)
        left -= sum(allotted.values())
        for key, own in chances.items():
            n_equal = min(left, sum(chance == least for chance in own))
            allotted[key] += n_equal
            left -= n_equal
        return allotted

    def update(self, rows: int, n_tokens: int) -> None:
        """A pass of `rows` rows brought so many tokens."""
        self._tokens += n_tokens
        self._seconds += self.curve.seconds(min(rows, self.curve.max_rows))
