"""Copy-run drafting: the next tokens are guessed from the text being edited.

The answer to "rewrite this" is mostly the source again. `SourcePointer` keeps a place in the
source, drafts from it from the first token on, finds it again within a few tokens of each edit
(`redraft_lookup.align`) and carries what was edited into later drafts
(`redraft_lookup.substitute`). `CopyDrafter` falls back on what stood anywhere before
(`redraft_lookup.prompt_lookup`), and submits as many tokens as the measured cost of a pass makes
worth while (`redraft_lookup.rows`, `redraft_lookup.cost`).

Knows token ids and a `Vocabulary`; nothing of languages, models or time.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from redraft_lookup.align import Aligner
from redraft_lookup.cost import CostCurve
from redraft_lookup.draft import EMPTY, Draft, Observation, Origin, common_prefix_length
from redraft_lookup.hazard import (
    COPY_RUNS,
    LOOKUP_RUNS,
    Hazard,
    make_copy_odds,
    make_lookup_odds,
)
from redraft_lookup.prompt_lookup import SuffixIndex
from redraft_lookup.rows import Guess, RowPolicy, best_chain
from redraft_lookup.substitute import (
    RewrittenSource,
    Substitution,
    Vocabulary,
    learn_substitution,
)

__all__ = ["CopyDrafter", "SourcePointer"]

N_CANDIDATES = 4
CONTEXT = 32  # tokens on each side of an edit, to widen what changed to whole identifiers
SURE_RUN = 16  # the age of a run beside which no other guess is looked for
INITIAL_RUN = 64  # the age of the run that a text starts with: edits seldom begin at once
# What a second is worth, in tokens, as a share of the best rate the cost curve allows. Edits decode
# at some 0.7 of it; the lower figure spends a little time on saving many passes.
RATE_SHARE = 0.34


class CopyDrafter:
    """Drafts from `source`, ids that the answer is expected to repeat in edited form.

    The source is tokenised on its own from a line start, as the model will write it. `curve` gives
    the cost of a pass. A draft has as many tokens as pay. In passes `shared` with other texts it
    has all that are likely, and says how likely they are. An empty source leaves the suffix lookup
    over prompt and answer.
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
    ) -> None:
        best_rate = curve.best_rows / curve.seconds(curve.best_rows)
        rate = max(RATE_SHARE * best_rate, 1 / curve.seconds(1))
        self._policy = RowPolicy(curve=curve, rate=None if shared else rate)
        self._text = SuffixIndex(prompt)
        self._pointer = SourcePointer(source, vocabulary)
        self._lookup_hazard = Hazard(LOOKUP_RUNS)
        self._lookup_odds = make_lookup_odds()  # by the length of the match
        self._pending: list[Guess] = []  # to be compared with what the next pass commits

    def propose(self, budget: int) -> Draft:
        budget = min(budget, self._policy.curve.max_rows - 1)
        if budget < 1:
            return EMPTY
        copies = self._pointer.guess(budget)
        is_sure = self._pointer.is_certain and self._pointer.run_length >= SURE_RUN
        lookups = [] if is_sure and copies else self._look_up(budget)
        self._pending = copies[:1] + lookups
        guesses = copies + lookups
        if not guesses:
            return EMPTY
        return best_chain(guesses, self._policy)

    def observe(self, observation: Observation) -> None:
        tokens = observation.tokens
        if tokens:
            self._score_guesses(tokens)
        self._text.extend(tokens)
        start = len(self._text) - len(tokens)
        n_done = 0
        while n_done < len(tokens):
            n_copied = self._pointer.follow(tokens[n_done:])
            n_done += n_copied
            if not n_copied:
                self._pointer.emit(self._text.tokens, start + n_done)
                n_done += 1

    def _look_up(self, budget: int) -> list[Guess]:
        """Guess what followed the longest earlier occurrence of the text's end."""
        match = self._text.longest_match()
        if match is None:
            return []
        tokens = list(self._text.tokens[match.position : match.position + budget])
        odds = self._lookup_odds[match.length]
        survives = self._lookup_hazard.survival_probabilities(match.length, len(tokens))
        survives[0] = odds.mean
        survival = np.asarray(np.cumprod(survives), np.float64)
        return [Guess(tokens, ["lookup"] * len(tokens), survival, odds, match.length)]

    def _score_guesses(self, tokens: Sequence[int]) -> None:
        """Learn from what became of the pending guesses, submitted or not."""
        for guess in self._pending:
            n_right = common_prefix_length(guess.tokens, tokens)
            if guess.first_odds:
                guess.first_odds.update(right=n_right > 0)
            # The first token counts for the odds, those behind it for the hazard: a match of 5
            # with 3 right guesses is a run that survived at ages 6 and 7.
            if guess.n_matched and n_right:
                self._lookup_hazard.record_survival(guess.n_matched + 1, n_right - 1)
                if n_right < min(len(guess.tokens), len(tokens)):
                    self._lookup_hazard.record_break(guess.n_matched + n_right)
        self._pending = []


