"""Cut a reply down to the target: what stands for it, what came along, what the target needs.

A model that was asked for one method may answer with its class or the whole file, go on with the
code that follows, give two versions, or add an import and a helper. The reply is parsed where it
would stand, and its definitions are held against those of the file: what repeats the surroundings
is cut, what is new and needed is kept, and what cannot be told apart is refused. Of a target
without a name, lines that repeat what stands right around it are cut.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from pathlib import PurePath
from typing import TypeAlias

from redraft import syntax
from redraft.postprocess.alignment import align, is_significant, signature
from redraft.postprocess.dress import is_prose
from redraft.postprocess.elision import find_remarks
from redraft.postprocess.intent import asks_to_add, asks_to_fix
from redraft.postprocess.whitespace import Indentation, move_lines
from redraft.prompting.target_view import TargetView, named_target
from redraft.records import EditRequest, Span
from redraft.text.lines import to_lf

__all__ = ["Narrowed", "narrow"]

_QUOTED = 2 / 3  # the share of lines from which code counts as quoted: models change some
_SIMILAR = (
    0.3  # of a target's telling lines: as many in a definition of another name make it a rename
)
_SHORT = 12  # lines; in a shorter definition a new name may change each of them
_MOST_TOKENS = 2 / 3
_TOKEN = re.compile(r"\w+|[^\w\s]")
_MOST_CUTS = 6  # at each end of a reply
_DECLARATION = re.compile(r"(?:export\s+|async\s+|default\s+)*(?:function|const|let|var)\b")


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Definition:
    """A definition in a reply: its lines [start, stop), its name as the file would qualify it."""

    name: str
    kind: str
    start: int
    stop: int

    @property
    def last_name(self) -> str:
        return self.name.rpartition(".")[2]

    def __contains__(self, other: "_Definition") -> bool:
        return self.start <= other.start and other.stop <= self.stop and self != other


def narrow(request: EditRequest, view: TargetView, lines: Sequence[str]) -> Narrowed | str:
    """Return the target's part of `lines`, or a sentence on why it cannot be told apart."""
    lines = _without_quoted(request, lines)
    target = named_target(request)
    if target is None or request.language is None:
        return Narrowed(lines=tuple(_without_surroundings(request, view, lines)))
    problems, definitions = _definitions(request, view, lines, target)
    # Cut through a comment or a block, what stands around the target makes no sense to the parser.
    for shorter in _cuts(request, view, lines) if problems else ():
        fewer, others = _definitions(request, view, shorter, target)
        if fewer < problems:
            lines, problems, definitions = shorter, fewer, others
    return _Reply(request, view, lines, target, definitions).narrow()


def _without_quoted(request: EditRequest, lines: Sequence[str]) -> Sequence[str]:
    """`lines` up to where they go on with code that the instruction quotes, such as failing tests.

    Only where something is to be fixed and nothing to be added, and no definition of the target
    gets lost.
    """
    if request.language is None or not asks_to_fix(request.instruction):
        return lines
    if asks_to_add(request.instruction):
        return lines
    own = to_lf(request.target.of(request.text))
    quoted = set(_words(to_lf(request.instruction).split("\n")))
    begins = quoted - set(_words(own.split("\n")))
    for at, line in enumerate(lines):
        if line[:1].isspace() or line.strip() not in begins:
            continue
        tail = set(_words(lines[at:]))
        if len(tail & quoted) < _QUOTED * len(tail):
            continue
        head = {one.name for one in syntax.targets("\n".join(lines[:at]), request.language)}
        if {one.name for one in syntax.targets(own, request.language)} <= head:
            return lines[:at]
    return lines


