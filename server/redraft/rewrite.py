"""The use case, top to bottom: a request and a model give an outcome.

Knows the order of the steps and how long a reply may get; each step is a module of its own. Where
a guard refuses the reply, or code that is to be fixed comes back as it is, the model is told so and
asked a second time. A front end that lets it write several replies at once takes `ask` and
`conclude` alone.
Guarantees of a `Rewritten`: applying its replacements gives its new text, and every one of them
lies inside the request's target, whatever the model wrote.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

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
    Route,
    Stats,
    Unchanged,
)
from redraft.prompt import Mistake
from redraft.reply import interpret
from redraft.shown import show

__all__ = ["Asked", "ask", "conclude", "rewrite"]

# Room for a reply, in tokens. An edit seldom makes its target half as long again; 512 more hold a
# new function or docstring. The tight figure is for a target that nearly fills the context.
_GENEROUS = (1.5, 512)
_TIGHT = (1.1, 64)
_SENTENCE = 80  # tokens for what a model says before a second try


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

    `options.timeout_s` and the stats of the outcome are for both tries together. Whatever the model
    does wrong is an outcome. Raises EngineError when its library fails.
    """
    complete = partial(model.complete, cancelled=cancelled)

    def attempt(asked: Asked, options: DecodeOptions) -> Outcome:
        n_tokens = asked.max_tokens
        completion = complete(asked.prompt, options, max_tokens=n_tokens, on_progress=on_progress)
        on_completion(completion)
        return conclude(request, asked.prompt, completion)

    asked = ask(request, model, options)
    if isinstance(asked, Refused):
        return asked
    first = attempt(asked, options)
    mistake = _mistake(first, request)
    again = ask(request, model, options, mistake=mistake) if mistake else first
    if not isinstance(again, Asked):
        return first
    options = _less(options, first.stats)
    said = complete(
        prompt.thinking(again.prompt),
        options,
        max_tokens=_SENTENCE,
        on_progress=lambda step: on_progress(replace(step, text="")),
    )
    told = replace(again, prompt=prompt.after(again.prompt, said.text))
    second = attempt(told, _less(options, said.stats))
    return _settled(first, second, first.stats + said.stats + second.stats)


def ask(
    request: EditRequest, model: Model, options: DecodeOptions, *, mistake: Mistake | None = None
) -> Asked | Refused:
    """The prompt for `request` and the room for its reply: as asked for, or sized from the target.

    `mistake`: what a first reply did wrong. Refused where the target and the instruction alone do
    not fit the context.
    """
    room = partial(_with_room, request, model, options.route, mistake)
    if options.max_tokens is not None:
        return room(options.max_tokens)
    n_target = model.count_tokens(show(request).printed)
    generous, tight = (int(share * n_target) + more for share, more in (_GENEROUS, _TIGHT))
    asked = room(generous)
    return asked if isinstance(asked, Asked) else room(tight)


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


def _mistake(outcome: Outcome, request: EditRequest) -> Mistake | None:
    """What a second try may mend."""
    match outcome:
        # Other instructions may be fulfilled already: then to insist would bring a needless edit.
        case Unchanged() if prompt.asks_to_fix(request.instruction):
            return "unchanged"
        case Refused(reason="parse_broken" | "elision" as reason):
            return reason
        case _:
            return None


def _less(options: DecodeOptions, spent: Stats) -> DecodeOptions:
    """`options` with the time that is left."""
    if options.timeout_s is None:
        return options
    left = options.timeout_s - spent.prefill_s - spent.decode_s
    return replace(options, timeout_s=max(0.0, left))


def _settled(first: Outcome, second: Outcome, stats: Stats) -> Outcome:
    """The outcome of two tries: the first where the second brought no edit either."""
    match second:
        case Refused(reason="cancelled"):
            return replace(second, stats=stats)
        case Rewritten():
            why = "changed nothing" if isinstance(first, Unchanged) else "was refused"
            note = f"the first reply {why}: this is what the model wrote when asked again"
            return replace(second, stats=stats, notes=(*second.notes, note))
        case _:
            return replace(first, stats=stats)


def _with_room(
    request: EditRequest, model: Model, route: Route, mistake: Mistake | None, max_tokens: int
) -> Asked | Refused:
    built = prompt.build(request, model, max_tokens=max_tokens, route=route, mistake=mistake)
    return Asked(prompt=built, max_tokens=max_tokens) if isinstance(built, Prompt) else built
