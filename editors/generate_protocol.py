"""Generates what the plug-ins and docs/protocol.md say of the wire from lsp/contract.py.

    make protocol

Writes editors/vscode/src/protocol.ts and editors/nvim/lua/redraft/protocol.lua whole, and in
docs/protocol.md the tables between `<!-- generated: NAME -->` and `<!-- end -->`. Reads the source
of the contract: constants, types, error codes and shapes, each with the string below it as its
description. Knows the Python that the contract uses, and no more of it. The table of actions is
that of `redraft.config.actions`.
"""

import ast
import json
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Final, get_args

from redraft.config.actions import BUILT_IN

ROOT: Final = Path(__file__).parents[1]
CONTRACT: Final = ROOT / "server" / "redraft" / "lsp" / "contract.py"
TYPESCRIPT: Final = ROOT / "editors" / "vscode" / "src" / "protocol.ts"
LUA: Final = ROOT / "editors" / "nvim" / "lua" / "redraft" / "protocol.lua"
DOCS: Final = ROOT / "docs" / "protocol.md"

WIDTH: Final = 100  # of a line, for prettier, stylua and luacheck


@dataclass(frozen=True, kw_only=True)
class Constant:
    """A name for a string, or for a number in the case of an error code."""

    name: str
    value: str | int
    doc: str


@dataclass(frozen=True, kw_only=True)
class Alias:
    """A name for a type."""

    name: str
    type: ast.expr
    doc: str


@dataclass(frozen=True, kw_only=True)
class Key:
    """A key of a shape."""

    name: str
    type: ast.expr
    is_required: bool
    doc: str


@dataclass(frozen=True, kw_only=True)
class Shape:
    """An object: the keys of its own, and the name of the shape that has the others, if any."""

    name: str
    base: str | None
    keys: tuple[Key, ...]
    doc: str


@dataclass(frozen=True, kw_only=True)
class Contract:
    """All that lsp/contract.py says, in its order."""

    constants: tuple[Constant, ...]
    error_codes: tuple[Constant, ...]
    aliases: Mapping[str, Alias]
    shapes: Mapping[str, Shape]


# --- Reading -------------------------------------------------------------------------------------


def read_contract(source: str) -> Contract:
    """Parse the contract's source, and run it for the values it computes."""
    module = ModuleType("contract")
    exec(compile(source, CONTRACT, "exec"), module.__dict__)  # noqa: S102 - a file of this project
    constants: list[Constant] = []
    codes: list[Constant] = []
    aliases: dict[str, Alias] = {}
    shapes: dict[str, Shape] = {}
    for node, doc in with_docs(ast.parse(source).body):
        match node:
            case ast.AnnAssign(target=ast.Name(name), annotation=ast.Name("Final")):
                constants.append(Constant(name=name, value=getattr(module, name), doc=doc))
            case ast.AnnAssign(target=ast.Name(name), value=ast.expr() as type_):
                aliases[name] = Alias(name=name, type=type_, doc=doc)
            case ast.ClassDef("ErrorCode"):
                for name, meaning in names_with_docs(node.body):
                    code = module.ErrorCode[name].value
                    codes.append(Constant(name=name, value=code, doc=meaning))
            case ast.ClassDef():
                shapes[node.name] = read_shape(node, shapes)
    imported = set(module.__all__) - {"ErrorCode", *aliases, *shapes, *(c.name for c in constants)}
    for name in sorted(imported):
        literal = f"Literal{list(get_args(getattr(module, name)))}"
        aliases[name] = Alias(name=name, type=ast.parse(literal, mode="eval").body, doc="")
    return Contract(
        constants=tuple(constants),
        error_codes=tuple(codes),
        aliases=aliases,
        shapes={name: shape for name, shape in shapes.items() if name[0] != "_"},
    )


def with_docs(body: list[ast.stmt]) -> Iterator[tuple[ast.stmt, str]]:
    """Yield each statement with the string below it, made one line; "" where there is none."""
    for node, below in zip(body, [*body[1:], ast.Pass()], strict=True):
        match below:
            case ast.Expr(ast.Constant(str(text))):
                yield node, " ".join(text.split())
            case _:
                yield node, ""


