"""Drafters against a script instead of a model: who writes the answer is known, what it costs too.

For simulations and for timing the drafters themselves. The vocabulary is a stand-in: words in
pieces of up to eight characters, runs of blanks, one to three marks; about as many tokens as a
model's.
"""

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from redraft_lookup import CostCurve, Drafter, Observation

__all__ = ["Played", "ScriptedVocabulary", "play"]

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
    """Pieces of bytes get ids as they are met."""

    def __init__(self) -> None:
        self._ids: dict[bytes, int] = {}
        self._pieces: list[bytes] = []

    def piece(self, token: int) -> bytes:
        return self._pieces[token]

    def tokenize(self, data: bytes) -> list[int]:
        return [self._id(piece) for piece in PIECE.findall(data)]

    def _id(self, piece: bytes) -> int:
        known = self._ids.setdefault(piece, len(self._pieces))
        if known == len(self._pieces):
            self._pieces.append(piece)
        return known


@dataclass(slots=True)
class Played:
    """What writing one answer took. seconds: by the cost curve. drafting_s: of each pass."""

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
) -> Played:
    """Write `answer` and its end with `drafter`, which must not want predictions."""
    script = (*answer, END)
    played = Played(tokens=len(answer))
    done = 0
    while done < len(script):
        start = clock()
        draft = drafter.propose(curve.max_rows - 1)
        spent = clock() - start
        edges = draft.edges()
        path: list[int] = []
        node = edges.get((-1, script[done]))
        while node is not None:
            path.append(node)
            node = edges.get((node, script[done + len(path)]))
        tokens = script[done : done + len(path) + 1]
        done += len(tokens)
        start = clock()
        drafter.observe(Observation(tokens=tokens, draft=draft, path=tuple(path)))
        played.drafting_s.append(spent + clock() - start)
        played.passes += 1
        played.seconds += curve.seconds(1 + len(draft))
        played.drafted += len(draft)
        played.accepted += len(path)
    return played
