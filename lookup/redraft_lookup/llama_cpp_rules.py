"""The rules of llama.cpp's draft-free drafters, for comparison on equal terms.

Re-stated from the behaviour that its docs/speculative.md describes and its defaults as of 2026
(`--spec-type ngram-simple | ngram-map-k | ngram-mod`). Keys are compared exactly where llama.cpp
compares hashes, which can only favour these rules. Used by benchmarks only.
"""

from collections.abc import Sequence

from redraft_lookup.draft import EMPTY, Draft, Observation

__all__ = ["NgramMapK", "NgramMod", "NgramSimple"]

KEY, VALUE = 12, 48  # --spec-ngram-size-n and --spec-ngram-size-m
MOD_KEY, MOD_MIN, MOD_MAX = 24, 48, 64  # the same for ngram-mod, and its shortest and longest draft
MOD_BLOCK = 32  # ngram-mod indexes written text in blocks


class _NgramIndex:
    """A growing text, and for each n-gram of `size` tokens the latest place where it ends.

    A place counts once `n_after` tokens follow it.
    """

    def __init__(self, size: int, n_after: int) -> None:
        self.size = size
        self.text: list[int] = []
        self._n_after = n_after
        self._ends: dict[tuple[int, ...], int] = {}

    @property
    def current(self) -> tuple[int, ...]:
        """The n-gram that the text ends with, shorter while the text is."""
        return tuple(self.text[-self.size :])

    def find(self) -> int | None:
        """Return the place where the current n-gram ended before, or None."""
        return self._ends.get(self.current)

    def extend(self, tokens: Sequence[int]) -> None:
        for token in tokens:
            self.text.append(token)
            end = len(self.text) - self._n_after
            if end >= self.size:
                self._ends[tuple(self.text[end - self.size : end])] = end


class NgramSimple:
    """ngram-simple: the latest place of the last 12 tokens; the 48 that follow, at least 12."""

    wants_predictions = False

    def __init__(self, prompt: Sequence[int]) -> None:
        self._index = _NgramIndex(KEY, n_after=1)
        self._index.extend(prompt)

    def propose(self, budget: int) -> Draft:
        end = self._index.find()
        if end is None or len(self._index.text) - end < KEY:
            return EMPTY
        return Draft.chain(self._index.text[end : end + min(VALUE, budget)], "lookup")

    def observe(self, observation: Observation) -> None:
        self._index.extend(observation.tokens)


class NgramMapK:
    """ngram-map-k: the latest place of the last 12 tokens that 48 follow, with a length per key.

    Drafts for a key never get longer again: one goes on for as many tokens as the key's last draft
    was right.
    """

    wants_predictions = False

    def __init__(self, prompt: Sequence[int]) -> None:
        self._index = _NgramIndex(KEY, n_after=VALUE)
        self._index.extend(prompt)
        self._lengths: dict[tuple[int, ...], int] = {}

    def propose(self, budget: int) -> Draft:
        end = self._index.find()
        if end is None:
            return EMPTY
        length = min(self._lengths.get(self._index.current, VALUE), budget)
        return Draft.chain(self._index.text[end : end + length], "lookup")

    def observe(self, observation: Observation) -> None:
        if observation.draft:
            self._lengths[self._index.current] = len(observation.path)
        self._index.extend(observation.tokens)


class NgramMod:
    """ngram-mod, the default: each 24 tokens name the next one, the latest where they differ.

    Drafts are chains of such steps, up to 64; a chain that breaks off before 48 is thrown away.
    Written text is indexed in blocks of more than 32 tokens. (After three poor drafts llama.cpp
    empties its pool and refills it from this text: only other requests' text is lost.)
    """

    wants_predictions = False

    def __init__(self, prompt: Sequence[int]) -> None:
        self._text: list[int] = []
        self._next: dict[tuple[int, ...], int] = {}
        self._n_indexed = 0
        self._text += prompt
        self._index_new_text()

    def propose(self, budget: int) -> Draft:
        if len(self._text) > self._n_indexed + MOD_BLOCK:
            self._index_new_text()
        chain = self._text[-MOD_KEY:]
        for n_guesses in range(min(MOD_MAX, budget)):
            token = self._next.get(tuple(chain[-MOD_KEY:]))
            if token is None:
                if n_guesses < MOD_MIN:
                    return EMPTY
                break
            chain.append(token)
        return Draft.chain(chain[MOD_KEY:], "lookup")

    def observe(self, observation: Observation) -> None:
        self._text += observation.tokens

    def _index_new_text(self) -> None:
        text = self._text
        for end in range(max(self._n_indexed, MOD_KEY), len(text)):
            self._next[tuple(text[end - MOD_KEY : end])] = text[end]
        self._n_indexed = len(text)
