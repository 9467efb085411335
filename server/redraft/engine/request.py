"""One request in token ids: what is prefilled, what is copied from, how it is decoded.

Knows the vocabulary and the options; nothing of contexts, caches or clocks but the deadline.
"""

import codecs
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from redraft.engine.drafters import DrafterFactory, DraftingRequest
from redraft.engine.llama import LlamaModel
from redraft.errors import EngineError
from redraft.records import DecodeOptions, Finish, Pass, Piece, Progress, Prompt, RunnerUp, Stats
from redraft_lookup import Chooser, CostCurve, Decoding, Greedy, Limits, Sampler, Step

__all__ = ["Deadline", "Output", "Report", "Request", "tokenize_pieces"]

# The two best logits of a wide pass may be this close and still change places in a pass of one
# row: the 99th percentile of what was seen between both on a CPU.
NEAR_TIE = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A prompt in ids, and how its reply is decoded.

    file: what stays while the file stays. rest: the prompt behind it, but for its last token, which
    is the first row of the first decode pass. tokens: all of the prompt. source: what the reply may
    copy.
    """

    file: list[int]
    rest: list[int]
    tokens: list[int]
    source: list[int]
    options: DecodeOptions
    max_tokens: int

    @classmethod
    def of(
        cls, file: LlamaModel, prompt: Prompt, options: DecodeOptions, max_tokens: int
    ) -> "Request":
        """Tokenise `prompt`. Raises EngineError where it is empty."""
        first = file.bos + tokenize_pieces(file, prompt.file)
        rest = tokenize_pieces(file, prompt.request)
        tokens = first + rest
        if not tokens:
            raise EngineError("the prompt is empty: there is nothing to go on from")
        return cls(
            file=first if rest else first[:-1],
            rest=rest[:-1],
            tokens=tokens,
            source=file.tokenize(prompt.source),
            options=options,
            max_tokens=max_tokens,
        )

    @property
    def parts(self) -> tuple[list[int], list[int]]:
        """What is prefilled, in two parts."""
        return self.file, self.rest

    @property
    def n_tokens(self) -> int:
        """Of the prompt and the longest reply."""
        return len(self.tokens) + self.max_tokens

    @property
    def is_invariant(self) -> bool:
        return self.options.exactness == "invariant"

    def decoding(
        self, strategies: DrafterFactory, curve: CostCurve | None, *, is_shared: bool = False
    ) -> Decoding:
        """The decoding of the reply, in passes of its own or shared with other texts."""
        task = DraftingRequest(
            tokens=self.tokens,
            source=self.source,
            curve=curve,
            route=self.options.route,
            max_tokens=self.max_tokens,
            is_shared=is_shared,
        )
        # A near-tie is decided in a pass of one row, which texts that share passes do not get.
        redecodes_near_ties = not self.is_invariant and not is_shared
        limits = Limits(
            max_tokens=self.max_tokens,
            end_ids=strategies.model.end_ids,
            control_ids=strategies.model.control_ids,
            min_margin=NEAR_TIE if redecodes_near_ties else 0.0,
        )
        drafter = strategies.make(self.options.strategy, task)
        return Decoding(self.tokens, drafter, limits, _chooser(self.options))


class Deadline:
    """When a request must end early. Time in seconds of the monotonic clock."""

    def __init__(self, timeout_s: float | None, cancelled: Callable[[], bool]) -> None:
        self._deadline = None if timeout_s is None else time.monotonic() + timeout_s
        self._cancelled = cancelled

    def ended(self) -> Finish | None:
        if self._cancelled():
            return "cancelled"
        late = self._deadline is not None and time.monotonic() >= self._deadline
        return "timeout" if late else None


def tokenize_pieces(file: LlamaModel, pieces: tuple[Piece, ...]) -> list[int]:
    """The ids of a prompt's pieces, each tokenised on its own."""
    return [t for piece in pieces for t in file.tokenize(piece.text, control=piece.control)]


def _chooser(options: DecodeOptions) -> Chooser:
    if options.temperature == 0:
        return Greedy()
    return Sampler(
        temperature=options.temperature,
        seed=options.seed,
        top_k=options.top_k,
        top_p=options.top_p,
        min_p=options.min_p,
    )


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
