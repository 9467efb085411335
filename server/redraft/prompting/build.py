"""From an edit request to the prompt that asks for it.

The order serves the KV cache: chat head and the whole file first, raw, then what belongs to this
request only. In a codemod, which asks the same of many parts of a file, the instruction belongs to
the file, and a part is named rather than shown again. The reply is opened for the model with a code
fence, so that it starts with code at once and ends at the closing fence. Knows wordings and sizes;
nothing of decoding or of replies.
"""

import re
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Final, Literal, TypeAlias

from redraft import syntax
from redraft.prompting import template
from redraft.prompting.target_view import TargetView, named_target, view_target
from redraft.prompting.truncate import TruncatedFile, truncate
from redraft.records import EditRequest, Model, Piece, Prompt, Refused, Route, Stats
from redraft.text.lines import to_lf

__all__ = [
    "WORDINGS",
    "Mistake",
    "Wording",
    "append_explanation",
    "ask_for_explanation",
    "build_prompt",
    "prefix_reply",
]

Mistake: TypeAlias = Literal["parse_broken", "elision"]  # what a second try can mend


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """How one kind of target is asked for; `{where}` is its lines and its name."""

    target: str  # introduces the target; "" where it is the whole file, which stands above
    reply: str  # what to reply with; after the instruction


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

# For a part that its name alone tells from all others in the file. The model is made to begin its
# reply with the name: a dozen tokens for each part, however long it is.
NAMED = Wording(
    target="Here is the edited `{name}`:\n",
    reply="Reply with the complete edited function, and nothing around it, in one code block.",
)

# What a model is told that is asked a second time.
_MISTAKES: Final[dict[Mistake, str]] = {
    "parse_broken": "A first reply was no valid code.",
    "elision": "A first reply left out code that has to stay.",
}
_THINK = "First say in one sentence what has to change. Then r"

_FENCE_LINE = re.compile(r"^[ \t]*(`{3,})", re.MULTILINE)
_PROSE = {".md", ".markdown", ".mdx", ".rst"}  # a new block may be asked for where none was

# Tokens kept free for what is not counted: the seams between pieces and a leading token.
_SEAMS = 8


def build_prompt(
    request: EditRequest,
    model: Model,
    *,
    max_tokens: int,
    route: Route = "edit",
    mistake: Mistake | None = None,
) -> Prompt | Refused:
    """The prompt for `request` that leaves room for `max_tokens` of reply.

    A file too long for the model's context is abridged, and `notes` says how. Refused with the
    figures where the target and the instruction alone do not fit. On the route "codemod" requests
    that ask the same of one file have a common file part, as far as the file is whole and names
    tell its parts from each other. `mistake`: what a first reply did wrong; `ask_for_explanation`
    and `append_explanation` then ask in two steps.
    """
    shown = view_target(request)
    frame = template.render_frame(model.chat_template)
    head = (frame.opening, Piece(f"{request.path}\n"))
    # Not longer than those of the instruction: they are mostly around pasted tests or messages, and
    # the model, shown them, closes its own code with the same.
    fence = _fence(request.path, request.text)
    opening = Piece(f"{fence}{_tag(request)}\n")
    name = _only_name(request) if route == "codemod" else ""
    common: tuple[Piece, ...] = ()
    if name:
        said = Piece(f"\n{request.instruction.strip()}\n\n{NAMED.reply}")
        common = (said, frame.closing)
        ask: tuple[Piece, ...] = (Piece(NAMED.target.format(name=name)), opening)
    else:
        ask = (*_ask(request, shown, fence, mistake), frame.closing, opening)
    n_rest = sum(model.count_tokens(piece.text) for piece in (*head, *common, *ask)) + _SEAMS
    budget = model.n_ctx - max_tokens - n_rest
    file = truncate(request, budget=budget, count=model.count_tokens)
    if budget < 0 or (file.notes and _kind(request, shown) == "file"):
        return _does_not_fit(request, model, max_tokens)
    if name and file.notes:
        return build_prompt(request, model, max_tokens=max_tokens)
    return Prompt(
        file=(*head, *_file_part(request, file), *common),
        request=ask,
        source=_line(_from_column_0(shown.text) if name else shown.text),
        stop=(f"\n{fence}",),
        notes=file.notes,
    )


