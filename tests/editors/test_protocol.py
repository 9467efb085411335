"""The wire contract is the same wherever it is written down.

In Python (lsp/contract.py), in prose (docs/protocol.md), in the plug-in for VS Code (protocol.ts) and
in the one for Neovim (protocol.lua). Each is read from its text, so that a test can alter the text
and see that it is noticed.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import get_args, is_typeddict

import pytest
import tree_sitter_lua
import tree_sitter_typescript
from tree_sitter import Language, Node, Parser

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / "server" / "redraft" / "lsp" / "contract.py"

# By the names of contract.py: the keys of a shape, the values of a type, or "NAME = value".
Contract = Mapping[str, frozenset[str]]


def of_python(text: str) -> Contract:
    module = ModuleType("wire")
    exec(compile(text, PYTHON, "exec"), module.__dict__)
    public = {name: getattr(module, name) for name in module.__all__}
    shapes = {name: one for name, one in public.items() if is_typeddict(one)}
    constants = {name: one for name, one in public.items() if isinstance(one, str)}
    return _contract(
        {name: one.__required_keys__ | one.__optional_keys__ for name, one in shapes.items()},
        {name: _values(one) for name, one in public.items() if get_args(one)},
        constants=_equations(constants),
        methods=_methods(constants.values()),
        ErrorCode={str(code.value) for code in module.ErrorCode},
    )


def _values(kind: object) -> Iterator[str]:
    for each in get_args(kind):
        yield from [each] if isinstance(each, str) else _values(each)


# Where protocol.ts says what contract.py says under this name. What it has no use for it leaves out.
PATHS = {
    **{
        name: name
        for name in ("Scope", "Reason", "InitializationOptions", "EditStats", "EditProgress")
    },
    **{name: name for name in ("Partial", "Status", "Trace")},
    "EditArgument": "EditParams",
    "PromptArgument": "PromptParams",
    "CancelParams": "CancelParams",
    "Answer": "EditAnswer",
    "Outcome": "EditAnswer.outcome",
    "Phase": "EditProgress.phase",
    "ModelStatus": "Status.model",
    "ModelState": "Status.model.state",
    "TracedEdit": "Trace.edits",
    "TracePass": "Trace.passes",
    "TraceText": "Trace.passes.text",
}


def of_typescript(text: str) -> Contract:
    root = _parsed(text, tree_sitter_typescript.language_typescript())
    declared = {_text(n.child_by_field_name("name")): n for n in _all(root, *_DECLARATIONS)}
    found = {name: _at(path, declared) for name, path in PATHS.items()}
    found["Outcome"] |= {"started"}  # it waits for every edit
    constants = {
        name: _text(node.child_by_field_name("value")).strip('"')
        for name, node in declared.items()
        if node.type == "variable_declarator"
    }
    return _contract(found, **_constants(constants))


_DECLARATIONS = ("interface_declaration", "type_alias_declaration", "variable_declarator")


def _at(path: str, declared: Mapping[str, Node]) -> frozenset[str]:
    """The keys of the type at `path`; where it has none, its values."""
    name, *steps = path.split(".")
    nodes = [declared[name]]
    for step in steps:
        nodes = [one for node in nodes for key, one in _members(node, declared) if key == step]
    keys = {key for node in nodes for key, _ in _members(node, declared)}
    return frozenset(keys or {_text(n) for node in nodes for n in _all(node, "string_fragment")})


def _members(node: Node, declared: Mapping[str, Node]) -> Iterator[tuple[str, Node]]:
    """The properties of a type and where each is declared; those that `Omit` omits as well."""
    for child in node.named_children:
        if child.type == "property_signature":
            yield _text(child.child_by_field_name("name")), child
        elif child.type == "type_identifier" and child != node.child_by_field_name("name"):
            if _text(child) in declared:
                yield from _members(declared[_text(child)], declared)
        else:
            yield from _members(child, declared)


def of_lua(text: str) -> Contract:
    """Types are LuaCATS annotations, which are comments to Lua."""
    root = _parsed(text, tree_sitter_lua.language())
    fields = {
        _text(field.child_by_field_name("name")): _text(field.child_by_field_name("value"))
        for field in _all(root, "field")
    }
    codes = {name: value for name, value in fields.items() if re.fullmatch(r"-\d+", value)}
    texts = {name: value.strip('"') for name, value in fields.items() if value[0] == '"'}
    types: dict[str, set[str]] = {}
    name = ""
    for line in (_text(comment) for comment in _all(root, "comment")):
        if one := re.match(r"---@(?:class|alias) redraft\.(\w+)(.*)", line):
            name, more = one.groups()
            parents = re.findall(r"redraft\.(\w+)", more)
            types[name] = {*re.findall(r'"(\w+)"', more), *(k for p in parents for k in types[p])}
        elif one := re.match(r'---(?:@field |\| ")(\w+)', line):
            types[name].add(one[1])
    return _contract(types, **_constants(texts | codes))


def of_prose(text: str) -> Contract:
    """What tables say in `code`, and lists in sentences that begin as `_after` looks for."""
    options, argument, answer, others, notifications = (
        _table(text, heading, n)
        for heading, n in [
            ("## Initialization options", 0),
            ("### `redraft.edit`", 0),
            ("### `redraft.edit`", 1),
            ("### The others", 0),
            ("## Notifications", 0),
        ]
    )
    by_name = {key: " ".join(row) for row in (*others, *notifications) for key in _codes(row[0])}
    keys = {key: row for row in (*argument, *answer) for key in _codes(row[0])}
    status, trace = by_name["redraft.status"], by_name["redraft.showTrace"]
    _, edits, one_pass = re.findall(r"`\{(.*?)\}`", trace)
    standing = _keys(by_name["redraft/partial"]) - {"text"}
    return _contract(
        methods=set(re.findall(r"`(redraft[./](?!toml)\w+)`", text)),
        ErrorCode=set(re.findall(r"^\| (-\d+) \|", text, re.MULTILINE)),
        InitializationOptions={key for row in options for key in _codes(row[0])},
        EditArgument={key for row in argument for key in _codes(row[0])},
        Scope=_codes(keys["scope"][1]),
        Answer={key for row in answer for key in _codes(row[0])},
        Outcome=_codes(keys["outcome"][1]),
        EditStats=_codes(keys["stats"][1]),
        CancelParams=_keys(by_name["redraft.cancel"]),
        EditProgress=standing,
        Partial=_keys(by_name["redraft/partial"]),
        Phase=_after("`phase` is", by_name["redraft/partial"]),
        Status=_keys(status),
        ModelStatus=_keys(status, "model"),
        ModelState=_after("`state` is", status),
        Reason=_after("`data.reason` is one of", text),
        Trace=_keys(trace),
        TracedEdit=standing | _keys(f"{{{edits}}}"),
        TracePass=_keys(f"{{{one_pass}}}"),
        TraceText=_keys(one_pass, "text"),
    )


def _table(text: str, heading: str, n: int) -> list[list[str]]:
    """The rows of the `n`th table under a heading, without its head."""
    section = text.partition(f"\n{heading}\n")[2].partition("\n#")[0]
    table = re.findall(r"(?:^\|.*\n)+", section, re.MULTILINE)[n]
    return [re.split(r" *\| *", row)[1:-1] for row in table.splitlines()[2:]]


def _codes(cell: str) -> set[str]:
    return set(re.findall(r"`([\w./]+)`", cell))


def _keys(cell: str, of: str = "") -> set[str]:
    """The keys of the first {...}, or of the one that is the value of the key `of` in there."""
    if of:
        return set(re.findall(r"\w+", re.search(rf"\b{of}: \[?\{{(.*?)\}}", cell)[1]))
    flat = re.sub(r": \[?\{.*?\}\]?", "", cell)
    return set(re.findall(r"\w+", re.search(r"\{(.*?)\}", flat)[1]))


def _after(words: str, text: str) -> set[str]:
    """The list of codes that follows `words`."""
    return _codes(re.search(rf"{re.escape(words)}((?:,? (?:or )?`\w+`)+)", text)[1])


def _constants(constants: Mapping[str, str]) -> dict[str, Iterable[str]]:
    """Names of methods and the like, and codes of errors, which may be named otherwise."""
    texts = {name: value for name, value in constants.items() if value[0] != "-"}
    return {
        "constants": _equations(texts),
        "methods": _methods(texts.values()),
        "ErrorCode": {value for value in constants.values() if value[0] == "-"},
    }


def _equations(constants: Mapping[str, str]) -> set[str]:
    return {f"{name} = {value}" for name, value in constants.items()}


def _methods(constants: Iterable[str]) -> set[str]:
    return {value for value in constants if re.fullmatch(r"redraft[./]\w+", value)}


def _contract(*parts: Mapping[str, Iterable[str]], **more: Iterable[str]) -> Contract:
    return {name: frozenset(one) for part in (*parts, more) for name, one in part.items()}


def _parsed(text: str, grammar: object) -> Node:
    root = Parser(Language(grammar)).parse(text.encode()).root_node
    assert not root.has_error
    return root


def _all(node: Node, *types: str) -> Iterator[Node]:
    for child in node.named_children:
        if child.type in types:
            yield child
        yield from _all(child, *types)


def _text(node: Node | None) -> str:
    return node.text.decode() if node and node.text else ""


SOURCES: dict[str, tuple[Path, Callable[[str], Contract]]] = {
    "Python": (PYTHON, of_python),
    "prose": (ROOT / "docs" / "protocol.md", of_prose),
    "TypeScript": (ROOT / "editors" / "vscode" / "src" / "protocol.ts", of_typescript),
    "Lua": (ROOT / "editors" / "nvim" / "lua" / "redraft" / "protocol.lua", of_lua),
}
WIRE = of_python(PYTHON.read_text(encoding="utf-8"))


def differences(one: Contract, other: Contract) -> dict[str, frozenset[str]]:
    """What only one of both says, in the parts that both have."""
    parts = {name: one[name] ^ other[name] for name in one.keys() & other.keys()}
    return {name: part for name, part in parts.items() if part}


def text_of(source: str) -> str:
    return SOURCES[source][0].read_text(encoding="utf-8")


def read(source: str, text: str) -> Contract:
    return SOURCES[source][1](text)


def with_renamed(name: str, text: str) -> str:
    return re.sub(rf"\b{name}\b(?!/)", f"{name}_2", text)


@pytest.mark.parametrize("source", ["prose", "TypeScript", "Lua"])
def test_it_is_the_same_in(source: str) -> None:
    assert differences(WIRE, read(source, text_of(source))) == {}


def test_all_of_it_is_in_prose_and_in_lua() -> None:
    lua, prose = (read(source, text_of(source)) for source in ("Lua", "prose"))
    assert set(lua) == set(WIRE)
    # `redraft.prompt` and `redraft.cancel` have their sentences.
    assert set(WIRE) - set(prose) == {"constants", "Ending", "PromptArgument", "Cancelled"}


ADDITIONS = [
    ("Python", r"(?<=class EditArgument\(TypedDict, total=False\):\n)", "    novel: int\n"),
    ("Python", r'(?<="loading", )', '"novel", '),
    ("Python", r"(?<=STALE = )", "1 + "),
    ("Python", r"(?<=redraft\.st)atus", "ate"),
    ("prose", r"(?<=\n\| `instruction` \|)", " string | x |\n| `novel` |"),
    ("prose", r"(?<=`promptTokens`, )", "`novel`, "),
    ("prose", r"(?<=\{id, uri, )", "novel, "),
    ("prose", r"(?<=model: \{name, )", "novel, "),
    ("prose", r"(?<=text: \[\{origin, )", "novel, "),
    ("prose", r"(?<=`no_code`, )", "`novel`, "),
    ("prose", r"(?<=`redraft/)status`", "state`"),
    ("TypeScript", r"(?<=interface EditParams \{)", "readonly novel: string;"),
    ("TypeScript", r"(?<=readonly model: \{)", "readonly novel: string;"),
    ("TypeScript", r'(?<="file")', ' | "novel"'),
    ("TypeScript", r"(?<=-3280)1", "2"),
    ("TypeScript", r"(?<=\nexport const )EDIT", "NOVEL"),
    ("Lua", r"(?<=---@class redraft.EditArgument\n)", "---@field novel string\n"),
    ("Lua", r'(?<="file")', '|"novel"'),
    ("Lua", r"(?<=STALE = -3280)1", "2"),
    ("Lua", r"(?<=\n  )EDIT", "NOVEL"),
]


@pytest.mark.parametrize(("source", "place", "new"), ADDITIONS, ids=lambda value: repr(value)[:40])
def test_what_is_added_or_altered_on_one_side_is_noticed(source: str, place: str, new: str) -> None:
    text = text_of(source)
    altered = re.sub(place, new, text, count=1)
    assert altered != text, "the place was not found"
    found = differences(read(source, text), read(source, altered))
    assert found
    other = "Python" if source != "Python" else "Lua"
    assert found.items() <= differences(read(other, text_of(other)), read(source, altered)).items()


@pytest.mark.parametrize("source", list(SOURCES))
def test_no_key_and_no_value_can_be_renamed_on_one_side(source: str) -> None:
    text = text_of(source)
    for part, names in read(source, text).items():
        if part in ("constants", "methods", "ErrorCode"):
            continue  # their altered values are among the cases above
        for name in names:
            if (altered := with_renamed(name, text)) == text:
                continue  # what protocol.ts has no use for
            try:
                noticed = differences(WIRE, read(source, altered))
            except (LookupError, TypeError):
                continue  # what cannot be read is noticed, too
            assert part in noticed, name
