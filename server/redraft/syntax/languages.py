"""The languages redraft can parse: how each is recognised, and its grammar and queries.

Facts only, as tables; what is done with a tree is in `redraft.syntax.source`. The queries in
`queries/*.scm` name every function and class of a language. In them `@name` is the name (several
are joined by spaces), `@owner` the type a name belongs to when it stands outside it, `@scope` what
qualifies the names inside where that differs from the name, `@body` a body that may be left out of
a prompt, and any other capture the definition itself: its name is the target's kind.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module, resources
from pathlib import PurePath

from tree_sitter import Language, Query

from redraft.errors import InputError

__all__ = ["LANGUAGES", "Grammar", "grammar", "language_of"]

LANGUAGES: Mapping[str, "_Facts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """A loaded grammar."""

    language: Language
    definitions: Query
    problems: Query
    wrappers: frozenset[str]
    unnamed: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Facts:
    """Where a grammar lies and what its tree looks like.

    `wrappers` are the nodes that belong to the one definition in them (`export`, `template`).
    `unnamed` are the parts of a dotted name that nobody would type.
    """

    module: str
    function: str = "language"
    queries: tuple[str, ...]
    suffixes: str
    wrappers: str = ""
    unnamed: str = ""


_ECMASCRIPT_WRAPPERS = (
    "variable_declarator lexical_declaration variable_declaration export_statement "
    "expression_statement ambient_declaration"
)

_ECMASCRIPT_UNNAMED = "module exports prototype this"

LANGUAGES = {
    "python": _Facts(
        module="tree_sitter_python",
        queries=("python",),
        suffixes=".py .pyi .pyw",
        wrappers="decorated_definition",
    ),
    "javascript": _Facts(
        module="tree_sitter_javascript",
        queries=("ecmascript", "javascript"),
        suffixes=".js .mjs .cjs .jsx",
        wrappers=_ECMASCRIPT_WRAPPERS,
        unnamed=_ECMASCRIPT_UNNAMED,
    ),
    "typescript": _Facts(
        module="tree_sitter_typescript",
        function="language_typescript",
        queries=("ecmascript", "typescript"),
        suffixes=".ts .mts .cts",
        wrappers=_ECMASCRIPT_WRAPPERS,
        unnamed=_ECMASCRIPT_UNNAMED,
    ),
    "tsx": _Facts(
        module="tree_sitter_typescript",
        function="language_tsx",
        queries=("ecmascript", "typescript"),
        suffixes=".tsx",
        wrappers=_ECMASCRIPT_WRAPPERS,
        unnamed=_ECMASCRIPT_UNNAMED,
    ),
    "go": _Facts(
        module="tree_sitter_go", queries=("go",), suffixes=".go", wrappers="type_declaration"
    ),
    "rust": _Facts(module="tree_sitter_rust", queries=("rust",), suffixes=".rs"),
    "java": _Facts(module="tree_sitter_java", queries=("java",), suffixes=".java"),
    "c": _Facts(
        module="tree_sitter_c",
        queries=("c",),
        suffixes=".c .h",
        wrappers="type_definition declaration field_declaration",
    ),
    "cpp": _Facts(
        module="tree_sitter_cpp",
        queries=("c", "cpp"),
        suffixes=".cc .cpp .cxx .c++ .hh .hpp .hxx .h++ .ipp .tpp .inl",
        wrappers=(
            "type_definition declaration field_declaration template_declaration "
            "linkage_specification"
        ),
    ),
    "csharp": _Facts(module="tree_sitter_c_sharp", queries=("csharp",), suffixes=".cs .csx"),
    "ruby": _Facts(
        module="tree_sitter_ruby",
        queries=("ruby",),
        suffixes=".rb .rake .gemspec .ru",
        wrappers="argument_list call",  # private def name
    ),
    "php": _Facts(
        module="tree_sitter_php",
        function="language_php",
        queries=("php",),
        suffixes=".php .phtml",
    ),
    "kotlin": _Facts(module="tree_sitter_kotlin", queries=("kotlin",), suffixes=".kt .kts"),
    "lua": _Facts(
        module="tree_sitter_lua",
        queries=("lua",),
        suffixes=".lua .rockspec",
        wrappers="variable_declaration",
    ),
    "bash": _Facts(module="tree_sitter_bash", queries=("bash",), suffixes=".sh .bash .bats"),
}

_BY_SUFFIX = {
    suffix: name for name, facts in LANGUAGES.items() for suffix in facts.suffixes.split()
}

_BY_NAME = {
    "SConstruct": "python",
    "SConscript": "python",
    "wscript": "python",
    "Gemfile": "ruby",
    "Rakefile": "ruby",
    "Guardfile": "ruby",
    "Vagrantfile": "ruby",
    "Podfile": "ruby",
    "Fastfile": "ruby",
    "PKGBUILD": "bash",
    ".bashrc": "bash",
    ".bash_profile": "bash",
    ".bash_aliases": "bash",
    ".profile": "bash",
}

_BY_INTERPRETER = {
    "python": "python",
    "pypy": "python",
    "node": "javascript",
    "deno": "typescript",
    "bun": "typescript",
    "ts-node": "typescript",
    "ruby": "ruby",
    "php": "php",
    "lua": "lua",
    "luajit": "lua",
    "sh": "bash",
    "bash": "bash",
    "dash": "bash",
    "ksh": "bash",
}

_CPP_HEADER = re.compile(r"^\s*(?:class|namespace|template|using|public:|private:)\b", re.MULTILINE)

_PROBLEMS = "(ERROR) @problem (MISSING) @problem"


def language_of(path: str, text: str = "") -> str | None:
    """The language of the file `path` that holds `text`, or None if it is none of ours.

    Told by the suffix, else by a well-known name, else by a `#!` line.
    """
    name = PurePath(path).name
    suffix = PurePath(path).suffix
    if suffix == ".C":
        return "cpp"
    if suffix == ".h" and _CPP_HEADER.search(text):
        return "cpp"
    by_name = _BY_SUFFIX.get(suffix.lower()) or _BY_NAME.get(name)
    return by_name or _BY_INTERPRETER.get(_interpreter(text))


def _interpreter(text: str) -> str:
    """The program a `#!` line names, without folder and version; "" if there is none."""
    if not text.startswith("#!"):
        return ""
    words = re.split(r"[\r\n]", text, maxsplit=1)[0][2:].split()
    programs = [PurePath(word).name for word in words if not word.startswith("-")]
    if programs[:1] == ["env"]:
        programs = [program for program in programs[1:] if "=" not in program]
    return re.sub(r"[\d.]+$", "", programs[0]) if programs else ""


@cache
def grammar(language: str) -> Grammar:
    """The grammar of `language`, loaded at its first use. Raises InputError if it is not ours."""
    facts = LANGUAGES.get(language)
    if facts is None:
        raise InputError(f"no grammar for {language!r}; use one of {', '.join(LANGUAGES)}")
    loaded = Language(getattr(import_module(facts.module), facts.function)())
    folder = resources.files("redraft.syntax") / "queries"
    definitions = "\n".join(
        (folder / f"{name}.scm").read_text(encoding="utf-8") for name in facts.queries
    )
    return Grammar(
        language=loaded,
        definitions=Query(loaded, definitions),
        problems=Query(loaded, _PROBLEMS),
        wrappers=frozenset(facts.wrappers.split()),
        unnamed=frozenset(facts.unnamed.split()),
    )
