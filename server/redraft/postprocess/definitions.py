"""Find the definitions in a reply, and the one among them that is the target.

The reply is parsed on its own and where it would stand, since a method is a method only inside of
its class. The target is found by its name, or as the one new definition that is like it, where the
edit renames it. Of several versions the one counts that was changed. Knows nothing of what becomes
of the other definitions.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TypeAlias

from redraft import syntax
from redraft.postprocess.alignment import align, is_significant, signature
from redraft.postprocess.whitespace import Indentation, move_lines
from redraft.prompting.target_view import TargetView
from redraft.records import EditRequest
from redraft.text.lines import find_filled_line, find_line_numbers, read_indent, to_lf

__all__ = [
    "SIMILAR_SHARE",
    "ParsedReply",
    "ReplyDefinition",
    "find_target",
    "parse_reply",
    "strip_scope",
]

# Of the target's significant lines: where as many are kept under another name, it was renamed.
SIMILAR_SHARE = 0.3
_SHORT = 12  # lines; in a shorter definition a new name may change each of them
_TOKEN_SHARE = 2 / 3  # of a short target's tokens, to be kept in its place
_TOKEN = re.compile(r"\w+|[^\w\s]")
_CLASSES = frozenset(
    {"class", "enum", "impl", "interface", "object", "struct", "trait", "module", "type"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyDefinition:
    """A definition in a reply: its lines [start, stop), its name as the file would qualify it."""

    name: str
    kind: str
    start: int
    stop: int

    @property
    def places(self) -> range:
        """Return the numbers of its lines."""
        return range(self.start, self.stop)

    def __contains__(self, inner: "ReplyDefinition") -> bool:
        return self.start <= inner.start and inner.stop <= self.stop and self != inner

    def may_be(self, name: str) -> bool:
        """Return True for its name, qualified or not: `take` may be the file's `Shelf.take`."""
        return name == self.name or name.endswith(f".{self.name}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedReply:
    """A reply that is to rewrite `target`. definitions: those in its lines, outer before inner.

    n_errors: the syntax errors in the reading that they come from.
    """

    request: EditRequest
    view: TargetView
    target: syntax.Target
    lines: Sequence[str]
    definitions: Sequence[ReplyDefinition]
    n_errors: int

    @property
    def file_definitions(self) -> Sequence[syntax.Target]:
        """Return the definitions of the file that is edited."""
        return syntax.targets(self.request.text, self.request.language or "")

    @property
    def file_names(self) -> list[str]:
        """Return the qualified names of the definitions of the file."""
        return [definition.name for definition in self.file_definitions]

    def read_lines(self, definition: ReplyDefinition) -> Sequence[str]:
        """Return the lines of `definition`."""
        return self.lines[definition.start : definition.stop]

    def read_header(self, definition: ReplyDefinition) -> str:
        """Return the line of `definition` that has its name, without its indentation."""
        name = strip_scope(definition.name)
        return next((line.strip() for line in self.read_lines(definition) if name in line), "")

    def has_target_name(self, line: str) -> bool:
        """Return True where `line` has the target's name as a word."""
        return bool(re.search(rf"\b{re.escape(strip_scope(self.target.name))}\b", line))


def strip_scope(name: str) -> str:
    """Return the last part of a qualified name: `take` for `Shelf.take`."""
    return name.rpartition(".")[2]


def parse_reply(
    request: EditRequest, view: TargetView, target: syntax.Target, lines: Sequence[str]
) -> ParsedReply:
    """Return the definitions in a reply, parsed where it would stand or on its own.

    In its place a method is a method, without its class around it, and PHP is PHP. A reply that is
    the class or the whole file is only itself on its own. Of those ways of reading it that find the
    target, the one counts with which the parser has the least trouble.
    """
    language = request.language or ""
    code = "\n".join(lines)
    # The class around a method, or the whole file.
    readings = [_read_definitions(f"{code}\n", language, 0, len(lines), "")]
    if code.rstrip().endswith("}"):
        # A C++ class is a declaration that ends in a semicolon, which is often left out.
        readings.append(_read_definitions(f"{code.rstrip()};\n", language, 0, len(lines), ""))
    readings.append(_read_in_place(request, view, target, lines))
    name = strip_scope(target.name)
    naming = [
        reading
        for reading in readings
        if any(strip_scope(definition.name) == name for definition in reading[1])
    ]
    n_errors, definitions = min(naming or readings[-1:], key=lambda reading: reading[0])
    return ParsedReply(
        request=request,
        view=view,
        target=target,
        lines=lines,
        definitions=definitions,
        n_errors=n_errors,
    )


_Reading: TypeAlias = tuple[int, tuple[ReplyDefinition, ...]]  # syntax errors, and definitions


def _read_in_place(
    request: EditRequest, view: TargetView, target: syntax.Target, lines: Sequence[str]
) -> _Reading:
    """Read the reply in the target's place, where it was dedented at the target's indentation."""
    style = Indentation.of(request.text)
    target_indent = read_indent(find_filled_line(view.text.split("\n")))
    shift = style.width(target_indent) - style.width(read_indent(find_filled_line(lines)))
    code = "\n".join(move_lines(lines, shift, style) if shift > 0 else lines)
    head = to_lf(request.text[: request.target.start - len(view.indentation)])
    tail = to_lf(request.text[request.target.stop :])
    text, scope = f"{head}{code}\n{tail}", target.name.rpartition(".")[0]
    return _read_definitions(text, request.language or "", len(head), len(lines), scope)


def _read_definitions(text: str, language: str, offset: int, n_lines: int, scope: str) -> _Reading:
    """Return the syntax errors of `text`, and the definitions in `n_lines` lines from `offset` on.

    Lines count from there. scope: what stands around them, and may be in their names twice.
    """
    first = text.count("\n", 0, offset)
    definitions: list[ReplyDefinition] = []
    for definition in syntax.targets(text, language):
        places = find_line_numbers(text, definition.span)
        if definition.span.start >= offset and places.stop - first <= n_lines:
            definitions.append(
                ReplyDefinition(
                    name=_strip_doubled_scope(definition.name, scope),
                    kind=definition.kind,
                    start=places.start - first,
                    stop=places.stop - first,
                )
            )
    return syntax.parse_errors(text, language), tuple(definitions)


def _strip_doubled_scope(name: str, scope: str) -> str:
    """Return `name` without the scope that stands around it twice, as in Shelf.Shelf.take.

    The reply has the class around the method, and is parsed inside of the class itself.
    """
    parts = scope.split(".") if scope else []
    for n_parts in range(len(parts), 0, -1):
        inner = name.removeprefix(".".join(parts[:n_parts]) + ".")
        if inner != name and inner.split(".")[0] in parts and "." in inner:
            return inner
    return name


def find_target(reply: ParsedReply) -> ReplyDefinition | str | None:
    """Return the definition in `reply` that is the target, or None where there is none.

    Of several, the one that is meant, or a sentence for the user where that is not certain.
    """
    target = reply.target
    named = [definition for definition in reply.definitions if definition.may_be(target.name)]
    # A constructor is called as its class is.
    is_class = target.kind in _CLASSES
    same_kind = [definition for definition in named if (definition.kind in _CLASSES) == is_class]
    named = same_kind or named
    # A function may define another of its own name: `def wrap(f): def wrap(...)`.
    named = [definition for definition in named if not any(definition in outer for outer in named)]
    # Between `Shelf.take` and a bare `take`, the one that says more about its place counts.
    depth = max((definition.name.count(".") for definition in named), default=0)
    exact = [definition for definition in named if definition.name == target.name]
    versions = exact or [definition for definition in named if definition.name.count(".") == depth]
    if not versions:
        return _find_renamed(reply)
    # Overloads share one name in the file, too: C++, Java, `@overload` in Python.
    namesakes = [
        definition for definition in reply.file_definitions if definition.name == target.name
    ]
    # Those that are others of the file to the letter came along as what is around the target.
    text = reply.request.text
    others = {_normalize(definition.span.of(text)) for definition in namesakes}
    others.discard(_normalize(target.span.of(text)))
    all_versions = versions
    versions = [
        version
        for version in all_versions
        if not others or _normalize("\n".join(reply.read_lines(version))) not in others
    ]
    if len(namesakes) == len(all_versions):
        same_place = all_versions[namesakes.index(target)]
        if same_place in versions:
            return same_place
    if len(versions) <= 1:
        return versions[0] if versions else None
    headers = {signature(reply.read_header(version)) for version in versions}
    has_overloads = len(namesakes) > 1 or not _defines_once(reply, versions)
    if len(namesakes) > 1 or (has_overloads and len(headers) == len(versions)):
        return _choose_overload(reply, versions)
    return _choose_version(reply, versions)


def _defines_once(reply: ParsedReply, versions: Sequence[ReplyDefinition]) -> bool:
    """Return True where `versions` of a name can only be alternatives of each other.

    What is decorated, or an accessor (`get size()`, `set size(n)`), shares its name on purpose.
    """
    firsts = [find_filled_line(reply.read_lines(version)).strip() for version in versions]
    is_shared = any(re.match(r"@|(?:static\s+)?(?:get|set)\b", first) for first in firsts)
    return syntax.facts_of(reply.request.language).defines_names_once and not is_shared


def _choose_overload(reply: ParsedReply, overloads: Sequence[ReplyDefinition]) -> ReplyDefinition:
    """Return the overload most like the target: the same header counts most."""
    target_lines = reply.view.text.split("\n")
    headers = {line.strip() for line in target_lines}

    def measure_likeness(overload: ReplyDefinition) -> tuple[bool, int]:
        n_kept = align(target_lines, reply.read_lines(overload)).n_kept
        return reply.read_header(overload) in headers, n_kept

    return max(overloads, key=measure_likeness)


def _normalize(code: str) -> str:
    """Return `code` as words and marks, without the white space between them."""
    return " ".join(_TOKEN.findall(code))


def _choose_version(
    reply: ParsedReply, versions: Sequence[ReplyDefinition]
) -> ReplyDefinition | str:
    """Return the version that was changed, where the others are as the target was, or alike."""
    original = _skip_to_name(reply, reply.view.text.split("\n"))
    bodies = [(version, _skip_to_name(reply, reply.read_lines(version))) for version in versions]
    changed = [(version, body) for version, body in bodies if body != original]
    if len({tuple(body) for _, body in changed}) <= 1:
        return (changed or bodies)[0][0]
    return (
        f"the reply holds {len(versions)} versions of {reply.target.name}, and it is not "
        "certain which one is meant; ask for one of them"
    )


def _skip_to_name(reply: ParsedReply, lines: Sequence[str]) -> list[str]:
    """Return the filled lines of a definition from its name on: without comments above it."""
    filled = [line.strip() for line in lines if line.strip()]
    return filled[next((at for at, line in enumerate(filled) if reply.has_target_name(line)), 0) :]


def _find_renamed(reply: ParsedReply) -> ReplyDefinition | None:
    """Return the definition that has taken the target's place under another name, if one has."""
    taken = set(map(strip_scope, reply.file_names))
    is_class = reply.target.kind in _CLASSES
    candidates = [
        definition
        for definition in reply.definitions
        if not any(definition in outer for outer in reply.definitions)
        and strip_scope(definition.name) not in taken
        and (definition.kind in _CLASSES) == is_class
    ]
    if len(candidates) != 1:
        return None
    definition = candidates[0]
    # "Rename take to remove": no line of it needs to be alike.
    if strip_scope(definition.name) in re.findall(r"\w+", reply.request.instruction):
        return definition
    lines = reply.read_lines(definition)
    target_lines = [line for line in reply.view.text.split("\n") if is_significant(line)]
    # The header is changed for certain: `def take(self):` to `def remove(self):`.
    if align(target_lines, lines).n_kept >= SIMILAR_SHARE * (len(target_lines) - 1):
        return definition
    if len(target_lines) <= _SHORT:
        old, new = (_TOKEN.findall(code) for code in (reply.view.text, "\n".join(lines)))
        if SequenceMatcher(None, old, new, autojunk=False).ratio() >= _TOKEN_SHARE:
            return definition
    return None
