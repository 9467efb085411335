"""The answers of several files, and a second try where no edit would come of one.

To name a part of a file costs a few tokens, to show it as many as it has: so parts are named first,
and those whose replies are refused are shown. Pure but for the model.
"""

from collections.abc import Sequence
from dataclasses import replace

from redraft.codemod.replies import Reply
from redraft.codemod.task import Answer, PreparedFile, RunContext, answers
from redraft.edit import PromptRequest, ask, choose_retry, outcome_of_reply
from redraft.records import Completion, EditRequest, Model, Outcome, Refused

__all__ = ["answered"]


def answered(
    files: Sequence[PreparedFile], model: Model, task: RunContext
) -> list[tuple[PreparedFile, list[Answer]]]:
    """Each file and the answers to its prompts, those of second tries among them.

    The stats of a second try's answer are for both tries.
    """
    got = iter(answers([one for file in files for one in file.asked], model, task))
    found = [(file, [next(got) for _ in file.asked]) for file in files]
    tries: list[tuple[int, int, PromptRequest]] = []
    for at, (file, own) in enumerate(found):
        for n, answer in enumerate(own):
            request = file.requests[n]
            outcome = _outcome(request, file.asked[n], answer)
            if outcome and choose_retry(request, outcome, is_named_only=True) == "show_target":
                shown = ask(request, model, replace(task.options, route="edit"))
                if isinstance(shown, PromptRequest) and shown != file.asked[n]:
                    tries.append((at, n, shown))
    again = answers([shown for *_, shown in tries], model, replace(task, on_reply=_ignore))
    for (at, n, shown), answer in zip(tries, again, strict=True):
        file, own = found[at]
        # A run that is cut short here has not done with the file.
        outcome = _outcome(file.requests[n], shown, answer)
        if outcome and (not isinstance(outcome, Refused) or outcome.reason == "cancelled"):
            own[n] = _both(own[n], answer)
            asked = (*file.asked[:n], shown, *file.asked[n + 1 :])
            found[at] = (replace(file, asked=asked), own)
    return found


def _outcome(
    request: EditRequest, asked: PromptRequest | Refused, answer: Answer
) -> Outcome | None:
    """What `answer` comes to; None where nothing was asked or the library failed."""
    if isinstance(asked, Refused) or isinstance(answer, Refused):
        return None
    if not isinstance(answer.completion, Completion):
        return None
    return outcome_of_reply(request, asked.prompt, answer.completion)


def _both(first: Answer, second: Answer) -> Answer:
    """`second`, with what `first` cost counted in."""
    if isinstance(first, Refused) or isinstance(second, Refused):
        return second
    one, other = first.completion, second.completion
    if not isinstance(one, Completion) or not isinstance(other, Completion):
        return second
    completion = replace(other, stats=one.stats + other.stats)
    return Reply(completion=completion, cached=first.cached and second.cached)


def _ignore(_: Reply) -> None:
    return None
