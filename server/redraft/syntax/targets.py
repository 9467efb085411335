"""Finding what to edit: the function or class at a line or of a name."""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache

from redraft.errors import InputError
from redraft.records import Span
from redraft.syntax.languages import grammar
from redraft.syntax.source import normal_name, parse
from redraft.text.lines import LineIndex

__all__ = [
    "Target",
    "bodies",
    "target_at",
    "target_named",
    "targets",
]

_FUNCTIONS = frozenset({"function", "method", "macro", "callback"})

_MAX_LISTED = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A function, class or the like that can be named and rewritten.

    `name` is qualified with dots in every language ("Class.method"). `kind` is function, method,
    class, struct, interface, trait, enum, impl, object, module, type, macro or callback: a call
    with the function handed to it, such as a test or a route, named by the call and its string.
    `span` takes in the decorators, attributes, doc comment and export or template keyword that
    belong to it, begins at a line's start where nothing else precedes it there, and ends before the
    line ending.
    """

    name: str
    kind: str
    span: Span


@lru_cache(maxsize=8)  # one edit asks for those of its file again and again
def targets(text: str, language: str) -> tuple[Target, ...]:
    """Return all targets of `text`, outer before inner, in the order they begin.

    Raises InputError where `language` is none of ours.
    """
    return tuple(
        Target(name=d.name, kind=d.kind, span=d.span) for d in parse(text, language).definitions
    )


def target_at(text: str, language: str, line: int, column: int | None = None) -> Target:
    """Return the innermost function or method around `line`; else the innermost class.

    Line and column count from 0, the column in code points. It decides between functions that
    share the line, as in `const a = () => 1; const b = () => 2;`. Decorators and doc comments count
    as inside. Raises InputError where there is neither.
    """
    index = LineIndex(text)
    around = [
        target
        for target in targets(text, language)
        if index.line_at(target.span.start) <= line <= index.line_at(target.span.stop)
        and target.kind != "module"
    ]
    functions = [target for target in around if target.kind in _FUNCTIONS]
    if not around:
        raise InputError(
            f"line {line + 1} is in no function or class; give a range of lines instead, "
            f"such as {line + 1}-{line + 5}"
        )
    candidates = functions or around
    if column is not None:
        candidates = _nearest(candidates, index.offset(line, column, "utf-32"))
    return min(candidates, key=lambda target: len(target.span))


def _nearest(candidates: list[Target], offset: int) -> list[Target]:
    """Return the candidates that hold `offset`, where others lie beside them on the same line.

    All are returned where the others lie one in another, inside of those that hold it: on the line
    `return function () {` the function that begins there is meant, wherever the cursor stands.
    """
    holding = [target for target in candidates if target.span.start <= offset < target.span.stop]
    holding = holding or [target for target in candidates if offset == target.span.stop]
    beside = [target.span for target in candidates if target not in holding]
    if not holding or not beside:
        return candidates
    innermost = min((target.span for target in holding), key=len)
    widest = max(beside, key=len)
    is_chain = widest in innermost and all(span in widest for span in beside)
    return candidates if is_chain else holding


def target_named(text: str, language: str, name: str) -> Target:
    """Return the target whose qualified name is `name`, or the only one that ends in its parts.

    `::`, `:` and `#` separate parts as well as `.`. Raises InputError where there is none (with
    the closest names) or more than one (with their lines).
    """
    unnamed = grammar(language).unnamed
    wanted = normal_name(name, unnamed)
    all_targets = targets(text, language)
    # A callback's name holds a string, such as "/users/:id", as it stands.
    names = [normal_name(target.name, unnamed) for target in all_targets]
    exact = [target for target, name in zip(all_targets, names, strict=True) if name == wanted]
    matching = exact or [
        target
        for target, name in zip(all_targets, names, strict=True)
        if name.endswith(f".{wanted}")
    ]
    if not wanted or not matching:
        raise InputError(_unknown(name, wanted, all_targets))
    if len(matching) > 1:
        index = LineIndex(text)
        places = [f"{t.name} (line {index.line_at(t.span.start) + 1})" for t in matching]
        raise InputError(
            f"{len(places)} targets are named {name!r}: {', '.join(places)}; "
            "give more of the name, or a range of lines"
        )
    return matching[0]


def bodies(text: str, language: str) -> tuple[Span, ...]:
    """Return the insides of the outermost functions, ascending: what a prompt may leave out.

    Without brackets and the blanks next to them, so that a short stand-in reads well in place.
    """
    outermost: list[Span] = []
    for definition in parse(text, language).definitions:
        body = definition.body
        if body and not (outermost and body.start < outermost[-1].stop):
            outermost.append(body)
    return tuple(outermost)


def _unknown(name: str, wanted: str, all_targets: Iterable[Target]) -> str:
    by_ending = {target.name.rsplit(".", 1)[-1]: target.name for target in all_targets}
    by_ending |= {target.name: target.name for target in all_targets}
    close = [by_ending[match] for match in get_close_matches(wanted, by_ending, cutoff=0.5)]
    if close:
        return f"nothing is named {name!r}; did you mean {' or '.join(dict.fromkeys(close))}?"
    names = [target.name for target in all_targets]
    if not names:
        return f"nothing is named {name!r}: there are no functions; give a range of lines instead"
    more = f" and {len(names) - _MAX_LISTED} more" if len(names) > _MAX_LISTED else ""
    return f"nothing is named {name!r}; there are {', '.join(names[:_MAX_LISTED])}{more}"
