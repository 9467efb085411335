"""The wire contract: every name and every shape that server and client must both know.

The only place to change it. `make protocol` generates from this file what the plug-ins and the
documentation say: editors/vscode/src/protocol.ts, editors/nvim/lua/redraft/protocol.lua and the
tables of docs/protocol.md. The string below a name is its description there.

Data only: what comes in is checked by `redraft.lsp.params`, which takes null for a key that is
missing; what goes out is made by `redraft.lsp.responses`.
"""

from enum import IntEnum
from typing import Any, Final, Literal, TypeAlias, TypedDict

from lsprotocol import types

from redraft.config.actions import Scope

__all__ = [
    "CANCEL",
    "CANCEL_NOTIFICATION",
    "EDIT",
    "FIND_TARGET",
    "KIND",
    "PARTIAL_NOTIFICATION",
    "PROMPT",
    "RELOAD",
    "SECTION",
    "SHOW_TRACE",
    "STATUS",
    "STATUS_NOTIFICATION",
    "WARM",
    "CancelParams",
    "Cancelled",
    "EditAnswer",
    "EditDone",
    "EditOptions",
    "EditParams",
    "EditPreview",
    "EditProgress",
    "EditResult",
    "EditStarted",
    "EditStats",
    "EditTarget",
    "EndedEdit",
    "Ending",
    "ErrorCode",
    "FoundTargets",
    "InitializationOptions",
    "ModelState",
    "ModelStatus",
    "OutdatedUse",
    "Partial",
    "Phase",
    "PromptParams",
    "Reason",
    "Refusal",
    "Scope",
    "Status",
    "TargetParams",
    "Trace",
    "TracePass",
    "TraceText",
    "TracedEdit",
    "WarmParams",
]

# Commands of the server, for workspace/executeCommand. Each takes one object, or nothing.

EDIT: Final = "redraft.edit"
"""Rewrite a part of a document. Takes `EditParams`, answers `EditAnswer`."""

FIND_TARGET: Final = "redraft.findTarget"
"""Say what an edit at a place would change, before there is an instruction. Takes `TargetParams`,
answers `FoundTargets`."""

CANCEL: Final = "redraft.cancel"
"""Cancel edits. Takes `CancelParams`, answers `Cancelled`."""

WARM: Final = "redraft.warm"
"""Load the model and prefill a document in the background. Takes `WarmParams`, answers `Status`
at once."""

STATUS: Final = "redraft.status"
"""Report the state of the server. Answers `Status`."""

RELOAD: Final = "redraft.reload"
"""Free the model and read the settings again; the next edit loads the model. Answers `Status`."""

SHOW_TRACE: Final = "redraft.showTrace"
"""Report how the last edits ended and how the last reply was decoded. Answers `Trace`."""

# The command of the client.

PROMPT: Final = "redraft.prompt"
"""A command of the client: ask the user for an instruction, then call `redraft.edit` with it.
Takes `PromptParams`. Offered only to clients that name it in `clientCommands`."""

# Notifications.

CANCEL_NOTIFICATION: Final = "redraft/cancel"
"""To the server: as `redraft.cancel`. Carries `CancelParams`."""

PARTIAL_NOTIFICATION: Final = "redraft/partial"
"""To the client, for edits with `partial`: what the model has written so far. Carries `Partial`."""

STATUS_NOTIFICATION: Final = "redraft/status"
"""To the client, where it set `statusNotifications`: after `initialized`, then whenever the
model's state changes or an edit begins or ends. Carries `Status`."""

# Names inside requests of the protocol.

KIND: Final = "refactor.rewrite.redraft"
"""The code action kind; an action's own kind is this, a dot and the action's name."""

SECTION: Final = "redraft"
"""The section of `workspace/configuration`."""

Phase: TypeAlias = Literal["waiting", "prefill", "decode"]
Ending: TypeAlias = Literal["applied", "preview", "unchanged", "failed", "cancelled"]
ModelState: TypeAlias = Literal["unloaded", "loading", "loaded"]

