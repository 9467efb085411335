"""Judge a finished edit: does it parse, and does it leave out what nobody asked to leave out?

Each guard is one function from the edit to a violation, or None. Words of the instruction lower a
threshold; they never switch a guard off.
"""

import re
import textwrap
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from redraft import syntax
from redraft.postprocess.alignment import Alignment, is_significant, signature
from redraft.postprocess.intent import asks_to_remove
from redraft.postprocess.loss import Loss, find_loss
from redraft.prompting.target_view import named_target
from redraft.records import EditRequest, Reason, Replacement
from redraft.text.diff import apply_replacements
from redraft.text.lines import to_lf

__all__ = ["Candidate", "Objection", "first_violation"]

_MOST_LOST: Final = 1 / 3  # of the lines or branches that may go where the instruction speaks of it
_MIN_LINES: Final = 6  # text without a grammar: fewer are rewritten from scratch too often
_PLAIN: Final = frozenset({"markdown"})  # prose: a sentence is seldom a line

_HEAD_END = re.compile(r"[({=:<]|$")
_STUB = re.compile(
    r"(?:pass|\.\.\.|…|raise NotImplementedError(?:\(.*\))?|todo!\(.*\);?|unimplemented!\(.*\);?"
    r"|throw new \w*(?:NotImplemented|Unsupported)\w*\(.*\);?|NotImplemented)"
)


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """An edit to be judged: the alignment of shown and new lines, and the target's new text.

    needs: replacements outside of the target.
    """

    request: EditRequest
    alignment: Alignment
    new: str
    needs: tuple[Replacement, ...] = ()

    @property
    def changes(self) -> bool:
        return bool(self.needs) or self.new != self.request.target.of(self.request.text)

    @cached_property
    def edited(self) -> str:
        """The whole text with the edit made."""
        target = Replacement(span=self.request.target, new_text=self.new)
        replacements = sorted((*self.needs, target), key=lambda each: each.span)
        return apply_replacements(self.request.text, replacements)


@dataclass(frozen=True, slots=True, kw_only=True)
class Objection:
    """Why an edit must not be made. lost: the lines that it would leave out."""

    reason: Reason
    message: str
    lost: tuple[str, ...] = ()


def first_violation(candidate: Candidate) -> Objection | None:
    """Return the first objection of a guard, leaving out those that the user overrides."""
    guards = (guard for reason, guard in _GUARDS if reason not in candidate.request.allowed)
    return next((objection for guard in guards if (objection := guard(candidate))), None)


def _deletion(message: str) -> Objection:
    return Objection(reason="deletion", message=message)


def _broken(message: str) -> Objection:
    return Objection(reason="parse_broken", message=message)


# What was left out.


def _loses_code(candidate: Candidate) -> Objection | None:
    request = candidate.request
    if request.language is None or request.language in _PLAIN:
        return _leaves_too_little(candidate)
    loss = find_loss(candidate.alignment, ignored=_comment_lines(candidate))
    if loss and not _is_asked_for(loss, request.instruction):
        message = (
            f"the reply leaves out {loss.describe()}; if that is meant, say so in the instruction, "
            "or allow it with --allow deletion"
        )
        return Objection(reason="deletion", message=message, lost=loss.lines)
    return _loses_modifier(candidate) or _stubs_a_body(candidate)


def _leaves_too_little(candidate: Candidate) -> Objection | None:
    before = sum(bool(line.strip()) for line in candidate.alignment.shown)
    after = sum(bool(line.strip()) for line in to_lf(candidate.new).split("\n"))
    limit = before * _MOST_LOST * (0.5 if asks_to_remove(candidate.request.instruction) else 1.0)
    if after and (before < _MIN_LINES or after >= limit):
        return None
    if not before:
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
    named = [line for line in loss.lines if words & set(re.findall(r"[^\W\d]\w+", line.lower()))]
    if len(named) == len(loss.lines) and loss.share < 2 * _MOST_LOST:
        return True
    # In whose place something new stands, it was written anew, shorter.
    limit = _MOST_LOST if loss.n_cut else 2 * _MOST_LOST
    return loss.share < limit


