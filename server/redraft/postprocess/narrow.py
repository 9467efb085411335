"""Whether a reply rewrites the named target or more than it, and the target's own part of it.

A model that was asked for one method may answer with its class or the whole file, and go on with
the tests that it was shown.
"""

from redraft import syntax
from redraft.postprocess.intent import asks_to_add, asks_to_fix
from redraft.prompting.target_view import named_target
from redraft.records import EditRequest, Span
from redraft.text.lines import to_lf

__all__ = ["narrow"]

_QUOTED = 2 / 3  # the share of lines from which code counts as quoted: models change some


def narrow(request: EditRequest, code: str) -> str | None:
    """`code`, or the target's part of it where `code` repeats what the file has elsewhere.

    None where it does and the target cannot be told apart in it. Of a target without a name only
    code that the instruction quotes is cut off.
    """
    code = _without_quoted(request, code)
    own = named_target(request)
    if own is None or request.language is None:
        return code
    replied = syntax.targets(code, request.language)
    scope, _, name = own.name.rpartition(".")
    same = [target for target in replied if target.name == own.name]
    found = same or [target for target in replied if target.name == name]
    if len(found) == 1 and _is_held_outside(request, found[0].span, code):
        return found[0].span.of(code)
    elsewhere = {
        target.name
        for target in syntax.targets(request.text, request.language)
        if target.span not in request.target and target.name != own.name
    }
    repeated = [
        target
        for target in replied
        if target.name != name
        and (target.name in elsewhere or f"{scope}.{target.name}" in elsewhere)
    ]
    if not repeated:
        return code
    return found[0].span.of(code) if len(found) == 1 else None


def _without_quoted(request: EditRequest, code: str) -> str:
    """`code` up to where it goes on with code that the instruction quotes, such as failing tests.

    Only where something is to be fixed and nothing to be added, and no definition of the target
    gets lost.
    """
    told = request.instruction
    if request.language is None or not asks_to_fix(told) or asks_to_add(told):
        return code
    own = to_lf(request.target.of(request.text))
    quoted = _lines(told)
    begins = quoted - _lines(own)
    lines = code.split("\n")
    for i, line in enumerate(lines):
        if line[:1].isspace() or line.strip() not in begins:
            continue
        head, tail = "\n".join(lines[:i]), _lines("\n".join(lines[i:]))
        is_quoted = len(tail & quoted) >= _QUOTED * len(tail)
        if is_quoted and _names(own, request.language) <= _names(head, request.language):
            return head
    return code


def _names(code: str, language: str) -> set[str]:
    return {target.name for target in syntax.targets(code, language)}


def _is_held_outside(request: EditRequest, span: Span, code: str) -> bool:
    """Whether all that `code` has around `span`, such as imports, stands around the target too."""
    around = _lines(code[: span.start] + code[span.stop :])
    head, tail = request.text[: request.target.start], request.text[request.target.stop :]
    return bool(around) and around <= _lines(head + tail)


def _lines(text: str) -> set[str]:
    """The filled lines of `text`, white space at their ends aside."""
    return {line.strip() for line in to_lf(text).split("\n")} - {""}
