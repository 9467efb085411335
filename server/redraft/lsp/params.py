"""The arguments of the client's commands, checked, and the span an edit is about.

An argument that is wrong is refused by its name (JsonRpcInvalidParams). Unknown keys are ignored:
a newer client may send them. Knows the shapes of `redraft.lsp.contract`; nothing of the server.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar, get_args

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams

from redraft.errors import InputError
from redraft.lsp.contract import EDIT, WARM, Scope
from redraft.lsp.documents import to_span
from redraft.records import Span
from redraft.syntax import target_at
from redraft.text.lines import LineIndex, Unit, line_ending

__all__ = ["EditCommand", "find_target", "parse_cancel", "parse_edit", "parse_warm"]

_MAX_UINT: Final = 2**31 - 1  # the protocol's largest whole number

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class EditCommand:
    """The checked form of `redraft.lsp.contract.EditParams`, where its keys are described.

    `range` is the selection, or the cursor as an empty range.
    """

    uri: str
    instruction: str
    version: int | None = None
    range: types.Range | None = None
    scope: Scope | None = None
    another_version: bool = False
    preview: bool = False
    partial: bool = False
    wait: bool = True
    id: str | None = None
    title: str | None = None


def parse_edit(arguments: Sequence[object] | None) -> EditCommand:
    """Check the arguments of `redraft.edit`."""
    params = _only_object(EDIT, arguments, required=True)
    scope = _take(params, "scope", str)
    if scope is not None and scope not in get_args(Scope):
        names = ", ".join(get_args(Scope))
        raise JsonRpcInvalidParams(f"scope must be one of {names}, not {scope!r}")
    range_ = None
    if (ends := _take(params, "range", dict)) is not None:
        range_ = types.Range(_parse_position(ends, "start"), _parse_position(ends, "end"))
    elif params.get("position") is not None:
        position = _parse_position(params, "position")
        range_ = types.Range(position, position)
    instruction = _take(params, "instruction", str)
    if not instruction or not instruction.strip():
        raise JsonRpcInvalidParams("instruction must say what to change")
    return EditCommand(
        uri=_require(params, "uri", str),
        instruction=instruction,
        version=_take(params, "version", int),
        range=range_,
        scope=scope,  # type: ignore[arg-type]  # one of Scope's names, as checked above
        another_version=bool(_take(params, "anotherVersion", bool)),
        preview=bool(_take(params, "preview", bool)),
        partial=bool(_take(params, "partial", bool)),
        wait=_take(params, "wait", bool) is not False,
        id=_take(params, "id", str),
        title=_take(params, "title", str),
    )


def parse_cancel(params: object) -> tuple[str | None, str | None]:
    """Return the edit's id and the document's URI that a cancel names; neither means all edits."""
    checked = params if isinstance(params, Mapping) else {}
    return _take(checked, "id", str), _take(checked, "uri", str)


def parse_warm(arguments: Sequence[object] | None) -> str | None:
    """Return the URI that the arguments of `redraft.warm` name, if they do."""
    return _take(_only_object(WARM, arguments, required=False), "uri", str)


def find_target(command: EditCommand, index: LineIndex, language: str | None, unit: Unit) -> Span:
    """Return the span that `command` is about, in the document that `index` is of.

    A selection is exactly the selection. A function is the innermost around the range's start;
    where a range is in none, it stands for its lines. A cursor on an empty line outside of
    functions stands for itself unless a function was asked for: the edit is an insertion there.
    Raises InputError saying what to select instead.
    """
    if command.scope == "file":
        return Span(0, len(index.text))
    if command.range is None:
        raise InputError("give a position or a range, or the scope file")
    span = to_span(command.range, index, unit)
    if command.scope == "selection" or (command.scope is None and len(span)):
        return span
    line, column = index.position(span.start, "utf-32")
    is_insertion = (
        command.scope is None and not len(span) and not index.line_span(line).of(index.text).strip()
    )
    if language is not None:
        try:
            return target_at(index.text, language, line, column).span
        except InputError:
            if is_insertion:
                return span
            if not len(span):
                message = (
                    f"line {line + 1} is in no function or class: put the cursor into one, or "
                    "select what to edit"
                )
                raise InputError(message) from None
    elif is_insertion:
        return span
    elif not len(span):
        raise InputError("redraft cannot find functions in this language: select what to edit")
    # Whole lines without the last one's ending. A selection that stops at the start of a line,
    # as one of whole lines does, does not reach into that line.
    first = index.line_span(line)
    last = index.line_span(index.line_at(max(span.start, span.stop - 1)))
    return Span(first.start, last.stop - len(line_ending(last.of(index.text))))


def _only_object(
    command: str, arguments: Sequence[object] | None, *, required: bool
) -> Mapping[str, object]:
    if not arguments and not required:
        return {}
    if not arguments or len(arguments) != 1 or not isinstance(arguments[0], Mapping):
        raise JsonRpcInvalidParams(f"{command} takes one object as its argument")
    return arguments[0]


def _take(params: Mapping[Any, object], key: str, kind: type[_T]) -> _T | None:
    value = params.get(key)
    if value is None:
        return None
    # True and False are whole numbers to Python, but not to the protocol.
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        message = f"{key} must be of type {kind.__name__}, not {type(value).__name__}"
        raise JsonRpcInvalidParams(message)
    return value


def _require(params: Mapping[str, object], key: str, kind: type[_T]) -> _T:
    value = _take(params, key, kind)
    if value is None:
        raise JsonRpcInvalidParams(f"{key} is missing")
    return value


def _parse_position(params: Mapping[str, object], key: str) -> types.Position:
    position: Mapping[str, object] = _require(params, key, dict)
    line, character = _require(position, "line", int), _require(position, "character", int)
    if not (0 <= line <= _MAX_UINT and 0 <= character <= _MAX_UINT):
        message = f"{key}: line and character count from 0, not {line}:{character}"
        raise JsonRpcInvalidParams(message)
    return types.Position(line, character)
