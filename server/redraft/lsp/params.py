"""What a client asks for, checked: arguments of commands made parameters.

Each wrong one is refused by its name (JsonRpcInvalidParams). Keys that nobody knows are let be:
they may be a newer client's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar, get_args

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams

from redraft.errors import InputError
from redraft.lsp.contract import EDIT, Scope
from redraft.lsp.documents import span_of
from redraft.records import Span
from redraft.syntax import target_at
from redraft.text.lines import LineIndex, Unit, line_ending

__all__ = ["EditCommand", "edit_params", "optional_uri", "target_of", "which"]

_MAX_UINT: Final = 2**31 - 1  # the protocol's largest whole number

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class EditCommand:
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


def edit_params(arguments: Sequence[object] | None) -> EditCommand:
    """Check the arguments of `redraft.edit`."""
    given = _only_object(EDIT, arguments, required=True)
    scope = _take(given, "scope", str)
    if scope is not None and scope not in get_args(Scope):
        raise _invalid(f"scope must be one of {', '.join(get_args(Scope))}, not {scope!r}")
    instruction = _take(given, "instruction", str)
    if not instruction or not instruction.strip():
        raise _invalid("instruction must say what to change")
    return EditCommand(
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


def which(params: object) -> tuple[str | None, str | None]:
    """The edit's id and the document's URI that a cancel names; neither means all edits."""
    given = params if isinstance(params, Mapping) else {}
    return _take(given, "id", str), _take(given, "uri", str)


def optional_uri(command: str, arguments: Sequence[object] | None) -> str | None:
    """The `uri` of a command that may name a document."""
    return _take(_only_object(command, arguments, required=False), "uri", str)


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


def target_of(asked: EditCommand, index: LineIndex, language: str | None, unit: Unit) -> Span:
    """The span `asked` means in the document `index` is of.

    A selection is exactly the selection; a function is the innermost around the range's start, and
    where a range is in none, its lines. Raises InputError saying what to select instead.
    """
    if asked.scope == "file":
        return Span(0, len(index.text))
    if asked.range is None:
        raise InputError("give a position or a range, or the scope file")
    span = span_of(asked.range, index, unit)
    if asked.scope == "selection" or (asked.scope is None and len(span)):
        return span
    try:
        return _function(index, language, span.start)
    except InputError:
        if not len(span):
            raise
    return _lines(span, index)


def _function(index: LineIndex, language: str | None, offset: int) -> Span:
    if language is None:
        raise InputError("redraft cannot find functions in this language: select what to edit")
    line, column = index.position(offset, "utf-32")
    return target_at(index.text, language, line, column).span


def _lines(span: Span, index: LineIndex) -> Span:
    """The whole lines `span` lies on, without the last one's ending."""
    first = index.line_span(index.line_at(span.start))
    last = index.line_span(index.line_at(max(span.start, span.stop - 1)))
    return Span(first.start, last.stop - len(line_ending(last.of(index.text))))
