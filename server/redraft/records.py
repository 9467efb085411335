"""The records that the parts of redraft exchange, and the `Model` they share.

Knows nothing of files, editors, llama.cpp or the wire. Positions are code points of the document's
text with its original line endings; `redraft.text.lines` converts them to what editors count.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Literal, Protocol, TypeAlias

__all__ = [
    "AllowedReason",
    "Caller",
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
    "token_limit",  # the reply was cut off
    "elision",  # the reply left out code ("... rest unchanged ...")
    "parse_broken",  # the file parsed before the edit and would not after it
    "deletion",  # the reply leaves out code that nobody asked to remove
    "no_code",  # the reply holds no code that could replace the target
    "context",  # the target and the instruction alone do not fit the model's context
    "timeout",  # the deadline passed while the reply was being written
    "cancelled",  # the user or a newer request cancelled it
    "stale",  # the document was changed inside the target
]

AllowedReason: TypeAlias = Literal["deletion", "parse_broken", "elision"]
"""The reasons that a user may override, having looked at the edit."""

Strategy: TypeAlias = Literal[
    "plain",  # one token per pass
    "lookup",  # classic prompt lookup: n-grams of 3 to 5, drafts of up to 8
    "copy",  # copy-run drafting from the text being edited
    "jacobi",  # fixed-point iteration over a window of guesses
    "lookahead",  # the same, with a pool of the n-grams it yields
    "draft",  # drafts of a second, smaller model
    "lookup+draft",  # copy-run drafting, and the draft model where that finds nothing
    "auto",  # chosen for each kind of request, by what was accepted so far
]

Route: TypeAlias = Literal["edit", "codemod"]

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
        """Return the part of `text` that this span covers."""
        return text[self.start : self.stop]


@dataclass(frozen=True, slots=True, kw_only=True)
class EditRequest:
    """An edit to make: rewrite `target` of `text` as `instruction` says, and nothing else.

    Raises ValueError where the target ends past the text or the instruction is empty.
    """

    path: str  # shown to the user and the model, never opened
    text: str  # the whole document, original line endings, no byte order mark
    target: Span
    instruction: str
    language: str | None = None  # a name that `redraft.syntax` knows; None: plain text
    allowed: tuple[Reason, ...] = ()  # reasons for refusing that the user overrides
    adds_imports: bool = True  # whether imports that the edit needs go to the file's imports
    wants_another_version: bool = False  # where the model leaves the code as it is

    def __post_init__(self) -> None:
        if self.target.stop > len(self.text):
            raise ValueError(f"target {self.target} ends past the text ({len(self.text)})")
        if not self.instruction.strip():
            raise ValueError("the instruction is empty")


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacement:
    """Text to put in the place of `span` of the original document."""

    span: Span
    new_text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """The cost of one request. Times in seconds; `passes` counts decode passes, not prefill.

    calibration_s: what went into measuring this machine's passes, before the reply and after it.
    draft_s: the part of decode_s in which the draft model read the text and guessed.
    """

    prompt_tokens: int = 0
    reused_tokens: int = 0
    output_tokens: int = 0
    passes: int = 0
    drafted: int = 0
    accepted: int = 0
    near_tie_redecodes: int = 0  # near-ties that a pass of one row decided
    prefill_s: float = 0.0
    decode_s: float = 0.0
    calibration_s: float = 0.0
    draft_s: float = 0.0

    def __add__(self, other: "Stats") -> "Stats":
        """Return the cost of both requests together."""
        names = (field.name for field in fields(self))
        return Stats(**{name: getattr(self, name) + getattr(other, name) for name in names})

    @property
    def tokens_per_pass(self) -> float:
        return self.output_tokens / self.passes if self.passes else 0.0

    @property
    def tokens_per_s(self) -> float:
        return self.output_tokens / self.decode_s if self.decode_s else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """A line that still uses a definition as it was before an edit renamed or re-shaped it."""

    line: int  # of the text after the edit, counted from 1
    text: str  # the line, without the white space around it
    definition: str  # its old name, qualified as a target's
    path: str = ""  # of the file; "" for the edited one


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewritten:
    """An edit: applying `replacements` to the request's text gives exactly `new_text`.

    The replacements ascend and are apart from each other. They lie inside the target, but for those
    that add what it needs: to the file's imports, or in front of the definition around it.
    """

    new_text: str
    replacements: tuple[Replacement, ...]
    stats: Stats
    notes: tuple[str, ...] = ()  # sentences for the user, as on what the prompt left out
    callers: tuple[Caller, ...] = ()  # lines of the file that the edit leaves behind


@dataclass(frozen=True, slots=True, kw_only=True)
class Unchanged:
    """The model replied with the target as it is."""

    stats: Stats
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """No edit was made; `message` says why and what to do.

    lost: the lines that the edit would leave out, where that is the reason. withheld: the edit, for
    a user who overrides the reason after looking at it; None where the reply makes none.
    """

    reason: Reason
    message: str
    stats: Stats
    notes: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    withheld: Rewritten | None = None


Outcome: TypeAlias = Rewritten | Unchanged | Refused


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of prompt text, tokenised on its own.

    Only a `control` piece may hold the chat template's special tokens. Text of a file or a user is
    never control, so that `<|im_end|>` in a source file stays plain characters.
    """

    text: str
    control: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A prompt in two parts: the one depends on the file alone, the other on the request."""

    file: tuple[Piece, ...]  # chat head, system text, whole file: the reusable KV prefix
    request: tuple[Piece, ...]  # target, instruction, chat tail, opening of the reply
    source: str  # the text that the reply copies and edits, exactly as a reply would print it
    stop: tuple[str, ...]  # the reply ends before the first occurrence of any of these
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerUp:
    """The likeliest token besides the one that was written."""

    token: int
    piece: bytes
    behind: float  # logits, to the token that was written


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """One decode pass, and the tokens it committed; the four tuples are of one length."""

    tokens: tuple[int, ...]
    pieces: tuple[bytes, ...]  # the tokens' bytes; a character may be split between two
    origins: tuple[str | None, ...]  # the drafter whose guess the token confirmed; None: no guess
    runners_up: tuple[RunnerUp, ...]
    drafted: int  # tokens guessed, confirmed or not
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """A reply of the model, without the stop string, and the passes that decoded it."""

    text: str
    finish: Finish
    stats: Stats
    notes: tuple[str, ...] = ()
    passes: tuple[Pass, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeOptions:
    """Options for decoding a reply.

    `temperature` 0 is greedy; `timeout_s` counts from the request's start. Raises ValueError where
    `max_tokens` or `temperature` is out of range.
    """

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
    """The progress of a request; `text` is the reply so far."""

    phase: Literal["prefill", "decode"]
    done: int  # tokens
    expected: int  # tokens; an estimate while decoding
    text: str = ""


class Model(Protocol):
    """A language model, as far as redraft uses it; implemented by `redraft.engine.Engine`."""

    @property
    def n_ctx(self) -> int:
        """The most tokens of prompt and reply together."""

    @property
    def chat_template(self) -> str | None:
        """The Jinja chat template the model file carries, if any."""

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens of `text`, no part of it read as a special token."""

    def complete(
        self,
        prompt: Prompt,
        options: DecodeOptions,
        *,
        max_tokens: int,
        on_progress: Callable[[Progress], None] = ...,
        cancelled: Callable[[], bool] = ...,
    ) -> Completion:
        """Return the reply to `prompt`, at most `max_tokens` long.

        `cancelled` is called between passes. Raises EngineError where the native library fails.
        """