@dataclass(slots=True)
class _Reply:
    request: EditRequest
    view: TargetView
    lines: Sequence[str]
    target: syntax.Target
    definitions: Sequence[_Definition]
    notes: list[str] = field(default_factory=list)

    def narrow(self) -> Narrowed | str:
        own = self._find_target()
        if own is None:
            return self._without_definition()
        if isinstance(own, str):
            return own
        return self._with_needs(own)

    # Which definition of the reply is the target.

    def _find_target(self) -> _Definition | str | None:
        found = [one for one in self.definitions if self._is_named_as_target(one)]
        found = [one for one in found if not any(one in other for other in found)]
        longest = max((one.name.count(".") for one in found), default=0)
        exact = [one for one in found if one.name == self.target.name]
        found = exact or [one for one in found if one.name.count(".") == longest]
        if not found:
            return self._find_renamed()
        if len(found) == 1:
            return found[0]
        headers = {signature(self._header(one)) for one in found}
        alike = [other for other in self._file_targets() if other.name == self.target.name]
        if len(alike) == len(found):
            return found[alike.index(self.target)]
        if len(alike) > 1 or len(headers) == len(found):
            return max(found, key=self._likeness)
        return self._choose_version(found)

    def _is_named_as_target(self, one: _Definition) -> bool:
        name = self.target.name
        return name == one.name or name.endswith(f".{one.name}")

    def _file_targets(self) -> tuple[syntax.Target, ...]:
        return syntax.targets(self.request.text, self.request.language or "")

    def _header(self, one: _Definition) -> str:
        """The line of a definition that has its name."""
        named = (line.strip() for line in self.lines[one.start : one.stop] if one.last_name in line)
        return next(named, "")

    def _likeness(self, one: _Definition) -> tuple[bool, int]:
        """How much a definition is like the target: the same header counts most."""
        shown = self.view.text.split("\n")
        header = self._header(one)
        body = self.lines[one.start : one.stop]
        return header in map(str.strip, shown), align(shown, body).n_kept

    def _choose_version(self, versions: Sequence[_Definition]) -> _Definition | str:
        """The one of several versions that was meant: where the others are as the code was."""
        shown = self._from_header(self.view.text.split("\n"))
        bodies = {
            one.start: self._from_header(self.lines[one.start : one.stop]) for one in versions
        }
        changed = [one for one in versions if bodies[one.start] != shown]
        if len({tuple(bodies[one.start]) for one in changed}) <= 1:
            return (changed or list(versions))[0]
        return (
            f"the reply holds {len(versions)} versions of {self.target.name}, and it is not "
            "certain which one is meant; ask for one of them"
        )

    def _from_header(self, lines: Sequence[str]) -> list[str]:
        """The filled lines of a definition from its own name on: without comments above it."""
        last = self.target.name.rpartition(".")[2]
        words = _words(lines)
        start = next(
            (at for at, line in enumerate(words) if re.search(rf"\b{re.escape(last)}\b", line)), 0
        )
        return words[start:]

    def _find_renamed(self) -> _Definition | None:
        """The definition that has taken the target's place under another name, if one has."""
        taken = {other.name.rpartition(".")[2] for other in self._file_targets()}
        outermost = [
            one
            for one in self.definitions
            if not any(one in other for other in self.definitions) and one.last_name not in taken
        ]
        is_class = self.target.kind in _CLASSES
        alike = [one for one in outermost if (one.kind in _CLASSES) == is_class]
        shown = [line for line in self.view.text.split("\n") if is_significant(line)]
        told = set(re.findall(r"\w+", self.request.instruction))
        for one in alike if len(alike) == 1 else ():
            if one.last_name in told:
                return one
            body = self.lines[one.start : one.stop]
            is_similar = align(shown, body).n_kept >= _SIMILAR * (len(shown) - 1)
            if is_similar or (len(shown) <= _SHORT and self._has_most_tokens(body)):
                return one
        return None

    def _has_most_tokens(self, lines: Sequence[str]) -> bool:
        """Return True where each line may have changed, as where a name in all of them did."""
        old, new = (_TOKEN.findall(code) for code in (self.view.text, "\n".join(lines)))
        return SequenceMatcher(None, old, new, autojunk=False).ratio() >= _MOST_TOKENS

    def _without_definition(self) -> Narrowed | str:
        """The reply to a named target has no such definition."""
        name = self.target.name
        own_members = {
            other.name.rpartition(".")[2]
            for other in self._file_targets()
            if other.name.startswith(f"{name}.")
        }
        if self.definitions and any(one.last_name in own_members for one in self.definitions):
            return (
                f"the reply holds a part of {name} only; edit that part, or ask for all of {name}"
            )
        shown = self.view.text.split("\n")
        shared = align(shown, self.lines).n_kept
        telling = [line for line in shown if is_significant(line)]
        if self.definitions:
            known = {other.name.rpartition(".")[2] for other in self._file_targets()}
            if any(one.last_name in known for one in self.definitions) or not shared:
                return f"the reply rewrites something else than {name}; name what shall change"
        elif shared < max(1, _SIMILAR * len(telling)) and not self._speaks_of_target():
            return "the reply holds no code that could replace the target; try again"
        return Narrowed(lines=tuple(self.lines))

    def _speaks_of_target(self) -> bool:
        last = self.target.name.rpartition(".")[2]
        return any(re.search(rf"\b{re.escape(last)}\b", line) for line in self.lines)

    # What came along with it.

    def _with_needs(self, own: _Definition) -> Narrowed | str:
        own = self._up_to_remark(own)
        known = {other.name for other in self._file_targets()}
        scope = self.target.name.rpartition(".")[0]
        around = [one for one in self.definitions if own in one]
        kept = set(range(own.start, own.stop))
        outer: list[tuple[int, int]] = []
        claimed = set(kept)
        for one in self.definitions:
            if one == own or one in around or one in own or own in one:
                continue
            if any(
                one in other for other in self.definitions if other not in around and other != one
            ):
                continue  # a part of a definition that is dealt with as a whole
            claimed |= set(range(one.start, one.stop))
            if self._is_known(one, known, scope):
                if one.name != self.target.name or self._header(one) in self._lines_outside():
                    self._note_sibling(one)
                    continue
                if self._header(one) == self._header(own):
                    continue  # another version of the target
            if self._is_outer(one, own, around):
                outer.append((one.start, one.stop))
            else:
                kept |= set(range(one.start, one.stop))
        imports, statements = self._classify_rest(own, claimed, around)
        for at in statements:
            if self._belongs_outside(at, own, around):
                outer.append((at, at + 1))
            else:
                kept.add(at)
        first, last = min(kept), max(kept) + 1
        lines = [
            line
            for at, line in enumerate(self.lines[first:last], first)
            if at in kept or (not line.strip() and _is_between(at, kept))
        ]
        return Narrowed(
            lines=tuple(_squeezed(self._without_file_name(lines))),
            imports=tuple(imports),
            outer=tuple(tuple(self.lines[a:b]) for a, b in _merged(outer)),
            notes=tuple(self.notes),
        )

    def _up_to_remark(self, own: _Definition) -> _Definition:
        """`own` as far as a remark that stands for the rest of it: the parser ends it earlier."""
        following = [one.start for one in self.definitions if one.start >= own.stop]
        wraps = any(own in one for one in self.definitions)
        stop = min(following, default=len(self.lines))
        held = self._lines_outside()
        remarks = [
            at
            for at in find_remarks(self.lines)
            if own.stop <= at < stop and self.lines[at].strip() not in held
        ]
        if wraps or not remarks:
            return own
        last = remarks[-1] + 1
        while last < stop and not is_significant(self.lines[last]):
            last += 1
        return replace(own, stop=last)

    def _is_known(self, one: _Definition, known: set[str], scope: str) -> bool:
        names = {one.name, f"{scope}.{one.name}" if scope else one.name}
        return bool(names & known) or any(name.endswith(f".{one.name}") for name in known)

    def _note_sibling(self, one: _Definition) -> None:
        held = set(map(str.strip, to_lf(self.request.text).split("\n")))
        remarks = set(find_remarks(self.lines))
        body = range(one.start, one.stop)
        if any(
            self.lines[at].strip() and self.lines[at].strip() not in held and at not in remarks
            for at in body
        ):
            self.notes.append(
                f"the reply also changes {one.name}, which was not asked for: that was left out"
            )

    def _belongs_outside(self, at: int, own: _Definition, around: Sequence[_Definition]) -> bool:
        """Return True where a new statement goes in front of what the target stands in."""
        if not self.target.name.count(".") or self.target.kind not in _MEMBERS:
            return False
        if around:
            return not any(one.start <= at < one.stop for one in around)
        indent, own_indent = _width(self.lines[at]), _indent(self.lines, own)
        if indent != own_indent or own_indent >= len(_white(self.view.text).expandtabs(4)):
            return indent < own_indent
        # All of it was dedented: a declaration or an assignment is taken for one of the file.
        is_python = self.request.language == "python"
        return is_python or bool(_DECLARATION.match(self.lines[at].strip()))

    def _lines_outside(self) -> set[str]:
        """The file's lines around the target, with and without the mark at their end."""
        text, target = self.request.text, self.request.target
        outside = f"{text[: target.start]}\n{text[target.stop :]}"
        held = {line.strip() for line in to_lf(outside).split("\n")}
        return held | {line.rstrip(";,") for line in held}

    def _is_outer(self, one: _Definition, own: _Definition, around: Sequence[_Definition]) -> bool:
        """Whether a new definition belongs outside of what the target stands in."""
        if not self.target.name.count(".") or self.target.kind not in _MEMBERS:
            return False
        if around:
            return not any(one in other for other in around)
        if _indent(self.lines, one) < _indent(self.lines, own):
            return True
        header = self._header(one)
        if self.request.language == "python":
            text = "\n".join(self.lines[one.start : one.stop])
            return not re.search(r"\(\s*(?:self|cls)\b|@(?:static|class)method", text)
        own_is_declaration = _DECLARATION.match(self._header(own))
        return bool(_DECLARATION.match(header)) and not own_is_declaration

    def _classify_rest(
        self, own: _Definition, claimed: set[int], around: Sequence[_Definition]
    ) -> tuple[list[str], list[int]]:
        """Import statements and other new statements among the lines that no definition has."""
        held = self._lines_outside()
        remarks = set(find_remarks(self.lines))
        imports: list[str] = []
        import_lines: set[int] = set()
        code = "\n".join(self.lines)
        for span in _imports(code, self.request):
            first = code.count("\n", 0, span.start)
            last = code.count("\n", 0, span.stop)
            if not set(range(first, last + 1)) & claimed:
                import_lines |= set(range(first, last + 1))
                imports.append(span.of(code))
        statements: list[int] = []
        wrapped = {at for one in around for at in range(one.start, one.stop)}
        for at, line in enumerate(self.lines):
            words = line.strip()
            is_plain = at in claimed or at in import_lines or at in remarks or not words
            if is_plain or words in held or is_prose(line) or not is_significant(line):
                continue
            if words.startswith(_comment_openers(self.request)) or self._is_wrapper(at, around):
                continue
            if at in wrapped or self._is_statement_before(at, own):
                statements.append(at)
        return imports, self._whole_statements(code, statements, own, wrapped)

    def _whole_statements(
        self, code: str, lines: Sequence[int], own: _Definition, wrapped: set[int]
    ) -> list[int]:
        """`lines`, and all other lines of the outermost statements that they are parts of."""
        result = set(lines)
        for one in syntax.statements(code, self.request.language or ""):
            first = code.count("\n", 0, one.span.start)
            last = code.count("\n", 0, one.span.stop)
            own_lines = set(range(own.start, own.stop))
            mine = set(range(first, last + 1))
            if mine & set(lines) and not mine & own_lines and not mine & wrapped:
                result |= mine
        return sorted(result)

    def _is_wrapper(self, at: int, around: Sequence[_Definition]) -> bool:
        """Whether a line belongs to the head of a definition around the target."""
        return any(one.last_name in self.lines[at] and at <= one.start + 3 for one in around)

    def _is_statement_before(self, at: int, own: _Definition) -> bool:
        """Whether a line outside of all definitions is code in front of the target.

        Of a file that is nothing but the target, the reply is the file: all of it counts.
        """
        text, target = self.request.text, self.request.target
        is_whole_file = text.strip() == target.of(text).strip()
        return at < own.start or is_whole_file

    def _without_file_name(self, lines: list[str]) -> list[str]:
        """`lines` without a leading comment that only says the file's name."""
        openers = _comment_openers(self.request)
        name = PurePath(self.request.path).name
        for at, line in enumerate(lines):
            words = line.strip()
            opener = next((o for o in openers if words.startswith(o)), "")
            if (
                words
                and opener
                and words.removeprefix(opener).strip(" */-") in (name, self.request.path)
            ):
                return lines[at + 1 :]
            if words:
                break
        return lines


