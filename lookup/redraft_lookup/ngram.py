"""Classic prompt lookup: repeat what followed the last occurrence of the current n-gram.

After Saxena 2023, "Prompt Lookup Decoding" (github.com/apoorvumang/prompt-lookup-decoding), with
the most recent match instead of the first and an index in place of its scan over the whole prompt.
"""

from collections.abc import Sequence

from redraft_lookup.draft import EMPTY, Draft, Observation

__all__ = ["NgramDrafter"]


class NgramDrafter:
    """Looks for the longest n-gram, `max_ngram` down to `min_ngram`, over prompt and output.

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
