"""The wire contract: every name and every shape that server and client must both know.

docs/protocol.md says it in prose; editors/vscode/src/protocol.ts and
editors/nvim/lua/redraft/protocol.lua mirror it, and a test keeps the four in step. Data only: what
comes in is checked by `redraft.lsp.params`, what goes out is made by `redraft.lsp.responses`.
"""

from enum import IntEnum
from typing import Any, Final, Literal, TypeAlias, TypedDict

from lsprotocol import types

from redraft.config.actions import Scope

__all__ = [
    "CANCEL",
    "CANCEL_NOTIFICATION",
    "EDIT",
    "KIND",
    "PARTIAL_NOTIFICATION",
    "PROMPT",
    "RELOAD",
    "SECTION",
    "SHOW_TRACE",
    "STATUS",
    "STATUS_NOTIFICATION",
    "WARM",
    "Answer",
    "CancelParams",
    "Cancelled",
    "EditArgument",
    "EditProgress",
    "EditStats",
    "Ending",
    "ErrorCode",
    "InitializationOptions",
    "ModelState",
    "ModelStatus",
    "Outcome",
    "Partial",
    "Phase",
    "PromptArgument",
    "Reason",
    "Scope",
    "Status",
    "Trace",
    "TracePass",
    "TraceText",
    "TracedEdit",
]

# Commands of the server, for workspace/executeCommand. Each takes one object, or nothing.
EDIT: Final = "redraft.edit"  # EditArgument -> Answer
CANCEL: Final = "redraft.cancel"  # Which -> Cancelled
WARM: Final = "redraft.warm"  # Which, by `uri` alone -> Status
STATUS: Final = "redraft.status"  # -> Status
RELOAD: Final = "redraft.reload"  # -> Status
SHOW_TRACE: Final = "redraft.showTrace"  # -> Trace

# A command of the client, with a PromptArgument: ask for an instruction, then call redraft.edit
# with it. Offered only to a client that names it in InitializationOptions.clientCommands.
PROMPT: Final = "redraft.prompt"

CANCEL_NOTIFICATION: Final = "redraft/cancel"  # from the client: Which
PARTIAL_NOTIFICATION: Final = "redraft/partial"  # to the client, where `partial` was asked for
STATUS_NOTIFICATION: Final = "redraft/status"  # to the client, where it asked for these: Status

KIND: Final = "refactor.rewrite.redraft"  # every action's kind is this and its name
SECTION: Final = "redraft"  # of workspace/configuration

Phase: TypeAlias = Literal["waiting", "prefill", "decode"]
Outcome: TypeAlias = Literal["applied", "preview", "unchanged", "started"]
Ending: TypeAlias = Outcome | Literal["failed", "cancelled"]  # of an edit in the trace
ModelState: TypeAlias = Literal["unloaded", "loading", "loaded"]

# Why the model was asked and yet there is no edit: `data.reason` of ErrorCode.FAILED.
Reason: TypeAlias = Literal[
    "token_limit", "elision", "parse_broken", "deletion", "no_code", "context", "timeout"
]


class ErrorCode(IntEnum):
    """Codes that an edit is answered with, beside JSON-RPC's own."""

    CANCELLED = types.LSPErrorCodes.RequestCancelled.value
    STALE = types.LSPErrorCodes.ContentModified.value
    FAILED = types.LSPErrorCodes.RequestFailed.value


class InitializationOptions(TypedDict, total=False):
    """What a client may say of itself."""

    settings: dict[str, Any]
    clientCommands: list[str]
    trusted: bool
    statusNotifications: bool


class EditArgument(TypedDict, total=False):
    """The argument of `redraft.edit`; `redraft.lsp.params.EditParams` is its checked form."""

    uri: str
    instruction: str
    version: int
    range: types.Range
    position: types.Position
    scope: Scope
    preview: bool
    partial: bool
    wait: bool
    id: str
    title: str


class PromptArgument(EditArgument, total=False):
    """The argument of `redraft.prompt`: that of `redraft.edit` but for the instruction."""

    question: str


class CancelParams(TypedDict, total=False):
    """The edits that are meant: all that fit what is given."""

    id: str
    uri: str


class Cancelled(TypedDict):
    """The answer of `redraft.cancel`."""

    cancelled: int


class EditStats(TypedDict):
    """What an edit cost; times in seconds."""

    promptTokens: int
    reusedTokens: int
    outputTokens: int
    passes: int
    drafted: int
    accepted: int
    tokensPerPass: float
    tokensPerSecond: float
    prefillSeconds: float
    decodeSeconds: float


class _Answered(TypedDict):
    id: str
    uri: str
    outcome: Outcome


class Answer(_Answered, total=False):
    """The answer of `redraft.edit`; the last three of these keys come with a preview."""

    notes: list[str]
    stats: EditStats
    edit: types.WorkspaceEdit
    edits: list[types.TextEdit]
    version: int


class EditProgress(TypedDict):
    """How far an edit is; `expected` is an estimate while decoding."""

    id: str
    uri: str
    phase: Phase
    done: int
    expected: int
    tokensPerSecond: float


class Partial(EditProgress):
    """The parameters of `redraft/partial`."""

    text: str


class ModelStatus(TypedDict):
    """The model that is set, and whether it is there."""

    name: str
    state: ModelState


class Status(TypedDict):
    """The answer of `redraft.status`, and the parameters of `redraft/status`."""

    version: str
    model: ModelStatus
    edits: list[EditProgress]
    waiting: int
    documents: int
    warm: dict[str, int]


class TracedEdit(EditProgress):
    """How an edit ended, after how many seconds."""

    outcome: Ending
    reason: Reason | Literal["stale"] | None
    seconds: float
    stats: EditStats | None


class TraceText(TypedDict):
    """A stretch of an answer, and which guess it confirmed (None: none)."""

    origin: str | None
    text: str


class TracePass(TypedDict):
    """One pass of the model."""

    drafted: int
    seconds: float
    text: list[TraceText]


class Trace(TypedDict):
    """The answer of `redraft.showTrace`."""

    edits: list[TracedEdit]
    passes: list[TracePass]
