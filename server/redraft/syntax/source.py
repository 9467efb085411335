"""One parsed text: its definitions, statements, imports, strings and problems, in code points.

The only module that counts UTF-8 bytes; no other but `languages` and `notebook` knows tree-sitter.
Knows nothing of a single language: that is in the table of `redraft.syntax.languages`.
"""

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from itertools import islice

from tree_sitter import Language, Node, Parser, Query, QueryCursor, QueryError, Range

from redraft.errors import InputError
from redraft.interruption import check_interruption
from redraft.records import Span
from redraft.syntax import notebook, usage
from redraft.syntax.languages import Grammar, embedded_language, grammar
from redraft.syntax.usage import Call, Parameter

__all__ = ["Definition", "Statement", "SyntaxTree", "Use", "normal_name", "parse"]

# What belongs to the definition below it in every language, besides comments.
_ATTACHED = frozenset({"attribute_item", "decorator"})

_CLASSES = frozenset({"class", "enum", "impl", "interface", "object", "struct", "trait"})

_FUNCTIONS = frozenset({"function", "method"})

# A lone CR becomes LF in its place, a CRLF moves all that is behind it.
_CRLF = re.compile(rb"\r\n")

# The innermost <...> behind a name, but not that of operator<.
_TYPE_ARGUMENTS = re.compile(r"(?<=\w)(?<!operator)<[^<>]*>")

# A whole string with its prefix: "a", f'a', `a`.
_QUOTED = re.compile(r"^(?:\w*)([\"'`])(.*)\1$", re.DOTALL)

# So often a pattern of `Language.newer` is tried: each parameter of a list is a match of its own.
_MAX_NEWER = 8

# Of one name: who is told of them looks at a few, and a long table may hold ten thousand.
_MOST_USES = 1000

_BRACKETS = ((b"{", b"}"), (b"(", b")"))


_BLOCKS = frozenset({"statement_block", "program", "switch_body", "switch_case", "class_body"})