Reason: TypeAlias = Literal[
    "token_limit", "elision", "parse_broken", "deletion", "no_code", "context", "timeout"
]
"""Why the model was asked and yet there is no edit: `reason` of a `Refusal`."""


class ErrorCode(IntEnum):
    """Codes of an edit's errors, beside JSON-RPC's own. Nothing is edited then."""

    CANCELLED = types.LSPErrorCodes.RequestCancelled.value
    """Cancelled: by the client, for another edit of the same code, or because it was closed."""

    STALE = types.LSPErrorCodes.ContentModified.value
    """Stale: `version` is not the document's, or the target was changed while the edit was
    computed; `data.reason` is `stale`."""

    FAILED = types.LSPErrorCodes.RequestFailed.value
    """Could not be done; the message says why and what to do. Where the model was asked, `data` is
    a `Refusal`."""


class InitializationOptions(TypedDict, total=False):
    """The client's settings and abilities, sent with `initialize`."""

    settings: dict[str, Any]
    """Settings of clients that cannot be asked; the same keys as the section `redraft`."""

    clientCommands: list[str]
    """Commands the client has; `redraft.prompt` is the one the server knows."""

    trusted: bool
    """`false`: settings and actions in files of the project are ignored."""

    statusNotifications: bool
    """`true`: send `redraft/status`."""


class _DocumentKeys(TypedDict):
    uri: str
    """An open document."""


class TargetParams(_DocumentKeys, total=False):
    """The argument of `redraft.findTarget`: the place of an edit."""

    version: int | None
    """The version the positions are of; another than the current one is stale."""

    range: types.Range | None
    """The selection."""

    position: types.Position | None
    """The cursor, where there is no `range`."""

    scope: Scope | None
    """What may change: the function around the range's start (the range's lines, where it is in
    none), exactly the range, or everything. Default: a selection if there is one, else the
    function; at a cursor on an empty line outside of functions, an insertion there."""


class EditOptions(TargetParams, total=False):
    """The place of an edit and the form of its answer, whatever the instruction is."""

    anotherVersion: bool | None
    """Where the model leaves the code as it is, take its second choice."""

    preview: bool | None
    """Return the edit instead of applying it."""

    partial: bool | None
    """Send `redraft/partial` while the model writes."""

    wait: bool | None
    """Default true: answer when the edit has ended. `false`: answer at once with `EditStarted`
    and show a message when it has ended; code actions do this."""

    id: str | None
    """A name for `redraft/cancel`."""

    title: str | None
    """The name in the undo list and beside the progress."""


class EditParams(EditOptions):
    """The argument of `redraft.edit`."""

    instruction: str
    """What to change."""


class EditTarget(TypedDict):
    """Code that can be edited; `range` and `scope` are those to request the edit with."""

    name: str
    """For the user, such as `function Cart.total`, `lines 3-7` or `the whole file`."""

    range: types.Range
    scope: Scope | None


class FoundTargets(TypedDict):
    """The answer of `redraft.findTarget`."""

    problem: str | None
    """Why there is nothing to edit at the place."""

    targets: list[EditTarget]
    """What an edit there would change: one target. Where there is a problem, what the user can
    choose from instead."""


class PromptParams(EditOptions):
    """The argument of `redraft.prompt`."""

    question: str
    """What to ask the user."""


class CancelParams(TypedDict, total=False):
    """The edits that fit all that is given; without either key, all edits."""

    id: str | None
    """The edit of this name."""

    uri: str | None
    """The edit of this document."""


class Cancelled(TypedDict):
    """The answer of `redraft.cancel`."""

    cancelled: int
    """How many edits."""


class WarmParams(TypedDict, total=False):
    """The argument of `redraft.warm`."""

    uri: str | None
    """An open document; without, the model is loaded and nothing prefilled."""


