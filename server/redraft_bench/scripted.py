"""Decoding by script: drafters run against an answer that is known, without a model.

For simulations and for timing the drafters themselves. The vocabulary stands in for a model's:
words in pieces of up to eight characters, runs of blanks, one to three marks; about as many tokens.
"""

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from redraft_lookup import CostCurve, Drafter, Observation

__all__ = ["ScriptedDecode", "ScriptedVocabulary", "play"]

PIECE = re.compile(
    rb" ?[A-Za-z_\x80-\xff]{1,8}"
    rb"|[0-9]"
    rb"|\n+[ \t]*(?=[ \t])|\n+|[ \t]+(?=[ \t])|[ \t]"
    rb"| ?[^\sA-Za-z_0-9\x80-\xff]{1,3}"
    rb"|.",
    re.DOTALL,
)
END = -1  # the id that ends an answer: no text has it


class ScriptedVocabulary:
    """A vocabulary that gives ids to pieces of bytes in the order in which they appear."""

    def __init__(self) -> None:
        self._ids: dict[bytes, int] = {}
        self._pieces: list[bytes] = []

    def piece(self, token: int) -> bytes:
        return self._pieces[token]

    def tokenize(self, data: bytes) -> list[int]:
        ids = []
        for piece in PIECE.findall(data):
            if piece not in self._ids:
                self._ids[piece] = len(self._pieces)
                self._pieces.append(piece)
            ids.append(self._ids[piece])
        return ids


@dataclass(slots=True)
class ScriptedDecode:
    """Costs of writing one answer. seconds: by the cost curve. drafting_s: of each pass."""

    tokens: int
    passes: int = 0
    seconds: float = 0.0
    drafted: int = 0
    accepted: int = 0
    drafting_s: list[float] = field(default_factory=list)


def play(
    drafter: Drafter,
    answer: Sequence[int],
    curve: CostCurve,
    *,
    clock: Callable[[], float] = time.perf_counter,
) -> ScriptedDecode:
    """Write `answer` and its end with `drafter`, which must not want predictions."""
    script = (*answer, END)
    decode = ScriptedDecode(tokens=len(answer))
    n_written = 0
    while n_written < len(script):
        start = clock()
        draft = drafter.propose(curve.max_rows - 1)
        propose_s = clock() - start
        # Follow the draft's tree along the script: -1 is its root.
        edges = draft.edges()
        path: list[int] = []
        node = edges.get((-1, script[n_written]))
        while node is not None:
            path.append(node)
            node = edges.get((node, script[n_written + len(path)]))
        tokens = script[n_written : n_written + len(path) + 1]
        n_written += len(tokens)
        start = clock()
        drafter.observe(Observation(tokens=tokens, draft=draft, path=tuple(path)))
        decode.drafting_s.append(propose_s + clock() - start)
        decode.passes += 1
        decode.seconds += curve.seconds(1 + len(draft))
        decode.drafted += len(draft)
        decode.accepted += len(path)
    return decode