_CLASSES = frozenset(
    {"class", "enum", "impl", "interface", "object", "struct", "trait", "module", "type"}
)
_MEMBERS = frozenset({"method", "function", "property"})


def _definitions(
    request: EditRequest, view: TargetView, lines: Sequence[str], target: syntax.Target
) -> "_Reading":
    """The definitions in a reply, parsed where it would stand or on its own.

    In its place a method is a method, without its class around it, and PHP is PHP. A reply that is
    the class or the whole file is only itself on its own. Of those ways of reading it that find the
    target, the one counts with which the parser has the least trouble.
    """
    language = request.language or ""
    code = "\n".join(lines)
    last = target.name.rpartition(".")[2]
    readings = [_read(f"{code}\n", language, 0, len(lines), "")]
    if code.rstrip().endswith("}"):
        readings.append(_read(f"{code.rstrip()};\n", language, 0, len(lines), ""))  # a C++ class
    readings.append(_read_in_place(request, view, lines, target))
    naming = [one for one in readings if any(d.last_name == last for d in one[1])]
    return min(naming or readings[-1:], key=lambda reading: reading[0])


_Reading: TypeAlias = tuple[int, tuple[_Definition, ...]]  # parse problems, and definitions


def _read_in_place(
    request: EditRequest, view: TargetView, lines: Sequence[str], target: syntax.Target
) -> _Reading:
    text = request.text
    start = request.target.start - len(view.indentation)
    style = Indentation.of(text)
    first = next((line for line in lines if line.strip()), "")
    shift = style.width(_white(view.text)) - style.width(_white(first))
    moved = move_lines(lines, shift, style) if shift > 0 else list(lines)
    code = "\n".join(moved)
    head, tail = to_lf(text[:start]), to_lf(text[request.target.stop :])
    scope = target.name.rpartition(".")[0]
    return _read(f"{head}{code}\n{tail}", request.language or "", len(head), len(lines), scope)


