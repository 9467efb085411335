"""Prompt lookup: what followed when the end of a text stood there before.

`NgramDrafter` is the classic method on its own. `SuffixIndex` finds the longest match in constant
time a token, for drafters that combine it with other guesses. Knows nothing of costs.
"""

from array import array
from collections.abc import Sequence
from typing import NamedTuple

from redraft_lookup.draft import EMPTY, Draft, Observation

__all__ = ["Match", "NgramDrafter", "SuffixIndex"]

KEY = 2  # tokens that a match has at least
MAX_CHAIN = 12  # earlier places that are compared
MAX_LENGTH = 32  # a longer match proves nothing more


class Match(NamedTuple):
    """The last `length` tokens also stand right before `position`."""

    position: int
    length: int


class SuffixIndex:
    """A growing text of token ids, and the places where its end stood before.

    Hash chains as in LZ77 compressors (RFC 1951, section 4): a table from the hash of the last
    `KEY` tokens to their latest place, and for each place a link to the one before. 16 to 40 bytes
    a token, in flat arrays.
    """

    def __init__(self, tokens: Sequence[int] = ()) -> None:
        self.tokens = array("i")
        self._previous = array("i")  # place -> earlier place with the same key, or 0
        self._latest = array("i", bytes(4 * 1024))  # hash -> latest place, or 0
        self.extend(tokens)

    def __len__(self) -> int:
        return len(self.tokens)

    def extend(self, tokens: Sequence[int]) -> None:
        """Add tokens at the end, in amortised constant time each."""
        n_tokens = len(self.tokens) + len(tokens)
        if len(self._latest) < 2 * n_tokens:
            # Room for as many again: a reply seldom outgrows what its prompt was given.
            self._latest = array("i", bytes(4 << (4 * n_tokens).bit_length()))
            for place in range(KEY, len(self.tokens)):
                self._link(place)
        for token in tokens:
            place = len(self.tokens)
            self.tokens.append(token)
            self._previous.append(0)
            # A place is what follows a key. It enters the index when something does follow, so
            # that the text's own end is never its match.
            if place >= KEY:
                self._link(place)

    def longest_match(self) -> Match | None:
        """Return the longest match of the text's end, the latest among equals.

        Only the latest `MAX_CHAIN` places of its last `KEY` tokens are compared. In `abxabyab` the
        end `ab` has two of them, and place 5 (`y`) is the later one.
        """
        end = len(self.tokens)
        if end <= KEY:
            return None
        best: Match | None = None
        place = self._latest[self._slot(end)]
        for _ in range(MAX_CHAIN):
            if not place:
                break
            # Another key may have the same hash: then fewer than `KEY` tokens agree.
            length = self._count_agreeing(place, end)
            if length >= KEY and (best is None or length > best.length):
                best = Match(place, length)
                if length == MAX_LENGTH:
                    break
            place = self._previous[place]
        return best

    def _count_agreeing(self, place: int, end: int) -> int:
        """Return how many tokens before `place` equal those before `end`, backwards."""
        tokens, length = self.tokens, 0
        limit = min(place, MAX_LENGTH)
        while length < limit and tokens[place - 1 - length] == tokens[end - 1 - length]:
            length += 1
        return length

    def _slot(self, place: int) -> int:
        """Return the hash of the `KEY` tokens before `place`."""
        key = self.tokens[place - 2] * 1000003 ^ self.tokens[place - 1]
        # Multiplicative hashing by 2**32 divided by the golden ratio (Knuth 6.4): the middle bits
        # are the well-mixed ones. The table's size is a power of two.
        return (key * 2654435761 >> 9) & (len(self._latest) - 1)

    def _link(self, place: int) -> None:
        slot = self._slot(place)
        self._previous[place] = self._latest[slot]
        self._latest[slot] = place


class NgramDrafter:
    """Looks for the longest n-gram, `max_ngram` down to `min_ngram`, over prompt and output.

    After Saxena 2023, "Prompt Lookup Decoding" (github.com/apoorvumang/prompt-lookup-decoding),
    with the most recent match instead of the first and an index in place of its scan over the whole
    prompt.

    The draft is what followed its most recent earlier occurrence, at most `n_draft` tokens. The
    index holds one entry a distinct n-gram and takes (max_ngram - min_ngram + 1) dictionary writes
    a token. Raises ValueError for an n-gram length or a draft length below 1.
    """

    wants_predictions = False

    def __init__(
        self, prompt: Sequence[int], *, min_ngram: int = 3, max_ngram: int = 5, n_draft: int = 8
    ) -> None:
        if not 1 <= min_ngram <= max_ngram:
            raise ValueError(f"need 1 <= min_ngram <= max_ngram, not {min_ngram} and {max_ngram}")
        if n_draft < 1:
            raise ValueError(f"n_draft must be at least 1, not {n_draft}")
        self._lengths = range(max_ngram, min_ngram - 1, -1)
        self._n_draft = n_draft
        self._text: list[int] = []
        self._next: dict[tuple[int, ...], int] = {}  # n-gram -> where its continuation starts
        self._extend(prompt)

    def propose(self, budget: int) -> Draft:
        size = min(budget, self._n_draft)
        for length in self._lengths:
            start = self._next.get(tuple(self._text[-length:]))
            if start is not None and len(self._text) >= length:
                return Draft.chain(self._text[start : start + size], "lookup")
        return EMPTY

    def observe(self, observation: Observation) -> None:
        self._extend(observation.tokens)

    def _extend(self, tokens: Sequence[int]) -> None:
        text = self._text
        for token in tokens:
            # An n-gram enters the index once something follows it, so that the text's own end
            # never matches itself.
            end = len(text)
            for length in self._lengths:
                if end >= length:
                    self._next[tuple(text[end - length : end])] = end
            text.append(token)