_FUNCTION_NODES = frozenset(
    {"function_declaration", "function_expression", "arrow_function", "method_definition"}
    | {"generator_function", "generator_function_declaration"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A function, class or the like. `body` is the part that may be elided, if any."""

    name: str  # qualified by what it stands in
    kind: str
    span: Span
    body: Span | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A statement, declaration, branch, decorator or comment. `kind`: its node's type."""

    kind: str
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """A place in the code where a name stands.

    receiver: what it is looked up in (`cart` in `cart.total`), "" where that is no plain name; None
    where it stands alone. is_binding: it is defined here. is_local: a parameter or variable of the
    function around it has this name. call: the arguments, where it is called.
    """

    span: Span
    receiver: str | None
    call: Call | None
    is_binding: bool
    is_local: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _ByteDefinition:
    """A definition in bytes: [start, stop) with all that belongs to it, and its body's inside.

    `scope` qualifies the names of what stands inside `node`, which ends at `node_stop`.
    """

    node: Node
    node_stop: int
    kind: str
    name: str
    scope: str
    start: int
    stop: int
    body: tuple[int, int] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Verbatim:
    """Bytes [start, stop) whose white space is content; `lines` are those that begin in it."""

    start: int
    stop: int
    lines: range


class SyntaxTree:
    """A text, parsed as `language`, and what is embedded in it as the language of that.

    Raises InputError where `language` is none of ours.
    """

    def __init__(self, text: str, language: str) -> None:
        check_interruption()
        # A lone surrogate has no UTF-8 form: a one-byte stand-in keeps the count of code points.
        data = text.encode("utf-8", "replace")
        # Grammars end their lines at LF, and some at nothing else.
        self._crlf = [match.start() - n for n, match in enumerate(_CRLF.finditer(data))]
        self._data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        whole = _Part(self._data, grammar(language))
        check_interruption()
        self._parts = [whole, *whole.embedded()]
        self._has_cells = whole.grammar.facts.has_cells

    def problems(self) -> list[Span]:
        """Return the stretches that the parser could not understand or had to invent."""
        nodes = [node for part in self._parts for node in part.problems()]
        if self._has_cells and not nodes:
            for node, code, language in notebook.code_cells(self._parts[0].root, self._data):
                nodes += [node] * len(SyntaxTree(code, language).problems())
        return self._spans(nodes)

    def captured(self, query: str) -> list[Span]:
        """Return what the captures of the tree-sitter query `query` name, as they begin.

        Raises InputError where the grammar does not know such a query.
        """
        part = self._parts[0]
        try:
            compiled = _compile_query(part.grammar.language, query)
        except QueryError as error:
            raise InputError(f"not a query of this grammar: {error}") from error
        captures = part.capture(compiled)
        nodes = {node.id: node for captured in captures.values() for node in captured}.values()
        return self._spans(nodes)

    def prose(self) -> list[Span]:
        """Return comments, and strings that stand where a statement may, as they begin."""
        return self._spans([node for part in self._parts for node in part.prose()])

    def imports(self) -> list[Span]:
        """Return the import statements of the file's top level, without their line endings."""
        ends: list[tuple[int, int]] = []
        for part in self._parts:
            for node in part.imports(part.root):
                following = node.next_sibling
                last = following if following is not None and following.type == ";" else node
                ends.append(self._trim(node.start_byte, last.end_byte))
        return self._byte_spans(ends)

    def statements(self) -> list[Statement]:
        """Return every statement, nested ones as well, outer before inner."""
        nodes = [node for part in self._parts for node in part.statements()]
        ends = [self._trim(node.start_byte, node.end_byte) for node in nodes]
        place = self._code_points(offset for pair in ends for offset in pair)
        statements = [
            Statement(kind=node.type, span=Span(place[start], place[stop]))
            for node, (start, stop) in zip(nodes, ends, strict=True)
        ]
        return sorted(
            statements, key=lambda statement: (statement.span.start, -statement.span.stop)
        )

    def verbatim(self) -> list[Span]:
        """Return the stretches of several lines whose white space is content."""
        stretches = sorted((verbatim.start, verbatim.stop) for verbatim in self._verbatim())
        merged: list[tuple[int, int]] = []
        for start, stop in stretches:
            if merged and start <= merged[-1][1] + 1:  # next to each other, but for a line ending
                merged[-1] = (merged[-1][0], max(stop, merged[-1][1]))
            else:
                merged.append((start, stop))
        return self._byte_spans(merged)

    def verbatim_lines(self) -> set[int]:
        """Return the numbers, from 0, of the lines whose leading white space is content."""
        return {line for verbatim in self._verbatim() for line in verbatim.lines}

    def misuses(self, queries: Iterable[str]) -> Iterator[str]:
        """Yield what parses although the language does not take it; see `validity`."""
        for part in self._parts:
            for query in queries:
                compiled = _compile_query(part.grammar.language, query)
                captures = part.capture(compiled)
                yield from part.redeclarations(captures.get("declared", []))
                yield from part.stray_awaits(captures.get("await", []))
                for node in captures.get("stray", []):
                    yield self._data[node.start_byte : node.end_byte].decode("utf-8", "replace")

    @cached_property
    def definitions(self) -> list[Definition]:
        """Every named function, class and the like, in the order they begin."""
        in_bytes = [definition for part in self._parts for definition in part.definitions]
        ends = [end for definition in in_bytes for end in (definition.start, definition.stop)]
        ends += [end for definition in in_bytes if definition.body for end in definition.body]
        place = self._code_points(ends)
        definitions = [
            Definition(
                name=definition.name,
                kind=definition.kind,
                span=Span(place[definition.start], place[definition.stop]),
                body=Span(*map(place.__getitem__, definition.body)) if definition.body else None,
            )
            for definition in in_bytes
        ]
        if len(self._parts) > 1:
            definitions.sort(key=lambda definition: definition.span.start)
        return definitions

    def uses(self, name: str) -> list[Use]:
        """Return where `name`, without a dot, stands in the code, the first thousand places."""
        found = [
            occurrence
            for part in self._parts
            for occurrence in islice(
                usage.find_occurrences(part.root, self._data, name), _MOST_USES
            )
        ]
        local = {use.scopes[0] for use in found if use.is_binding and use.scopes}
        spans = self._spans([use.node for use in found])
        found.sort(key=lambda use: use.node.start_byte)
        return [
            Use(
                span=span,
                receiver=use.receiver,
                call=use.call,
                is_binding=use.is_binding,
                is_local=use.receiver is None and not local.isdisjoint(use.scopes),
            )
            for use, span in zip(found, spans, strict=True)
        ]

    def parameters(self, names: Collection[str]) -> dict[str, tuple[Parameter, ...] | None]:
        """Return the parameters of the functions of these names; None where not known."""
        return {
            definition.name: usage.read_parameters(definition.node, definition.body, self._data)
            for part in self._parts
            for definition in part.definitions
            if definition.name in names and definition.kind in _FUNCTIONS
        }

    def _verbatim(self) -> Iterator[_Verbatim]:
        # What is parsed as a language of its own says itself what is content in it.
        embedded = {part.parent_id for part in self._parts}
        for part in self._parts:
            yield from part.verbatim(embedded)

    def _trim(self, start: int, stop: int) -> tuple[int, int]:
        """Return the bytes without the white space at their end."""
        return start, start + len(self._data[start:stop].rstrip())

    def _spans(self, nodes: Collection[Node]) -> list[Span]:
        return self._byte_spans([(node.start_byte, node.end_byte) for node in nodes])

    def _code_points(self, offsets: Iterable[int]) -> dict[int, int]:
        """Return for each byte offset the number of code points before it in the text."""
        places: dict[int, int] = {}
        last = n_points = 0
        for offset in sorted(set(offsets)):
            check_interruption()
            n_points += len(self._data[last:offset].decode("utf-8", "replace"))
            places[offset] = n_points + bisect_left(self._crlf, offset)
            last = offset
        return places

    def _byte_spans(self, ends: Collection[tuple[int, int]]) -> list[Span]:
        place = self._code_points(offset for pair in ends for offset in pair)
        return sorted(Span(place[start], place[stop]) for start, stop in ends)


class _Part:
    """One tree of a text: all of it, or the text of the node `content` in another language."""

    def __init__(self, data: bytes, grammar_: Grammar, content: Node | None = None) -> None:
        self.grammar = grammar_
        self._data = data
        parser = Parser(grammar_.language)
        if content is not None:
            # The parser skips what is around it, so that offsets are those of the whole text.
            ends = content.start_point, content.end_point, content.start_byte, content.end_byte
            parser.included_ranges = [Range(*ends)]
        self._other_problems: list[Node] = []
        self.root = self._parse(parser)
        self.parent_id = content.parent.id if content is not None and content.parent else None

    def _parse(self, parser: Parser) -> Node:
        """Parse the text; with what the grammar does not know replaced, where that goes better."""
        root = self._parse_newer(parser, self._data)
        if root.has_error and self.grammar.directive:
            # `#ifdef A`, `if (a) {`, `#else`, `if (b) {`, `#endif`: no branch is whole by itself.
            first, others = _split_branches(self._data)
            if first != self._data:
                first_root, other_root = (self._parse_newer(parser, d) for d in (first, others))
                problems = [*self._problems(first_root), *self._problems(other_root)]
                if len(problems) < len(self._problems(root)):
                    self._other_problems = self._problems(other_root)
                    return first_root
        return root

    def _parse_newer(self, parser: Parser, data: bytes) -> Node:
        """Parse `data`; with what is newer than the grammar replaced, where that goes better."""
        check_interruption()
        root = parser.parse(data).root_node
        if root.has_error and self.grammar.newer:
            replaced = data
            for pattern, filler in self.grammar.newer.items():
                for _ in range(_MAX_NEWER):
                    if (changed := pattern.sub(partial(_fill, filler), replaced)) == replaced:
                        break
                    replaced = changed
            if replaced != data:
                replaced_root = parser.parse(replaced).root_node
                if len(self._problems(replaced_root)) < len(self._problems(root)):
                    return replaced_root
        return root

    def capture(self, query: Query, root: Node | None = None) -> dict[str, list[Node]]:
        """Return what the query's captures name, in all of the tree or below `root`."""
        check_interruption()
        captures = QueryCursor(query).captures(root or self.root)
        check_interruption()
        return captures

    def problems(self) -> list[Node]:
        return [*self._problems(self.root), *self._other_problems]

    def _problems(self, root: Node) -> list[Node]:
        if not root.has_error:
            return []
        return self.capture(self.grammar.problems, root).get("problem", [])

    def embedded(self) -> Iterator["_Part"]:
        """Parse the scripts and styles in a page, as the languages they are in."""
        facts = self.grammar.facts
        if not facts.embedded:
            return
        query = _compile_query(self.grammar.language, "(raw_text) @content")
        for content in self.capture(query).get("content", []):
            parent = content.parent
            if parent is None or parent.type not in facts.embedded:
                continue
            tag = self._data[parent.start_byte : content.start_byte].decode("utf-8", "replace")
            if language := embedded_language(parent.type, tag, facts):
                yield _Part(self._data, grammar(language), content)

    def prose(self) -> Iterator[Node]:
        captures = self.capture(self.grammar.prose)
        # `f"{yield y}"` runs: it is no docstring.
        docstrings = (
            node
            for node in captures.get("string", [])
            if not any(child.type == "interpolation" for child in node.named_children)
        )
        stop = 0
        nodes = [*captures.get("comment", []), *docstrings]
        for node in sorted(nodes, key=lambda node: (node.start_byte, -node.end_byte)):
            if node.end_byte > stop:  # a part of a comment may be a node of its own
                yield node
                stop = node.end_byte

    def imports(self, parent: Node) -> Iterator[Node]:
        children = parent.named_children
        for node in children:
            kind = node.type
            pattern = self.grammar.import_patterns.get(kind)
            if pattern and pattern.match(self._data, node.start_byte, node.end_byte):
                yield node
                continue
            pattern = self.grammar.import_parents.get(kind)
            if not pattern or not pattern.match(self._data, node.start_byte, node.end_byte):
                continue
            # An #ifdef counts where it is an include guard, around all there is.
            beside = (sibling for sibling in children if sibling != node)
            if not kind.startswith("preproc_if") or all(n.type == "comment" for n in beside):
                yield from self.imports(node)

    def statements(self) -> Iterable[Node]:
        captures = self.capture(self.grammar.statements)
        nodes = {node.id: node for node in captures.get("statement", [])}.values()
        return [node for node in nodes if node.type not in self.grammar.not_statements]

    def verbatim(self, embedded: Collection[int | None]) -> Iterator[_Verbatim]:
        captures = self.capture(self.grammar.verbatim)
        for node in captures.get("verbatim", []):
            first, last = node.start_point.row, node.end_point.row
            if first < last and node.id not in embedded:
                yield _Verbatim(
                    start=node.start_byte, stop=node.end_byte, lines=range(first + 1, last + 1)
                )
        for node in captures.get("lines", []):
            start, on_own_line = self._line_start(node.start_byte)
            if not on_own_line:
                start = node.start_byte
            stop = node.start_byte + len(self._data[node.start_byte : node.end_byte].rstrip(b"\n"))
            first = node.start_point.row + (not on_own_line)
            last = first + self._data.count(b"\n", node.start_byte, stop)
            yield _Verbatim(start=start, stop=stop, lines=range(first, last + on_own_line))
        if self.grammar.directive:
            yield from self._directives(self.grammar.directive)

    def _directives(self, pattern: re.Pattern[bytes]) -> Iterator[_Verbatim]:
        """Find the lines of preprocessors, with those that a backslash joins to them."""
        row = counted = 0
        for match in pattern.finditer(self._data):
            start, stop = match.span()
            node = self.root.descendant_for_byte_range(stop - 1, stop)
            if node is not None and ("comment" in node.type or "string" in node.type):
                continue
            row, counted = row + self._data.count(b"\n", counted, start), start
            stop = self._line_stop(stop)
            while self._data[stop - 1 : stop] == b"\\":
                following = self._line_stop(stop + 1)
                if following == stop:
                    break
                stop = following
            n_lines = self._data.count(b"\n", start, stop) + 1
            yield _Verbatim(start=start, stop=stop, lines=range(row, row + n_lines))

    def _line_stop(self, offset: int) -> int:
        stop = self._data.find(b"\n", offset)
        return len(self._data) if stop < 0 else stop

    def redeclarations(self, names: Iterable[Node]) -> Iterator[str]:
        """Yield each name that one block declares twice with `let`, `const` or `class`."""
        seen: set[tuple[int, bytes]] = set()
        for name in names:
            block = name.parent
            while block is not None and block.type not in _BLOCKS:
                block = block.parent
            key = (block.id if block else 0, self._data[name.start_byte : name.end_byte])
            if key in seen:
                yield key[1].decode("utf-8", "replace")
            seen.add(key)

    def stray_awaits(self, nodes: Iterable[Node]) -> Iterator[str]:
        """Yield "await" for each that stands in a function which is not async."""
        for node in nodes:
            around = node.parent
            while around is not None and around.type not in _FUNCTION_NODES:
                around = around.parent
            if around is not None and not any(child.type == "async" for child in around.children):
                yield "await"

    @cached_property
    def definitions(self) -> list[_ByteDefinition]:
        """Every definition with its qualified name, outer before inner."""
        definitions: list[_ByteDefinition] = []
        around: list[_ByteDefinition] = []
        matches = sorted(self._match_definitions(), key=lambda d: (d.node.start_byte, -d.node_stop))
        for match in matches:
            check_interruption()
            while around and around[-1].node_stop < match.node_stop:
                around.pop()
            definition = match
            if around:
                parent = around[-1]
                is_method = match.kind == "function" and parent.kind in _CLASSES
                definition = replace(
                    match,
                    kind="method" if is_method else match.kind,
                    name=f"{parent.scope}.{match.name}",
                    scope=f"{parent.scope}.{match.scope}",
                )
            definitions.append(definition)
            around.append(definition)
        return self._join_clauses(definitions) if self.grammar.facts.has_clauses else definitions

    def _match_definitions(self) -> Iterator[_ByteDefinition]:
        """Find the definitions in any order, with names that nothing qualifies yet."""
        seen: set[int] = set()
        facts = self.grammar.facts
        matches = QueryCursor(self.grammar.definitions).matches(self.root)
        # Of two patterns that match one node the earlier in the file is the more exact.
        for _, captures in sorted(matches, key=lambda match: match[0]):
            check_interruption()
            names = captures.pop("name")
            scope, body, owner, end = (
                captures.pop(key, []) for key in ("scope", "body", "owner", "end")
            )
            ((kind, (node,)),) = (
                (key, nodes) for key, nodes in captures.items() if not key.startswith("_")
            )
            if node.id in seen:
                continue
            seen.add(node.id)
            name = self._name(names)
            if not name:  # the parser made the name up in a broken place
                continue
            if owner:
                name = f"{self._name(owner)}.{name}"
            if not body and facts.body_field and kind in _FUNCTIONS:
                body = node.children_by_field_name(facts.body_field)
            start, stop = self._extent(node)
            node_stop = end[0].end_byte if end else node.end_byte
            yield _ByteDefinition(
                node=node,
                node_stop=node_stop,
                kind=kind,
                name=name,
                scope=self._name(scope) if scope else name,
                start=start,
                stop=max(stop, node_stop if end else stop),
                body=self._interior(body[0]) if body else None,
            )

    def _join_clauses(self, definitions: list[_ByteDefinition]) -> list[_ByteDefinition]:
        """Make one definition of those of one name with nothing but blanks between them."""
        joined: list[_ByteDefinition] = []
        last: dict[str, int] = {}  # by name, the index in `joined`
        for definition in definitions:
            index = last.get(definition.name)
            if index is not None:
                before = joined[index]
                if not self._data[before.stop : definition.start].strip():
                    joined[index] = replace(before, stop=definition.stop, body=None)
                    continue
            last[definition.name] = len(joined)
            joined.append(definition)
        return joined

    def _name(self, nodes: list[Node]) -> str:
        """Return the names joined by spaces: `it`, "adds: x" is `it adds: x`."""
        unnamed = self.grammar.unnamed
        names: list[str] = []
        plain: list[str] = []
        for node in map(_innermost, nodes):
            text = self._data[node.start_byte : node.end_byte].decode("utf-8", "replace")
            if "string" not in node.type:
                plain.append(text)
                continue
            names += [
                normal_name(" ".join(plain), unnamed),
                " ".join(_QUOTED.sub(r"\2", text).split()),
            ]
            plain = []
        return " ".join(filter(None, [*names, normal_name(" ".join(plain), unnamed)]))

    def _extent(self, node: Node) -> tuple[int, int]:
        """Return the start and stop of the definition with all that belongs to it."""
        shared = False
        while (parent := node.parent) is not None and parent.type in self.grammar.wrappers:
            shared = sum(child.type == node.type for child in parent.named_children) > 1
            if shared:
                break
            node = parent
        stop, after = node.end_byte, node.next_sibling
        if after is not None and after.type == ";" and not shared:
            stop = after.end_byte
        while self._data[stop - 1 : stop].isspace():
            stop -= 1
        return self._start(node.start_byte), stop

    def _start(self, first: int) -> int:
        """Return the start of what begins at `first`, with comments and decorators above it."""
        start = best = first
        while (attached := self._attached_before(start)) is not None:
            start = attached.start_byte
            line_start, on_own_line = self._line_start(start)
            # A comment behind other code belongs to that code, unless it stands on our line.
            if on_own_line or line_start == self._line_start(first)[0]:
                best = start
        line_start, on_own_line = self._line_start(best)
        return line_start if on_own_line else best

    def _line_start(self, offset: int) -> tuple[int, bool]:
        """Return the start of the line of `offset`; True if only blanks stand before `offset`."""
        start = self._data.rfind(b"\n", 0, offset) + 1
        return start, not self._data[start:offset].strip()

    def _attached_before(self, start: int) -> Node | None:
        """Return the comment, attribute or decorator that ends right before `start`, if any."""
        last = start - 1
        while last >= 0 and self._data[last : last + 1].isspace():
            last -= 1
        if last < 0 or self._data.count(b"\n", last, start) > 1:
            return None
        node = self.root.descendant_for_byte_range(last, last + 1)
        while node is not None and not self._is_attached(node, start):
            node = None if node.end_byte > start else node.parent
        if node is None or (node.start_byte == 0 and self._data.startswith(b"#!")):
            return None
        is_of_file = node.child_by_field_name("inner") is not None  # Rust's //!
        return None if is_of_file else node

    def _is_attached(self, node: Node, start: int) -> bool:
        kind = node.type
        if kind not in self.grammar.attached:
            return kind.endswith("comment") or kind in _ATTACHED
        # A type signature that ends a class belongs to the class, not to what comes next.
        line_start = self._line_start(start)[0]
        return node.end_byte > line_start or node.start_point.column == start - line_start

    def _interior(self, body: Node) -> tuple[int, int] | None:
        """Return the bytes of `body` between its brackets, without the blanks at either end."""
        start, stop = body.start_byte, body.end_byte
        if (self._data[start : start + 1], self._data[stop - 1 : stop]) in _BRACKETS:
            start, stop = start + 1, stop - 1
        elif body.type == "do_block":
            start, stop = start + len("do"), stop - len("end")
        inside = self._data[start:stop]
        start += len(inside) - len(inside.lstrip())
        stop -= len(inside) - len(inside.rstrip())
        return (start, stop) if start < stop else None


@lru_cache(maxsize=64)
def _compile_query(language: Language, query: str) -> Query:
    """Return a query compiled, which takes longer than to ask it."""
    compiled: Query = Query(language, query)
    return compiled


@lru_cache(maxsize=8)  # the file before and after an edit, the target alone, the reply's readings
def parse(text: str, language: str) -> SyntaxTree:
    """Return the tree of `text`; those of the last few texts are kept.

    Raises InputError where `language` is none of ours.
    """
    return SyntaxTree(text, language)


def _split_branches(data: bytes) -> tuple[bytes, bytes]:
    """Return `data` with the first branch of each #if, and with what is in its others instead.

    Spaces take the place of the rest, and of the #if lines themselves.
    """
    lines = data.splitlines(keepends=True)
    directives = [match[1] if (match := _CONDITIONAL.match(line)) else b"" for line in lines]
    # The #if lines around each line, with the number of the branch that it is in.
    around: list[tuple[tuple[int, int], ...]] = []
    stack: list[tuple[int, int]] = []
    for at, word in enumerate(directives):
        if word == b"endif" and stack:
            stack.pop()
        elif word.startswith(b"el") and stack:
            opening, branch = stack[-1]
            stack[-1] = (opening, branch + 1)
        elif word.startswith(b"if"):
            stack.append((at, 0))
        around.append(tuple(stack))
    # Without another branch the first is there in both.
    divided = {opening for stand in around for opening, branch in stand if branch}
    first: list[bytes] = []
    others: list[bytes] = []
    for line, word, stand in zip(lines, directives, around, strict=True):
        blank = _VISIBLE.sub(b" ", line)
        first.append(blank if word or any(branch for _, branch in stand) else line)
        is_first = any(opening in divided and not branch for opening, branch in stand)
        others.append(blank if word or is_first else line)
    return b"".join(first), b"".join(others)


_CONDITIONAL = re.compile(rb"[ \t]*#[ \t]*(if|ifdef|ifndef|elif|elseif|else|endif)\b")
_VISIBLE = re.compile(rb"[^\n]")


def _fill(filler: bytes, match: re.Match[bytes]) -> bytes:
    """Return the match with its group `new` replaced, as long as before; line endings stay."""
    new = match["new"]
    text = filler * len(new) if len(filler) == 1 else filler.ljust(len(new))
    kept = bytes(b if b == ord("\n") else t for b, t in zip(new, text, strict=True))
    start = match.start("new") - match.start()
    return match[0][:start] + kept + match[0][start + len(new) :]


def normal_name(name: str, unnamed: Iterable[str] = ()) -> str:
    """Return `name` with its parts joined by dots.

    Type arguments, quotes and `unnamed` parts are left out:
    `geo::Stack<T>::push` becomes `geo.Stack.push`, `M:push` becomes `M.push`.
    """
    name = " ".join(name.split())
    while (shorter := _TYPE_ARGUMENTS.sub("", name)) != name:
        name = shorter
    parts = [part.strip("'\"` ") for part in re.split(r"::|[.:#](?=\w|~)", name)]
    named = [part for part in parts if part not in unnamed]
    return ".".join(part for part in named or parts[-1:] if part)


def _innermost(node: Node) -> Node:
    """Return the name in a C declarator such as `*(*choose(int))(int)`; other nodes as they are."""
    while node.type != "operator_cast":
        inner = node.child_by_field_name("declarator")
        if inner is None and node.type in ("parenthesized_declarator", "reference_declarator"):
            inner = next(reversed(node.named_children), None)
        if inner is None:
            break
        node = inner
    return node
