"""Choose the guesses that get rows in a pass: of one text (`best_tree`), or of several.

`RowAllocator` compares the guesses of several texts that share passes. Knows probabilities, costs
and how many tokens earlier passes brought; nothing of where guesses come from.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from redraft_lookup.cost import CostCurve
from redraft_lookup.draft import ROOT, Draft, Origin
from redraft_lookup.hazard import Odds

__all__ = ["Guess", "RowAllocator", "RowPolicy", "best_tree"]

MIN_SURVIVAL = 0.02  # no row is so cheap that a guess of this probability is worth it
# What texts reach together, to begin with: this share of the best rate that the curve allows.
PRIOR_RATE_SHARE = 0.6
PRIOR_PASSES = 8.0  # that the figure above is worth


@dataclass(slots=True)
class Guess:
    """A chain of tokens and, for each length, the probability that all of it is right.

    tokens, origins: (k,). survival: (k,), non-increasing. first_odds: to be told whether the first
    token was right. n_matched: how many tokens a lookup matched, 0 where the guess is not from one.
    """

    tokens: Sequence[int]
    origins: Sequence[Origin]
    survival: npt.NDArray[np.float64]
    first_odds: Odds | None = None
    n_matched: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RowPolicy:
    """The price of a row: T(k), and `rate`, the tokens per second that decoding makes on the whole.

    Rows have to bring more tokens than come at that rate in the seconds that they add to the pass
    (`CostCurve.best_draft`). A rate of None leaves the decision to a `RowAllocator`, which compares
    the guesses of several texts: then all guesses that are not hopeless are submitted to it.
    """

    curve: CostCurve
    rate: float | None

    def count_rows(self, survival: npt.NDArray[np.float64]) -> int:
        """Return how many guesses to submit. survival: (n,) their probabilities, falling."""
        if self.rate is None:
            return int(np.count_nonzero(survival >= MIN_SURVIVAL))
        return self.curve.best_draft(survival, self.rate)


def best_tree(guesses: Sequence[Guess], policy: RowPolicy, *, max_branches: int) -> Draft:
    """Return the likeliest tokens of at least one guess, as many as pay, as one token tree.

    It has at most `max_branches` branches, and a survival for each token where the policy leaves
    the decision to others. Where guesses begin alike their probabilities add up: positions to copy
    from exclude each other. A lookup is another witness of the same guess, so there the larger
    figure counts.
    """
    if len(guesses) == 1:
        only = guesses[0]
        k = policy.count_rows(only.survival)
        survival = only.survival[:k].tolist() if policy.rate is None else ()
        return Draft.chain(only.tokens[:k], only.origins[:k], survival)
    # Copying from position 7 gives `a + b` (0.6), from position 40 `a - 1` (0.3): `a` has 0.9.
    nodes: dict[tuple[int, int], int] = {}
    node_survival: list[float] = []
    origins: list[Origin] = []
    n_branches = 0
    for guess in sorted(guesses, key=lambda guess: -guess.survival.sum()):
        node, n_before = ROOT, len(nodes)
        chain = zip(guess.tokens, guess.survival.tolist(), guess.origins, strict=True)
        for token, survival_here, origin in chain:
            edge = (node, token)
            if survival_here < MIN_SURVIVAL or (edge not in nodes and n_branches == max_branches):
                break
            node = nodes.setdefault(edge, len(nodes))
            if node == len(node_survival):
                node_survival.append(survival_here)
                origins.append(origin)
            else:
                so_far = node_survival[node]
                is_witness = guess.n_matched > 0
                node_survival[node] = (
                    max(so_far, survival_here) if is_witness else so_far + survival_here
                )
        n_branches += len(nodes) > n_before
    return _select_likeliest(list(nodes), node_survival, origins, policy)


def _select_likeliest(
    edges: Sequence[tuple[int, int]],
    survival: Sequence[float],
    origins: Sequence[Origin],
    policy: RowPolicy,
) -> Draft:
    """Return the part of a tree that pays. edges: (parent, token) of each node, parents first."""
    capped: list[float] = []
    for (parent, _), node_survival in zip(edges, survival, strict=True):
        capped.append(node_survival if parent == ROOT else min(node_survival, capped[parent]))
    # No node is likelier than its parent, so the first nodes of this order are a tree.
    order = sorted(range(len(edges)), key=lambda node: (-capped[node], node))
    k = policy.count_rows(np.array([capped[node] for node in order]))
    selected = sorted(order[:k])
    new_nodes = {ROOT: ROOT, **{node: i for i, node in enumerate(selected)}}
    return Draft(
        tuple(edges[node][1] for node in selected),
        tuple(new_nodes[edges[node][0]] for node in selected),
        tuple(origins[node] for node in selected),
        tuple(capped[node] for node in selected if policy.rate is None),
    )


@dataclass(slots=True)
class RowAllocator:
    """Deals out the rows of passes that several texts share.

    All guesses compete: the likeliest come first, whichever text they belong to, and as many get a
    row as pay by what a pass costs and by the rate that the texts have made together so far.
    """

    curve: CostCurve
    _tokens: float = 0.0
    _seconds: float = 0.0

    @property
    def rate(self) -> float:
        """Tokens per second on the whole, by the curve; from a prior to what was seen."""
        rows = self.curve.best_rows
        seconds = PRIOR_PASSES * self.curve.seconds(rows)
        return (PRIOR_PASSES * PRIOR_RATE_SHARE * rows + self._tokens) / (seconds + self._seconds)

    def allot(self, survival: Mapping[int, Sequence[float]], max_rows: int) -> dict[int, int]:
        """Return for each text how many of its guesses to submit.

        survival: for each of one or more texts the falling probabilities of its guesses. A text's
        last token has a row in any case. The rows are at most `max_rows` in all.
        """
        everyones = np.concatenate([np.asarray(own, np.float64) for own in survival.values()])
        ranked = np.sort(everyones)[::-1]
        n_texts = len(survival)
        n_paying = self.curve.best_draft(ranked, self.rate, n_others=n_texts - 1)
        n_guesses = min(n_paying, max_rows - n_texts)
        allotted = dict.fromkeys(survival, 0)
        if n_guesses < 1:
            return allotted
        # A text's figures fall, so its guesses above the cutoff are its first ones. Of those that
        # equal it, the first texts' come first.
        cutoff = ranked[n_guesses - 1]
        for text, own in survival.items():
            allotted[text] = sum(probability > cutoff for probability in own)
        n_left = n_guesses - sum(allotted.values())
        for text, own in survival.items():
            n_equal = min(n_left, sum(probability == cutoff for probability in own))
            allotted[text] += n_equal
            n_left -= n_equal
        return allotted

    def update(self, rows: int, n_tokens: int) -> None:
        """Count a pass of `rows` rows that brought `n_tokens`."""
        self._tokens += n_tokens
        self._seconds += self.curve.seconds(min(rows, self.curve.max_rows))