def _read(text: str, language: str, offset: int, n_lines: int, scope: str) -> _Reading:
    """Parse problems, and the definitions of the `n_lines` lines of `text` from `offset` on.

    Lines count from there; names are without `scope`'s doubling.
    """
    first = text.count("\n", 0, offset)
    found: list[_Definition] = []
    for one in syntax.targets(text, language):
        if one.span.start < offset:
            continue
        start = text.count("\n", 0, one.span.start) - first
        stop = text.count("\n", 0, one.span.stop) - first + 1
        found.append(
            _Definition(name=_undoubled(one.name, scope), kind=one.kind, start=start, stop=stop)
        )
    inside = tuple(one for one in found if one.stop <= n_lines)
    return syntax.parse_errors(text, language), inside


def _undoubled(name: str, scope: str) -> str:
    """`name` without the scope that stands around it twice, as in Shelf.Shelf.take.

    The reply has the class around the method, and is parsed inside of the class itself.
    """
    parts = scope.split(".") if scope else []
    for n in range(len(parts), 0, -1):
        inner = name.removeprefix(".".join(parts[:n]) + ".")
        if inner != name and inner.split(".")[0] in parts and "." in inner:
            return inner
    return name


def _imports(code: str, request: EditRequest) -> tuple[Span, ...]:
    return syntax.import_statements(code, request.language or "")


