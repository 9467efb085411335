"""Cut a reply down to the target: what stands for it, what came along, what the target needs.

A model that was asked for one method may answer with its class or the whole file, go on with the
code that follows, give two versions, or add an import and a helper. Around the definition that
stands for the target (`definitions`), what repeats the file is cut, what is new and needed is kept,
inside of the target's place or in front of what the target stands in, and what cannot be told
apart is refused. Of a target without a name, lines that repeat the prompt are cut (`echo`).
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import PurePath

from redraft import syntax
from redraft.postprocess.alignment import align, is_significant
from redraft.postprocess.definitions import (
    SIMILAR_SHARE,
    ParsedReply,
    ReplyDefinition,
    find_target,
    parse_reply,
    strip_scope,
)
from redraft.postprocess.dress import is_prose
from redraft.postprocess.echo import (
    cut_surroundings,
    strip_around_target,
    strip_quoted_code,
    strip_surroundings,
)
from redraft.postprocess.elision import find_remarks
from redraft.prompting.target_view import TargetView, named_target
from redraft.records import EditRequest
from redraft.text.lines import find_filled_line, find_line_numbers, read_indent, to_lf

__all__ = ["Narrowed", "narrow"]

# What begins a declaration of a JavaScript file, but no member of a class.
_DECLARATION = re.compile(r"(?:export\s+|async\s+|default\s+)*(?:function|const|let|var)\b")
_LINE_SHARE = 0.5  # of its tokens: a line that was changed
_SAME_SHARE = 0.75  # of its tokens: code that says nearly the same
_NEARER = 0.25  # of its tokens: clearly more like one than like the other
_TOKEN = re.compile(r"\w+|[^\w\s]")
_OF_INSTANCE_OR_CLASS = re.compile(r"\(\s*(?:self|cls)\b|@(?:static|class)method")
_MEMBERS = frozenset({"method", "function", "property"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrowed:
    """The part of a reply that counts.

    lines: what takes the target's place. imports: new import statements. outer: new definitions
    and statements that belong in front of the outermost definition around the target. notes:
    sentences for the user.
    """

    lines: tuple[str, ...]
    imports: tuple[str, ...] = ()
    outer: tuple[tuple[str, ...], ...] = ()
    notes: tuple[str, ...] = ()


def narrow(request: EditRequest, view: TargetView, lines: Sequence[str]) -> Narrowed | str:
    """Return the target's part of `lines`, or a sentence on why it cannot be told apart."""
    lines = strip_quoted_code(request, lines)
    target = named_target(request)
    if target is None or request.language is None:
        return Narrowed(lines=tuple(strip_surroundings(request, view, lines)))
    lines = strip_around_target(request, view, lines)
    reply = parse_reply(request, view, target, lines)
    # Cut through a comment or a block, what stands around the target makes no sense to the parser.
    for shorter in cut_surroundings(request, view, lines) if reply.n_errors else ():
        candidate = parse_reply(request, view, target, shorter)
        if candidate.n_errors < reply.n_errors:
            reply = candidate
    definition = find_target(reply)
    if isinstance(definition, str):
        return definition
    if definition is None:
        return _narrow_without_definition(reply)
    if other := _find_nearer(reply, definition):
        return (
            f"the reply is {other} rather than {target.name}; name what shall change, or try again"
        )
    definition = _extend_to_kept(reply, definition)
    return _Narrower(reply, _extend_to_remark(reply, definition)).narrow()


def _narrow_without_definition(reply: ParsedReply) -> Narrowed | str:
    """Return all of a reply without the target's definition, where it may replace the target."""
    if lines := _find_unrecognised(reply):
        return Narrowed(lines=tuple(lines))
    name = reply.target.name
    names = {strip_scope(definition.name) for definition in reply.definitions}
    member_names = {member for member in reply.file_names if member.startswith(f"{name}.")}
    if names & set(map(strip_scope, member_names)):
        return f"the reply holds a part of {name} only; edit that part, or ask for all of {name}"
    target_lines = reply.view.text.split("\n")
    n_kept = align(target_lines, reply.lines).n_kept
    if names:
        if not n_kept or names & set(map(strip_scope, reply.file_names)):
            return f"the reply rewrites something else than {name}; name what shall change"
    else:
        n_similar = max(1, SIMILAR_SHARE * sum(map(is_significant, target_lines)))
        if n_kept < n_similar and not any(map(reply.has_target_name, reply.lines)):
            return "the reply holds no code that could replace the target; try again"
    return Narrowed(lines=tuple(reply.lines))


