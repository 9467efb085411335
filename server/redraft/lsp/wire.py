"""The wire contract: names, parameters, answers, and positions as the client counts them.

What is said here in types, docs/protocol.md says in prose. Knows
nothing of models or of how an edit is made.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, Literal, TypeAlias, TypeVar, get_args

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams

from redraft.messages import Completion, Replacement, Span, Stats
from redraft.text import LineIndex, Unit

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
    "WARM",
    "EditParams",
    "Scope",
    "cancel_target",
    "edit_params",
    "failed",
    "modified",
    "optional_uri",
    "passes_of",
    "range_of",
    "span_of",
    "stats_of",
    "text_edits",
    "unit_of",
]

# Commands of the server, for workspace/executeCommand. Each takes one object, or nothing.
EDIT: Final = "redraft.edit"
CANCEL: Final = "redraft.cancel"
WARM: Final = "redraft.warm"
STATUS: Final = "redraft.status"
RELOAD: Final = "redraft.reload"
SHOW_TRACE: Final = "redraft.showTrace"

# A command of the client: ask for an instruction, then call redraft.edit with it. Offered only to
# a client that names it in initializationOptions.clientCommands.
PROMPT: Final = "redraft.prompt"

CANCEL_NOTIFICATION: Final = "redraft/cancel"  # from the client: {id}
PARTIAL_NOTIFICATION: Final = "redraft/partial"  # to the client, where `partial` was asked for

KIND: Final = "refactor.rewrite.redraft"  # every action's kind is this and its name
SECTION: Final = "redraft"  # of workspace/configuration

Scope: TypeAlias = Literal["function", "selection", "file"]

_MAX_UINT: Final = 2**31 - 1  # the protocol's largest whole number

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class EditParams:
    """The argument of `redraft.edit`.

    `range` is where the cursor or the selection is. Without `scope`, a selection is the target,
    and else the function around the cursor. With `wait` the answer is the edit's ending; without,
    the command is answered at once and the user hears of the ending through a message.
    """

    uri: str
    instruction: str
    version: int | None = None
    range: types.Range | None = None
    scope: Scope | None = None
    preview: bool = False
    partial: bool = False
    wait: bool = True
    id: str | None = None
    title: str | None = None  # names the edit in the undo list and beside its progress


def edit_params(arguments: Sequence[object] | None) -> EditParams:
    """Check the arguments of `redraft.edit`. Raises JsonRpcInvalidParams naming the wrong key."""
    given = _only_object(EDIT, arguments, required=True)
    scope = _take(given, "scope", str)
    if scope is not None and scope not in get_args(Scope):
        raise _invalid(f"scope must be one of {', '.join(get_args(Scope))}, not {scope!r}")
    instruction = _take(given, "instruction", str)
    if not instruction or not instruction.strip():
        raise _invalid("instruction must say what to change")
    return EditParams(
        uri=_required(given, "uri", str),
        instruction=instruction,
        version=_take(given, "version", int),
        range=_place(given),
        scope=scope,  # type: ignore[arg-type]  # one of Scope's names, as checked above
        preview=bool(_take(given, "preview", bool)),
        partial=bool(_take(given, "partial", bool)),
        wait=_take(given, "wait", bool) is not False,
        id=_take(given, "id", str),
        title=_take(given, "title", str),
    )


def cancel_target(params: object) -> tuple[str | None, str | None]:
    """The edit's id and the document's URI that a cancel names; neither means all edits."""
    given = params if isinstance(params, Mapping) else {}
    return _take(given, "id", str), _take(given, "uri", str)


def optional_uri(command: str, arguments: Sequence[object] | None) -> str | None:
    """The `uri` of a command that may name a document."""
    return _take(_only_object(command, arguments, required=False), "uri", str)


def unit_of(encoding: object) -> Unit:
    """The unit of the negotiated position encoding; UTF-16 where none was."""
    value = getattr(encoding, "value", encoding)
    return value if value in get_args(Unit) else "utf-16"  # type: ignore[return-value]


def span_of(given: types.Range, index: LineIndex, unit: Unit) -> Span:
    """The span a client's range names; a reversed range is taken the right way round."""
    ends = sorted(
        index.offset(place.line, place.character, unit) for place in (given.start, given.end)
    )
    return Span(*ends)


