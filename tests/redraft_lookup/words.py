"""Vocabularies of words, and edits that a scripted model makes with them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from tests.redraft_lookup.fakes import END, SLOPE_CURVE, run

from redraft_lookup.copying import CopyDrafter
from redraft_lookup.cost import CostCurve
from redraft_lookup.decoding import Step
from redraft_lookup.draft import Drafter
from redraft_lookup.testing import ScriptedTarget

__all__ = ["Edit", "Words", "draft_edit"]

PLAIN = rb"\w+|\s+|[^\w\s]"
# Spaces stick to words, words fall apart, signs merge: tokens of a + b are not those of a and of b.
MERGING = rb" ?\w{1,4}|\n *|[^\w\s]{1,3}|\s"


class Words:
    """Each match of `pattern` is a token; its id is the next free number when it is first met."""

    def __init__(self, pattern: bytes = PLAIN) -> None:
        self._pattern = re.compile(pattern)
        self._pieces: list[bytes] = [b""]  # END
        self._ids: dict[bytes, int] = {}

    def tokenize(self, data: bytes) -> list[int]:
        return [self._id(piece) for piece in self._pattern.findall(data)]

    def piece(self, token: int) -> bytes:
        return self._pieces[token]

    def text(self, tokens: Sequence[int]) -> str:
        return b"".join(map(self.piece, tokens)).decode()

    def _id(self, piece: bytes) -> int:
        if piece not in self._ids:
            self._ids[piece] = len(self._pieces)
            self._pieces.append(piece)
        return self._ids[piece]


@dataclass(frozen=True)
class Edit:
    """How an answer came about. origins: one for each token of the answer."""

    steps: list[Step]
    rows: list[int]
    tokens: list[int]
    origins: list[str | None]
    drafter: Drafter

    def seconds(self, curve: CostCurve) -> float:
        return sum(curve.seconds(k) for k in self.rows)

    def n_fresh_after(self, index: int) -> int:
        """Passes that no guess helped, among those that begin within 50 tokens from `index` on."""
        begins = accumulate((len(step.tokens) for step in self.steps), initial=0)
        near = [s for s, at in zip(self.steps, begins, strict=False) if index <= at < index + 50]
        return sum(step.accepted == 0 and not step.finish for step in near)


def draft_edit(
    before: str, after: str, *, words: Words | None = None, curve: CostCurve = SLOPE_CURVE,
    in_prompt: bool = True, make=CopyDrafter, source: str | None = None,
) -> Edit:  # fmt: skip
    """A scripted model rewrites `before` to `after`, helped by a copy drafter."""
    words = words or Words()
    tokens = words.tokenize
    prompt = tokens(f"Edit this.\n{before if in_prompt else ''}\nOk:".encode())
    answer = tokens(after.encode())
    copied = tokens((before if source is None else source).encode())
    drafter = make(prompt, copied, curve=curve, vocabulary=words)
    target = ScriptedTarget(
        prompt, answer, end_id=END, n_vocab=len(words._pieces) + 1, max_rows=curve.max_rows
    )
    steps = run(target, prompt, drafter, max_tokens=len(answer) + 99)
    written = [token for step in steps for token in step.tokens]
    assert words.text(written) == after
    origins = [origin for step in steps for origin in step.origins]
    return Edit(steps, target.passes, written, origins, drafter)
