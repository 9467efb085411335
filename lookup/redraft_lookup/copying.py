"""Copy-run drafting: the next tokens are guessed from the text being edited.

The answer to "rewrite this" is mostly the source again. The drafter keeps a pointer into the
source, drafts from it from the first token on, finds it again within a few tokens of each edit
(`redraft_lookup.align`), carries what was edited into later drafts (`redraft_lookup.substitute`),
falls back on what stood anywhere before (`redraft_lookup.prompt_lookup`), and submits as many
tokens as the measured cost of a pass makes worth while (`redraft_lookup.cost`).
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from redraft_lookup.align import Aligner
from redraft_lookup.cost import CostCurve
from redraft_lookup.draft import EMPTY, Draft, Observation, Origin
from redraft_lookup.hazard import (
    COPY_RUNS,
    LOOKUP_RUNS,
    Hazard,
    first_of_copy,
    first_of_lookup,
)
from redraft_lookup.prompt_lookup import SuffixIndex
from redraft_lookup.rows import Guess, RowPolicy, best_tree
from redraft_lookup.substitute import RewrittenSource, Substitution, Vocabulary, learn

__all__ = ["CopyDrafter"]

N_CANDIDATES = 4
SURE = 16  # the age of a run beside which no other guess is looked for
OLD = 64  # the age of the run that a text starts with: edits seldom begin at once
# What a second is worth, in tokens, as a share of the best rate the cost curve allows. Edits decode
# at some 0.7 of it; the lower figure spends a little time on saving many passes.
RATE = 0.34


class CopyDrafter:
    """Drafts from `source`, ids that the answer is expected to repeat in edited form.

    The source is tokenised on its own from a line start, as the model will write it. `curve` gives
    the cost of a pass. A draft has at most `branches` alternatives, and as many tokens as pay. In
    passes `shared` with other texts it has all that are likely, and says how likely they are. An
    empty source leaves the suffix lookup over prompt and answer.
    """

    wants_predictions = False

    def __init__(
        self,
        prompt: Sequence[int],
        source: Sequence[int],
        *,
        curve: CostCurve,
        vocabulary: Vocabulary,
        shared: bool = False,
        branches: int = 1,
    ) -> None:
        best = curve.best_rows / curve.seconds(curve.best_rows)
        rate = max(RATE * best, 1 / curve.seconds(1))
        self._pays = RowPolicy(curve=curve, rate=None if shared else rate)
        self._branches = branches
        self._vocabulary = vocabulary
        self._source = RewrittenSource(source, vocabulary)
        self._aligner = Aligner(self._source.ids)
        self._index = SuffixIndex(prompt)
        self._run = OLD  # tokens copied since the last edit
        self._gap: tuple[int, int] | None = None  # source and text position where an edit began
        self._breaks = Hazard(COPY_RUNS)
        self._first_copies = first_of_copy()
        self._first_lookups = first_of_lookup()
        self._pending: list[Guess] = []
        self._lookup_breaks = Hazard(LOOKUP_RUNS)

    def propose(self, budget: int) -> Draft:
        budget = min(budget, self._pays.curve.max_rows - 1)
        if budget < 1:
            return EMPTY
        sure = self._aligner.certain is not None and self._run >= SURE
        copies = self._copies(budget)
        lookup = [] if sure and copies else self._lookup(budget)
        self._pending = copies[:1] + lookup
        guesses = copies + lookup
        return best_tree(guesses, self._pays, branches=self._branches) if guesses else EMPTY

    def observe(self, observation: Observation) -> None:
        tokens = observation.tokens
        if tokens:
            self._account(tokens)
        self._index.extend(tokens)
        done = 0
        while done < len(tokens):
            n_copied = self._copied(tokens[done:])
            done += n_copied
            if not n_copied:
                self._written(tokens[done], len(self._index) - len(tokens) + done)
                done += 1

    def _copies(self, budget: int) -> list[Guess]:
        """The source from the likeliest positions on; what they have in common first."""
        candidates = self._aligner.candidates(N_CANDIDATES)
        ids = self._source.ids
        starts = [(start, chance) for start, chance in candidates if start < len(ids)]
        if not starts:
            return []
        next_token = ids[starts[0][0]]
        first, scale = None, 1.0
        if self._aligner.certain is None:
            agreed = sum(chance for start, chance in starts if ids[start] == next_token)
            first = self._first_copies[round(10 * min(agreed, 1.0))]
            scale = first.mean / agreed
        guesses = [self._copy(start, chance * scale, budget) for start, chance in starts]
        guesses[0].first = first
        return guesses

    def _copy(self, start: int, chance: float, budget: int) -> Guess:
        """The source from `start` on, which is right with probability `chance`."""
        source = self._source
        tokens = source.ids[start : start + budget]
        owners = source.owners[start : start + budget]
        keep = self._breaks.going_on(self._run, len(tokens))
        if self._aligner.certain is None:
            keep[0] = 1.0  # `chance` is the aligner's figure for the first token
        for i, owner in enumerate(owners):
            if owner is not None and (i == 0 or owners[i - 1] is not owner):
                keep[i] = owner.probability
        origins: list[Origin] = ["learned" if owner else "copied" for owner in owners]
        survival = np.asarray(chance * np.cumprod(keep), np.float64)
        return Guess(tokens, origins, survival)

    def _lookup(self, budget: int) -> list[Guess]:
        """What followed the longest earlier occurrence of the text's end."""
        match = self._index.longest()
        if match is None:
            return []
        tokens = list(self._index.tokens[match.position : match.position + budget])
        first = self._first_lookups[match.length]
        keep = self._lookup_breaks.going_on(match.length, len(tokens))
        keep[0] = first.mean
        survival = np.asarray(np.cumprod(keep), np.float64)
        return [Guess(tokens, ["lookup"] * len(tokens), survival, first, match.length)]

    def _account(self, tokens: Sequence[int]) -> None:
        """Learn from what became of the guesses, submitted or not."""
        for guess in self._pending:
            limit = min(len(guess.tokens), len(tokens))
            n = next((i for i in range(limit) if guess.tokens[i] != tokens[i]), limit)
            if guess.first:
                guess.first.update(right=n > 0)
            if guess.matched and n:
                self._lookup_breaks.survived(guess.matched + 1, n - 1)
                if n < limit:
                    self._lookup_breaks.broke(guess.matched + n)
        self._pending = []

    def _copied(self, tokens: Sequence[int]) -> int:
        """Take in the leading tokens that go on copying where the pointer stands; how many."""
        position = self._aligner.certain
        if position is None:
            return 0
        ids = self._source.ids
        limit = min(len(tokens), len(ids) - position)
        n = next((i for i in range(limit) if tokens[i] != ids[position + i]), limit)
        if n:
            self._breaks.survived(self._run, n)
            self._run += n
            self._aligner.advance(n)
            for owner in _ended(self._source.owners[position : position + n + 1]):
                owner.hits += 1
            if self._source.is_short(position + n):
                self._rewrite(self._source.offsets[position + n], self._source.substitutions)
        return n

    def _written(self, token: int, place: int) -> None:
        """Take in one token, at `place` of the text, that is not simply copied on."""
        position = self._aligner.certain
        if position is not None and position < len(self._source.ids):
            self._breaks.broke(self._run)
            if self._refuted(position, token):
                return
            position = self._aligner.certain  # of a source that may have begun anew
        if position is not None:
            self._run = 0
            self._gap = (position, place)
        self._aligner.emit(token)
        if self._aligner.certain is not None:
            self._resume(self._aligner.certain, place + 1)

    def _refuted(self, position: int, token: int) -> bool:
        """Whether a substitution was wrong here and the original goes on with `token`."""
        source = self._source
        owner = source.owners[position]
        if owner is None:
            return False
        owner.misses += 1
        start = source.offsets[position]
        kept = [one for one in source.substitutions if not one.is_over]
        found = source.occurrence(owner, start)
        self._rewrite(start, kept, untouched=found[1] if found else start)
        if source.ids and source.ids[0] == token:
            self._aligner.advance(1)
            return True
        return False

    def _resume(self, position: int, end: int) -> None:
        """Before `end` of the text copying goes on, at `position`: what lay between was an edit."""
        if self._gap is None:
            return
        gap_source, gap_text = self._gap
        self._gap = None
        text, ids = self._index.tokens, self._source.ids
        start = position
        while start > gap_source and end > gap_text and ids[start - 1] == text[end - 1]:
            start, end = start - 1, end - 1
        self._run = position - start
        if start < gap_source:
            return
        substitution = learn(
            self._bytes(ids[max(0, gap_source - 32) : gap_source]),
            self._bytes(ids[gap_source:start]),
            self._bytes(text[gap_text:end]),
            self._bytes(ids[start : start + 32]),
        )
        offsets = self._source.offsets
        if substitution is None or position >= len(offsets):
            return
        known = self._source.substitutions
        if substitution.is_local:
            known = [one for one in known if not one.is_local]
        elif any(one.old == substitution.old for one in known):
            return
        if self._source.occurrence(substitution, offsets[position]):
            self._rewrite(offsets[position], [*known, substitution])

    def _rewrite(
        self, start: int, substitutions: Sequence[Substitution], *, untouched: int = 0
    ) -> None:
        self._source.rewrite(start, substitutions, untouched=untouched)
        self._aligner.restart(self._source.array)

    def _bytes(self, tokens: Sequence[int]) -> bytes:
        return b"".join(self._vocabulary.piece(token) for token in tokens)


def _ended(owners: Sequence[Substitution | None]) -> list[Substitution]:
    """The substitutions whose last token is followed by another in `owners`."""
    pairs = pairwise(owners)
    return [one for one, following in pairs if one is not None and following is not one]
