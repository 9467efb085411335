"""Uses of a name, the arguments of its calls, and the parameters of functions.

By the looks of tree-sitter nodes, the same for every language: an identifier is a leaf that is no
part of a string or comment; arguments stand right behind the callee; parameters and arguments are
what commas separate. Knows nothing of types, so a method is only known by its name. Where a list
cannot be read for certain, it says so.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from tree_sitter import Node

__all__ = [
    "Call",
    "Occurrence",
    "Parameter",
    "ParameterKind",
    "find_occurrences",
    "read_parameters",
]


ParameterKind: TypeAlias = Literal[
    "any",  # by position or by name
    "positional_only",
    "keyword_only",
    "variadic",  # any number of arguments by position
    "keywords",  # any number of arguments by name
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A parameter of a function. `name` is "" where it has none that an argument could name."""

    name: str
    kind: ParameterKind = "any"
    is_optional: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """The arguments of a call: so many by position, these by name."""

    n_positional: int
    keywords: tuple[str, ...]
    is_certain: bool  # False where there may be more, as behind `*args`


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """A place in the code where a name stands.

    receiver: what it is looked up in (`cart` in `cart.total`), "" where that is no plain name; None
    where it stands alone. is_binding: a definition, parameter or variable gets the name here.
    scopes: the functions around it, by the ids of their nodes, the inner ones first.
    """

    node: Node
    receiver: str | None
    call: Call | None
    is_binding: bool
    scopes: tuple[int, ...]


_RECEIVER = re.compile(rb"([^\W\d]\w*)?\s*[!?]*(?:\.|->|::)\s*\Z")
_NOT_CODE = ("comment", "string", "text", "content", "regex", "symbol", "char_literal", "pair_key")
_FUNCTION = re.compile(r"function|method|lambda|closure|arrow|constructor|func_literal")
_DEFINES = re.compile(
    r"definition|declaration|declarator|_item\b|parameter|_spec\b|^class$|^method$|^module$"
)
_ASSIGNS = re.compile(r"assign|^for_|^let_|declar|range_clause|for_in_clause|foreach")
_PATTERN = re.compile(r"pattern|_list$|^tuple|^typed_|^default_|parenthesized|as_pattern")
_ARGUMENTS = frozenset({"argument_list", "arguments", "value_arguments", "generator_expression"})
_TYPE_ARGUMENTS = frozenset({"type_arguments", "type_argument_list"})
_PARAMETER_LISTS = frozenset(
    {"parameters", "parameter_list", "formal_parameters", "function_value_parameters"}
)
_NO_PARAMETERS = frozenset({"block", "compound_statement", "statement_block", "decorator"})
_VARIADIC = frozenset(
    {"list_splat_pattern", "rest_pattern", "spread_parameter", "variadic_parameter"}
    | {"variadic_parameter_declaration"}
)
_KEYWORD = re.compile(r"([^\W\d]\w*)\s*(?:=(?![=>])|:(?!:))")
_DEFAULT = re.compile(r"(?<![=!<>])=(?![=>])")


def find_occurrences(root: Node, data: bytes, name: str) -> Iterator[Occurrence]:
    """Yield where `name` stands in the code of the tree `root` of `data`."""
    for match in re.finditer(rb"(?<![\w$@])%b(?!\w)" % re.escape(name.encode()), data):
        start, stop = match.span()
        node = root.named_descendant_for_byte_range(start, stop)
        if node is None or node.child_count or (node.start_byte, node.end_byte) != (start, stop):
            continue
        parent = node.parent
        if parent is None or any(part in node.type for part in _NOT_CODE):
            continue
        if _is_label(node, parent):
            continue
        receiver = _RECEIVER.search(data, max(0, start - 80), start)
        is_binding = receiver is None and _binds(node)
        yield Occurrence(
            node=node,
            receiver=(receiver[1] or b"").decode() if receiver else None,
            call=None if is_binding else _read_call(node, data),
            is_binding=is_binding,
            scopes=tuple(around.id for around in _ancestors(node) if _FUNCTION.search(around.type)),
        )


def _ancestors(node: Node) -> Iterator[Node]:
    """Yield what is around `node`, without the definition that it is the name of."""
    around = node.parent
    is_name = True
    while around is not None:
        is_name = is_name and _is_field(node, "name", "declarator")
        if not is_name:
            yield around
        node, around = around, around.parent


def _is_field(node: Node, *names: str) -> bool:
    """Return True where `node` is the field of its parent of one of `names`."""
    parent = node.parent
    return parent is not None and any(parent.child_by_field_name(name) == node for name in names)


def _is_label(node: Node, parent: Node) -> bool:
    """Return True where the name is that of an argument, or the key of an object."""
    if parent.type in ("keyword_argument", "argument", "value_argument", "named_argument"):
        following = node.next_sibling
        return following is not None and following.type in ("=", ":")
    if parent.type == "word" or node.type == "word":  # a shell's: only the first is a command
        return parent.type != "command_name"
    return _is_field(node, "key") or "label" in parent.type