def range_of(span: Span, index: LineIndex, unit: Unit) -> types.Range:
    """The span as the client counts."""
    start, stop = (
        types.Position(*index.position(offset, unit)) for offset in (span.start, span.stop)
    )
    return types.Range(start, stop)


def text_edits(
    replacements: Iterable[Replacement], index: LineIndex, unit: Unit
) -> list[types.TextEdit]:
    """The replacements as the client takes them, in the order they come."""
    return [
        types.TextEdit(range=range_of(each.span, index, unit), new_text=each.new_text)
        for each in replacements
    ]


def stats_of(stats: Stats) -> dict[str, float | int]:
    """What an edit cost, in the names of the wire; times in seconds."""
    return {
        "promptTokens": stats.prompt_tokens,
        "reusedTokens": stats.reused_tokens,
        "outputTokens": stats.output_tokens,
        "passes": stats.passes,
        "drafted": stats.drafted,
        "accepted": stats.accepted,
        "prefillSeconds": stats.prefill_s,
        "decodeSeconds": stats.decode_s,
        "tokensPerPass": stats.tokens_per_pass,
        "tokensPerSecond": stats.tokens_per_s,
    }


def failed(message: str, **data: object) -> JsonRpcException:
    """The answer to a request that was right but could not be done (-32803)."""
    return JsonRpcException(message, types.LSPErrorCodes.RequestFailed.value, data or None)


def modified(message: str) -> JsonRpcException:
    """The answer to a request whose document is not what it was (-32801)."""
    data = {"reason": "stale"}
    return JsonRpcException(message, types.LSPErrorCodes.ContentModified.value, data)


def passes_of(completion: Completion) -> list[dict[str, Any]]:
    """How an answer came about: for each pass its text, cut where the origin changes."""
    return [
        {
            "drafted": each.drafted,
            "seconds": each.seconds,
            "text": [
                {
                    "origin": origin,
                    "text": b"".join(piece for _, piece in run).decode(errors="replace"),
                }
                for origin, run in groupby(
                    zip(each.origins, each.pieces, strict=True), key=itemgetter(0)
                )
            ],
        }
        for each in completion.passes
    ]


def _invalid(message: str) -> JsonRpcInvalidParams:
    return JsonRpcInvalidParams(message)


def _only_object(
    command: str, arguments: Sequence[object] | None, *, required: bool
) -> Mapping[str, object]:
    given = arguments or ()
    if not given and not required:
        return {}
    if len(given) != 1 or not isinstance(given[0], Mapping):
        raise _invalid(f"{command} takes one object as its argument")
    return given[0]


def _take(given: Mapping[Any, object], key: str, kind: type[_T]) -> _T | None:
    value = given.get(key)
    if value is None:
        return None
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise _invalid(f"{key} must be of type {kind.__name__}, not {type(value).__name__}")
    return value


def _required(given: Mapping[str, object], key: str, kind: type[_T]) -> _T:
    value = _take(given, key, kind)
    if value is None:
        raise _invalid(f"{key} is missing")
    return value


def _place(given: Mapping[str, object]) -> types.Range | None:
    """`range`, or `position` as an empty range."""
    if (ends := _take(given, "range", dict)) is not None:
        return types.Range(_position(ends, "start"), _position(ends, "end"))
    if given.get("position") is None:
        return None
    place = _position(given, "position")
    return types.Range(place, place)


def _position(given: Mapping[str, object], key: str) -> types.Position:
    place: Mapping[str, object] = _required(given, key, dict)
    line, character = _required(place, "line", int), _required(place, "character", int)
    if not (0 <= line <= _MAX_UINT and 0 <= character <= _MAX_UINT):
        raise _invalid(f"{key}: line and character count from 0, not {line}:{character}")
    return types.Position(line, character)
