"""The use case, top to bottom: a request and a model give an outcome.

Knows the order of the steps and how long a reply may get; each step is a module of its own.
Guarantees of a `Rewritten`: applying its replacements gives its new text, and every one of them
lies inside the request's target, whatever the model wrote.
"""

from collections.abc import Callable

from redraft import diff, prompt
from redraft.messages import (
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

__all__ = ["rewrite"]

# Room for a reply, in tokens. An edit seldom makes its target half as long again; 512 more hold a
# new function or docstring. The tight figure is for a target that nearly fills the context.
_GENEROUS = (1.5, 512)
_TIGHT = (1.1, 64)


def _ignore(_: Progress) -> None:
    return None


def _never() -> bool:
    return False


def rewrite(
    request: EditRequest,
    model: Model,
    options: DecodeOptions,
    *,
    on_progress: Callable[[Progress], None] = _ignore,
    cancelled: Callable[[], bool] = _never,
) -> Outcome:
    """Have `model` make the edit of `request`.

    Whatever the model does wrong is an outcome. Raises EngineError when its library fails.
    """
    asked, max_tokens = _asked(request, model, options)
    if isinstance(asked, Refused):
        return asked
    completion = model.complete(
        asked, options, max_tokens=max_tokens, on_progress=on_progress, cancelled=cancelled
    )
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


def _asked(
    request: EditRequest, model: Model, options: DecodeOptions
) -> tuple[Prompt | Refused, int]:
    """The prompt and the most tokens of its reply: as asked for, or sized from the target."""
    if options.max_tokens is not None:
        return prompt.build(request, model, max_tokens=options.max_tokens), options.max_tokens
    n_target = model.count_tokens(show(request).printed)
    generous, tight = (int(share * n_target) + more for share, more in (_GENEROUS, _TIGHT))
    asked = prompt.build(request, model, max_tokens=generous)
    if isinstance(asked, Prompt):
        return asked, generous
    return prompt.build(request, model, max_tokens=tight), tight