def _binds(node: Node) -> bool:
    parent = node.parent
    while parent is not None:
        if _is_field(node, "value", "type", "default_value"):
            return False
        if "parameter" in parent.type:
            return True
        if _DEFINES.search(parent.type) and _is_field(node, "name", "declarator", "alias"):
            return True
        if _ASSIGNS.search(parent.type) and _is_field(node, "left", "pattern", "name"):
            return True
        if not _PATTERN.search(parent.type):
            return False
        node, parent = parent, parent.parent
    return False


def _read_call(node: Node, data: bytes) -> Call | None:
    """Return the arguments of the call whose callee ends with `node`; None where it is none."""
    callee: Node | None = node
    while callee is not None:
        following = callee.next_sibling
        while following is not None and following.type in _TYPE_ARGUMENTS:
            following = following.next_sibling
        if following is not None and following.type == "call_suffix":
            following = following.children[0] if following.children else None
        if following is not None and following.type in _ARGUMENTS:
            return _read_arguments(following, data)
        parent = callee.parent
        if parent is None or parent.end_byte != callee.end_byte or "call" in parent.type:
            return None
        callee = parent
    return None


def _read_arguments(node: Node, data: bytes) -> Call:
    if node.type == "generator_expression":
        return Call(n_positional=1, keywords=(), is_certain=True)
    n_positional = 0
    keywords: list[str] = []
    # Kotlin and Swift pass a lambda behind the parentheses.
    following = node.next_sibling or (node.parent.next_sibling if node.parent else None)
    is_certain = following is None or "lambda" not in following.type
    for group in _split_at_commas(node.children):
        text = data[group[0].start_byte : group[-1].end_byte].decode("utf-8", "replace")
        if text.startswith(("*", "...", "&")) or text.endswith("..."):
            is_certain = is_certain and text.startswith("&")
            n_positional += text.startswith("&")
        elif match := _KEYWORD.match(text):
            keywords.append(match[1])
        else:
            n_positional += 1
    return Call(n_positional=n_positional, keywords=tuple(keywords), is_certain=is_certain)


def _split_at_commas(nodes: Iterable[Node]) -> Iterator[list[Node]]:
    """Yield the nodes between commas; brackets and comments are none."""
    group: list[Node] = []
    for node in nodes:
        if node.type == ",":
            if group:
                yield group
            group = []
        elif node.type not in ("(", ")", "[", "]", "|") and "comment" not in node.type:
            group.append(node)
    if group:
        yield group


def read_parameters(
    node: Node, body: tuple[int, int] | None, data: bytes
) -> tuple[Parameter, ...] | None:
    """Return the parameters of the function `node`; None where they are not found.

    body: the first and last byte of what is inside of its body, where that is known.
    """
    todo = [node]
    while todo:
        candidate = todo.pop(0)
        is_inside = body is not None and candidate.start_byte >= body[0]
        if is_inside or candidate.type in _NO_PARAMETERS:
            continue
        if candidate.type in _PARAMETER_LISTS and not _is_field(candidate, "receiver"):
            return tuple(_read_list(candidate, data))
        todo += candidate.children
    return None


def _read_list(parameters: Node, data: bytes) -> Iterator[Parameter]:
    kind: ParameterKind = "any"
    read: list[Parameter] = []
    for group in _split_at_commas(parameters.children):
        text = data[group[0].start_byte : group[-1].end_byte].decode("utf-8", "replace")
        types = {inner.type for node in group for inner in (node, *node.children)}
        if text == "/":
            read = [replace(parameter, kind="positional_only") for parameter in read]
        elif text == "*":
            kind = "keyword_only"
        elif "dictionary_splat_pattern" in types:
            read.append(Parameter(name="", kind="keywords", is_optional=True))
        elif not types.isdisjoint(_VARIADIC) or re.match(r"\.\.\.|(?:params|vararg)\b", text):
            read.append(Parameter(name="", kind="variadic", is_optional=True))
            kind = "keyword_only" if text.startswith("*") else kind
        elif text != "void" and types.isdisjoint(("self_parameter", "receiver_parameter")):
            is_optional = "optional_parameter" in types or bool(_DEFAULT.search(text))
            for name in _read_names(group[0]):
                read.append(Parameter(name=name, kind=kind, is_optional=is_optional))
    yield from read


def _read_names(parameter: Node) -> list[str]:
    """Return the name of a parameter, [""] without one; in Go all that share a type."""
    nodes = parameter.children_by_field_name("name")
    if not nodes:
        nodes = [
            leaf
            for leaf in (parameter, *parameter.children)
            if leaf.type.endswith("identifier") and not leaf.type.startswith("type_")
        ][:1]
    return [(node.text or b"").decode("utf-8", "replace").lstrip("$") for node in nodes] or [""]