class EditStats(TypedDict):
    """The cost of an edit; times in seconds."""

    promptTokens: int
    reusedTokens: int
    """Prompt tokens that were prefilled already."""

    outputTokens: int
    passes: int
    """Runs of the model over a batch of tokens while decoding."""

    drafted: int
    """Tokens guessed ahead."""

    accepted: int
    """Guessed tokens that the model confirmed."""

    tokensPerPass: float
    tokensPerSecond: float
    prefillSeconds: float
    decodeSeconds: float
    calibrationSeconds: float
    """Spent on measuring what passes cost on this machine, for this edit and later ones."""
    draftSeconds: float
    """The part of decodeSeconds in which a draft model read the text and guessed."""


class _EditKeys(TypedDict):
    id: str
    """The edit's name."""

    uri: str
    """Its document."""


class EditStarted(_EditKeys):
    """The answer of `redraft.edit` with `wait` false."""

    outcome: Literal["started"]


class OutdatedUse(TypedDict):
    """A line that still uses a definition as it was before the edit."""

    range: types.Range
    """The line, without the white space around it, in the document after the edit."""

    text: str
    definition: str
    """The name the definition had."""


class EndedEdit(_EditKeys):
    """The part of the answer that every edit that has ended has."""

    notes: list[str]
    """Sentences for the user, such as what was left out of the prompt."""

    callers: list[OutdatedUse]
    """Lines of the document that do not fit a definition that the edit renamed, or gave other
    parameters."""

    stats: EditStats


class EditDone(EndedEdit):
    """The answer of an edit that was applied or changed nothing."""

    outcome: Literal["applied", "unchanged"]


class EditPreview(EndedEdit):
    """The answer of an edit with `preview`."""

    outcome: Literal["preview"]
    edit: types.WorkspaceEdit
    """The edit, in the richest form the client takes."""

    edits: list[types.TextEdit]
    """The same as plain text edits, in the order of the document."""

    target: types.Range
    """What was to be edited. Edits outside of it add what it needs, such as imports."""

    version: int
    """The version of the document they are for."""


class Refusal(TypedDict):
    """`data` of the error for an edit that the model's reply did not lead to."""

    reason: Reason
    stats: EditStats
    lost: list[str]
    """The lines that the edit would leave out, where that is the reason."""

    withheld: EditPreview | None
    """The edit all the same, for a user who wants to look at it and apply it anyway; null where the
    reply makes none, or the code was changed meanwhile."""


EditResult: TypeAlias = EditDone | EditPreview
"""The answer of `redraft.edit` when it has ended."""

EditAnswer: TypeAlias = EditResult | EditStarted
"""The answer of `redraft.edit`."""


class EditProgress(_EditKeys):
    """The progress of an edit."""

    phase: Phase
    done: int
    """Tokens read or written in this phase."""

    expected: int
    """Tokens in all; an estimate while decoding."""

    tokensPerSecond: float
    """Speed of decoding; 0 before."""


class Partial(EditProgress):
    """The parameters of `redraft/partial`."""

    text: str
    """What the model has written so far: raw, before the checks."""


class ModelStatus(TypedDict):
    """The model that is set, and whether it is in memory."""

    name: str
    state: ModelState


class Status(TypedDict):
    """The state of the server."""

    version: str
    """The version of redraft."""

    model: ModelStatus
    edits: list[EditProgress]
    """The edits that run or wait."""

    waiting: int
    """How many requests wait for the model."""

    documents: int
    """How many documents are open."""

    warm: dict[str, int]
    """The URIs of prefilled documents, with the version that was prefilled."""


class TracedEdit(EditProgress):
    """An edit that has ended."""

    outcome: Ending
    reason: Reason | Literal["stale"] | None
    """Why there is no edit."""

    seconds: float
    """From the request to the end."""

    stats: EditStats | None


class TraceText(TypedDict):
    """A stretch of a reply, all from one origin."""

    origin: str | None
    """Which guess it confirmed; null: decoded without one."""

    text: str


class TracePass(TypedDict):
    """One pass of the model."""

    drafted: int
    """Tokens guessed ahead."""

    seconds: float
    text: list[TraceText]


class Trace(TypedDict):
    """The answer of `redraft.showTrace`."""

    edits: list[TracedEdit]
    """The last edits, the newest last."""

    passes: list[TracePass]
    """The passes of the last reply."""
