"""One request in token ids: what is prefilled, how it is decoded, what it has brought so far.

Knows the vocabulary, the options, and that a token may end inside a character or inside a stop
string; nothing of contexts or caches.
"""

import codecs
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from redraft.engine.drafters import DrafterFactory, DraftingRequest
from redraft.engine.llama import LlamaModel
from redraft.errors import EngineError
from redraft.records import (
    Completion,
    DecodeOptions,
    Finish,
    Pass,
    Piece,
    Progress,
    Prompt,
    RunnerUp,
    Stats,
)
from redraft_lookup import (
    BadLogitsError,
    Chooser,
    CostCurve,
    Decoding,
    Greedy,
    Limits,
    Sampler,
    Step,
)

__all__ = [
    "CostReport",
    "Deadline",
    "ReplyText",
    "Request",
    "tokenize_pieces",
    "translate_bad_logits",
]

# The two best logits of a wide pass may be this close and still change places in a pass of one
# row: the 99th percentile of the differences between both on a CPU.
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
        cls, model: LlamaModel, prompt: Prompt, options: DecodeOptions, max_tokens: int
    ) -> "Request":
        """Tokenise `prompt`. Raises EngineError if it is empty."""
        file = tokenize_pieces(model, prompt.file)
        tokens = tokenize_pieces(model, prompt.request, after=file)
        rest = tokens[len(file) :]
        if not tokens:
            raise EngineError("the prompt is empty: there is nothing to go on from")
        # The last token is held back, whichever part it is in: its logits choose the reply's first
        # token, so it is decoded, not prefilled.
        return cls(
            file=file if rest else file[:-1],
            rest=rest[:-1],
            tokens=tokens,
            source=model.tokenize(prompt.source),
            options=options,
            max_tokens=max_tokens,
        )

    @property
    def parts(self) -> tuple[list[int], list[int]]:
        """The two parts of the prompt that are prefilled."""
        return self.file, self.rest

    @property
    def n_tokens(self) -> int:
        """The most tokens that prompt and reply may take."""
        return len(self.tokens) + self.max_tokens

    def start_decoding(
        self, drafters: DrafterFactory, curve: CostCurve | None, *, is_shared: bool = False
    ) -> Decoding:
        """Return the decoding of the reply, in passes of its own or shared with other texts.

        `curve` is None for strategies that do not size their drafts. Raises ModelError if the
        strategy needs a draft model and there is none.
        """
        drafting = DraftingRequest(
            tokens=self.tokens,
            source=self.source,
            curve=curve,
            route=self.options.route,
            max_tokens=self.max_tokens,
            is_shared=is_shared,
        )
        # A near-tie is decoded again in a pass of one row, which texts that share passes never get.
        # Where all passes round alike there is nothing to decode again.
        redecodes_near_ties = self.options.exactness != "invariant" and not is_shared
        limits = Limits(
            max_tokens=self.max_tokens,
            end_ids=drafters.model.end_ids,
            control_ids=drafters.model.control_ids,
            min_margin=NEAR_TIE if redecodes_near_ties else 0.0,
        )
        drafter = drafters.make(self.options.strategy, drafting)
        chooser: Chooser = Greedy()
        if self.options.temperature > 0:
            chooser = Sampler(
                temperature=self.options.temperature,
                seed=self.options.seed,
                top_k=self.options.top_k,
                top_p=self.options.top_p,
                min_p=self.options.min_p,
            )
        return Decoding(self.tokens, drafter, limits, chooser)


def tokenize_pieces(
    model: LlamaModel, pieces: tuple[Piece, ...], *, after: Sequence[int] | None = None
) -> list[int]:
    """Return the ids of a prompt up to the end of its `pieces`, each tokenised on its own.

    after: the ids of the pieces before these; None at the start, where BOS comes first.
    """
    tokens = [*(model.bos if after is None else after)]
    for piece in pieces:
        tokens += model.tokenize(piece.text, control=piece.control, after=tokens)
    return tokens


@contextmanager
def translate_bad_logits() -> Iterator[None]:
    """Raise EngineError where a model's logits are not numbers."""
    try:
        yield
    except BadLogitsError as error:
        raise EngineError(f"the model gave no usable answer: {error}") from error


class Deadline:
    """The early end of a request: it is cancelled, or `timeout_s` seconds have passed."""

    def __init__(self, timeout_s: float | None, cancelled: Callable[[], bool]) -> None:
        self._end = None if timeout_s is None else time.monotonic() + timeout_s
        self._cancelled = cancelled
        self._reason: Finish | None = None

    def finish_reason(self) -> Finish | None:
        """Return "cancelled" or "timeout" if the request must end now; None if it may go on.

        Once it must end, that stays so.
        """
        if self._reason is None:
            if self._cancelled():
                self._reason = "cancelled"
            elif self._end is not None and time.monotonic() >= self._end:
                self._reason = "timeout"
        return self._reason


