"""What a request has brought so far: the text up to a stop string, and what it cost.

Knows that a token may end inside a character or inside a stop string.
"""

import codecs
import time
from collections.abc import Sequence
from typing import Protocol

from redraft.records import Pass, Progress, RunnerUp, Stats
from redraft_lookup import Step

__all__ = ["Output", "Report"]


class Pieces(Protocol):
    def piece(self, token: int) -> bytes: ...


class Output:
    """The text so far. `n_tokens` counts the tokens up to the one that completed a stop string."""

    def __init__(self, pieces: Pieces, stop: Sequence[str]) -> None:
        self.n_tokens = 0
        self.stopped = False
        self._pieces = pieces
        self._stop = tuple(stop)
        self._longest = max(map(len, self._stop), default=0)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._text = ""

    @property
    def text(self) -> str:
        return self._text

    def extend(self, tokens: Sequence[int]) -> None:
        """Add tokens; those after a completed stop string are dropped."""
        for token in tokens:
            if self.stopped:
                return
            self.n_tokens += 1
            self._add(self._decoder.decode(self._pieces.piece(token)))

    def finish(self) -> None:
        """No more tokens: a character left half-written becomes U+FFFD."""
        if not self.stopped:
            self._add(self._decoder.decode(b"", final=True))

    def _add(self, new: str) -> None:
        start = max(0, len(self._text) - self._longest + 1)
        self._text += new
        # The string that is complete first: so it does not matter where tokens end.
        found = [
            (i + len(stop), i) for stop in self._stop if (i := self._text.find(stop, start)) >= 0
        ]
        if found:
            _, stop_start = min(found)
            self._text = self._text[:stop_start]
            self.stopped = True


class Report:
    """The costs of one request while it runs. n_prompt, expected: tokens of prompt and reply."""

    def __init__(self, *, n_prompt: int, expected: int) -> None:
        self.passes: list[Pass] = []
        self._n_prompt = n_prompt
        self._expected = expected
        self._reused: int | None = None
        self._prefill_s = 0.0
        self._near_tie_redecodes = 0
        self._last = 0.0

    def prefilled(self, n_tokens: int, seconds: float) -> None:
        """The cache holds `n_tokens` of the prompt by now; first called before any pass."""
        if self._reused is None:
            self._reused = n_tokens
        self._prefill_s = seconds

    def start(self) -> None:
        """Decoding begins."""
        self._last = time.perf_counter()

    def decoded(self, step: Step, pieces: Pieces) -> None:
        now = time.perf_counter()
        self._near_tie_redecodes += step.near_tie_redecode
        self.passes.append(
            Pass(
                tokens=step.tokens,
                pieces=tuple(pieces.piece(token) for token in step.tokens),
                origins=step.origins,
                runners_up=tuple(
                    RunnerUp(token=token, piece=pieces.piece(token), behind=behind)
                    for token, behind in step.runners_up
                ),
                drafted=step.drafted,
                seconds=now - self._last,
            )
        )
        self._last = now

    def progress(self, output: Output) -> Progress:
        done = output.n_tokens
        return Progress(
            phase="decode", done=done, expected=max(done, self._expected), text=output.text
        )

    def stats(self, n_output: int) -> Stats:
        return Stats(
            prompt_tokens=self._n_prompt,
            reused_tokens=self._reused or 0,
            output_tokens=n_output,
            passes=len(self.passes),
            drafted=sum(one.drafted for one in self.passes),
            accepted=sum(origin is not None for one in self.passes for origin in one.origins),
            near_tie_redecodes=self._near_tie_redecodes,
            prefill_s=self._prefill_s,
            decode_s=sum(one.seconds for one in self.passes),
        )