def _find_unrecognised(reply: ParsedReply) -> Sequence[str]:
    """Return the lines that are the target to the parser no longer, but say nearly the same.

    One word of `void operator=(const Shelf&) = delete;` makes a field of it, and one of
    `Shelf.prototype.take = function ...` another's method. None where they are as much like another
    definition of the file.
    """
    text, target = reply.request.text, reply.request.target
    cuts = (reply.lines, *cut_surroundings(reply.request, reply.view, reply.lines))
    old = Counter(_TOKEN.findall(reply.view.text))
    lines = max(cuts, key=lambda lines: _measure_likeness(old, "\n".join(lines)))
    new = Counter(_TOKEN.findall("\n".join(lines)))
    likeness = _measure_likeness(new, reply.view.text)
    # A part of the target is most like that part.
    others = (
        definition.span
        for definition in reply.file_definitions
        if definition.span.of(text).strip() != target.of(text).strip()
    )
    if likeness < _SAME_SHARE or any(
        _measure_likeness(new, span.of(text)) >= likeness for span in others
    ):
        return ()
    return lines


def _find_nearer(reply: ParsedReply, definition: ReplyDefinition) -> str:
    """Return the file's definition of that name elsewhere that the reply clearly is; "" for none.

    A model that was not shown the target, but another of its name, may write that one.
    """
    text, target = reply.request.text, reply.target
    written = Counter(_TOKEN.findall("\n".join(reply.read_lines(definition))))
    likeness = _measure_likeness(written, target.span.of(text))
    for other in reply.file_definitions:
        is_namesake = strip_scope(other.name) == strip_scope(target.name)
        if is_namesake and other.name != target.name:
            # To be like another one may be what is asked for: then that is named.
            scope = strip_scope(other.name.rpartition(".")[0])
            is_named = scope and re.search(rf"\b{re.escape(scope)}\b", reply.request.instruction)
            nearness = _measure_likeness(written, other.span.of(text))
            if nearness > max(_SAME_SHARE, likeness + _NEARER) and not is_named:
                return other.name
    return ""


def _measure_likeness(tokens: Counter[str], code: str) -> float:
    """Return the share of `tokens` and those of `code` that is in both, 0 to 1."""
    others = Counter(_TOKEN.findall(code))
    return 2 * (tokens & others).total() / max(1, tokens.total() + others.total())


def _extend_to_kept(reply: ParsedReply, definition: ReplyDefinition) -> ReplyDefinition:
    """Return `definition` with the target's own lines next to it, such as the comment above.

    Where a changed word is not what the parser expects, it may begin the definition later, or end
    it earlier.
    """
    target_lines = reply.view.text.strip("\n").split("\n")
    ends = (reply.lines[definition.start].strip(), reply.lines[definition.stop - 1].strip())
    if ends == (target_lines[0].strip(), target_lines[-1].strip()):
        return definition
    alignment = align(target_lines, reply.lines)
    kept = alignment.kept
    left_out = [target_lines[at] for at in alignment.left_out]
    outside = _find_lines_outside(reply.request)
    taken = {
        at
        for other in reply.definitions
        if definition not in other and other not in definition and other != definition
        for at in other.places
    }
    # The bracket that closes what stands around the target is none of the target's; in broken code
    # the parser may take the target's own for it.
    if not reply.n_errors:
        taken |= {outer.stop - 1 for outer in reply.definitions if definition in outer}

    def find_furthest(places: range) -> int | None:
        """Return the last of `places` that says something, before the first that is not its own."""
        furthest = None
        for at in places:
            line = reply.lines[at]
            tokens = Counter(_TOKEN.findall(line))
            is_changed = line.strip() not in outside and any(
                _measure_likeness(tokens, old) > _LINE_SHARE for old in left_out
            )
            if at in taken or (kept[at] is None and line.strip() and not is_changed):
                break
            # A bracket ends the target, but says nothing above it.
            is_end = at >= definition.stop and kept[at] is not None and line.strip()
            if is_significant(line) or is_end:
                furthest = at
        return furthest

    first = find_furthest(range(definition.start - 1, -1, -1))
    last = find_furthest(range(definition.stop, len(reply.lines)))
    return replace(
        definition,
        start=definition.start if first is None else first,
        stop=definition.stop if last is None else last + 1,
    )


def _extend_to_remark(reply: ParsedReply, definition: ReplyDefinition) -> ReplyDefinition:
    """Return `definition` up to a remark that stands for its rest: the parser ends it earlier."""
    if any(definition in outer for outer in reply.definitions):
        return definition
    starts = (companion.start for companion in reply.definitions)
    limit = min((at for at in starts if at >= definition.stop), default=len(reply.lines))
    outside = _find_lines_outside(reply.request)
    remarks = [
        at
        for at in find_remarks(reply.lines)
        if definition.stop <= at < limit and reply.lines[at].strip() not in outside
    ]
    if not remarks:
        return definition
    stop = remarks[-1] + 1
    # The bracket or `end` behind the remark closes the definition.
    while stop < limit and not is_significant(reply.lines[stop]):
        stop += 1
    return replace(definition, stop=stop)


