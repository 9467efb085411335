"""The use case, top to bottom: a request and a model give an outcome.

Knows the order of the steps and how long a reply may get; each step is a module of its own. There
is a second try where a guard refuses the reply, which the model is told, and where code that is to
be fixed comes back as it is: then the reply goes the way that was closest. A front end that lets
the model write several replies at once takes `ask` and `outcome_of_reply` alone.
Guarantees of a `Rewritten`: applying its replacements gives its new text, and every one of them
lies inside the request's target, whatever the model wrote.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Literal, TypeAlias

from redraft.postprocess.intent import asks_to_fix
from redraft.postprocess.reply import interpret
from redraft.postprocess.runner_up import NO_PREFIX, ReplyPrefix, branch_at_runner_up
from redraft.prompting.build import (
    Mistake,
    append_explanation,
    ask_for_explanation,
    build_prompt,
    prefix_reply,
)
from redraft.prompting.target_view import view_target
from redraft.records import (
    Completion,
    DecodeOptions,
    EditRequest,
    Model,
    Outcome,
    Progress,
    Prompt,
    Reason,
    Refused,
    Rewritten,
    Route,
    Stats,
    Unchanged,
)
from redraft.text import diff

__all__ = [
    "RETRYABLE",
    "PromptRequest",
    "Retry",
    "ask",
    "choose_retry",
    "outcome_of_reply",
    "rewrite",
]

Retry: TypeAlias = Literal[
    "feedback",  # tell the model what was wrong with its reply
    "runner_up",  # take the reply again from where another token was nearly chosen
    "show_target",  # show the target that the first prompt only named
]

# The refusals that a second try can mend, and how it may ask. A reply that deletes its target or
# holds no code mostly answers a prompt that only named the target: telling the model is no help.
RETRYABLE: Final[Mapping[Reason, tuple[Retry, ...]]] = {
    "parse_broken": ("show_target", "feedback"),
    "elision": ("show_target", "feedback"),
    "deletion": ("show_target",),
    "no_code": ("show_target",),
}

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
class PromptRequest:
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
    talk = _Talk(
        request=request,
        model=model,
        on_progress=on_progress,
        on_completion=on_completion,
        cancelled=cancelled,
    )
    asked = ask(request, model, options)
    if isinstance(asked, Refused):
        return asked
    completion = talk.reply(asked, options)
    first = outcome_of_reply(request, asked.prompt, completion)
    left = _less(options, first.stats)
    match choose_retry(request, first), first:
        case "runner_up", _:
            second = talk.otherwise(asked, completion, left)
        case "feedback", Refused(reason="parse_broken" | "elision" as mistake):
            second = talk.told(mistake, left)
        case _:
            return first
    return _settled(first, second)


def choose_retry(
    request: EditRequest, outcome: Outcome, *, is_named_only: bool = False
) -> Retry | None:
    """Return how to ask again after a first `outcome`; None where a second try would not help.

    `is_named_only`: the first prompt named the target and did not show it.
    """
    match outcome:
        case Refused(reason=reason):
            retries = RETRYABLE.get(reason, ())
            return next((r for r in retries if is_named_only or r != "show_target"), None)
        # Other instructions may be fulfilled already: then to insist would bring a needless edit.
        case Unchanged() if asks_to_fix(request.instruction) and not is_named_only:
            return "runner_up"
        case _:
            return None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Talk:
    """What is said to the model, and what it says."""

    request: EditRequest
    model: Model
    on_progress: Callable[[Progress], None]
    on_completion: Callable[[Completion], None]
    cancelled: Callable[[], bool]

    def reply(
        self, asked: PromptRequest, options: DecodeOptions, begun: ReplyPrefix = NO_PREFIX
    ) -> Completion:
        """The whole reply, of which `begun` is given."""

        def report(step: Progress) -> None:
            self.on_progress(replace(step, text=begun.text + step.text))

        rest = self.model.complete(
            prefix_reply(asked.prompt, begun.text),
            options,
            max_tokens=max(1, asked.max_tokens - begun.n_tokens),
            on_progress=report,
            cancelled=self.cancelled,
        )
        text, passes = begun.text + rest.text, begun.passes + rest.passes
        completion = replace(rest, text=text, passes=passes)
        self.on_completion(completion)
        return completion

    def otherwise(self, asked: PromptRequest, first: Completion, options: DecodeOptions) -> Outcome:
        """What comes of `first` when it goes the way that was closest."""
        own = view_target(self.request).text
        begun = branch_at_runner_up(first, own, self.request.language)
        if begun is None:
            return Unchanged(stats=Stats(), notes=())
        return outcome_of_reply(self.request, asked.prompt, self.reply(asked, options, begun))

    def told(self, mistake: Mistake, options: DecodeOptions) -> Outcome:
        """What comes of it when the model hears of `mistake` and says first what has to change."""
        again = ask(self.request, self.model, options, mistake=mistake)
        if isinstance(again, Refused):
            return again
        said = self.model.complete(
            ask_for_explanation(again.prompt),
            options,
            max_tokens=_SENTENCE,
            on_progress=lambda step: self.on_progress(replace(step, text="")),
            cancelled=self.cancelled,
        )
        again = replace(again, prompt=append_explanation(again.prompt, said.text))
        reply = self.reply(again, _less(options, said.stats))
        outcome = outcome_of_reply(self.request, again.prompt, reply)
        return replace(outcome, stats=said.stats + outcome.stats)


def ask(
    request: EditRequest, model: Model, options: DecodeOptions, *, mistake: Mistake | None = None
) -> PromptRequest | Refused:
    """The prompt for `request` and the room for its reply: as asked for, or sized from the target.

    `mistake`: what a first reply did wrong. Refused where the target and the instruction alone do
    not fit the context.
    """
    room = partial(_with_room, request, model, options.route, mistake)
    if options.max_tokens is not None:
        return room(options.max_tokens)
    n_target = model.count_tokens(view_target(request).text)
    generous, tight = (int(share * n_target) + more for share, more in (_GENEROUS, _TIGHT))
    asked = room(generous)
    return asked if isinstance(asked, PromptRequest) else room(tight)


def outcome_of_reply(request: EditRequest, asked: Prompt, completion: Completion) -> Outcome:
    """What `completion`, the reply to `asked`, means for `request`. Pure."""
    asked = replace(asked, notes=(*asked.notes, *completion.notes))
    new = interpret(request, asked, completion)
    if isinstance(new, Refused):
        return new
    target = request.target
    replacements = diff.minimal_replacements(target.of(request.text), new, offset=target.start)
    if not replacements:
        return Unchanged(stats=completion.stats, notes=asked.notes)
    return Rewritten(
        new_text=request.text[: target.start] + new + request.text[target.stop :],
        replacements=replacements,
        stats=completion.stats,
        notes=asked.notes,
    )


def _less(options: DecodeOptions, spent: Stats) -> DecodeOptions:
    """`options` with the time that is left."""
    if options.timeout_s is None:
        return options
    left = options.timeout_s - spent.prefill_s - spent.decode_s
    return replace(options, timeout_s=max(0.0, left))


def _settled(first: Outcome, second: Outcome) -> Outcome:
    """The outcome of two tries: the first where the second brought no edit either."""
    stats = first.stats + second.stats
    match second:
        case Refused(reason="cancelled"):
            return replace(second, stats=stats)
        case Rewritten():
            if isinstance(first, Unchanged):
                note = "the model first left the code as it is: this is what it thought of next"
            else:
                note = "the first reply was refused: this is what the model wrote when told so"
            return replace(second, stats=stats, notes=(*second.notes, note))
        case _:
            return replace(first, stats=stats)


def _with_room(
    request: EditRequest, model: Model, route: Route, mistake: Mistake | None, max_tokens: int
) -> PromptRequest | Refused:
    built = build_prompt(request, model, max_tokens=max_tokens, route=route, mistake=mistake)
    return (
        PromptRequest(prompt=built, max_tokens=max_tokens) if isinstance(built, Prompt) else built
    )
