"""The code actions offered at a place: pure, from what the client sent and what is set.

A code action carries a command and nothing computed: no parse, no model. That there is no function
around the cursor shows when the command runs.
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
from redraft.lsp.documents import OpenDocument, to_span
from redraft.records import Span
from redraft.text.lines import Unit

__all__ = ["ClientAbilities", "list_code_actions"]

_WORD: Final = re.compile(r"\w+|\r\n|.", re.DOTALL)  # or any one character, as block cursors cover
_TITLE_LENGTH: Final = 60  # of a diagnostic's message, in characters


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientAbilities:
    """The client's abilities that matter to a code action."""

    literals: bool  # takes CodeAction and not only Command
    tags: bool  # knows the tag of what a language model made
    can_prompt: bool  # has the command `redraft.prompt`


def list_code_actions(
    params: types.CodeActionParams,
    document: OpenDocument,
    actions: Iterable[Action],
    client: ClientAbilities,
    unit: Unit,
) -> list[types.CodeAction | types.Command]:
    """Return what is offered at the place in `params`, in the order of `actions`."""
    span = to_span(params.range, document.index, unit)
    code_actions = [
        code_action
        for action in actions
        if not action.languages or document.language in action.languages
        for code_action in _build_code_actions(action, params, document, span, client)
        if _is_wanted(code_action, params.context.only)
    ]
    if client.literals:
        return list(code_actions)
    # A client of the protocol before 3.8 takes commands alone.
    return [code_action.command for code_action in code_actions if code_action.command]


def _build_code_actions(
    action: Action,
    params: types.CodeActionParams,
    document: OpenDocument,
    span: Span,
    client: ClientAbilities,
) -> Iterator[types.CodeAction]:
    """Yield the code actions of `action`: one or none, or one for each diagnostic."""
    selected = span.of(document.text)
    options: dict[str, Any] = {
        "uri": document.uri,
        "version": document.version,
        "range": _to_json(params.range),
        "scope": action.scope,
        "title": action.title,
        "wait": False,
    }
    if action.name == EDIT_ACTION:
        if client.can_prompt:
            options |= {"wait": True, "question": action.instruction}
            yield _build_code_action(action, action.title, contract.PROMPT, options, client)
        return
    if action.name == FIX_ACTION:
        for diagnostic in params.context.diagnostics:
            message = diagnostic.message.strip()
            source = f" ({diagnostic.source})" if diagnostic.source else ""
            problem = f"{message}{source}, at line {diagnostic.range.start.line + 1}"
            arguments = options | {
                "instruction": action.instruction.replace(DIAGNOSTIC, problem),
                # A squiggle covers a word; what is to be fixed is the code around it.
                "scope": action.scope or "function",
                "range": _to_json(diagnostic.range),
            }
            line = message.partition("\n")[0]
            if len(line) > _TITLE_LENGTH:
                line = f"{line[: _TITLE_LENGTH - 3]}..."
            title = f"{action.title}: {line}"
            yield _build_code_action(action, title, contract.EDIT, arguments, client, diagnostic)
        return
    is_cursor = _is_cursor(span, action, document, client)
    if action.needs_code and is_cursor:
        return
    # An action about the selected text has no meaning without any.
    if SELECTION not in action.instruction or selected:
        options["instruction"] = action.instruction.replace(SELECTION, selected)
        if action.scope is None and is_cursor:
            options["scope"] = "function"
        yield _build_code_action(action, action.title, contract.EDIT, options, client)


def _is_cursor(span: Span, action: Action, document: OpenDocument, client: ClientAbilities) -> bool:
    """Return True for a range that is too little for an action: it says where, and not what.

    Where nothing is selected, some editors send the character or the word under the cursor (Helix,
    Emacs), others its line (vim-lsp without, Kate with its ending). A client that can ask for an
    instruction was written for redraft, and a line that it sends is a selection. For an action that
    needs lines, any part of a line is too little.
    """
    selected = span.of(document.text)
    if not selected or _WORD.fullmatch(selected):
        return True
    line = document.index.line_span(document.index.line_at(span.start))
    whole = line.of(document.text)
    if span.start == line.start and selected.rstrip("\r\n") == whole.rstrip("\r\n"):
        return not client.can_prompt
    is_part = span in line and selected.strip() != whole.strip()
    return action.needs_lines and is_part


def _build_code_action(
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


def _is_wanted(
    code_action: types.CodeAction, only: Sequence[types.CodeActionKind | str] | None
) -> bool:
    """Return True where the action's kind, or a kind above it, is among `only`.

    "refactor" is above "refactor.rewrite", and the empty kind is above all.
    """
    if only is None:
        return True
    # With the dot, "refactor.rew" is not taken for a kind above "refactor.rewrite".
    kind = f"{_kind_name(code_action.kind)}."
    names = [_kind_name(wanted) for wanted in only]
    return any(kind.startswith(f"{name}.") or not name for name in names)


def _kind_name(kind: object) -> str:
    return str(getattr(kind, "value", kind))


def _to_json(range_: types.Range) -> dict[str, dict[str, int]]:
    # Arguments of commands are sent as they are: pygls does not convert what is inside them.
    return {
        "start": {"line": range_.start.line, "character": range_.start.character},
        "end": {"line": range_.end.line, "character": range_.end.character},
    }
