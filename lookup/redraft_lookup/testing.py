"""A scripted target: behaves like a model that writes a given text, for tests and simulations.

Public so that users of this library can test their own drafters without a model.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from redraft_lookup.draft import ROOT, Draft

__all__ = ["ScriptedTarget"]


class ScriptedTarget:
    """Writes `answer` token by token after `prompt`, whatever is drafted, then `end_id` forever.

    Its cache is real: a row that was not kept is forgotten, and a pass after a wrong commit gives
    wrong tokens, so that rollback errors show. `passes` lists the rows of every pass. A branch that
    left the script predicts `end_id`.
    """

    def __init__(
        self,
        prompt: Sequence[int],
        answer: Sequence[int],
        *,
        end_id: int = 0,
        n_vocab: int | None = None,
        max_rows: int = 64,
    ) -> None:
        self._script = (*prompt, *answer)
        self._end_id = end_id
        self._n_vocab = n_vocab or max((*self._script, end_id)) + 1
        self.cache: list[int] = list(prompt[:-1])
        self.max_rows = max_rows
        self.passes: list[int] = []
        self._rows: tuple[int, ...] = ()
        self._aside: tuple[int, ...] = ()

    def forward(self, token: int, draft: Draft) -> npt.NDArray[np.float32]:
        """Return (1 + k, n_vocab) logits: 1 for the token the script goes on with, else 0.

        Raises ValueError where the pass has more than `max_rows` rows.
        """
        if len(draft) >= self.max_rows:
            raise ValueError(f"{1 + len(draft)} rows, but max_rows is {self.max_rows}")
        self.passes.append(1 + len(draft))
        self._rows = (token, *draft.tokens)
        text = (*self.cache, token)
        # For each node the length of the text up to it, or None once the text has left the script.
        lengths: dict[int, int | None] = {
            ROOT: len(text) if text == self._script[: len(text)] else None
        }
        logits = np.zeros((1 + len(draft), self._n_vocab), np.float32)
        logits[0, self._next_token(lengths[ROOT])] = 1
        for node, (guess, parent) in enumerate(zip(draft.tokens, draft.parents, strict=True)):
            length = lengths[parent]
            is_right = length is not None and self._next_token(length) == guess
            lengths[node] = length + 1 if length is not None and is_right else None
            logits[node + 1, self._next_token(lengths[node])] = 1
        return logits

    def commit(self, rows: Sequence[int], aside: Sequence[int] = ()) -> None:
        known = (*self._rows, *self._aside)
        self.cache += (known[row] for row in rows)
        self._aside = tuple(known[row] for row in aside)

    def rewind(self, n_tokens: int) -> None:
        """Forget the last `n_tokens` that were committed."""
        del self.cache[len(self.cache) - n_tokens :]

    def _next_token(self, length: int | None) -> int:
        if length is None or length >= len(self._script):
            return self._end_id
        return self._script[length]