def _comment_lines(candidate: Candidate) -> set[int]:
    """The shown lines that hold comments inside of the code, or a docstring behind its first line.

    What documents the target, above its name, is none of them.
    """
    code = "\n".join(candidate.alignment.shown)
    header = _n_header(candidate)
    lines: set[int] = set()
    for span in syntax.prose(code, candidate.request.language or ""):
        first = code.count("\n", 0, span.start)
        is_docstring = span.of(code).lstrip("rRuUbB")[:1] in ("'", '"')
        lines |= set(range(first + is_docstring, code.count("\n", 0, span.stop) + 1))
    shown = candidate.alignment.shown
    openers = syntax.comment_openers(candidate.request.language)
    return {
        at for at in lines if at >= header and shown[at].lstrip().startswith((*openers, "*"))
    } | {at for at in lines if at >= header and at and at - 1 in lines}


def _n_header(candidate: Candidate) -> int:
    """How many shown lines come before the target's own name: its comments and decorators."""
    target = named_target(candidate.request)
    if target is None:
        return 0
    last = target.name.rpartition(".")[2]
    lines = candidate.alignment.shown
    openers = syntax.comment_openers(candidate.request.language)
    for at, line in enumerate(lines):
        words = line.strip()
        if re.search(rf"\b{re.escape(last)}\b", words) and not words.startswith(
            (*openers, "*", "@", "#[")
        ):
            return at
    return 0


def _loses_modifier(candidate: Candidate) -> Objection | None:
    """What stands before a definition's name, such as `export` or a receiver, and would be gone."""
    target = named_target(candidate.request)
    if target is None:
        return None
    last = target.name.rpartition(".")[2]
    language = candidate.request.language or ""
    old = _head("\n".join(candidate.alignment.shown), last, language)
    new = _head(to_lf(candidate.new), last, language)
    if old is None or new is None:
        return None
    gone = [word for word in old if word not in new]
    come = [word for word in new if word not in old]
    said = candidate.request.instruction.lower()
    if not gone or come or all(word.lower() in said for word in gone if word.isalnum()):
        return None
    return _deletion(
        f"the reply leaves out `{' '.join(gone)}` in front of {last}; if that is meant, say so in "
        "the instruction, or allow it with --allow deletion"
    )


def _head(code: str, name: str, language: str) -> list[str] | None:
    """The words in front of a name on the line that defines it, comments and decorators aside."""
    pattern = re.compile(rf"(?<![\w.]){re.escape(name)}\s*(?:[(<\[:={{]|$)")
    remarks = {
        line
        for span in syntax.prose(code, language)
        for line in range(code.count("\n", 0, span.start), code.count("\n", 0, span.stop) + 1)
    }
    for at, line in enumerate(code.split("\n")):
        words = line.strip()
        if (
            at not in remarks
            and not words.startswith(("@", "#[", "["))
            and (found := pattern.search(words))
        ):
            return re.findall(r"[\w@]+", words[: found.start()])
    return None


def _stubs_a_body(candidate: Candidate) -> Objection | None:
    """A definition whose body would become a placeholder."""
    language = candidate.request.language or ""
    shown, new = to_lf("\n".join(candidate.alignment.shown)), to_lf(candidate.new)
    old_bodies = _bodies(shown, language)
    for name, body in _bodies(new, language).items():
        before = old_bodies.get(name)
        if before is None or not _is_stub(body) or _is_stub(before):
            continue
        return _deletion(
            f"the reply puts a placeholder in the place of the body of {name}; try again, or edit "
            "a smaller part"
        )
    return None


