"""Judge a finished edit: does it parse, and does it leave out what nobody asked to leave out?

Each guard is one function from a proposed edit to a violation, or None. Words of the instruction
lower a threshold; they never switch a guard off.
"""

import re
import textwrap
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from redraft import syntax
from redraft.interruption import check_interruption
from redraft.postprocess.alignment import Alignment, is_significant, signature
from redraft.postprocess.intent import asks_to_remove
from redraft.postprocess.loss import Loss, find_loss
from redraft.prompting.target_view import named_target, view_target
from redraft.records import EditRequest, Reason, Replacement
from redraft.text.diff import apply_replacements
from redraft.text.lines import find_line_numbers, to_lf

__all__ = ["EditedTarget", "ProposedEdit", "Violation", "first_violation"]

_MOST_LOST: Final = 1 / 3  # of the lines or branches that may go where the instruction speaks of it
_MIN_LINES: Final = 6  # text without a grammar: fewer are rewritten from scratch too often

_STUB = re.compile(
    r"(?:pass|\.\.\.|…|raise NotImplementedError(?:\(.*\))?|todo!\(.*\);?|unimplemented!\(.*\);?"
    r"|throw new \w*(?:NotImplemented|Unsupported)\w*\(.*\);?|NotImplemented)"
)
_DOCSTRING = r"(?:\"{3}(?:(?!\"{3}).)*\"{3}|'{3}(?:(?!'{3}).)*'{3})"
_TWO_DOCSTRINGS = re.compile(
    rf"(?:def|class)\s+(\w+)[^\n]*:\n\s*{_DOCSTRING}\s*\n\s*(?:\"{{3}}|'{{3}})", re.DOTALL
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EditedTarget:
    """An edit as a reply means it. text: the target's new text, the old one where nothing changes.

    needs: replacements outside of the target, in the document's offsets. notes: for the user.
    """

    text: str
    needs: tuple[Replacement, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A reason to make no edit. lost: lines that are left out. withheld: the edit all the same."""

    reason: Reason
    message: str
    lost: tuple[str, ...] = ()
    withheld: EditedTarget | None = None


@dataclass(frozen=True, kw_only=True)
class ProposedEdit:
    """An edit to be judged, with the alignment of the lines that were shown and its own."""

    request: EditRequest
    alignment: Alignment
    edit: EditedTarget

    @property
    def language(self) -> str:
        return self.request.language or ""

    @property
    def changes_text(self) -> bool:
        target_text = self.request.target.of(self.request.text)
        return bool(self.edit.needs) or self.edit.text != target_text

    @cached_property
    def shown_code(self) -> str:
        return "\n".join(self.alignment.shown)

    @cached_property
    def edited_text(self) -> str:
        """The whole text with the edit made."""
        target = Replacement(span=self.request.target, new_text=self.edit.text)
        replacements = sorted((*self.edit.needs, target), key=lambda change: change.span)
        return apply_replacements(self.request.text, replacements)


def first_violation(proposed: ProposedEdit) -> Violation | None:
    """Return the first violation that a guard finds, leaving out those that the user allows."""
    for reason, guard in _GUARDS:
        check_interruption()
        if reason not in proposed.request.allowed and (violation := guard(proposed)):
            return replace(violation, withheld=proposed.edit)
    return None


def _deletion(message: str, lost: tuple[str, ...] = ()) -> Violation:
    return Violation(reason="deletion", message=message, lost=lost)


def _parse_broken(message: str) -> Violation:
    return Violation(reason="parse_broken", message=message)


# What was left out.


def _find_lost_code(proposed: ProposedEdit) -> Violation | None:
    request = proposed.request
    if request.language is None or syntax.facts_of(request.language).is_prose:
        return _find_deleted_text(proposed)
    loss = find_loss(proposed.alignment, ignored=_find_comment_lines(proposed))
    if loss and not _is_asked_for(loss, request.instruction):
        message = (
            f"the reply leaves out {loss.describe()}; if that is meant, say so in the instruction, "
            "or allow it with --allow deletion"
        )
        return _deletion(message, loss.lines)
    return _find_lost_modifier(proposed) or _find_stubbed_body(proposed)


def _find_deleted_text(proposed: ProposedEdit) -> Violation | None:
    before = sum(bool(line.strip()) for line in proposed.alignment.shown)
    after = sum(bool(line.strip()) for line in to_lf(proposed.edit.text).split("\n"))
    limit = before * _MOST_LOST * (0.5 if asks_to_remove(proposed.request.instruction) else 1.0)
    if not before or (after and (before < _MIN_LINES or after >= limit)):
        return None
    return _deletion(
        f"the reply would leave {after} of {before} lines; if that is meant, allow it with "
        "--allow deletion"
    )


def _is_asked_for(loss: Loss, instruction: str) -> bool:
    """Return True where the instruction speaks of what is lost, and it is not too much."""
    if not asks_to_remove(instruction):
        return False
    if loss.n_branches_lost and loss.n_branches_lost > _MOST_LOST * max(3, loss.n_branches):
        return False
    words = set(re.findall(r"[^\W\d]\w+", instruction.lower()))
    named = [
        line
        for line in loss.lines
        if line.strip() in instruction or words & set(re.findall(r"[^\W\d]\w+", line.lower()))
    ]
    if len(named) == len(loss.lines) and loss.share < 2 * _MOST_LOST:
        return True
    # In whose place something new stands, it was written anew, shorter.
    limit = _MOST_LOST if loss.n_cut else 2 * _MOST_LOST
    return loss.share < limit


def _find_comment_lines(proposed: ProposedEdit) -> set[int]:
    """Return the shown lines with comments in the code, or a docstring behind its first line.

    What documents the target, above its name, is none of them.
    """
    code = proposed.shown_code
    header = _count_header_lines(proposed)
    lines: set[int] = set()
    for span in syntax.prose(code, proposed.language):
        is_docstring = span.of(code).lstrip("rRuUbB")[:1] in ("'", '"')
        lines |= set(find_line_numbers(code, span)[is_docstring:])
    shown = proposed.alignment.shown
    openers = syntax.comment_openers(proposed.request.language)
    return {
        at for at in lines if at >= header and shown[at].lstrip().startswith((*openers, "*"))
    } | {at for at in lines if at >= header and at and at - 1 in lines}


def _count_header_lines(proposed: ProposedEdit) -> int:
    """Return how many shown lines, comments and decorators, come before the target's name."""
    target = named_target(proposed.request)
    if target is None:
        return 0
    last = target.name.rpartition(".")[2]
    lines = proposed.alignment.shown
    openers = syntax.comment_openers(proposed.request.language)
    for at, line in enumerate(lines):
        words = line.strip()
        if re.search(rf"\b{re.escape(last)}\b", words) and not words.startswith(
            (*openers, "*", "@", "#[")
        ):
            return at
    return 0


def _find_lost_modifier(proposed: ProposedEdit) -> Violation | None:
    """Refuse to lose what stands before a definition's name, such as `export` or a receiver."""
    target = named_target(proposed.request)
    if target is None:
        return None
    last = target.name.rpartition(".")[2]
    language = proposed.language
    old = _find_modifiers(proposed.shown_code, last, language)
    new = _find_modifiers(to_lf(proposed.edit.text), last, language)
    if old is None or new is None:
        return None
    lost = [word for word in old if word not in new]
    added = [word for word in new if word not in old]
    instruction = proposed.request.instruction.lower()
    # `public` that became `private` was changed, not lost.
    if not lost or added or all(word.lower() in instruction for word in lost if word.isalnum()):
        return None
    return _deletion(
        f"the reply leaves out `{' '.join(lost)}` in front of {last}; if that is meant, say so in "
        "the instruction, or allow it with --allow deletion"
    )


def _find_modifiers(code: str, name: str, language: str) -> list[str] | None:
    """Return the words in front of a name on the line that defines it; None where no line does."""
    pattern = re.compile(rf"(?<![\w.]){re.escape(name)}\s*(?:[(<\[:={{]|$)")
    comment_lines = {
        line for span in syntax.prose(code, language) for line in find_line_numbers(code, span)
    }
    for at, line in enumerate(code.split("\n")):
        words = line.strip()
        if (
            at not in comment_lines
            and not words.startswith(("@", "#[", "["))
            and (match := pattern.search(words))
        ):
            return re.findall(r"[\w@]+", words[: match.start()])
    return None


def _find_stubbed_body(proposed: ProposedEdit) -> Violation | None:
    """Refuse to put a placeholder such as `pass` in the place of a body."""
    language = proposed.language
    old_bodies = _find_bodies(proposed.shown_code, language)
    for name, body in _find_bodies(to_lf(proposed.edit.text), language).items():
        if name in old_bodies and _is_stub(body) and not _is_stub(old_bodies[name]):
            return _deletion(
                f"the reply puts a placeholder in the place of the body of {name}; try again, or "
                "edit a smaller part"
            )
    return None


def _find_bodies(text: str, language: str) -> dict[str, str]:
    bodies: dict[str, str] = {}
    for function in syntax.targets(text, language):
        if function.kind in ("function", "method"):
            bodies.setdefault(function.name, function.span.of(text))
    return bodies


def _is_stub(definition: str) -> bool:
    """Return True where a definition does nothing but hold its place."""
    header, *body = map(str.strip, definition.split("\n"))
    lines = [
        line for line in body if is_significant(line) and not line.startswith(("#", "//", '"""'))
    ]
    if not lines:  # all on one line: `def f(): ...`, `void f() {}`
        return bool(re.search(r"(?::\s*\.\.\.|\{\s*/\*.*\*/\s*\}|\{\s*\})\s*$", header))
    return len(lines) == 1 and bool(_STUB.fullmatch(lines[0]))


# What is no valid code.


def _find_parse_error(proposed: ProposedEdit) -> Violation | None:
    request = proposed.request
    language = request.language
    if language is None:
        return None
    is_worse = _has_more_errors(request.text, proposed.edited_text, language)
    if not is_worse and (frame := _choose_frame(proposed)):
        before = _put_into_frame(proposed.shown_code, frame)
        # The target begins behind the indentation of its first line, which the others have as well.
        indentation = view_target(request).indentation
        after = _put_into_frame(indentation + to_lf(proposed.edit.text), frame)
        is_worse = _has_more_errors(before, after, language)
    if not is_worse:
        return None
    return _parse_broken(
        f"the edited file would no longer parse as {language}; try again with a clearer "
        "instruction, or edit a smaller part"
    )


def _has_more_errors(before: str, after: str, language: str) -> bool:
    """Return True where `after` has syntax errors that `before` has not."""
    if syntax.parse_errors(after, language) > syntax.parse_errors(before, language):
        return True
    return syntax.compiles(before, language) and not syntax.compiles(after, language)


def _choose_frame(proposed: ProposedEdit) -> tuple[str, str] | None:
    """Return what a target is put between to be a text of its own; None where it cannot be.

    In a file that is broken elsewhere, only the target alone can tell whether it got worse.
    """
    target = named_target(proposed.request)
    if target is None:
        return None
    last, language = target.name.rpartition(".")[2], proposed.language
    for frame in (("", ""), ("class A {\n", "\n}"), ("<?php\n", ""), ("<?php class A {\n", "\n}")):
        framed = _put_into_frame(proposed.shown_code, frame)
        names = {target.name.rpartition(".")[2] for target in syntax.targets(framed, language)}
        if last in names and not syntax.parse_errors(framed, language):
            return frame
    return None


def _put_into_frame(code: str, frame: tuple[str, str]) -> str:
    """Return a part of a file as a text of its own, without the indentation that all of it has."""
    before, after = frame
    return f"{before}{textwrap.dedent(code.strip(chr(10)))}{after}\n"


def _find_second_definition(proposed: ProposedEdit) -> Violation | None:
    """Refuse two definitions with the same head in one scope, where there was one."""
    language = proposed.request.language
    if language is None:
        return None
    if language == "python" and (name := _find_doubled_docstring(proposed)):
        return _parse_broken(
            f"the reply gives {name} two docstrings; try again, or edit a smaller part"
        )
    declared_twice = syntax.redeclared(proposed.edited_text, language)
    if misused := declared_twice - syntax.redeclared(proposed.request.text, language):
        return _parse_broken(f"the edited file would misuse {min(misused)}; try again")
    before = _count_definitions(proposed.request.text, language)
    for (name, head), n in _count_definitions(proposed.edited_text, language).items():
        # Overloads and `#ifdef` variants are many already: one more proves nothing.
        if n > 1 >= before[name, head]:
            return _parse_broken(
                f"the edited file would define {name} twice; try again, or edit a smaller part"
            )
    return None


def _find_doubled_docstring(proposed: ProposedEdit) -> str:
    """Return the name of a definition that begins with two strings now; "" for none."""
    before = set(_TWO_DOCSTRINGS.findall(to_lf(proposed.request.text)))
    names = _TWO_DOCSTRINGS.findall(to_lf(proposed.edited_text))
    return next((name for name in names if name not in before), "")


def _count_definitions(text: str, language: str) -> Counter[tuple[str, str]]:
    heads: Counter[tuple[str, str]] = Counter()
    for definition in syntax.targets(text, language):
        lines = definition.span.of(text).split("\n")
        last = definition.name.rpartition(".")[2]
        head = next((signature(line) for line in lines if last in line), "")
        heads[definition.name, head] += 1
    return heads


_GUARDS: Final[tuple[tuple[Reason, Callable[[ProposedEdit], Violation | None]], ...]] = (
    ("parse_broken", _find_parse_error),
    ("parse_broken", _find_second_definition),
    ("deletion", _find_lost_code),
)
