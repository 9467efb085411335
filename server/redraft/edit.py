"""The use case, top to bottom: a request and a model give an outcome.

Knows the order of the steps and how long a reply may get; each step is a module of its own. There
is a second try where a guard refuses the reply, which the model is told, and where the code comes
back as it is and the user asks for another version: then the reply goes on from the runner-up of
its least certain token.
A front end that lets the model write several replies at once takes `build_prompt_request` and
`outcome_of_reply` alone.
Guarantees of a `Rewritten`: applying its replacements gives its new text, and every one of them
lies inside the request's target, or adds what the target needs to the imports or in front of the
definition around it, whatever the model wrote.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias, get_args

from redraft.interruption import Interrupted, InterruptionReason, interruptible
from redraft.postprocess.callers import changed_definitions, describe_callers, find_callers
from redraft.postprocess.reply import EditedTarget, Violation, interpret
from redraft.postprocess.runner_up import NO_PREFIX, ReplyPrefix, branch_at_runner_up
from redraft.prompting.build import (
    append_explanation,
    ask_for_explanation,
    build_prompt,
    prefix_reply,
)
from redraft.prompting.target_view import view_target
from redraft.records import (
    AllowedReason,
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
    Stats,
    Unchanged,
)
from redraft.text import diff

__all__ = [
    "RETRYABLE",
    "PromptRequest",
    "Retry",
    "build_prompt_request",
    "choose_retry",
    "describe_override",
    "outcome_of_reply",
    "prompt_without_model",
    "replay",
    "rewrite",
]

Retry: TypeAlias = Literal[
    "feedback",  # tell the model what was wrong with its reply
    "runner_up",  # take the reply again from where another token was nearly chosen
    "show_target",  # show the target that the first prompt only named
]

# The refusals that a second try can mend, and how it may ask. A reply without code comes mostly of
# a target that was named and not shown: to say so mends nothing.
RETRYABLE: Final[Mapping[Reason, tuple[Retry, ...]]] = {
    "parse_broken": ("show_target", "feedback"),
    "elision": ("show_target", "feedback"),
    "deletion": ("show_target", "feedback"),
    "no_code": ("show_target",),
}

# What the model is told of its first reply.
_FEEDBACK: Final[Mapping[Reason, str]] = {
    "parse_broken": "A first reply was no valid code.",
    "elision": "A first reply left out code that has to stay.",
    "deletion": "A first reply left out code that has to stay: {lost}.",
}
_MOST_NAMED: Final = 5  # lines that a second try names

# Room for a reply, in tokens. An edit seldom makes its target half as long again; 512 more hold a
# new function or docstring. The tight figure is for a target that nearly fills the context.
_GENEROUS = (1.5, 512)
_TIGHT = (1.1, 64)
_SENTENCE = 80  # tokens for what a model says before a second try

# Seconds that a reply which is complete gets at least to become an edit, however late it came.
_LEAST_S = 2.0


def _ignore(_: object) -> None:
    return None


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptRequest:
    """A prompt, and the most tokens of the reply to it."""

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
    """Have `model` make the edit of `request`; `on_completion` sees each reply, and its passes.

    `options.timeout_s` and the stats of the outcome are for both tries together. Whatever the model
    does wrong is an outcome. Raises EngineError when its library fails.
    """
    asking = _Asking(
        request=request,
        model=model,
        on_progress=on_progress,
        on_completion=on_completion,
        cancelled=cancelled,
    )
    prompt_request = build_prompt_request(request, model, options)
    if isinstance(prompt_request, Refused):
        return prompt_request
    completion = asking.complete(prompt_request, options)
    first = asking.judge(prompt_request.prompt, completion, options)
    options_left = _subtract_spent_time(options, first.stats)
    match choose_retry(request, first), first:
        case "runner_up", _:
            second = asking.retry_from_runner_up(prompt_request, completion, options_left)
        case "feedback", Refused():
            second = asking.retry_with_feedback(first, options_left)
        case _:
            return first
    return _choose_outcome(first, second)


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
        # Most instructions may be fulfilled already: only the user knows that this one is not.
        case Unchanged() if request.wants_another_version and not is_named_only:
            return "runner_up"
        case _:
            return None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asking:
    """A request and the model that is asked, once or twice."""

    request: EditRequest
    model: Model
    on_progress: Callable[[Progress], None]
    on_completion: Callable[[Completion], None]
    cancelled: Callable[[], bool]

    def complete(
        self,
        prompt_request: PromptRequest,
        options: DecodeOptions,
        prefix: ReplyPrefix = NO_PREFIX,
    ) -> Completion:
        """Return the whole reply, of which `prefix` is given."""

        def report(step: Progress) -> None:
            self.on_progress(replace(step, text=prefix.text + step.text))

        continuation = self.model.complete(
            prefix_reply(prompt_request.prompt, prefix.text),
            options,
            max_tokens=max(1, prompt_request.max_tokens - prefix.n_tokens),
            on_progress=report,
            cancelled=self.cancelled,
        )
        completion = replace(
            continuation,
            text=prefix.text + continuation.text,
            passes=prefix.passes + continuation.passes,
        )
        self.on_completion(completion)
        return completion

    def judge(self, prompt: Prompt, completion: Completion, options: DecodeOptions) -> Outcome:
        """Return the outcome of a reply that `options` gave time for, unless it is cancelled."""
        left = _subtract_spent_time(options, completion.stats).timeout_s
        deadline = None if left is None else time.monotonic() + max(_LEAST_S, left)

        def find_reason() -> InterruptionReason | None:
            if self.cancelled():
                return "cancelled"
            return "timeout" if deadline and time.monotonic() > deadline else None

        try:
            with interruptible(find_reason):
                return outcome_of_reply(self.request, prompt, completion)
        except Interrupted as interrupted:
            cut = replace(completion, finish=interrupted.reason)
            return outcome_of_reply(self.request, prompt, cut)

    def retry_from_runner_up(
        self, prompt_request: PromptRequest, first: Completion, options: DecodeOptions
    ) -> Outcome:
        """Return the outcome of `first`, gone on from the runner-up of its least certain token."""
        shown = view_target(self.request).text
        prefix = branch_at_runner_up(first, shown, self.request.language)
        if prefix is None:
            return Unchanged(stats=Stats(), notes=())
        completion = self.complete(prompt_request, options, prefix)
        return self.judge(prompt_request.prompt, completion, options)

    def retry_with_feedback(self, first: Refused, options: DecodeOptions) -> Outcome:
        """Return the outcome when the model hears why `first` was refused.

        It says in a sentence what has to change before it writes the code again.
        """
        lost = ", ".join(f"`{line.strip()}`" for line in first.lost[:_MOST_NAMED])
        feedback = _FEEDBACK[first.reason].format(lost=lost)
        again = build_prompt_request(self.request, self.model, options, feedback=feedback)
        if isinstance(again, Refused):
            return again
        explanation = self.model.complete(
            ask_for_explanation(again.prompt),
            options,
            max_tokens=_SENTENCE,
            on_progress=lambda step: self.on_progress(replace(step, text="")),
            cancelled=self.cancelled,
        )
        again = replace(again, prompt=append_explanation(again.prompt, explanation.text))
        options_left = _subtract_spent_time(options, explanation.stats)
        completion = self.complete(again, options_left)
        outcome = self.judge(again.prompt, completion, options_left)
        return replace(outcome, stats=explanation.stats + outcome.stats)


def build_prompt_request(
    request: EditRequest, model: Model, options: DecodeOptions, *, feedback: str = ""
) -> PromptRequest | Refused:
    """Return the prompt for `request` and the room for its reply: as set, or sized from the target.

    `feedback`: a sentence on what a first reply did wrong. Refused where the target and the
    instruction alone do not fit the context.
    """
    if options.max_tokens is not None:
        sizes = [options.max_tokens]
    else:
        n_target = model.count_tokens(view_target(request).text)
        sizes = [int(share * n_target) + more for share, more in (_GENEROUS, _TIGHT)]
    refused: Refused | None = None
    for max_tokens in sizes:
        prompt = build_prompt(
            request, model, max_tokens=max_tokens, route=options.route, feedback=feedback
        )
        if isinstance(prompt, Prompt):
            return PromptRequest(prompt=prompt, max_tokens=max_tokens)
        refused = prompt
    assert refused is not None  # noqa: S101 - there is one size at least
    return refused


def prompt_without_model(request: EditRequest, options: DecodeOptions) -> Prompt:
    """Return the prompt as a model of any context gets it: for its stop strings."""
    unlimited = replace(options, max_tokens=1)
    prompt_request = build_prompt_request(request, _Unlimited(), unlimited)
    assert isinstance(prompt_request, PromptRequest)  # noqa: S101 - nothing is too long for it
    return replace(prompt_request.prompt, notes=())


def replay(
    request: EditRequest, completions: Sequence[Completion], options: DecodeOptions
) -> Outcome:
    """Return the outcome of replies that were kept: of the first, and of a second try if any."""
    prompt = prompt_without_model(request, options)
    outcome, *later = (outcome_of_reply(request, prompt, completion) for completion in completions)
    for second in later:
        outcome = _choose_outcome(outcome, second)
    return outcome


class _Unlimited:
    """Stands for a model where prompts are built and none is there to answer."""

    n_ctx = 2**31
    chat_template = None

    def count_tokens(self, text: str) -> int:
        return len(text) // 4

    def complete(self, prompt: Prompt, *_: object, **__: object) -> Completion:
        raise NotImplementedError


def outcome_of_reply(request: EditRequest, prompt: Prompt, completion: Completion) -> Outcome:
    """Return what `completion`, the reply to `prompt`, means for `request`. Pure."""
    notes = (*prompt.notes, *completion.notes)
    match interpret(request, completion):
        case Violation() as violation:
            edited = violation.withheld
            withheld = (
                _outcome_of_edit(request, edited, completion.stats, notes) if edited else None
            )
            return Refused(
                reason=violation.reason,
                message=violation.message,
                stats=completion.stats,
                notes=notes,
                lost=violation.lost,
                withheld=withheld if isinstance(withheld, Rewritten) else None,
            )
        case EditedTarget() as edited:
            return _outcome_of_edit(request, edited, completion.stats, notes)


def describe_override(refused: Refused) -> str:
    """Return a clause on the flag that overrides the refusal; "" where none does or it is named."""
    flag = f"--allow {refused.reason}"
    is_allowable = refused.reason in get_args(AllowedReason) and flag not in refused.message
    return f"{flag} makes the edit all the same" if is_allowable else ""


def _outcome_of_edit(
    request: EditRequest, edited: EditedTarget, stats: Stats, notes: tuple[str, ...]
) -> Rewritten | Unchanged:
    target = request.target
    inside = diff.minimal_replacements(target.of(request.text), edited.text, offset=target.start)
    replacements = tuple(sorted((*edited.needs, *inside), key=lambda replacement: replacement.span))
    if not replacements:
        return Unchanged(stats=stats, notes=(*notes, *edited.notes))
    new_text = diff.apply_replacements(request.text, replacements)
    changed = changed_definitions(request.text, new_text, target, request.language)
    callers = find_callers(new_text, request.language, changed)
    return Rewritten(
        new_text=new_text,
        replacements=replacements,
        stats=stats,
        notes=(*notes, *edited.notes, *describe_callers(callers)),
        callers=callers,
    )


def _subtract_spent_time(options: DecodeOptions, spent: Stats) -> DecodeOptions:
    """Return `options` with the time that is left."""
    if options.timeout_s is None:
        return options
    left = options.timeout_s - spent.prefill_s - spent.decode_s - spent.calibration_s
    return replace(options, timeout_s=max(0.0, left))


def _choose_outcome(first: Outcome, second: Outcome) -> Outcome:
    """Return the outcome of two tries: the first where the second brought no edit either."""
    stats = first.stats + second.stats
    match first, second:
        case _, Refused(reason="cancelled"):
            return replace(second, stats=stats)
        case Unchanged(), Rewritten():
            note = "the model first left the code as it is: this is what it thought of next"
        case _, Rewritten():
            note = "the first reply was refused: this is what the model wrote when told so"
        case (
            Refused(reason="deletion", lost=lost),
            Refused(reason="deletion", lost=again, withheld=Rewritten() as withheld),
        ) if lost == again and _only_deletes(withheld):
            # Told what it left out, the model leaves out just that again, and changes nothing else:
            # that is the edit. In which language it was asked for does not matter.
            second = withheld
            lines = ", ".join(f"`{line.strip()}`" for line in lost)
            note = f"this removes {lines}: asked twice, the model left out nothing else"
        case _:
            return replace(first, stats=stats)
    return replace(second, stats=stats, notes=(*second.notes, note))


def _only_deletes(edit: Rewritten) -> bool:
    return all(not replacement.new_text.strip() for replacement in edit.replacements)
