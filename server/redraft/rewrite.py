"""The use case, top to bottom: a request and a model give an outcome.

Knows the order of the steps and how long a reply may get; each step is a module of its own. A
front end that lets the model write several replies at once takes `ask` and `conclude` alone.
Guarantees of a `Rewritten`: applying its replacements gives its new text, and every one of them
lies inside the request's target, whatever the model wrote.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from redraft import diff, prompt
from redraft.messages import (
    Completion,
    DecodeOptions,
    EditRequest,
    Model,
    Outcome,
    Progress,
    Prompt,
    Refused,
    Rewritten,
    Unchanged,
)
from redraft.reply import interpret
from redraft.shown import show

__all__ = ["Asked", "ask", "conclude", "rewrite"]

# Room for a reply, in tokens. An edit seldom makes its target half as long again; 512 more hold a
# new function or docstring. The tight figure is for a target that nearly fills the context.
_GENEROUS = (1.5, 512)
_TIGHT = (1.1, 64)


def _ignore(_: object) -> None:
    return None


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the model is asked: a prompt, and the most tokens of the reply."""

    prompt: Prompt
    max_tokens: int


def rewrite(
    request: EditRequest,
    model: Model,
    options: DecodeOptions,
    *,
    on_progress: Callable[[Progress], None] = _ignore,
    on_completion: Callable[[Completion], None] = _ignore,
    cancelled: Callable[[], bool] = _never,
) -> Outcome:
    """Have `model` make the edit of `request`; `on_completion` sees what it wrote, and how.

    Whatever the model does wrong is an outcome. Raises EngineError when its library fails.
    """
    asked = ask(request, model, options)
    if isinstance(asked, Refused):
        return asked
    completion = model.complete(
        asked.prompt,
        options,
        max_tokens=asked.max_tokens,
        on_progress=on_progress,
        cancelled=cancelled,
    )
    on_completion(completion)
    return conclude(request, asked.prompt, completion)


def ask(request: EditRequest, model: Model, options: DecodeOptions) -> Asked | Refused:
    """The prompt for `request` and the room for its reply: as asked for, or sized from the target.

    Refused where the target and the instruction alone do not fit the context.
    """
    if options.max_tokens is not None:
        return _with_room(request, model, options.max_tokens)
    n_target = model.count_tokens(show(request).printed)
    generous, tight = (int(share * n_target) + more for share, more in (_GENEROUS, _TIGHT))
    asked = _with_room(request, model, generous)
    return asked if isinstance(asked, Asked) else _with_room(request, model, tight)


def conclude(request: EditRequest, asked: Prompt, completion: Completion) -> Outcome:
    """What `completion`, the reply to `asked`, means for `request`. Pure."""
    asked = replace(asked, notes=(*asked.notes, *completion.notes))
    new = interpret(request, asked, completion)
    if isinstance(new, Refused):
        return new
    target = request.target
    replacements = diff.minimal(target.of(request.text), new, offset=target.start)
    if not replacements:
        return Unchanged(stats=completion.stats, notes=asked.notes)
    return Rewritten(
        new_text=request.text[: target.start] + new + request.text[target.stop :],
        replacements=replacements,
        stats=completion.stats,
        notes=asked.notes,
    )


def _with_room(request: EditRequest, model: Model, max_tokens: int) -> Asked | Refused:
    built = prompt.build(request, model, max_tokens=max_tokens)
    return Asked(prompt=built, max_tokens=max_tokens) if isinstance(built, Prompt) else built