def _find_lines_outside(request: EditRequest) -> set[str]:
    """Return the file's lines around the target, with and without the mark at their end."""
    text, target = request.text, request.target
    around = to_lf(f"{text[: target.start]}\n{text[target.stop :]}")
    lines = {line.strip() for line in around.split("\n")}
    return lines | {line.rstrip(";,") for line in lines}


class _Narrower:
    """Sorts out what came along with `definition`, which is the target as the reply has it."""

    def __init__(self, reply: ParsedReply, definition: ReplyDefinition) -> None:
        self._reply = reply
        self._definition = definition
        self._header = reply.read_header(definition)
        self._enclosing = [outer for outer in reply.definitions if definition in outer]
        self._enclosed = {at for outer in self._enclosing for at in outer.places}
        self._code = "\n".join(reply.lines)
        self._language = reply.request.language or ""
        self._outside = _find_lines_outside(reply.request)
        text, span = reply.request.text, reply.request.target
        self._raw_outside = set(to_lf(f"{text[: span.start]}\n{text[span.stop :]}").split("\n"))
        self._remarks = set(find_remarks(reply.lines))
        # Only a member has something around it, in front of which new code may belong.
        self._is_member = "." in reply.target.name and reply.target.kind in _MEMBERS

    def narrow(self) -> Narrowed:
        """Return the target's lines, and what else is new in the reply, where each belongs."""
        lines = self._reply.lines
        inner, outer = set(self._definition.places), set[int]()
        sorted_out = set(inner)
        notes: list[str] = []
        for definition in self._find_companions():
            sorted_out |= set(definition.places)
            if self._is_sibling(definition):
                if self._changes_file(definition):
                    notes.append(
                        f"the reply also changes {definition.name}, which was not asked for: that "
                        "was left out"
                    )
            elif not self._is_version(definition):
                (outer if self._is_outer(definition) else inner).update(definition.places)
        imports = [
            span
            for span in syntax.import_statements(self._code, self._language)
            if sorted_out.isdisjoint(places := find_line_numbers(self._code, span))
            # An #include in an #ifdef of the file came along with what is around the target.
            and not self._raw_outside.issuperset(lines[at] for at in places)
        ]
        for span in imports:
            sorted_out |= set(find_line_numbers(self._code, span))
        for at, first in self._find_statements(sorted_out).items():
            (outer if self._is_outer_statement(first) else inner).add(at)
        stretch = range(min(inner), max(inner) + 1)
        in_place = [lines[at] for at in stretch if at in inner or not lines[at].strip()]
        in_place = list(_strip_file_name(self._reply.request, in_place))
        # Where something was left out in between, the blanks around it have come together.
        is_whole = inner.issuperset(stretch)
        return Narrowed(
            lines=tuple(in_place if is_whole else _squeeze_blanks(in_place)),
            imports=tuple(span.of(self._code) for span in imports),
            outer=tuple(tuple(lines[at] for at in run) for run in _split_runs(outer)),
            notes=tuple(notes),
        )

    def _find_companions(self) -> Iterator[ReplyDefinition]:
        """Yield the definitions beside the target's, without those that are parts of another."""
        wholes = [outer for outer in self._reply.definitions if outer not in self._enclosing]
        for definition in wholes:
            is_target = definition == self._definition or definition in self._definition
            if not is_target and not any(definition in outer for outer in wholes):
                yield definition

    def _is_sibling(self, definition: ReplyDefinition) -> bool:
        """Return True where the file has `definition` outside of the target."""
        if not any(map(definition.may_be, self._reply.file_names)):
            return False
        # An overload has the target's name: its header tells that it is another.
        is_named_otherwise = definition.name != self._reply.target.name
        return is_named_otherwise or self._reply.read_header(definition) in self._outside

    def _is_version(self, definition: ReplyDefinition) -> bool:
        """Return True where `definition` is another version of the target."""
        is_namesake = definition.name == self._reply.target.name
        return is_namesake and self._reply.read_header(definition) == self._header

    def _changes_file(self, definition: ReplyDefinition) -> bool:
        """Return True where a definition that the file has is not as it was there."""
        file_lines = {"", *map(str.strip, to_lf(self._reply.request.text).split("\n"))}
        return any(
            self._reply.lines[at].strip() not in file_lines and at not in self._remarks
            for at in definition.places
        )

    def _is_outer(self, definition: ReplyDefinition) -> bool:
        """Return True where a new definition belongs in front of what the target stands in."""
        if not self._is_member:
            return False
        if self._enclosing:
            return not any(definition in outer for outer in self._enclosing)
        if self._measure_indent(definition) < self._measure_indent(self._definition):
            return True
        # A method that was dedented with its helper stands in column 0, as a function does.
        if self._language == "python":
            code = "\n".join(self._reply.read_lines(definition))
            return not _OF_INSTANCE_OR_CLASS.search(code)
        header = self._reply.read_header(definition)
        return bool(_DECLARATION.match(header)) and not _DECLARATION.match(self._header)

    def _is_outer_statement(self, at: int) -> bool:
        """Return True where line `at`, a new statement's, belongs in front of all around it."""
        if not self._is_member:
            return False
        if self._enclosing:
            return at not in self._enclosed
        line = self._reply.lines[at]
        indent, target_indent = _measure(line), self._measure_indent(self._definition)
        file_indent = _measure(find_filled_line(self._reply.view.text.split("\n")))
        if indent != target_indent or target_indent >= file_indent:
            return indent < target_indent
        # All of it was dedented: a declaration or an assignment is taken for one of the file.
        return self._language == "python" or bool(_DECLARATION.match(line.strip()))

    def _measure_indent(self, definition: ReplyDefinition) -> int:
        return _measure(find_filled_line(self._reply.read_lines(definition)))

    def _find_statements(self, sorted_out: Collection[int]) -> dict[int, int]:
        """Return the lines of new statements that are not `sorted_out`, with each one's first line.

        A statement of several lines, such as a table, is judged by its first and stays whole.
        """
        text, target = self._reply.request.text, self._reply.request.target
        # Of a file that is nothing but the target, the reply is the file: all of it counts.
        # Otherwise what follows the target is left out, such as an example: `print(take(3))`.
        is_whole_file = text.strip() == target.of(text).strip()
        stop = len(self._reply.lines) if is_whole_file else self._definition.start
        new_lines = {
            at
            for at in range(len(self._reply.lines))
            if (at < stop or at in self._enclosed)
            and at not in sorted_out
            and self._is_new_code(at)
        }
        first_lines = {at: at for at in new_lines}
        # Lines that say little, such as the bracket that closes a list, come with the statement.
        for statement in syntax.statements(self._code, self._language):
            places = set(find_line_numbers(self._code, statement.span))
            is_apart = places.isdisjoint(self._enclosed | set(self._definition.places))
            if is_apart and places & new_lines:
                first = min(places)
                first_lines |= {at: min(first, first_lines.get(at, first)) for at in places}
        return first_lines

    def _is_new_code(self, at: int) -> bool:
        """Return True where line `at` is code that the file does not have around the target."""
        line = self._reply.lines[at]
        words = line.strip()
        # `class Shelf(Base):`, and up to three lines of decorators in front of it.
        is_head = any(
            strip_scope(outer.name) in line and at <= outer.start + 3 for outer in self._enclosing
        )
        return not (
            is_head
            or at in self._remarks
            or words in self._outside
            or is_prose(line)
            or not is_significant(line)
            or words.startswith(syntax.comment_openers(self._reply.request.language))
        )


