"""Whether a reply rewrites the named target or more than it, and the target's own part of it.

A model that was asked for one method may answer with its class or the whole file.
"""

from redraft import syntax
from redraft.messages import EditRequest, Span

__all__ = ["named_target", "narrow"]


def narrow(request: EditRequest, code: str) -> str | None:
    """`code`, or the target's part of it where `code` repeats what the file has elsewhere.

    None where it does and the target cannot be told apart in it. A target without a name is
    never narrowed.
    """
    own = named_target(request)
    if own is None or request.language is None:
        return code
    replied = syntax.targets(code, request.language)
    scope, _, name = own.name.rpartition(".")
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
    same = [target for target in replied if target.name == own.name]
    found = same or [target for target in replied if target.name == name]
    return found[0].span.of(code) if len(found) == 1 else None


def named_target(request: EditRequest) -> syntax.Target | None:
    """The function, class or the like that the request's target is, blanks around it aside."""
    if request.language is None:
        return None
    own = _filled(request.text, request.target)
    known = syntax.targets(request.text, request.language)
    return next((t for t in known if _filled(request.text, t.span) == own), None)


def _filled(text: str, span: Span) -> Span:
    """`span` without the white space at its ends."""
    inside = span.of(text)
    start = span.start + len(inside) - len(inside.lstrip())
    return Span(start, max(start, span.start + len(inside.rstrip())))