def _bodies(text: str, language: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in syntax.targets(text, language):
        if one.kind in ("function", "method"):
            found.setdefault(one.name, one.span.of(text))
    return found


def _is_stub(definition: str) -> bool:
    """Return True where a definition does nothing but hold its place."""
    header, _, rest = definition.partition("\n")
    lines = [line.strip() for line in rest.split("\n")]
    lines = [
        line for line in lines if is_significant(line) and not line.startswith(("#", "//", '"""'))
    ]
    if not lines:
        return bool(re.search(r"(?::\s*\.\.\.|\{\s*/\*.*\*/\s*\}|\{\s*\})\s*$", header))
    return len(lines) == 1 and bool(_STUB.fullmatch(lines[0]))


# What is no valid code.


def _breaks_parse(candidate: Candidate) -> Objection | None:
    request = candidate.request
    language = request.language
    if language is None:
        return None
    is_worse = _is_worse(request.text, candidate.edited, language)
    if not is_worse and (frame := _frame(candidate)):
        shown = "\n".join(candidate.alignment.shown)
        is_worse = _is_worse(_alone(shown, frame), _alone(to_lf(candidate.new), frame), language)
    if not is_worse:
        return None
    return _broken(
        f"the edited file would no longer parse as {language}; try again with a clearer "
        "instruction, or edit a smaller part"
    )


def _is_worse(before: str, after: str, language: str) -> bool:
    """Return True where `after` has syntax errors that `before` has not."""
    if syntax.parse_errors(after, language) > syntax.parse_errors(before, language):
        return True
    return syntax.compiles(before, language) and not syntax.compiles(after, language)


def _frame(candidate: Candidate) -> tuple[str, str] | None:
    """What a target is put between to be a text of its own; None where it cannot be.

    In a file that is broken elsewhere, only the target alone can tell whether it got worse.
    """
    target = named_target(candidate.request)
    if target is None:
        return None
    shown, last = "\n".join(candidate.alignment.shown), target.name.rpartition(".")[2]
    for frame in (("", ""), ("class A {\n", "\n}"), ("<?php\n", ""), ("<?php class A {\n", "\n}")):
        framed, language = _alone(shown, frame), candidate.request.language or ""
        found = any(one.name.rpartition(".")[2] == last for one in syntax.targets(framed, language))
        if found and not syntax.parse_errors(framed, language):
            return frame
    return None


def _alone(code: str, frame: tuple[str, str]) -> str:
    """A part of a file as a text of its own, without the indentation that all of it has."""
    before, after = frame
    return f"{before}{textwrap.dedent(code.strip(chr(10)))}{after}\n"


def _defines_twice(candidate: Candidate) -> Objection | None:
    """A definition with the same head twice in one scope, where there was one."""
    language = candidate.request.language
    if language is None:
        return None
    if language == "python" and (name := _doubled_docstring(candidate)):
        return _broken(f"the reply gives {name} two docstrings; try again, or edit a smaller part")
    if twice := syntax.redeclared(candidate.edited, language) - syntax.redeclared(
        candidate.request.text, language
    ):
        return _broken(f"the edited file would misuse {min(twice)}; try again")
    before = _counted(candidate.request.text, language)
    for (name, head), n in _counted(candidate.edited, language).items():
        if n > max(1, before[name, head]) and before[name, head] <= 1 and n > before[name, head]:
            return _broken(
                f"the edited file would define {name} twice; try again, or edit a smaller part"
            )
    return None


def _doubled_docstring(candidate: Candidate) -> str:
    """The name of a definition that would begin with two strings, and did not; "" for none."""
    pattern = re.compile(
        r"(?:def|class)\s+(\w+)[^\n]*:\n\s*(?:\"{3}(?:(?!\"{3}).)*\"{3}|'{3}(?:(?!'{3}).)*'{3})\s*\n\s*(?:\"{3}|'{3})",
        re.DOTALL,
    )
    held = set(pattern.findall(to_lf(candidate.request.text)))
    return next((name for name in pattern.findall(to_lf(candidate.edited)) if name not in held), "")


def _counted(text: str, language: str) -> Counter[tuple[str, str]]:
    heads: Counter[tuple[str, str]] = Counter()
    for one in syntax.targets(text, language):
        code = one.span.of(text)
        last = one.name.rpartition(".")[2]
        head = next((signature(line) for line in code.split("\n") if last in line), "")
        heads[one.name, head] += 1
    return heads


_GUARDS: Final[tuple[tuple[Reason, Callable[[Candidate], Objection | None]], ...]] = (
    ("parse_broken", _breaks_parse),
    ("parse_broken", _defines_twice),
    ("deletion", _loses_code),
)