def _measure(line: str) -> int:
    """Return the columns that `line` is indented by."""
    return len(read_indent(line).expandtabs(4))


def _strip_file_name(request: EditRequest, lines: Sequence[str]) -> Sequence[str]:
    """Return `lines` without a leading comment that only says the file's name."""
    first = find_filled_line(lines)
    words = first.strip()
    openers = syntax.comment_openers(request.language)
    opener = next((opener for opener in openers if words.startswith(opener)), "")
    name = words.removeprefix(opener).strip(" */-")
    if opener and name in (PurePath(request.path).name, request.path):
        return lines[lines.index(first) + 1 :]
    return lines


def _squeeze_blanks(lines: Sequence[str]) -> list[str]:
    """Return `lines` without blanks at the ends, and with no more than two blanks in a row."""
    result: list[str] = []
    for line in lines:
        if line.strip() or any(map(str.strip, result[-2:])):
            result.append(line)
    while result and not result[-1].strip():
        result.pop()
    return result


def _split_runs(places: Collection[int]) -> list[list[int]]:
    """Return the runs of consecutive numbers in `places`, ascending."""
    # Within a run, a number and its rank grow alike.
    runs = groupby(enumerate(sorted(places)), key=lambda ranked: ranked[1] - ranked[0])
    return [[at for _, at in run] for _, run in runs]