def _file_part(request: EditRequest, file: TruncatedFile) -> tuple[Piece, ...]:
    """The file in its fence; it depends on the file alone, so that its KV cells can be reused."""
    if not file.text:
        return ()
    fence = _fence(request.path, request.text)
    opening, closing = Piece(f"{fence}{_tag(request)}\n"), Piece(f"{fence}\n")
    return opening, Piece(_line(file.text)), closing


def ask_for_explanation(asked: Prompt) -> Prompt:
    """The first step of a second try: `asked` for one sentence, before any code."""
    return replace(asked, request=asked.request[:-1], stop=("\n",))


def prefix_reply(asked: Prompt, reply: str) -> Prompt:
    """`asked`, with the beginning of the reply given."""
    return _opened(asked, asked.request[-1].text + reply)


def append_explanation(asked: Prompt, sentence: str) -> Prompt:
    """The second step: `asked` for the code, `sentence` said."""
    return _opened(asked, f"{sentence}\n\n{asked.request[-1].text}")


def _opened(asked: Prompt, opening: str) -> Prompt:
    """`asked` with another opening of the reply."""
    return replace(asked, request=(*asked.request[:-1], Piece(opening)))


def _ask(
    request: EditRequest, shown: TargetView, fence: str, mistake: Mistake | None
) -> tuple[Piece, ...]:
    """The target and what to do with it."""
    kind = _kind(request, shown)
    wording = WORDINGS[kind]
    target: tuple[Piece, ...] = ()
    if wording.target:
        target = (Piece("\n" + wording.target.format(where=_where(request, shown)) + "\n"),)
    if kind in ("lines", "fragment"):
        opening, closing = Piece(f"{fence}{_tag(request)}\n"), Piece(f"{fence}\n")
        target += (opening, Piece(_line(shown.text)), closing)
    reply = wording.reply
    if mistake:
        reply = f"{_MISTAKES[mistake]} {_THINK}{reply.removeprefix('R')}"
    return (*target, Piece(f"\n{request.instruction.strip()}\n\n{reply}"))


def _kind(request: EditRequest, shown: TargetView) -> str:
    if shown.is_insertion and request.text:
        return "insertion"
    around = request.text[: request.target.start] + request.text[request.target.stop :]
    if not around.strip():
        return "file"
    return "fragment" if shown.is_fragment else "lines"


def _where(request: EditRequest, shown: TargetView) -> str:
    """The target's lines and, where it is one that has a name, its name."""
    first, last = shown.first_line, shown.last_line
    lines = f"line {first}" if first == last else f"lines {first}-{last}"
    named = named_target(request)
    return f"{lines} (`{named.name}`)" if named else lines


def _only_name(request: EditRequest) -> str:
    """The target's name, where no other part of the file has the same; "" where that is not so."""
    own = named_target(request)
    if own is None or request.language is None:
        return ""
    known = syntax.targets(request.text, request.language)
    return own.name if [target.name for target in known].count(own.name) == 1 else ""


def _fence(path: str, *texts: str) -> str:
    """A fence longer than any at a line start in `texts`: it cannot end inside them."""
    runs = [len(run) + 1 for text in texts for run in _FENCE_LINE.findall(text)]
    return "`" * max(3 + (PurePath(path).suffix.lower() in _PROSE), *runs, 0)


def _tag(request: EditRequest) -> str:
    """The name after an opening fence: the language or, where there is no grammar, the suffix."""
    suffix = PurePath(request.path).suffix.removeprefix(".")
    return request.language or (suffix if suffix.isalnum() else "")


def _from_column_0(text: str) -> str:
    """`text` without its first line's indentation: so a function is printed that stands alone."""
    indent = text[: len(text) - len(text.lstrip(" \t"))]
    return re.sub(f"^{indent}", "", text, flags=re.MULTILINE)


def _line(text: str) -> str:
    """`text` up to where a closing fence can follow: copied tokens then end as the shown ones."""
    return text if text.endswith("\n") or not text else f"{text}\n"


def _does_not_fit(request: EditRequest, model: Model, max_tokens: int) -> Refused:
    n_target = model.count_tokens(to_lf(request.target.of(request.text)))
    n_instruction = model.count_tokens(request.instruction)
    message = (
        f"the target ({n_target:,} tokens), the instruction ({n_instruction:,}) and a reply of up "
        f"to {max_tokens:,} do not fit the model's context of {model.n_ctx:,} tokens; edit a "
        "smaller part, or take a model with a longer context"
    )
    return Refused(reason="context", message=message, stats=Stats())