def names_with_docs(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    """Yield the name that each assignment of a class body gives, with its description."""
    for node, doc in with_docs(body):
        match node:
            case ast.Assign([ast.Name(name)]) | ast.AnnAssign(ast.Name(name)):
                yield name, doc


def read_shape(node: ast.ClassDef, known: Mapping[str, Shape]) -> Shape:
    """Read a TypedDict. What it has from a private base becomes its own."""
    docs = dict(names_with_docs(node.body))
    is_required = not node.keywords  # the only keyword is total=False
    keys = [
        Key(name=name, type=annotation, is_required=is_required, doc=docs[name])
        for each in node.body
        for name, annotation in annotations_in(each)
    ]
    base: str | None = ast.unparse(node.bases[0])
    while base and base[0] == "_":
        keys = [*known[base].keys, *keys]
        base = known[base].base
    return Shape(
        name=node.name,
        base=None if base == "TypedDict" else base,
        keys=tuple(keys),
        doc=" ".join((ast.get_docstring(node) or "").split()),
    )


def annotations_in(node: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    """Yield the name and the type that a statement of a TypedDict declares, if it does."""
    match node:
        case ast.AnnAssign(ast.Name(name), annotation):
            yield name, annotation


# --- Types ---------------------------------------------------------------------------------------


def members_of(node: ast.expr) -> list[ast.expr]:
    """Return the types of a union, and of any other type itself."""
    if isinstance(node, ast.BinOp):
        return [*members_of(node.left), *members_of(node.right)]
    return [node]


def without_null(node: ast.expr) -> list[ast.expr]:
    """Return the types of a union but for None."""
    return [each for each in members_of(node) if ast.unparse(each) != "None"]


def values_of(literal: ast.expr) -> list[str]:
    """Return the values of the inside of a Literal[...]."""
    values = ast.literal_eval(literal)
    return list(values) if isinstance(values, tuple | list) else [values]


# --- TypeScript ----------------------------------------------------------------------------------

TYPESCRIPT_HEAD: Final = """\
/**
 * The wire contract: the names and shapes that client and server both know.
 *
 * Generated from server/redraft/lsp/contract.py by `make protocol`: change it there. Knows nothing
 * of VS Code.
 */

/** A place in a text of the Language Server Protocol; columns in UTF-16 units. */
export interface Position {
  readonly line: number;
  readonly character: number;
}

export interface Range {
  readonly start: Position;
  readonly end: Position;
}

export interface TextEdit {
  readonly range: Range;
  readonly newText: string;
}
"""

TYPESCRIPT_TYPES: Final = {
    "str": "string",
    "int": "number",
    "float": "number",
    "bool": "boolean",
    "Any": "unknown",
    "types.WorkspaceEdit": "unknown",  # the extension applies the text edits that come with it
}


def render_typescript(contract: Contract) -> str:
    """Return the text of protocol.ts, formatted as prettier has it."""
    blocks = [
        f"{typescript_comment(each.doc)}export const {each.name} = {json.dumps(each.value)};\n"
        for each in contract.constants
    ]
    codes = "".join(
        f"{typescript_comment(code.doc, '  ')}  {code.name}: {code.value},\n"
        for code in contract.error_codes
    )
    blocks.append(f"export const ErrorCode = {{\n{codes}}} as const;\n")
    for alias in contract.aliases.values():
        value = typescript_type(alias.type)
        line = f"export type {alias.name} = {value};"
        line = line if len(line) <= WIDTH else f"export type {alias.name} =\n  {value};"
        blocks.append(f"{typescript_comment(alias.doc)}{line}\n")
    for shape in contract.shapes.values():
        extends = f" extends {shape.base}" if shape.base else ""
        keys = "".join(
            f"{typescript_comment(key.doc, '  ')}"
            f"  readonly {key.name}{'' if key.is_required else '?'}: {typescript_type(key.type)};\n"
            for key in shape.keys
        )
        blocks.append(
            f"{typescript_comment(shape.doc)}export interface {shape.name}{extends} {{\n{keys}}}\n"
        )
    return "\n".join([TYPESCRIPT_HEAD, *blocks])


def typescript_comment(doc: str, indent: str = "") -> str:
    """Return a doc comment on lines of its own; nothing for no text."""
    if not doc:
        return ""
    if len(line := f"{indent}/** {doc} */") <= WIDTH:
        return f"{line}\n"
    start = f"{indent} * "
    text = textwrap.fill(doc, WIDTH, initial_indent=start, subsequent_indent=start)
    return f"{indent}/**\n{text}\n{indent} */\n"


def typescript_type(node: ast.expr) -> str:
    """Return a type of the contract in TypeScript."""
    match node:
        case ast.BinOp():
            return " | ".join(map(typescript_type, members_of(node)))
        case ast.Subscript(ast.Name("Literal"), inside):
            return " | ".join(map(json.dumps, values_of(inside)))
        case ast.Subscript(ast.Name("list"), item):
            return f"readonly {typescript_type(item)}[]"
        case ast.Subscript(ast.Name("dict"), ast.Tuple([_, value])):
            return f"Readonly<Record<string, {typescript_type(value)}>>"
        case ast.Constant(None):
            return "null"
    name = ast.unparse(node)
    return TYPESCRIPT_TYPES.get(name, name.removeprefix("types."))


# --- Lua -----------------------------------------------------------------------------------------

LUA_HEAD: Final = """\
--- The wire contract: the names and shapes that client and server both know.
--- Generated from server/redraft/lsp/contract.py by `make protocol`: change it there.
"""

LUA_TYPES: Final = {
    "str": "string",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "Any": "any",
}


def render_lua(contract: Contract) -> str:
    """Return the text of protocol.lua: LuaCATS annotations and a table of constants."""
    blocks: list[str] = []
    for alias in contract.aliases.values():
        line = f"---@alias redraft.{alias.name} {lua_type(alias.type)}"
        if len(line) > WIDTH:
            values = "".join(f"\n---| {value}" for value in lua_type(alias.type).split("|"))
            line = f"---@alias redraft.{alias.name}{values}"
        blocks.append(f"{lua_comment(alias.doc)}{line}\n")
    for shape in contract.shapes.values():
        base = f": redraft.{shape.base}" if shape.base else ""
        keys = "".join(map(lua_field, shape.keys))
        blocks.append(f"{lua_comment(shape.doc)}---@class redraft.{shape.name}{base}\n{keys}")
    constants = "".join(
        f"{lua_comment(each.doc, '  ')}  {each.name} = {json.dumps(each.value)},\n"
        for each in contract.constants
    )
    codes = "".join(
        f"{lua_comment(code.doc, '    ')}    {code.name} = {code.value},\n"
        for code in contract.error_codes
    )
    table = f"return {{\n{constants}  ErrorCode = {{\n{codes}  }},\n}}\n"
    return "\n".join([LUA_HEAD, *blocks, table])


def lua_field(key: Key) -> str:
    """Return the annotation of a key. What may be null is nil in Lua, as is what is missing."""
    types = without_null(key.type)
    is_optional = not key.is_required or len(types) < len(members_of(key.type))
    name = f"{key.name}?" if is_optional else key.name
    return f"{lua_comment(key.doc)}---@field {name} {'|'.join(map(lua_type, types))}\n"


def lua_comment(doc: str, indent: str = "") -> str:
    """Return a comment on lines of its own; nothing for no text."""
    start = f"{indent}--- "
    text = textwrap.fill(doc, WIDTH, initial_indent=start, subsequent_indent=start)
    return f"{text}\n" if doc else ""


def lua_type(node: ast.expr) -> str:
    """Return a type of the contract as LuaCATS has it; those of the protocol are Neovim's."""
    match node:
        case ast.BinOp():
            return "|".join(map(lua_type, members_of(node)))
        case ast.Subscript(ast.Name("Literal"), inside):
            return "|".join(map(json.dumps, values_of(inside)))
        case ast.Subscript(ast.Name("list"), item):
            return f"{lua_type(item)}[]"
        case ast.Subscript(ast.Name("dict"), ast.Tuple([_, value])):
            return f"table<string, {lua_type(value)}>"
    name = ast.unparse(node)
    if name.startswith("types."):
        return f"lsp.{name.removeprefix('types.')}"
    return LUA_TYPES.get(name, f"redraft.{name}")


# --- Markdown ------------------------------------------------------------------------------------

MARKDOWN_TYPES: Final = {
    "str": "string",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "dict[str, Any]": "object",
}

_TABLE: Final = re.compile(r"(<!-- generated: (\w+) -->\n).*?(?=<!-- end -->)", re.DOTALL)


def render_docs(contract: Contract, page: str) -> str:
    """Return `page` with its generated tables as they should be."""
    return _TABLE.sub(lambda table: table[1] + markdown_table(contract, table[2]), page)


def markdown_table(contract: Contract, name: str) -> str:
    """Return what stands for `name`: a shape, a type, or a group of constants."""
    if name == "ErrorCode":
        rows = [[str(code.value), link(contract, code.doc)] for code in contract.error_codes]
        return table(["code", "meaning"], rows)
    if name == "actions":
        return table(["name", "title"], ([f"`{action.name}`", action.title] for action in BUILT_IN))
    prefixes = {"commands": "redraft.", "notifications": "redraft/"}
    if name in prefixes:
        rows = [
            [f"`{each.value}`", link(contract, each.doc)]
            for each in contract.constants
            if str(each.value).startswith(prefixes[name])
        ]
        return table([name.removesuffix("s"), "meaning"], rows)
    if name in contract.aliases:
        return f"{markdown_type(contract, contract.aliases[name].type)}\n"
    shape = contract.shapes[name]
    rows = [
        [f"`{key.name}`", markdown_key_type(contract, key), link(contract, key.doc)]
        for key in shape.keys
    ]
    start = f"The keys of {link(contract, f'`{shape.base}`')}, and:\n\n" if shape.base else ""
    return start + table(["key", "type", "meaning"], rows)


def table(head: list[str], rows: Iterable[list[str]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def link(contract: Contract, doc: str) -> str:
    """Return a description with the name of each shape and type a link to its heading."""
    known = contract.shapes.keys() | contract.aliases.keys()

    def linked(match: re.Match[str]) -> str:
        name = match[1]
        return f"[`{name}`](#{name.lower()})" if name in known else match[0]

    return re.sub(r"`(\w+)`", linked, doc)


def markdown_key_type(contract: Contract, key: Key) -> str:
    """Return the type of a key's value. For one that may be missing, null goes without saying."""
    if key.is_required:
        return markdown_type(contract, key.type)
    types = [markdown_type(contract, each) for each in without_null(key.type)]
    return f"{' or '.join(types)}, optional"


def markdown_type(contract: Contract, node: ast.expr) -> str:
    """Return a type of the contract in words; literal types by their values."""
    name = ast.unparse(node)
    if name in contract.shapes:
        return link(contract, f"`{name}`")
    if name in contract.aliases:
        return markdown_type(contract, contract.aliases[name].type)
    match node:
        case ast.BinOp():
            return " or ".join(markdown_type(contract, each) for each in members_of(node))
        case ast.Subscript(ast.Name("Literal"), inside):
            *others, last = (f"`{value}`" for value in values_of(inside))
            return f"{', '.join(others)} or {last}" if others else last
        case ast.Subscript(ast.Name("list"), item):
            return f"list of {plural(markdown_type(contract, item))}"
        case ast.Subscript(ast.Name("dict"), ast.Tuple([_, value])) if name not in MARKDOWN_TYPES:
            return f"object of {plural(markdown_type(contract, value))}"
        case ast.Constant(None):
            return "null"
    return MARKDOWN_TYPES.get(name, name.removeprefix("types."))


def plural(words: str) -> str:
    """Return the plural of a type's name, if it is a word."""
    return f"{words}s" if words.isalpha() else words


# --- All of it -----------------------------------------------------------------------------------


def generate(source: str, page: str) -> dict[Path, str]:
    """Return the text each file should have, from the contract's source and the page as it is."""
    contract = read_contract(source)
    return {
        TYPESCRIPT: render_typescript(contract),
        LUA: render_lua(contract),
        DOCS: render_docs(contract, page),
    }


def main() -> None:
    """Write the files."""
    texts = generate(CONTRACT.read_text(encoding="utf-8"), DOCS.read_text(encoding="utf-8"))
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
