"""One request in token ids: what is prefilled, what is copied from, how it is decoded.

Knows the vocabulary and the options; nothing of contexts, caches or clocks but the deadline.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from redraft.engine.drafters import DrafterFactory, DraftingRequest
from redraft.engine.llama import LlamaModel
from redraft.errors import EngineError
from redraft.records import DecodeOptions, Finish, Piece, Prompt
from redraft_lookup import Chooser, CostCurve, Decoding, Greedy, Limits, Sampler

__all__ = ["Deadline", "Request", "ids_of"]

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
        first = file.bos + ids_of(file, prompt.file)
        rest = ids_of(file, prompt.request)
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
            end_ids=strategies.file.end_ids,
            control_ids=strategies.file.control_ids,
            min_margin=NEAR_TIE if redecodes_near_ties else 0.0,
        )
        drafter = strategies.drafter(self.options.strategy, task)
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


def ids_of(file: LlamaModel, pieces: tuple[Piece, ...]) -> list[int]:
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
