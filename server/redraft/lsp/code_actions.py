"""Which code actions are offered at a place: pure, from what the client sent and what is set.

A code action carries a command and nothing computed: no parse, no model. Whether there is a
function around the cursor shows when the command runs.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from lsprotocol import types

from redraft.config.actions import (
    DIAGNOSTIC,
    EDIT_ACTION,
    FIX_ACTION,
    SELECTION,
    Action,
)
from redraft.lsp import contract
from redraft.lsp.documents import OpenDocument, span_of
from redraft.records import Span
from redraft.text.lines import Unit

__all__ = ["ClientAbilities", "offers"]

_WORD: Final = re.compile(r"\w+|\r\n|.", re.DOTALL)  # or any one character, as block cursors cover


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientAbilities:
    """What the client can do with a code action."""

    literals: bool  # takes CodeAction and not only Command
    tags: bool  # knows the tag of what a language model made
    can_ask: bool  # has the command `redraft.prompt`


def offers(
    params: types.CodeActionParams,
    document: OpenDocument,
    actions: Iterable[Action],
    client: ClientAbilities,
    unit: Unit,
) -> list[types.CodeAction | types.Command]:
    """The actions for `params`, in the order they are configured."""
    span = span_of(params.range, document.index, unit)
    found = [
        action
        for each in actions
        if not each.languages or document.language in each.languages
        for action in _of(each, params, document, span, client)
        if _is_wanted(action, params.context.only)
    ]
    if client.literals:
        return list(found)
    return [action.command for action in found if action.command]


def _of(
    action: Action,
    params: types.CodeActionParams,
    document: OpenDocument,
    span: Span,
    client: ClientAbilities,
) -> Iterator[types.CodeAction]:
    selected = span.of(document.text)
    base: dict[str, Any] = {
        "uri": document.uri,
        "version": document.version,
        "range": _plain(params.range),
        "scope": action.scope,
        "title": action.title,
        "wait": False,
    }
    if action.name == EDIT_ACTION:
        if client.can_ask:
            arguments = base | {"wait": True, "question": action.instruction}
            yield _action(action, action.title, contract.PROMPT, arguments, client)
    elif action.name == FIX_ACTION:
        for diagnostic in params.context.diagnostics:
            text = action.instruction.replace(DIAGNOSTIC, _said(diagnostic))
            # A squiggle covers a word; what is to be fixed is the code around it.
            scope = action.scope or "function"
            arguments = base | {
                "instruction": text,
                "scope": scope,
                "range": _plain(diagnostic.range),
            }
            title = f"{action.title}: {_short(diagnostic.message)}"
            yield _action(action, title, contract.EDIT, arguments, client, diagnostic)
    elif SELECTION not in action.instruction or selected:
        text = action.instruction.replace(SELECTION, selected)
        if action.scope is None and _is_cursor(span, document, part_of_line=action.needs_lines):
            base["scope"] = "function"
        yield _action(action, action.title, contract.EDIT, base | {"instruction": text}, client)


def _is_cursor(span: Span, document: OpenDocument, *, part_of_line: bool) -> bool:
    """Whether a range is too little to be what an action is for: it says where, and not what.

    Some editors send the character or the word under the cursor where nothing is selected.
    """
    selected = span.of(document.text)
    if _WORD.fullmatch(selected):
        return True
    line = document.index.line_span(document.index.line_at(span.start))
    return part_of_line and span in line and selected.strip() != line.of(document.text).strip()


def _action(
    action: Action,
    title: str,
    command: str,
    arguments: Mapping[str, object],
    client: ClientAbilities,
    diagnostic: types.Diagnostic | None = None,
) -> types.CodeAction:
    kind = f"{contract.KIND}.{action.name}"
    return types.CodeAction(
        title=f"redraft: {title}",
        kind=types.CodeActionKind.QuickFix if diagnostic else kind,
        diagnostics=[diagnostic] if diagnostic else None,
        command=types.Command(title=title, command=command, arguments=[arguments]),
        tags=[types.CodeActionTag.LlmGenerated] if client.tags else None,
    )


def _is_wanted(action: types.CodeAction, only: Sequence[types.CodeActionKind | str] | None) -> bool:
    """Whether one of the kinds asked for is the action's, or one above it."""
    if only is None:
        return True
    kind = f"{_value(action.kind)}."
    return any(kind.startswith(f"{_value(each)}.") or not _value(each) for each in only)


def _value(kind: object) -> str:
    return str(getattr(kind, "value", kind))


def _plain(place: types.Range) -> dict[str, dict[str, int]]:
    return {
        "start": {"line": place.start.line, "character": place.start.character},
        "end": {"line": place.end.line, "character": place.end.character},
    }


def _said(diagnostic: types.Diagnostic) -> str:
    place = f"line {diagnostic.range.start.line + 1}"
    source = f" ({diagnostic.source})" if diagnostic.source else ""
    return f"{diagnostic.message.strip()}{source}, at {place}"


def _short(message: str) -> str:
    line = message.strip().partition("\n")[0]
    return line if len(line) <= 60 else f"{line[:57]}..."
