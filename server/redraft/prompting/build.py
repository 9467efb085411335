"""Building the prompt that asks a model for an edit.

The order serves the KV cache: chat head and the whole file first, unchanged, then what belongs to
this request only. In a codemod, which asks the same of many parts of a file, the instruction comes
with the file, and a part is named rather than shown again. The prompt ends with the code fence that
opens the reply, so that the reply starts with code at once and ends at the closing fence. Knows
wordings and sizes; nothing of decoding or of replies.
"""

import re
from dataclasses import dataclass, replace
from pathlib import PurePath

from redraft import syntax
from redraft.prompting import template
from redraft.prompting.target_view import TargetView, named_target, view_target
from redraft.prompting.truncate import truncate
from redraft.records import EditRequest, Model, Piece, Prompt, Refused, Route, Stats
from redraft.text.lines import read_indent, to_lf

__all__ = [
    "WORDINGS",
    "Wording",
    "append_explanation",
    "ask_for_explanation",
    "build_prompt",
    "prefix_reply",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """The words for one kind of target; `{where}` is its lines and its name."""

    target: str  # introduces the target; "" for the whole file, which the prompt begins with
    reply: str  # asks for the form of the reply, after the instruction


# Measured with Qwen2.5-Coder-1.5B: without a line such as "keep everything else exactly as it is"
# fewer replies hand the code back unchanged.
WORDINGS = {
    "file": Wording(
        target="",
        reply="Reply with the complete edited file in one code block.",
    ),
    "lines": Wording(
        target="This is the part to edit, {where}:",
        reply="Reply with the complete edited part, and nothing around it, in one code block.",
    ),
    "fragment": Wording(
        target="This is the part to edit, a piece of {where}:",
        reply="Reply with what shall stand in place of exactly this piece, in one code block.",
    ),
    "insertion": Wording(
        target="New text goes in at {where}.",
        reply="Reply with only the new text in one code block.",
    ),
}

# For a part whose name no other part of the file has. The model is made to begin its reply with the
# name: a dozen tokens for each part, however long it is.
NAMED = Wording(
    target="Here is the edited `{name}`:\n",
    reply="Reply with the complete edited function, and nothing around it, in one code block.",
)

_THINK = "First say in one sentence what has to change. Then r"

_FENCE_LINE = re.compile(r"^[ \t]*(`{3,})", re.MULTILINE)

# Tokens kept free for what is not counted: a leading token, and pieces tokenised on their own.
_SEAMS = 8


def build_prompt(
    request: EditRequest,
    model: Model,
    *,
    max_tokens: int,
    route: Route = "edit",
    feedback: str = "",
) -> Prompt | Refused:
    """Return the prompt for `request` that leaves room for `max_tokens` of reply.

    A file too long for the model's context is truncated, and `notes` says how. Refused with the
    figures where the target and the instruction alone do not fit. On the route "codemod" requests
    that ask the same of one file have a common file part, as far as the file is whole and names
    tell its parts from each other. `feedback` is a sentence on what a first reply did wrong; the
    prompt then is for two steps, `ask_for_explanation` and `append_explanation`.
    """
    view = view_target(request)
    frame = template.render_frame(model.chat_template)
    head = (frame.opening, Piece(f"{request.path}\n"))
    # Longer than any fence in the file, so that the file cannot end the code block. Not longer than
    # those in the instruction, which are mostly around pasted tests or messages: the model would
    # close its own code with those it has just read.
    fences = _FENCE_LINE.findall(request.text)
    # Four at least: the edit may add a code block where there was none, to a page or a docstring,
    # and three backquotes at the start of a line must not end the reply.
    fence = "`" * max([4, *(len(run) + 1 for run in fences)])
    suffix = PurePath(request.path).suffix.removeprefix(".")
    info = request.language or ""
    if suffix.isalnum() and not syntax.is_code(request.language):
        info = suffix  # data goes by its suffix: a notebook is no language of a fence
    opening, closing = Piece(f"{fence}{info}\n"), Piece(f"{fence}\n")
    name = _unique_name(request) if route == "codemod" else ""
    shared: tuple[Piece, ...] = ()
    source = view.text
    if name:
        # Printed without its first line's indentation, as a function on its own is.
        indent = read_indent(source)
        source = re.sub(f"^{indent}", "", source, flags=re.MULTILINE)
        instruction = Piece(f"\n{request.instruction.strip()}\n\n{NAMED.reply}")
        shared = (instruction, frame.closing)
        question: tuple[Piece, ...] = (Piece(NAMED.target.format(name=name)), opening)
    else:
        block = (opening, Piece(_end_with_newline(view.text)), closing)
        question = (*_ask_for_edit(request, view, block, feedback), frame.closing, opening)
    n_rest = sum(model.count_tokens(piece.text) for piece in (*head, *shared, *question)) + _SEAMS
    budget = model.n_ctx - max_tokens - n_rest
    file = truncate(request, budget=budget, count=model.count_tokens)
    if budget < 0 or (file.notes and _target_kind(request, view) == "file"):
        return _refuse_too_long(request, model, max_tokens)
    if name and file.notes:
        # The part may be among what was left out: it has to be shown.
        return build_prompt(request, model, max_tokens=max_tokens)
    block = (opening, Piece(_end_with_newline(file.text)), closing)
    return Prompt(
        # Without the request in it, so that other requests for the file can reuse its KV cells.
        file=(*head, *(block if file.text else ()), *shared),
        request=question,
        source=_end_with_newline(source),
        stop=(f"\n{fence}",),
        notes=file.notes,
    )


def ask_for_explanation(prompt: Prompt) -> Prompt:
    """Return the first step of a second try: `prompt` for one sentence, before any code."""
    return replace(prompt, request=prompt.request[:-1], source="", stop=("\n",))


def append_explanation(prompt: Prompt, sentence: str) -> Prompt:
    """Return the second step: `prompt` for the code, after the model's `sentence`."""
    return _with_opening(prompt, f"{sentence}\n\n{prompt.request[-1].text}")


def prefix_reply(prompt: Prompt, reply: str) -> Prompt:
    """Return `prompt` with the beginning of the reply given."""
    return _with_opening(prompt, prompt.request[-1].text + reply)


def _with_opening(prompt: Prompt, opening: str) -> Prompt:
    """Return `prompt` with another opening of the reply."""
    return replace(prompt, request=(*prompt.request[:-1], Piece(opening)))


def _ask_for_edit(
    request: EditRequest, view: TargetView, block: tuple[Piece, ...], feedback: str
) -> tuple[Piece, ...]:
    """Return the target, as the code `block` unless the file is enough, and the instruction."""
    kind = _target_kind(request, view)
    wording = WORDINGS[kind]
    target: tuple[Piece, ...] = ()
    if wording.target:
        first, last = view.first_line, view.last_line
        where = f"line {first}" if first == last else f"lines {first}-{last}"
        if named := named_target(request):
            where += f" (`{named.name}`)"
        target = (Piece("\n" + wording.target.format(where=where) + "\n"),)
    if kind in ("lines", "fragment"):
        target += block
    reply = wording.reply
    if feedback:
        reply = f"{feedback} {_THINK}{reply.removeprefix('R')}"
    return (*target, Piece(f"\n{request.instruction.strip()}\n\n{reply}"))


def _target_kind(request: EditRequest, view: TargetView) -> str:
    """Return the key of `WORDINGS` for the target."""
    if view.is_insertion and request.text:
        return "insertion"
    around = request.text[: request.target.start] + request.text[request.target.stop :]
    if not around.strip():
        return "file"
    return "fragment" if view.is_fragment else "lines"


def _unique_name(request: EditRequest) -> str:
    """Return the target's name if no other part of the file has the same, or else ""."""
    named = named_target(request)
    if named is None or request.language is None:
        return ""
    names = [target.name for target in syntax.targets(request.text, request.language)]
    return named.name if names.count(named.name) == 1 else ""


def _end_with_newline(text: str) -> str:
    """Return `text` with an LF at its end, unless it is empty.

    A closing fence can follow then, and the tokens at the end are those that a reply has there.
    """
    return text if text.endswith("\n") or not text else f"{text}\n"


def _refuse_too_long(request: EditRequest, model: Model, max_tokens: int) -> Refused:
    n_target = model.count_tokens(to_lf(request.target.of(request.text)))
    n_instruction = model.count_tokens(request.instruction)
    message = (
        f"the target ({n_target:,} tokens), the instruction ({n_instruction:,}) and a reply of up "
        f"to {max_tokens:,} do not fit the model's context of {model.n_ctx:,} tokens; edit a "
        "smaller part, or take a model with a longer context"
    )
    return Refused(reason="context", message=message, stats=Stats())