class Pieces(Protocol):
    """A vocabulary: the bytes of each token."""

    def piece(self, token: int) -> bytes: ...


class ReplyText:
    """The text of a reply so far, up to the first stop string.

    `n_tokens` counts the tokens up to the one that completed a stop string.
    """

    def __init__(self, pieces: Pieces, stop: Sequence[str]) -> None:
        self.n_tokens = 0
        self.is_stopped = False
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
            if self.is_stopped:
                return
            self.n_tokens += 1
            self._add(self._decoder.decode(self._pieces.piece(token)))

    def finish(self) -> None:
        """End the text: an incomplete character becomes U+FFFD."""
        if not self.is_stopped:
            self._add(self._decoder.decode(b"", final=True))

    def _add(self, new: str) -> None:
        # A stop string may have begun in earlier tokens: "--" and ">" complete "-->".
        start = max(0, len(self._text) - self._longest + 1)
        self._text += new
        # The one that is complete first, not the one that begins first: so the text does not depend
        # on where tokens end. With "c" and "bcd", "abcd" ends before "c".
        matches = [
            (i + len(stop), i) for stop in self._stop if (i := self._text.find(stop, start)) >= 0
        ]
        if matches:
            _, stop_start = min(matches)
            self._text = self._text[:stop_start]
            self.is_stopped = True


class CostReport:
    """The costs of one request while it runs. n_prompt, expected: tokens of prompt and reply."""

    def __init__(self, *, n_prompt: int, expected: int) -> None:
        self._passes: list[Pass] = []
        self._n_prompt = n_prompt
        self._expected = expected
        self._n_reused: int | None = None
        self._prefill_s = 0.0
        self._calibration_s = 0.0
        self._draft_s = 0.0
        self._near_tie_redecodes = 0
        self._last_time = 0.0

    def record_prefill(self, n_tokens: int, seconds: float) -> None:
        """Note that the cache holds `n_tokens` of the prompt, `seconds` after the start.

        First called before any pass, with what was there already.
        """
        if self._n_reused is None:
            self._n_reused = n_tokens
        self._prefill_s = seconds

    def record_calibration(self, seconds: float) -> None:
        """Note that passes were measured for so long, for this request or later ones."""
        self._calibration_s += seconds

    def record_drafting(self, seconds: float) -> None:
        """Note that the draft model worked for so long, within the passes that were recorded."""
        self._draft_s += seconds

    def start_clock(self) -> None:
        """Time the next pass from now on."""
        self._last_time = time.perf_counter()

    def record_pass(self, step: Step, pieces: Pieces) -> None:
        """Note what a pass committed, and that it took all time since the one before."""
        now = time.perf_counter()
        self._near_tie_redecodes += step.near_tie_redecode
        self._passes.append(
            Pass(
                tokens=step.tokens,
                pieces=tuple(pieces.piece(token) for token in step.tokens),
                origins=step.origins,
                runners_up=tuple(
                    RunnerUp(token=token, piece=pieces.piece(token), behind=behind)
                    for token, behind in step.runners_up
                ),
                drafted=step.drafted,
                seconds=now - self._last_time,
            )
        )
        self._last_time = now

    def progress(self, reply: ReplyText) -> Progress:
        """Return how far the reply is, with its text so far."""
        n_done = reply.n_tokens
        expected = max(n_done, self._expected)
        return Progress(phase="decode", done=n_done, expected=expected, text=reply.text)

    def complete(
        self, reply: ReplyText, finish: Finish, *, notes: tuple[str, ...] = ()
    ) -> Completion:
        """Return the reply and all that it cost."""
        stats = Stats(
            prompt_tokens=self._n_prompt,
            reused_tokens=self._n_reused or 0,
            output_tokens=reply.n_tokens,
            passes=len(self._passes),
            drafted=sum(done.drafted for done in self._passes),
            accepted=sum(origin is not None for done in self._passes for origin in done.origins),
            near_tie_redecodes=self._near_tie_redecodes,
            prefill_s=self._prefill_s,
            decode_s=sum(done.seconds for done in self._passes),
            calibration_s=self._calibration_s,
            draft_s=self._draft_s,
        )
        passes = tuple(self._passes)
        return Completion(text=reply.text, finish=finish, stats=stats, notes=notes, passes=passes)