class SourcePointer:
    """The place in a source that the text being written has come to, and the edits on the way.

    While copying goes on, `follow` takes in many tokens at once. Every other token goes through
    `emit`: it opens an edit or belongs to one, until a place to go on from is certain again. Then
    what lay between is learnt as a substitution and carried out in the rest of the source:

        source    a = total + 1; b = total + 2
        text      a = sum                         `sum`: not what comes next, so an edit opens
        text      a = sum + 1                     `1` is certain again: total -> sum is learnt
        source                 ; b = sum + 2      and copied from now on
    """

    def __init__(self, source: Sequence[int], vocabulary: Vocabulary) -> None:
        self.run_length = INITIAL_RUN  # tokens copied since the last edit
        self._vocabulary = vocabulary
        self._source = RewrittenSource(source, vocabulary)
        self._aligner = Aligner(self._source.ids)
        self._edit_start: tuple[int, int] | None = None  # in source and text, of an open edit
        self._hazard = Hazard(COPY_RUNS)
        self._first_odds = make_copy_odds()  # by what the aligner gives a guess, in tenths

    @property
    def is_certain(self) -> bool:
        """True while only one place to go on from is likely."""
        return self._aligner.certain is not None

    @property
    def substitutions(self) -> Sequence[Substitution]:
        """The learnt edits that are carried into the rest of the source."""
        return self._source.substitutions

    def guess(self, budget: int) -> list[Guess]:
        """Guess up to `budget` tokens from each of the likeliest places on, likeliest first.

        Only the first guess learns whether its first token was right.
        """
        candidates = self._aligner.candidates(N_CANDIDATES)
        ids = self._source.ids
        starts = [(start, chance) for start, chance in candidates if start < len(ids)]
        if not starts:
            return []
        odds, scale = None, 1.0
        if not self.is_certain:
            # Several places may go on with the same token. It is what the odds are kept for: of
            # guesses that the aligner gave 0.8 in all, not 8 but 6 in 10 came true, so all of them
            # are scaled by 0.62 / 0.8.
            next_token = ids[starts[0][0]]
            agreed = sum(chance for start, chance in starts if ids[start] == next_token)
            odds = self._first_odds[round(10 * min(agreed, 1.0))]
            scale = odds.mean / agreed
        guesses = [self._guess_from(start, chance * scale, budget) for start, chance in starts]
        guesses[0].first_odds = odds
        return guesses

    def follow(self, tokens: Sequence[int]) -> int:
        """Take in the leading `tokens` that go on copying from a certain place; return how many."""
        position = self._aligner.certain
        if position is None:
            return 0
        source = self._source
        n_copied = common_prefix_length(source.ids[position : position + len(tokens)], tokens)
        if not n_copied:
            return 0
        self._hazard.record_survival(self.run_length, n_copied)
        self.run_length += n_copied
        self._aligner.advance(n_copied)
        # A substitution was right where all its tokens were copied: at its last one.
        for applied, following in pairwise(source.applied[position : position + n_copied + 1]):
            if applied is not None and following is not applied:
                applied.hits += 1
        if source.needs_rewrite(position + n_copied):
            self._rewrite(source.offsets[position + n_copied], source.substitutions)
        return n_copied

    def emit(self, text: Sequence[int], place: int) -> None:
        """Take in text[place], a token that is not simply copied on."""
        token = text[place]
        position = self._aligner.certain
        if position is not None and position < len(self._source.ids):
            self._hazard.record_break(self.run_length)
            if self._retract_substitution(position, token):
                return
            position = self._aligner.certain  # of a source that may have begun anew
        if position is not None:
            self.run_length = 0
            self._edit_start = (position, place)
        self._aligner.emit(token)
        if self._aligner.certain is not None:
            self._close_edit(self._aligner.certain, text, place + 1)

    def _guess_from(self, start: int, chance: float, budget: int) -> Guess:
        """Guess the source from `start` on, which is right with probability `chance`."""
        tokens = self._source.ids[start : start + budget]
        applied = self._source.applied[start : start + budget]
        survives = self._hazard.survival_probabilities(self.run_length, len(tokens))
        if not self.is_certain:
            survives[0] = 1.0  # `chance` is the aligner's figure for the first token
        # A substituted occurrence is right or wrong as a whole: its first token decides.
        previous = None
        for i, substitution in enumerate(applied):
            if substitution is not None and substitution is not previous:
                survives[i] = substitution.probability
            previous = substitution
        origins: list[Origin] = ["learned" if by else "copied" for by in applied]
        survival = np.asarray(chance * np.cumprod(survives), np.float64)
        return Guess(tokens, origins, survival)

    def _retract_substitution(self, position: int, token: int) -> bool:
        """Undo the substitution that wrote the token at `position`, if one did: it was wrong here.

        Returns whether the original goes on with `token`; then it is taken in.
        """
        source = self._source
        wrong = source.applied[position]
        if wrong is None:
            return False
        wrong.misses += 1
        start = source.offsets[position]
        remaining = [
            substitution for substitution in source.substitutions if not substitution.is_refuted
        ]
        occurrence = source.next_occurrence(wrong, start)
        self._rewrite(start, remaining, untouched=occurrence[1] if occurrence else start)
        if source.ids and source.ids[0] == token:
            self._aligner.advance(1)
            return True
        return False

    def _close_edit(self, position: int, text: Sequence[int], end: int) -> None:
        """Learn the open edit: before text[end] copying went on, up to `position` of the source."""
        if self._edit_start is None:
            return
        source_start, text_start = self._edit_start
        self._edit_start = None
        ids = self._source.ids
        # The place was certain only some tokens later: those are copied, not part of the edit.
        source_end = position
        while (
            source_end > source_start and end > text_start and ids[source_end - 1] == text[end - 1]
        ):
            source_end, end = source_end - 1, end - 1
        self.run_length = position - source_end
        if source_end < source_start:
            return  # the text went back in the source: a block was moved or repeated
        substitution = learn_substitution(
            self._to_bytes(ids[max(0, source_start - CONTEXT) : source_start]),
            self._to_bytes(ids[source_start:source_end]),
            self._to_bytes(text[text_start:end]),
            self._to_bytes(ids[source_end : source_end + CONTEXT]),
        )
        offsets, substitutions = self._source.offsets, self._source.substitutions
        if substitution is None or position >= len(offsets):
            return
        if substitution.is_local:
            substitutions = [earlier for earlier in substitutions if not earlier.is_local]
        elif any(earlier.old == substitution.old for earlier in substitutions):
            return
        if self._source.next_occurrence(substitution, offsets[position]):
            self._rewrite(offsets[position], [*substitutions, substitution])

    def _rewrite(
        self, start: int, substitutions: Sequence[Substitution], *, untouched: int = 0
    ) -> None:
        """Let the source begin at byte `start`, where the text has come to."""
        self._source.rewrite(start, substitutions, untouched=untouched)
        self._aligner.restart(self._source.array)

    def _to_bytes(self, tokens: Sequence[int]) -> bytes:
        return b"".join(self._vocabulary.piece(token) for token in tokens)