def _comment_openers(request: EditRequest) -> tuple[str, ...]:
    return syntax.comment_openers(request.language)


def _without_surroundings(
    request: EditRequest, view: TargetView, lines: Sequence[str]
) -> list[str]:
    """`lines` without those at their ends that repeat what stands right around the target.

    They have to say something, and not to be the target's own first or last line.
    """
    own = _words(view.text.split("\n"))
    reply = [line.strip() for line in lines]
    ends = []
    for from_end, edge in ((False, own[:1]), (True, own[-1:])):
        counts = _repeated(request, view, reply, from_end=from_end)
        parts = {n: reply[len(reply) - n :] if from_end else reply[:n] for n in counts}
        best = max((n for n, part in parts.items() if any(map(is_significant, part))), default=0)
        # The same line stands in the target and beside it: only a longer run of them proves it.
        is_own = best == 1 and [reply[-1] if from_end else reply[0]] == edge
        ends.append(0 if is_own else best)
    if sum(ends) >= len(lines):
        return list(lines)
    return list(lines[ends[0] : len(lines) - ends[1]])


def _cuts(request: EditRequest, view: TargetView, lines: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield `lines` without lines that repeat what is around the target, the fewest cut first."""
    reply = [line.strip() for line in lines]
    before = [0, *_repeated(request, view, reply, from_end=False)][:_MOST_CUTS]
    after = [0, *_repeated(request, view, reply, from_end=True)][:_MOST_CUTS]
    pairs = sorted(((a, b) for a in before for b in after if 0 < a + b < len(lines)), key=sum)
    return (lines[a : len(lines) - b] for a, b in pairs)


def _repeated(
    request: EditRequest, view: TargetView, reply: Sequence[str], *, from_end: bool
) -> list[int]:
    """Each number of lines at one end of `reply` that are those next to the target, ascending."""
    if from_end:
        around = to_lf(request.text[request.target.stop :]).split("\n")
        if not to_lf(request.target.of(request.text)).endswith("\n"):
            around = around[1:]
    else:
        start = request.target.start - len(view.indentation)
        around = to_lf(request.text[:start]).split("\n")[:-1][::-1]
    near = [line.strip() for line in around[: len(reply)]]
    if not from_end:
        return [n for n in range(1, len(near) + 1) if list(reply[:n]) == near[:n][::-1]]
    return [n for n in range(1, len(near) + 1) if list(reply[len(reply) - n :]) == near[:n]]


def _words(lines: Iterable[str]) -> list[str]:
    return [line.strip() for line in lines if line.strip()]


def _white(text: str) -> str:
    line = next((line for line in text.split("\n") if line.strip()), "")
    return line[: len(line) - len(line.lstrip(" \t"))]


def _indent(lines: Sequence[str], one: _Definition) -> int:
    return len(_white("\n".join(lines[one.start : one.stop])).expandtabs(4))


def _width(line: str) -> int:
    return len(line[: len(line) - len(line.lstrip(" \t"))].expandtabs(4))


def _is_between(at: int, kept: set[int]) -> bool:
    return min(kept) < at < max(kept)


def _squeezed(lines: Sequence[str]) -> list[str]:
    """`lines` without blanks at the ends, and with no more than two blanks in a row."""
    result: list[str] = []
    for line in lines:
        if line.strip() or (
            result and (result[-1].strip() or (len(result) > 1 and result[-2].strip()))
        ):
            result.append(line)
    while result and not result[-1].strip():
        result.pop()
    return result


def _merged(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, stop in sorted(ranges):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(stop, merged[-1][1]))
        else:
            merged.append((start, stop))
    return merged
