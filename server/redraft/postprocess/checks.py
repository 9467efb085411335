"""What a finished edit must not do: break the parse, or delete what nobody asked to delete.

Each guard is one function from the request and the new text of its target to an objection, or None.
"""

from collections.abc import Callable

from redraft import syntax
from redraft.postprocess.intent import asks_to_remove
from redraft.records import EditRequest, Reason
from redraft.text.lines import to_lf

__all__ = ["first_violation"]

# Fewer lines are rewritten from scratch too often to say that something got lost.
_MIN_LINES = 6
_KEEP_AT_LEAST = 1 / 3


def first_violation(request: EditRequest, new: str) -> tuple[Reason, str] | None:
    """Why `new` must not take the place of the target, for the first guard that objects."""
    for reason, guard in _GUARDS.items():
        if message := guard(request, new):
            return reason, message
    return None


def _deletes_most(request: EditRequest, new: str) -> str | None:
    before, after = _n_filled(request.target.of(request.text)), _n_filled(new)
    is_lost = before >= _MIN_LINES and after < before * _KEEP_AT_LEAST
    if not is_lost or asks_to_remove(request.instruction):
        return None
    return (
        f"the reply would leave {after} of the target's {before} lines, which the instruction does "
        'not ask for; if it is meant, say "remove" or "shorten" in the instruction'
    )


def _breaks_parse(request: EditRequest, new: str) -> str | None:
    if request.language is None:
        return None
    text, target = request.text, request.target
    edited = text[: target.start] + new + text[target.stop :]
    before = syntax.parse_errors(text, request.language)
    is_worse = syntax.parse_errors(edited, request.language) > before
    # tree-sitter takes much that Python does not, such as a keyword where a name belongs.
    compiles = syntax.compiles
    is_worse |= compiles(text, request.language) and not compiles(edited, request.language)
    if not is_worse:
        return None
    return (
        f"the edited file would no longer parse as {request.language}; try again with a clearer "
        "instruction, or edit a smaller part"
    )


def _n_filled(text: str) -> int:
    return sum(bool(line.strip()) for line in to_lf(text).split("\n"))


_GUARDS: dict[Reason, Callable[[EditRequest, str], str | None]] = {
    "deletion": _deletes_most,
    "parse_broken": _breaks_parse,
}
