"""The records that travel between the parts of redraft.

Knows nothing of files, editors, models or the wire. Positions are code points of the document's
text as it stands on disk (line endings included); `redraft.text.lines` converts to what editors
count.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Literal, Protocol, TypeAlias

__all__ = [
    "Completion",
    "DecodeOptions",
    "EditRequest",
    "Exactness",
    "Finish",
    "Model",
    "Outcome",
    "Pass",
    "Piece",
    "Progress",
    "Prompt",
    "Reason",
    "Refused",
    "Replacement",
    "Rewritten",
    "Route",
    "RunnerUp",
    "Span",
    "Stats",
    "Strategy",
    "Unchanged",
]

Reason: TypeAlias = Literal[
    "token_limit",  # the reply was cut before its end
    "elision",  # the reply left code out ("... rest unchanged ...")
    "parse_broken",  # the file parsed before the edit and would not after it
    "deletion",  # the reply would delete most of the target
    "no_code",  # the reply holds no code that could replace the target
    "context",  # target and instruction alone do not fit the model's context
    "timeout",  # the deadline passed while the reply was being written
    "cancelled",  # the user or a newer request cancelled it
    "stale",  # the document changed inside the target meanwhile
]

Strategy: TypeAlias = Literal[
    "plain",  # one token per pass
    "lookup",  # classic prompt lookup: n-grams of 3 to 5, drafts of up to 8
    "copy",  # copy-run drafting from the text being edited
    "jacobi",  # fixed-point iteration over a window of guesses
    "lookahead",  # the same, with a pool of n-grams that it yields
    "draft",  # a second, smaller model guesses
    "lookup+draft",  # copy-run drafting, and the second model where it finds nothing
    "auto",  # per kind of request, by what was accepted so far
]

Route: TypeAlias = Literal["edit", "codemod", "question", "chat"]

Exactness: TypeAlias = Literal[
    "fast",  # passes of any size; near-ties are decided again, alone
    "invariant",  # only passes that round alike: the same bits whatever was drafted
]

Finish: TypeAlias = Literal["stop", "length", "timeout", "cancelled"]


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Half-open range [start, stop) in code points, 0 <= start <= stop."""

    start: int
    stop: int

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.stop:
            raise ValueError(f"not a span: [{self.start}, {self.stop})")

    def __len__(self) -> int:
        return self.stop - self.start

    def __contains__(self, other: "Span") -> bool:
        return self.start <= other.start and other.stop <= self.stop

    def of(self, text: str) -> str:
        """The part of `text` this span names."""
        return text[self.start : self.stop]


@dataclass(frozen=True, slots=True, kw_only=True)
class EditRequest:
    """One edit to make: rewrite `target` of `text` as `instruction` says, and nothing else."""

    path: str  # as the user knows it: shown to the user and the model, never opened
    text: str  # the whole document, original line endings, no byte order mark
    target: Span
    instruction: str
    language: str | None = None  # a name `redraft.syntax` knows; None: plain text

    def __post_init__(self) -> None:
        if self.target.stop > len(self.text):
            raise ValueError(f"target {self.target} ends past the text ({len(self.text)})")
        if not self.instruction.strip():
            raise ValueError("the instruction is empty")


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacement:
    """Put `new_text` where `span` of the original document was."""

    span: Span
    new_text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """What one request cost. Times in seconds; `passes` counts decode passes, not prefill."""

    prompt_tokens: int = 0
    reused_tokens: int = 0
    output_tokens: int = 0
    passes: int = 0
    drafted: int = 0
    accepted: int = 0
    near_tie_redecodes: int = 0  # near-ties that a pass of one row decided
    prefill_s: float = 0.0
    decode_s: float = 0.0

    def __add__(self, other: "Stats") -> "Stats":
        """What both cost together."""
        names = (field.name for field in fields(self))
        return Stats(**{name: getattr(self, name) + getattr(other, name) for name in names})

    @property
    def tokens_per_pass(self) -> float:
        return self.output_tokens / self.passes if self.passes else 0.0

    @property
    def tokens_per_s(self) -> float:
        return self.output_tokens / self.decode_s if self.decode_s else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewritten:
    """The edit: applying `replacements` to the request's text gives exactly `new_text`."""

    new_text: str
    replacements: tuple[Replacement, ...]  # ascending, apart from each other, inside the target
    stats: Stats
    notes: tuple[str, ...] = ()  # sentences for the user, such as what was left out of the prompt


