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
from redraft.lsp.contract import EDIT, FIND_TARGET, WARM, Scope
from redraft.lsp.documents import to_span
from redraft.records import Span
from redraft.syntax import target_at, targets
from redraft.text.lines import LineIndex, Unit, line_ending

__all__ = [
    "EditCommand",
    "Place",
    "describe_target",
    "find_target",
    "list_alternatives",
    "parse_cancel",
    "parse_edit",
    "parse_place",
    "parse_warm",
]

_MAX_UINT: Final = 2**31 - 1  # the protocol's largest whole number

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The checked form of `redraft.lsp.contract.TargetParams`, where its keys are described.

    `range` is the selection, or the cursor as an empty range.
    """

    uri: str
    version: int | None = None
    range: types.Range | None = None
    scope: Scope | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EditCommand(Place):
    """The checked form of `redraft.lsp.contract.EditParams`, where its keys are described."""

    instruction: str
    another_version: bool = False
    preview: bool = False
    partial: bool = False
    wait: bool = True
    id: str | None = None
    title: str | None = None


def parse_edit(arguments: Sequence[object] | None) -> EditCommand:
    """Check the arguments of `redraft.edit`."""
    params = _only_object(EDIT, arguments, required=True)
    place = _parse_place(params)
    instruction = _take(params, "instruction", str)
    if not instruction or not instruction.strip():
        raise JsonRpcInvalidParams("instruction must say what to change")
    return EditCommand(
        uri=place.uri,
        version=place.version,
        range=place.range,
        scope=place.scope,
        instruction=instruction,
        another_version=bool(_take(params, "anotherVersion", bool)),
        preview=bool(_take(params, "preview", bool)),
        partial=bool(_take(params, "partial", bool)),
        wait=_take(params, "wait", bool) is not False,
        id=_take(params, "id", str),
        title=_take(params, "title", str),
    )


def parse_place(arguments: Sequence[object] | None) -> Place:
    """Check the arguments of `redraft.findTarget`."""
    return _parse_place(_only_object(FIND_TARGET, arguments, required=True))


def parse_cancel(params: object) -> tuple[str | None, str | None]:
    """Return the edit's id and the document's URI that a cancel names; neither means all edits."""
    checked = params if isinstance(params, Mapping) else {}
    return _take(checked, "id", str), _take(checked, "uri", str)


def parse_warm(arguments: Sequence[object] | None) -> str | None:
    """Return the URI that the arguments of `redraft.warm` name, if they do."""
    return _take(_only_object(WARM, arguments, required=False), "uri", str)


def find_target(place: Place, index: LineIndex, language: str | None, unit: Unit) -> Span:
    """Return the span that an edit at `place` is about, in the document that `index` is of.

    A selection is exactly the selection. A function is the innermost around the range's start;
    where a range is in none, it stands for its lines. A cursor on an empty line outside of
    functions stands for itself unless a function was asked for: the edit is an insertion there.
    Raises InputError saying what to select instead.
    """
    if place.scope == "file":
        return Span(0, len(index.text))
    if place.range is None:
        raise InputError("give a position or a range, or the scope file")
    span = to_span(place.range, index, unit)
    if place.scope == "selection" or (place.scope is None and len(span)):
        return span
    line, column = index.position(span.start, "utf-32")
    is_insertion = (
        place.scope is None and not len(span) and not index.line_span(line).of(index.text).strip()
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


def describe_target(target: Span, index: LineIndex, language: str | None) -> str:
    """Return what to call `target` in front of a user: a definition by its name, else the lines."""
    if language is not None:
        for definition in targets(index.text, language):
            if definition.span == target:
                return f"{definition.kind} {definition.name}"
    first = index.line_at(target.start)
    if not len(target):
        return f"an insertion at line {first + 1}"
    if len(target) == len(index.text):
        return "the whole file"
    # A selection of whole lines may stop at the start of the next one.
    last = index.line_at(target.stop - 1)
    if last > first:
        return f"lines {first + 1}-{last + 1}"
    is_line = target.of(index.text).strip() == index.line_span(first).of(index.text).strip()
    return f"line {first + 1}" if is_line else f"part of line {first + 1}"


def list_alternatives(place: Place, index: LineIndex, unit: Unit) -> tuple[Span, ...]:
    """Return what a user can choose where the cursor at `place` is in no function.

    That is the line, its block up to the next empty lines, and everything, without doubles. Of
    whole lines the last one's ending is left out.
    """
    text = index.text
    if place.range is None or not text.strip():
        return ()

    def is_filled(line: int) -> bool:
        return bool(index.line_span(line).of(text).strip())

    def join(first: int, last: int) -> Span:
        last_span = index.line_span(last)
        ending = line_ending(last_span.of(text))
        return Span(index.line_span(first).start, last_span.stop - len(ending))

    line = index.line_at(to_span(place.range, index, unit).start)
    spans: list[Span] = []
    if is_filled(line):
        first = last = line
        while first > 0 and is_filled(first - 1):
            first -= 1
        while last < index.line_at(len(text)) and is_filled(last + 1):
            last += 1
        spans = [join(line, line), join(first, last)]
    return tuple(dict.fromkeys([*spans, Span(0, len(text))]))


def _parse_place(params: Mapping[str, object]) -> Place:
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
    return Place(
        uri=_require(params, "uri", str),
        version=_take(params, "version", int),
        range=range_,
        scope=scope,  # type: ignore[arg-type]  # one of Scope's names, as checked above
    )


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
