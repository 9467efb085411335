"""From what the model wrote to the new text of the target, or to the reason why there is none.

The reply is first taken out of what models put around code (`fences`), then cut down to the target
(`narrow`), given the target's white space (`whitespace`), completed where it left code out
(`elision`), and judged (`checks`). Pure; no model, no tokens.
"""

from typing import TypeAlias

from redraft.postprocess.checks import first_violation
from redraft.postprocess.elision import find_elisions, restore_elisions
from redraft.postprocess.fences import strip_fences
from redraft.postprocess.intent import asks_to_lay_out, asks_to_remove
from redraft.postprocess.narrow import narrow
from redraft.postprocess.whitespace import reindent, restore_lines
from redraft.prompting.target_view import TargetView, view_target
from redraft.records import Completion, EditRequest, Prompt, Reason, Refused
from redraft.text.lines import detect_indentation, line_ending_at, to_lf

__all__ = ["interpret"]

_Objection: TypeAlias = tuple[Reason, str]


def interpret(request: EditRequest, prompt: Prompt, completion: Completion) -> str | Refused:
    """The new text of the request's target, its line endings and layout kept, or a refusal.

    The text equals the old one where the reply changes nothing.
    """
    found = _ended_early(completion) or _new_text(request, completion.text)
    if isinstance(found, str):
        return found
    reason, message = found
    return Refused(reason=reason, message=message, stats=completion.stats, notes=prompt.notes)


def _new_text(request: EditRequest, reply: str) -> str | _Objection:
    shown = view_target(request)
    code = _code(request, reply)
    if not isinstance(code, str):
        return code
    lines = _completed(shown, _laid_out(request, shown, code.split("\n")))
    if not isinstance(lines, list):
        return lines
    new = _fitted(request, shown, lines)
    found = first_violation(request, new) if new != shown.target else None
    return found or new


def _code(request: EditRequest, reply: str) -> str | _Objection:
    """The part of `reply` that stands for the target."""
    code = strip_fences(reply, request)
    if not code.strip() and not asks_to_remove(request.instruction):
        return "no_code", "the reply holds no code; try again with a clearer instruction"
    narrowed = narrow(request, code)
    if narrowed is None:
        return "no_code", (
            "the reply rewrites more than the target, and the target cannot be told apart in it; "
            "select what shall change, or name one function"
        )
    return narrowed


def _completed(shown: TargetView, lines: list[str]) -> list[str] | _Objection:
    """`lines` with what the reply left out put back."""
    source = shown.text.removesuffix("\n").split("\n")
    elisions = find_elisions(lines, source)
    completed = restore_elisions(lines, source, elisions)
    if completed is None:
        return "elision", (
            f"the reply left code out (“{lines[elisions[0]].strip()}”) and it is not certain "
            "which; try again, or edit a smaller part"
        )
    return completed


def _ended_early(completion: Completion) -> _Objection | None:
    match completion.finish:
        case "stop":
            return None
        case "length":
            n_tokens = completion.stats.output_tokens
            return "token_limit", (
                f"the reply was cut at the limit of {n_tokens:,} tokens; raise max_tokens or edit "
                "a smaller part"
            )
        case "timeout":
            return "timeout", (
                "the time limit passed before the reply was complete; raise timeout or edit a "
                "smaller part"
            )
        case "cancelled":
            return "cancelled", "the edit was cancelled; nothing was changed"


def _laid_out(request: EditRequest, shown: TargetView, lines: list[str]) -> list[str]:
    """`lines` in the target's indentation, unless that is what the instruction is about."""
    if asks_to_lay_out(request.instruction):
        return lines
    filled = [index for index, line in enumerate(lines) if line.strip()]
    lines = lines[filled[0] : filled[-1] + 1] if filled else []
    if shown.is_fragment:
        lines = _without_surroundings(shown, lines)
    style = detect_indentation(shown.text) or detect_indentation(to_lf(request.text))
    # An insertion has no line to go by but the indentation it is made at.
    model_lines = [f"{shown.indentation}."] if shown.is_insertion else shown.text.split("\n")
    return reindent(lines, model_lines, style=style) if shown.target or shown.indentation else lines


def _without_surroundings(shown: TargetView, lines: list[str]) -> list[str]:
    """A fragment's reply without the rest of its first and last line, where it repeats both."""
    reply = "\n".join(lines)
    before, after = shown.before.lstrip(), shown.after.rstrip()
    whole, own = reply.lstrip(), shown.text.strip()
    is_repeated = (
        any(map(str.isalnum, before + after))
        and len(whole) >= len(before) + len(after)
        and whole.startswith(before)
        and whole.endswith(after)
        and not (own.startswith(before) and own.endswith(after))
    )
    return whole[len(before) : len(whole) - len(after)].split("\n") if is_repeated else lines


def _fitted(request: EditRequest, shown: TargetView, lines: list[str]) -> str:
    """`lines` joined with the target's own line endings, white space and last ending."""
    ending = line_ending_at(request.text, request.target.start)
    is_exact = asks_to_lay_out(request.instruction)
    new = restore_lines(shown.indentation + shown.target, lines, ending=ending, exact=is_exact)
    if shown.is_insertion and not _takes_whole_lines(request, shown):
        new = new.removesuffix(ending)
    if shown.after:
        kept = shown.target[len(shown.target.rstrip(" \t")) :]
        new = new.rstrip(" \t") + kept
    return new.removeprefix(shown.indentation)


def _takes_whole_lines(request: EditRequest, shown: TargetView) -> bool:
    """Whether text inserted here stands on lines of its own, above what is on this line now."""
    is_at_end = request.target.stop == len(request.text)
    return not shown.before and bool(shown.after or is_at_end)
