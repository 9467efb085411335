"""One parsed text: its definitions, in code points.

The only module that talks to tree-sitter and the only one that counts UTF-8 bytes.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from tree_sitter import Node, Parser, Query, QueryCursor, QueryError

from redraft.errors import InputError
from redraft.records import Span
from redraft.syntax.languages import Grammar, grammar

__all__ = ["Definition", "SyntaxTree", "normal_name"]

_ATTACHED = frozenset({"attribute_item", "decorator"})  # besides comments

_CLASSES = frozenset({"class", "enum", "impl", "interface", "object", "struct", "trait"})

_LONE_CR = re.compile(rb"\r(?!\n)")

_TYPE_ARGUMENTS = re.compile(r"(?<=\w)(?<!operator)<[^<>]*>")

_QUOTES = b"'\"` "

_BRACKETS = ((b"{", b"}"), (b"(", b")"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A function, class or the like. `body` is the part that may be elided, if any."""

    name: str  # qualified by what it stands in
    kind: str
    span: Span
    body: Span | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _DefinitionMatch:
    """One match of the definitions query. `scope` qualifies what stands inside `node`."""

    node: Node
    kind: str
    name: str
    scope: str
    body: Node | None


class SyntaxTree:
    """`text`, parsed as `language`. Raises InputError where that is none of ours."""

    def __init__(self, text: str, language: str) -> None:
        self._grammar: Grammar = grammar(language)
        # A lone surrogate has no UTF-8 form: a one-byte stand-in keeps the count of code points.
        data = text.encode("utf-8", "replace")
        # Grammars end their lines at LF; a CR in its place keeps every offset.
        self._data = _LONE_CR.sub(b"\n", data)
        self._root = Parser(self._grammar.language).parse(self._data).root_node

    def n_problems(self) -> int:
        """How many stretches the parser could not understand or had to invent."""
        if not self._root.has_error:
            return 0
        captures = QueryCursor(self._grammar.problems).captures(self._root)
        return len(captures.get("problem", []))

    def captured(self, query: str) -> list[Span]:
        """What the captures of the tree-sitter query `query` name, in the order they begin.

        Raises InputError where the grammar does not know such a query.
        """
        try:
            captures = QueryCursor(Query(self._grammar.language, query)).captures(self._root)
        except QueryError as error:
            raise InputError(f"not a query of this grammar: {error}") from error
        nodes = {node.id: node for found in captures.values() for node in found}.values()
        return self._spans(nodes)

    def prose(self) -> list[Span]:
        """Comments, and strings that stand where a statement may, in the order they begin."""
        found, nodes = [], [self._root]
        while nodes:
            node = nodes.pop()
            if _is_prose(node):
                found.append(node)
            else:
                nodes += node.children
        return self._spans(found)

    def _spans(self, nodes: Collection[Node]) -> list[Span]:
        place = _code_points(self._data, (n for x in nodes for n in (x.start_byte, x.end_byte)))
        return sorted(Span(place[node.start_byte], place[node.end_byte]) for node in nodes)

    def definitions(self) -> list[Definition]:
        """Every named function, class and the like, in the order they begin."""
        found = [
            (name, kind, item, *self._extent(item.node)) for name, kind, item in self._qualified()
        ]
        bodies = {item.node.id: self._interior(item.body) for _, _, item, _, _ in found}
        ends = [offset for *_, start, stop in found for offset in (start, stop)]
        ends += [offset for body in bodies.values() if body for offset in body]
        place = _code_points(self._data, ends)
        definitions = []
        for name, kind, item, start, stop in found:
            body = bodies[item.node.id]
            definitions.append(
                Definition(
                    name=name,
                    kind=kind,
                    span=Span(place[start], place[stop]),
                    body=Span(place[body[0]], place[body[1]]) if body else None,
                )
            )
        return definitions

    def _qualified(self) -> Iterator[tuple[str, str, _DefinitionMatch]]:
        """Each find with its qualified name and its kind, outer before inner."""
        around: list[tuple[_DefinitionMatch, str]] = []
        for item in sorted(self._found(), key=lambda f: (f.node.start_byte, -f.node.end_byte)):
            while around and around[-1][0].node.end_byte < item.node.end_byte:
                around.pop()
            parent, scope = around[-1] if around else (None, "")
            in_class = parent is not None and parent.kind in _CLASSES
            kind = "method" if item.kind == "function" and in_class else item.kind
            yield f"{scope}{item.name}", kind, item
            around.append((item, f"{scope}{item.scope}."))

    def _found(self) -> Iterator[_DefinitionMatch]:
        seen: set[int] = set()
        matches = QueryCursor(self._grammar.definitions).matches(self._root)
        # Of two patterns that match one node the earlier in the file is the more exact.
        for _, captures in sorted(matches, key=lambda match: match[0]):
            names = captures.pop("name")
            scope, body, owner = (captures.pop(key, []) for key in ("scope", "body", "owner"))
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
            yield _DefinitionMatch(
                node=node,
                kind=kind,
                name=name,
                scope=self._name(scope) if scope else name,
                body=body[0] if body else None,
            )

    def _name(self, nodes: list[Node]) -> str:
        nodes = [_innermost(node) for node in nodes]
        texts = (self._data[node.start_byte : node.end_byte].strip(_QUOTES) for node in nodes)
        return normal_name(b" ".join(texts).decode("utf-8", "replace"), self._grammar.unnamed)

    def _extent(self, node: Node) -> tuple[int, int]:
        """First and last byte of the definition with all that belongs to it."""
        shared = False
        while (parent := node.parent) is not None and parent.type in self._grammar.wrappers:
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
        """Where what begins at `first` begins with the comments and decorators right above it."""
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
        """Where the line of `offset` begins, and whether only blanks precede `offset` there."""
        start = self._data.rfind(b"\n", 0, offset) + 1
        return start, not self._data[start:offset].strip()

    def _attached_before(self, start: int) -> Node | None:
        """The comment, attribute or decorator that ends right before `start`, if any."""
        last = start - 1
        while last >= 0 and self._data[last : last + 1].isspace():
            last -= 1
        if last < 0 or self._data.count(b"\n", last, start) > 1:
            return None
        node = self._root.descendant_for_byte_range(last, last + 1)
        while node is not None and not self._is_attached(node):
            node = None if node.end_byte > start else node.parent
        if node is None or self._belongs_to_file(node):
            return None
        return node

    def _is_attached(self, node: Node) -> bool:
        kind = node.type
        return kind.endswith("comment") or kind in _ATTACHED or kind in self._grammar.attached

    def _belongs_to_file(self, comment: Node) -> bool:
        is_shebang = comment.start_byte == 0 and self._data.startswith(b"#!")
        return is_shebang or comment.child_by_field_name("inner") is not None  # Rust's //!

    def _interior(self, body: Node | None) -> tuple[int, int] | None:
        """The bytes of `body` between its brackets, without the blanks at either end."""
        if body is None:
            return None
        start, stop = body.start_byte, body.end_byte
        if (self._data[start : start + 1], self._data[stop - 1 : stop]) in _BRACKETS:
            start, stop = start + 1, stop - 1
        inside = self._data[start:stop]
        start += len(inside) - len(inside.lstrip())
        stop -= len(inside) - len(inside.rstrip())
        return (start, stop) if start < stop else None