@dataclass(frozen=True, slots=True, kw_only=True)
class Unchanged:
    """The model was asked and left the target as it is."""

    stats: Stats
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """No edit was made; `message` says why and what to do."""

    reason: Reason
    message: str
    stats: Stats
    notes: tuple[str, ...] = ()


Outcome: TypeAlias = Rewritten | Unchanged | Refused


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of prompt text, tokenised on its own.

    Only a `control` piece may hold the chat template's special tokens; text that came from a file
    or a user is never control, so `<|im_end|>` in a source file stays seven harmless characters.
    """

    text: str
    control: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A prompt in two parts: what stays while the file stays, and what belongs to this request."""

    file: tuple[Piece, ...]  # chat head, system text, whole file: the reusable KV prefix
    request: tuple[Piece, ...]  # target, instruction, chat tail, opening of the reply
    source: str  # the text whose edited copy the reply will be, exactly as a reply would print it
    stop: tuple[str, ...]  # the reply ends before the first of these strings
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerUp:
    """The likeliest token beside the one that was written, and by how many logits it was behind."""

    token: int
    piece: bytes
    behind: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """One decode pass: what it committed, and which guess each token confirmed (None: none)."""

    tokens: tuple[int, ...]
    pieces: tuple[bytes, ...]  # the tokens' bytes; a character may be cut between two
    origins: tuple[str | None, ...]
    runners_up: tuple[RunnerUp, ...]
    drafted: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """What the model wrote, without the stop string. `passes` tell how it came about."""

    text: str
    finish: Finish
    stats: Stats
    notes: tuple[str, ...] = ()
    passes: tuple[Pass, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeOptions:
    """How to decode. `temperature` 0 is greedy; `timeout_s` counts from the request's start."""

    strategy: Strategy = "copy"
    route: Route = "edit"
    exactness: Exactness = "fast"
    max_tokens: int | None = None  # None: sized from the target
    temperature: float = 0.0
    top_k: int = 0  # 0: no cut
    top_p: float = 1.0
    min_p: float = 0.0
    seed: int = 0
    timeout_s: float | None = None

    def __post_init__(self) -> None:
        if self.max_tokens is not None and self.max_tokens < 1:
            raise ValueError(f"max_tokens must be at least 1, not {self.max_tokens}")
        if self.temperature < 0:
            raise ValueError(f"temperature must be 0 or more, not {self.temperature}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where a request stands; `text` is what the model has written so far."""

    phase: Literal["prefill", "decode"]
    done: int  # tokens
    expected: int  # tokens; an estimate while decoding
    text: str = ""


class Model(Protocol):
    """What the product needs of a language model; `redraft.engine.Engine` is the real one."""

    @property
    def n_ctx(self) -> int:
        """The longest prompt and reply together, in tokens, that this model can hold."""

    @property
    def chat_template(self) -> str | None:
        """The Jinja chat template the model file carries, if any."""

    def count_tokens(self, text: str) -> int:
        """How many tokens `text` takes as raw text."""

    def complete(
        self,
        prompt: Prompt,
        options: DecodeOptions,
        *,
        max_tokens: int,
        on_progress: Callable[[Progress], None] = ...,
        cancelled: Callable[[], bool] = ...,
    ) -> Completion:
        """Decode the reply to `prompt`, at most `max_tokens` long.

        `cancelled` is asked between passes. Raises EngineError when the native library fails.
        """