def _is_prose(node: Node) -> bool:
    is_statement = node.parent is not None and node.parent.type == "expression_statement"
    return "comment" in node.type or (node.type == "string" and is_statement)


def normal_name(name: str, unnamed: Iterable[str] = ()) -> str:
    """`name` with its parts joined by dots, without type arguments, quotes and `unnamed` parts.

    `geo::Stack<T>::push` becomes `geo.Stack.push`, `M:push` becomes `M.push`.
    """
    name = " ".join(name.split())
    while (shorter := _TYPE_ARGUMENTS.sub("", name)) != name:
        name = shorter
    parts = [part.strip("'\"` ") for part in re.split(r"::|[.:#](?=\w|~)", name)]
    named = [part for part in parts if part not in unnamed]
    return ".".join(part for part in named or parts[-1:] if part)


def _innermost(node: Node) -> Node:
    """The name in a C declarator such as `*(*choose(int))(int)`; other nodes as they are."""
    while node.type != "operator_cast":
        inner = node.child_by_field_name("declarator")
        if inner is None and node.type in ("parenthesized_declarator", "reference_declarator"):
            inner = next(reversed(node.named_children), None)
        if inner is None:
            break
        node = inner
    return node


def _code_points(data: bytes, offsets: Iterable[int]) -> dict[int, int]:
    """For each byte offset the number of code points before it."""
    places: dict[int, int] = {}
    last = n_points = 0
    for offset in sorted(set(offsets)):
        n_points += len(data[last:offset].decode("utf-8", "replace"))
        places[offset] = n_points
        last = offset
    return places
