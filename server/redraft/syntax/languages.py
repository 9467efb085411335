"""The languages redraft can parse: every fact about each, in one table.

Whoever needs to know something of a language (how it is recognised, how it writes a comment, what
an import looks like) asks this table; what is done with a tree is in `redraft.syntax.source`.

To add a language, add an entry to `LANGUAGES`, a query file, the grammar's wheel to pyproject.toml,
and a sample with its expectations to fixtures/languages. The queries in `queries/*.scm` name every
function and class. In them `@name` is the name (several are joined by spaces), `@owner` the type a
name belongs to when it stands outside it, `@scope` what qualifies the names inside where that
differs from the name, `@body` a body that may be left out of a prompt, `@end` what lies behind the
definition and still belongs to it, `@_...` a helper of a predicate, and any other capture the
definition itself: its name is the target's kind.
"""

import re
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from importlib import import_module
from pathlib import PurePath

import tree_sitter

from redraft.errors import InputError
from redraft.interruption import check_interruption

__all__ = [
    "LANGUAGES",
    "Grammar",
    "Language",
    "comment",
    "comment_openers",
    "compiles",
    "embedded_language",
    "facts_of",
    "grammar",
    "is_code",
    "language_of",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """What is known of one language. Most facts are lists of words separated by spaces.

    Node types are those of the grammar. Patterns are regular expressions; those of node types have
    to match where the node's text begins, and "" matches any.
    """

    # The grammar's package and the function in it that gives the grammar.
    module: str
    function: str = "language"

    # How a file is recognised. In `file_names`, "*" stands for anything; `interpreters` are those
    # of a "#!" line, without version; `editor_ids` the names of the language server protocol where
    # they are not ours; `contested` suffixes of another language, each with the pattern of a text
    # that is in this one all the same.
    suffixes: str = ""
    file_names: str = ""
    interpreters: str = ""
    editor_ids: str = ""
    contested: Mapping[str, str] = field(default_factory=dict)
    is_code: bool = True  # not data or markup, which a codemod takes only by name
    is_prose: bool = False  # a line may end anywhere in a sentence

    # Comments. `remarks` is what else opens a comment or a docstring.
    line_comment: str = ""
    block_comment: tuple[str, str] | None = None
    remarks: str = ""

    # Definitions. `queries` are files in queries/, joined. `wrappers` are nodes that belong to the
    # one definition in them ("export", "template"), `attached` nodes to the definition below them,
    # besides comments and decorators. `unnamed` are the parts of a dotted name that nobody would
    # type. `body_field` is the field with a function's body, for grammars whose queries compile
    # slowly with a @body. With `has_clauses`, definitions of one name in a row are one.
    queries: str = ""
    wrappers: str = ""
    attached: str = ""
    unnamed: str = ""
    body_field: str = ""
    has_clauses: bool = False
    # A second definition of a name takes the place of the first: there are no overloads.
    defines_names_once: bool = False

    # Imports: node types, more of them with patterns, and those that may hold imports.
    imports: str = ""
    import_patterns: Mapping[str, str] = field(default_factory=dict)
    import_parents: Mapping[str, str] = field(default_factory=dict)
    sorts_imports: bool = False  # people keep them in order
    imports_names: bool = False  # another file's definitions are there only by name

    # Uses of a definition. With `checks_arguments` the compiler or interpreter insists on their
    # number, and a name has one meaning at a time. With `has_implicit_self` a method of the class
    # around is called by its bare name.
    checks_arguments: bool = False
    has_implicit_self: bool = False

    # Statements: node types besides those that end as statements' do, those that are none in spite
    # of it, and those whose named children are all statements.
    statements: str = ""
    not_statements: str = ""
    blocks: str = ""

    # White space that is content, not indentation: in `verbatim` nodes (strings, templates) from
    # their second line on, in `verbatim_lines` (heredocs, recipes) and on lines that match
    # `directive` ("#ifdef") from the first. `verbatim_query` captures more @verbatim and @lines.
    verbatim: str = ""
    verbatim_lines: str = ""
    verbatim_query: str = ""
    directive: str = ""

    # Other languages inside: node types, each with the language of the raw_text in it unless its
    # tag names another; and the cells of a notebook, in the language of its kernel.
    embedded: Mapping[str, str] = field(default_factory=dict)
    has_cells: bool = False

    # The parse guard. `newer` is syntax that the grammar does not know: in what a pattern matches,
    # its group "new" is read as the filler (a character repeated, or a word before blanks) where
    # that leaves fewer problems. `compiles` tells whether the language's own compiler takes a text.
    newer: Mapping[str, str] = field(default_factory=dict)
    compiles: Callable[[str], bool] | None = None

    def comment(self, words: str) -> str:
        """Return `words` as a comment; unmarked where the language has no comments."""
        if self.line_comment:
            return f"{self.line_comment} {words}"
        if self.block_comment:
            return f"{self.block_comment[0]} {words} {self.block_comment[1]}"
        return words

    def comment_openers(self) -> tuple[str, ...]:
        """Return what a comment or docstring may begin with."""
        block = self.block_comment[:1] if self.block_comment else ()
        return tuple(filter(None, (self.line_comment, *block, *self.remarks.split())))


# What a Python before the version has no syntax for, on the line of its error.
_NEWER_PYTHON = (
    ((3, 12), re.compile(r"\b(?:def|class)\s+\w+\s*\[|^\s*type\s+\w+|\b[rR]?[fF][rR]?[\"']")),
    ((3, 13), re.compile(r"\b(?:def|class|type)\s+\w+\s*\[[^\]]*=")),
    ((3, 14), re.compile(r"\b[rR]?[tT][rR]?[\"']|^\s*except\s+[\w.]+\s*,")),
)


def _compiles_as_python(text: str) -> bool:
    """Return True where the Python that runs this would compile `text`, or is too old to tell.

    Nothing of it is run.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(text, "code", "exec", dont_inherit=True)
        except SyntaxError as error:
            line = "".join(text.splitlines()[(error.lineno or 1) - 1 : error.lineno])
            return any(
                sys.version_info < version and pattern.search(line)
                for version, pattern in _NEWER_PYTHON
            )
        except (ValueError, RecursionError, MemoryError):
            return False  # ValueError: null characters; the last two: nested too deep
    return True


_SLASHES = ("/*", "*/")

_ECMASCRIPT_WRAPPERS = (
    "variable_declarator lexical_declaration variable_declaration export_statement "
    "expression_statement"
)

_ECMASCRIPT_UNNAMED = "module exports prototype this"

_REQUIRE = r"(?:const|let|var)\s[^=]*=\s*require\s*\("

_ECMASCRIPT_IMPORTS = "import_statement"

_ECMASCRIPT_IMPORT_PATTERNS = {
    "lexical_declaration": _REQUIRE,
    "variable_declaration": _REQUIRE,
    "expression_statement": r"require\s*\(",
}

_ECMASCRIPT_STATEMENTS = "switch_case switch_default"

_ECMASCRIPT_NOT_STATEMENTS = "import_clause export_clause"

_TYPESCRIPT_STATEMENTS = (
    f"{_ECMASCRIPT_STATEMENTS} property_signature method_signature abstract_method_signature "
    "function_signature enum_assignment import_alias"
)

_TYPESCRIPT_NOT_STATEMENTS = (
    f"{_ECMASCRIPT_NOT_STATEMENTS} extends_clause extends_type_clause implements_clause "
    "import_require_clause mapped_type_clause"
)

_TYPESCRIPT_NEWER = {
    r"\b(?:interface|class|type)\s+\w+\s*<[^>{};]*?\b(?P<new>(?:in|out)(?:\s+out)?\s+)(?=\w)": " "
}

_C_STATEMENTS = (
    "preproc_call preproc_def preproc_function_def preproc_include preproc_if preproc_ifdef "
    "preproc_elif preproc_elifdef preproc_else enumerator"
)

# Not newer, but the compiler's or the preprocessor's own.
_C_NEWER = {
    r"\bgoto\s+(?P<new>\*\s*\w+(?:\[[^\]\n]*\])?)\s*;": "x",
    r"^[ \t]+(?P<new>[A-Z_][A-Z0-9_]*\((?:[^()\n]|\([^()\n]*\))*\))[ \t]*$": " ",
}

_QT = {
    r"^[ \t]*(?P<new>Q_[A-Z_]+(?:\([^)\n]*\))?)[ \t]*$": " ",
    r"\b(?:public|private|protected)(?P<new>\s+(?:slots|Q_SLOTS))\s*:": " ",
    r"^[ \t]*(?P<new>signals|Q_SIGNALS)\s*:": "public",
    r"\b(?P<new>emit|Q_EMIT)\s+\w": " ",
}

_C_DIRECTIVE = r"[ \t]*#"

_PREFORMATTED = """
((element (start_tag (tag_name) @_tag)) @verbatim (#match? @_tag "^(pre|textarea)$"))
((script_element) @verbatim)
((style_element) @verbatim)
"""

LANGUAGES: Mapping[str, Language] = {
    "python": Language(
        module="tree_sitter_python",
        queries="python",
        suffixes=".py .pyi .pyw",
        file_names="SConstruct SConscript wscript",
        interpreters="python pypy",
        line_comment="#",
        remarks="\"\"\" '''",
        wrappers="decorated_definition",
        imports="import_statement import_from_statement future_import_statement",
        not_statements="with_item with_clause for_in_clause if_clause",
        verbatim="string",
        compiles=_compiles_as_python,
        newer={r"\b(?:def|class|type)\s+\w+\[[^\]=]*(?P<new>=[^\],]*)": " "},  # PEP 696
        sorts_imports=True,
        imports_names=True,
        checks_arguments=True,
        defines_names_once=True,
    ),
    "javascript": Language(
        module="tree_sitter_javascript",
        queries="ecmascript javascript",
        suffixes=".js .mjs .cjs .jsx",
        interpreters="node",
        editor_ids="javascriptreact",
        line_comment="//",
        block_comment=_SLASHES,
        wrappers=_ECMASCRIPT_WRAPPERS,
        unnamed=_ECMASCRIPT_UNNAMED,
        imports=_ECMASCRIPT_IMPORTS,
        import_patterns=_ECMASCRIPT_IMPORT_PATTERNS,
        statements=_ECMASCRIPT_STATEMENTS,
        not_statements=_ECMASCRIPT_NOT_STATEMENTS,
        verbatim="template_string string",
        imports_names=True,
        checks_arguments=True,
        defines_names_once=True,
    ),
    "typescript": Language(
        module="tree_sitter_typescript",
        function="language_typescript",
        queries="ecmascript typescript",
        suffixes=".ts .mts .cts",
        interpreters="deno bun ts-node",
        line_comment="//",
        block_comment=_SLASHES,
        wrappers=f"{_ECMASCRIPT_WRAPPERS} ambient_declaration",
        unnamed=_ECMASCRIPT_UNNAMED,
        imports=f"{_ECMASCRIPT_IMPORTS} import_alias",
        import_patterns=_ECMASCRIPT_IMPORT_PATTERNS,
        statements=_TYPESCRIPT_STATEMENTS,
        not_statements=_TYPESCRIPT_NOT_STATEMENTS,
        verbatim="template_string string",
        newer=_TYPESCRIPT_NEWER,
        imports_names=True,
        checks_arguments=True,
    ),
    "tsx": Language(
        module="tree_sitter_typescript",
        function="language_tsx",
        queries="ecmascript typescript",
        suffixes=".tsx",
        editor_ids="typescriptreact",
        line_comment="//",
        block_comment=_SLASHES,
        wrappers=f"{_ECMASCRIPT_WRAPPERS} ambient_declaration",
        unnamed=_ECMASCRIPT_UNNAMED,
        imports=f"{_ECMASCRIPT_IMPORTS} import_alias",
        import_patterns=_ECMASCRIPT_IMPORT_PATTERNS,
        statements=_TYPESCRIPT_STATEMENTS,
        not_statements=_TYPESCRIPT_NOT_STATEMENTS,
        verbatim="template_string string",
        newer=_TYPESCRIPT_NEWER,
        imports_names=True,
        checks_arguments=True,
    ),
    "go": Language(
        module="tree_sitter_go",
        queries="go",
        suffixes=".go",
        line_comment="//",
        block_comment=_SLASHES,
        wrappers="type_declaration var_declaration",
        imports="import_declaration",
        statements="expression_case type_case default_case communication_case method_elem",
        not_statements=(
            "parameter_declaration variadic_parameter_declaration type_parameter_declaration "
            "for_clause range_clause"
        ),
        verbatim="raw_string_literal",
        newer={r"\b(?P<new>new)\((?!\s*[\w.*\[\]]+\s*\))": "neW"},  # new(x + 1) of Go 1.26
        sorts_imports=True,
        checks_arguments=True,
        defines_names_once=True,
    ),
    "rust": Language(
        module="tree_sitter_rust",
        queries="rust",
        suffixes=".rs",
        line_comment="//",
        block_comment=_SLASHES,
        imports="use_declaration extern_crate_declaration",
        statements="match_arm enum_variant macro_invocation",
        not_statements="where_clause use_as_clause",
        blocks="block",
        verbatim="string_literal raw_string_literal",
        sorts_imports=True,
        imports_names=True,
        checks_arguments=True,
    ),
    "java": Language(
        module="tree_sitter_java",
        queries="java",
        suffixes=".java",
        line_comment="//",
        block_comment=_SLASHES,
        wrappers="field_declaration local_variable_declaration",
        imports="import_declaration",
        statements=(
            "switch_block_statement_group switch_rule annotation marker_annotation enum_constant"
        ),
        verbatim="string_literal",
        sorts_imports=True,
        checks_arguments=True,
        has_implicit_self=True,
    ),
    "c": Language(
        module="tree_sitter_c",
        queries="c",
        suffixes=".c .h",
        line_comment="//",
        block_comment=_SLASHES,
        wrappers="type_definition declaration field_declaration",
        imports="preproc_include",
        import_parents={"preproc_ifdef": "", "preproc_if": ""},
        statements=_C_STATEMENTS,
        not_statements="parameter_declaration bitfield_clause",
        verbatim="string_literal",
        directive=_C_DIRECTIVE,
        newer=_C_NEWER,
        checks_arguments=True,
    ),
    "cpp": Language(
        module="tree_sitter_cpp",
        queries="c cpp",
        suffixes=".C .cc .cpp .cxx .c++ .hh .hpp .hxx .h++ .ipp .tpp .inl",
        editor_ids="c++",
        contested={".h": r"^\s*(?:class|namespace|template|using|public:|private:)\b"},
        line_comment="//",
        block_comment=_SLASHES,
        wrappers=(
            "type_definition declaration field_declaration template_declaration "
            "linkage_specification"
        ),
        imports="preproc_include using_declaration",
        import_parents={"preproc_ifdef": "", "preproc_if": ""},
        statements=f"{_C_STATEMENTS} template_instantiation field_initializer",
        not_statements=(
            "parameter_declaration optional_parameter_declaration variadic_parameter_declaration "
            "type_parameter_declaration optional_type_parameter_declaration "
            "variadic_type_parameter_declaration template_template_parameter_declaration "
            "bitfield_clause base_class_clause condition_clause requires_clause"
        ),
        verbatim="string_literal raw_string_literal",
        directive=_C_DIRECTIVE,
        newer=_C_NEWER | _QT,
        checks_arguments=True,
        has_implicit_self=True,
    ),
    "csharp": Language(
        module="tree_sitter_c_sharp",
        queries="csharp",
        suffixes=".cs .csx",
        editor_ids="cs",
        line_comment="//",
        block_comment=_SLASHES,
        wrappers=(
            "expression_statement global_statement variable_declaration field_declaration "
            "local_declaration_statement"
        ),
        imports="using_directive extern_alias_directive",
        import_parents={
            "namespace_declaration": "",
            "declaration_list": "",
            "file_scoped_namespace_declaration": "",
        },
        statements="attribute_list switch_section switch_expression_arm preproc_if preproc_else",
        not_statements=(
            "variable_declaration arrow_expression_clause interpolation_alignment_clause "
            "interpolation_format_clause type_parameter_constraints_clause catch_declaration "
            "positional_pattern_clause property_pattern_clause"
        ),
        verbatim="verbatim_string_literal raw_string_literal interpolated_string_expression",
        directive=r"[ \t]*#(?:if|elif|else|endif|pragma|nullable)\b",
        newer={
            r"(?P<new>\?)\.\w+(?:\.\w+)*\s*[-+*/|&^%]?=(?!=)": " ",
            r"\b(?P<new>extension\s*(?:<[^>\n]*>)?\s*\([^)\n]*\))(?=\s*\{)": "class E",
        },
        sorts_imports=True,
        checks_arguments=True,
        has_implicit_self=True,
    ),
    "ruby": Language(
        module="tree_sitter_ruby",
        queries="ruby",
        suffixes=".rb .rake .gemspec .ru",
        file_names="Gemfile Rakefile Guardfile Vagrantfile Podfile Fastfile",
        interpreters="ruby",
        line_comment="#",
        remarks="=begin",
        wrappers="argument_list call",  # private def name
        import_patterns={"call": r"(?:require|require_relative|load|autoload)\b"},
        statements="if unless while until for case when rescue ensure else elsif begin method "
        "singleton_method class singleton_class module",
        not_statements="heredoc_body",
        blocks="program body_statement block_body then else ensure begin do",
        verbatim="string heredoc_body",
        has_implicit_self=True,
        defines_names_once=True,
    ),
    "php": Language(
        module="tree_sitter_php",
        function="language_php",
        queries="php",
        suffixes=".php .phtml",
        interpreters="php",
        line_comment="//",
        block_comment=_SLASHES,
        wrappers="expression_statement",
        remarks="#",
        imports="namespace_use_declaration",
        import_patterns={"expression_statement": r"(?:require|include)(?:_once)?\b"},
        import_parents={"namespace_definition": "", "compound_statement": ""},
        statements="attribute_list match_conditional_expression match_default_expression enum_case",
        not_statements=(
            "base_clause class_interface_clause namespace_use_clause use_as_clause "
            "anonymous_function_use_clause use_instead_of_clause"
        ),
        verbatim="string encapsed_string heredoc nowdoc",
        checks_arguments=True,
        defines_names_once=True,
    ),
    "kotlin": Language(
        module="tree_sitter_kotlin",
        queries="kotlin",
        suffixes=".kt .kts",
        line_comment="//",
        block_comment=_SLASHES,
        imports="import",
        statements="when_entry catch_block finally_block annotation enum_entry getter setter "
        "if_expression when_expression try_expression companion_object primary_constructor "
        "secondary_constructor",
        not_statements="variable_declaration multi_variable_declaration",
        blocks="block source_file",
        verbatim="multiline_string_literal",
        newer={
            r"^[^\n{}]*?\S(?P<new>[ \t]+if[ \t]+[^\n{}]+?)(?=\s*->)": " ",
            r"\bfun\s+\w+\s*\([^()\n]*\)(?P<new>[ \t])\s*\}": ";",  # interface A { fun b() }
            r"\b(?P<new>context\s*\([^()]*:[^()]*\))(?=\s)": " ",
        },
        sorts_imports=True,
        checks_arguments=True,
        has_implicit_self=True,
    ),
    "lua": Language(
        module="tree_sitter_lua",
        queries="lua",
        suffixes=".lua .rockspec",
        interpreters="lua luajit",
        line_comment="--",
        block_comment=("--[[", "]]"),
        wrappers="variable_declaration",
        import_patterns={
            "variable_declaration": r"local\s[^=]*=\s*require\b",
            "assignment_statement": r"[^=]*=\s*require\b",
            "function_call": r"require\b",
        },
        not_statements=(
            "for_generic_clause for_numeric_clause implicit_variable_declaration "
            "function_definition"
        ),
        blocks="chunk block",
        verbatim="string",
        defines_names_once=True,
    ),
    "bash": Language(
        module="tree_sitter_bash",
        queries="bash",
        suffixes=".sh .bash .bats",
        file_names="PKGBUILD .bashrc .bash_profile .bash_aliases .profile",
        interpreters="sh bash dash ksh",
        editor_ids="shellscript sh",
        line_comment="#",
        import_patterns={"command": r"(?:source|\.)\s"},
        statements="command pipeline list variable_assignment declaration_command unset_command "
        "test_command case_item subshell",
        verbatim="string raw_string ansi_c_string",
        verbatim_lines="heredoc_body heredoc_end",
        newer={r"(?P<new>[!?*+@]\([^()\n;&]*\))": "x"},  # patterns of extglob
        defines_names_once=True,
    ),
    "swift": Language(
        module="tree_sitter_swift",
        queries="swift",
        body_field="body",
        suffixes=".swift",
        line_comment="//",
        block_comment=_SLASHES,
        imports="import_declaration",
        statements="switch_entry catch_block attribute enum_entry assignment",
        not_statements="throws_clause where_clause tuple_type_item capture_list_item",
        blocks="statements source_file",
        verbatim="multi_line_string_literal raw_string_literal",
        directive=r"[ \t]*#(?:if|elseif|else|endif)\b",
        has_implicit_self=True,
    ),
    "sql": Language(
        module="tree_sitter_sql",
        queries="sql",
        suffixes=".sql .ddl .dml .pgsql",
        editor_ids="postgres mysql plsql",
        line_comment="--",
        block_comment=_SLASHES,
        wrappers="statement",
        attached="marginalia",  # a block comment
        statements="marginalia cte",
        not_statements="keyword_statement keyword_comment",
        verbatim="literal",
        newer={r"^(?P<new>\\[a-z!?].*)$": " "},  # commands of psql
    ),
    "scala": Language(
        module="tree_sitter_scala",
        queries="scala",
        body_field="body",
        suffixes=".scala .sc .sbt",
        editor_ids="sbt",
        interpreters="scala",
        line_comment="//",
        block_comment=_SLASHES,
        attached="annotation",
        imports="import_declaration",
        import_parents={"package_clause": "", "template_body": ""},
        statements="case_clause annotation if_expression match_expression try_expression "
        "for_expression while_expression simple_enum_case full_enum_case",
        not_statements="package_clause extends_clause derives_clause enum_case_definitions",
        blocks="block template_body indented_block",
        verbatim="string interpolated_string",
        has_implicit_self=True,
    ),
    "powershell": Language(
        module="tree_sitter_powershell",
        queries="powershell",
        suffixes=".ps1 .psm1 .psd1",
        editor_ids="ps1",
        interpreters="pwsh powershell",
        line_comment="#",
        block_comment=("<#", "#>"),
        import_patterns={"pipeline": r"(?i:using\s+(?:module|namespace|assembly)|import-module)\b"},
        import_parents={"statement_list": ""},
        statements="class_method_definition class_property_definition enum_member",
        blocks="statement_list",
        verbatim="expandable_here_string_literal verbatim_here_string_characters "
        "expandable_string_literal verbatim_string_characters",
        defines_names_once=True,
    ),
    "dart": Language(
        module="tree_sitter_dart",
        queries="dart",
        suffixes=".dart",
        line_comment="//",
        block_comment=_SLASHES,
        wrappers="static_final_declaration_list initialized_variable_definition "
        "local_variable_declaration",
        attached="annotation",
        imports="import_or_export",
        statements="method_signature function_signature annotation switch_statement_case "
        "switch_statement_default enum_constant",
        not_statements="initialized_variable_definition static_final_declaration",
        verbatim="string_literal",
    ),
    "elixir": Language(
        module="tree_sitter_elixir",
        queries="elixir",
        suffixes=".ex .exs",
        interpreters="elixir",
        line_comment="#",
        attached="unary_operator",  # @doc and @spec
        import_patterns={"call": r"(?:import|alias|require|use)\b"},
        import_parents={"call": r"defmodule\b", "do_block": ""},
        statements="stab_clause else_block rescue_block catch_block after_block",
        blocks="source do_block else_block body",
        verbatim="string charlist sigil",
        has_clauses=True,
    ),
    "perl": Language(
        module="tree_sitter_perl",
        queries="perl",
        suffixes=".pl .pm .t .psgi",
        file_names="cpanfile Makefile.PL",
        interpreters="perl",
        line_comment="#",
        remarks="=pod =head1",
        wrappers="expression_statement",
        imports="use_statement",
        import_patterns={"expression_statement": r"require\b"},
        statements="elsif else pod",
        not_statements="variable_declaration",
        verbatim="string_literal interpolated_string_literal",
        verbatim_lines="heredoc_content pod",
        defines_names_once=True,
    ),
    "objective-c": Language(
        module="tree_sitter_objc",
        queries="c objc",
        suffixes=".m",
        editor_ids="objc objectivec",
        contested={".h": r"^\s*(?:@(?:interface|protocol|class|import)|#import)\b"},
        line_comment="//",
        block_comment=_SLASHES,
        wrappers="type_definition declaration field_declaration implementation_definition",
        imports="preproc_include module_import",
        import_parents={"preproc_ifdef": "", "preproc_if": ""},
        statements=f"{_C_STATEMENTS} class_interface class_implementation module_import",
        not_statements=(
            "parameter_declaration bitfield_clause implementation_definition struct_declaration"
        ),
        verbatim="string_literal",
        directive=_C_DIRECTIVE,
        newer=_C_NEWER,
    ),
    "zig": Language(
        module="tree_sitter_zig",
        queries="zig",
        suffixes=".zig .zon",
        line_comment="//",
        import_patterns={"variable_declaration": r"(?:pub\s+)?const\s+\w+\s*=\s*@import\("},
        statements="switch_case container_field",
        not_statements=(
            "struct_declaration union_declaration enum_declaration error_set_declaration"
        ),
        blocks="block",
    ),
    "haskell": Language(
        module="tree_sitter_haskell",
        queries="haskell",
        body_field="match",
        suffixes=".hs .hs-boot",
        interpreters="runhaskell runghc stack",
        line_comment="--",
        block_comment=("{-", "-}"),
        attached="haddock signature pragma",
        imports="import",
        import_parents={"imports": ""},
        statements="alternative guards haddock pragma import data_constructor",
        blocks="declarations class_declarations instance_declarations local_binds do",
        verbatim="string quasiquote_body",
        has_clauses=True,
    ),
    "ocaml": Language(
        module="tree_sitter_ocaml",
        function="language_ocaml",
        queries="ocaml",
        body_field="body",
        suffixes=".ml",
        interpreters="ocaml",
        block_comment=("(*", "*)"),
        wrappers="value_definition type_definition",
        imports="open_module",
        statements="match_case open_module include_module external if_expression let_binding "
        "floating_attribute item_attribute",
        not_statements="variant_declaration record_declaration",
        blocks="sequence_expression",
        verbatim="string quoted_string",
    ),
    "ocaml_interface": Language(
        module="tree_sitter_ocaml",
        function="language_ocaml_interface",
        queries="ocaml",
        suffixes=".mli",
        editor_ids="ocaml.interface ocamlinterface",
        block_comment=("(*", "*)"),
        wrappers="type_definition",
        imports="open_module",
        statements="value_specification open_module include_module_type external",
        not_statements="variant_declaration record_declaration",
    ),
    "json": Language(
        module="tree_sitter_json",
        suffixes=".json .jsonc .geojson .webmanifest",
        file_names=".babelrc .eslintrc .jshintrc composer.lock Pipfile.lock",
        editor_ids="jsonc",
        line_comment="//",
        block_comment=_SLASHES,
        statements="pair",
        is_code=False,
    ),
    "yaml": Language(
        module="tree_sitter_yaml",
        suffixes=".yaml .yml",
        file_names=".clang-format .clang-tidy",
        editor_ids="dockercompose ansible yaml.ansible yaml.docker-compose",
        line_comment="#",
        # Block scalars (|, >) are none: their margin moves with the key they belong to.
        statements="block_mapping_pair block_sequence_item flow_pair",
        is_code=False,
    ),
    "toml": Language(
        module="tree_sitter_toml",
        suffixes=".toml",
        file_names="Cargo.lock Pipfile poetry.lock uv.lock",
        line_comment="#",
        statements="pair table table_array_element",
        verbatim="string",
        is_code=False,
    ),
    "html": Language(
        module="tree_sitter_html",
        suffixes=".html .htm .xhtml",
        block_comment=("<!--", "-->"),
        statements="element script_element style_element doctype",
        verbatim_query=_PREFORMATTED,
        embedded={"script_element": "javascript", "style_element": "css"},
        is_code=False,
    ),
    "vue": Language(
        module="tree_sitter_html",
        suffixes=".vue",
        block_comment=("<!--", "-->"),
        statements="element script_element style_element",
        verbatim_query=_PREFORMATTED,
        embedded={"script_element": "javascript", "style_element": "css"},
    ),
    "svelte": Language(
        module="tree_sitter_svelte",
        suffixes=".svelte",
        block_comment=("<!--", "-->"),
        statements="element script_element style_element",
        verbatim_query=_PREFORMATTED,
        embedded={"script_element": "javascript", "style_element": "css"},
    ),
    "css": Language(
        module="tree_sitter_css",
        suffixes=".css",
        block_comment=_SLASHES,
        imports="import_statement",
        statements="rule_set at_rule",
        is_code=False,
    ),
    "xml": Language(
        module="tree_sitter_xml",
        function="language_xml",
        suffixes=(
            ".xml .xsd .xsl .xslt .svg .plist .csproj .fsproj .vbproj .props .targets .xaml .rss "
            ".atom .wsdl"
        ),
        editor_ids="xsl svg",
        block_comment=("<!--", "-->"),
        statements="element Comment PI doctypedecl",
        verbatim="CDSect",
        is_code=False,
    ),
    "makefile": Language(
        module="tree_sitter_make",
        suffixes=".mk .mak",
        file_names="Makefile makefile GNUmakefile Makefile.*",
        interpreters="make",
        editor_ids="make",
        line_comment="#",
        imports="include_directive",
        statements="rule variable_assignment conditional include_directive define_directive "
        "recipe_line elsif_directive else_directive shell_assignment export_directive",
        verbatim_lines="recipe_line raw_text",
        directive=r" *(?:if(?:n?eq|n?def)|else|endif|-?include|define|endef)\b",
        is_code=False,
    ),
    "dockerfile": Language(
        module="tree_sitter_dockerfile",
        suffixes=".dockerfile .containerfile",
        file_names="Dockerfile Containerfile Dockerfile.* Containerfile.*",
        editor_ids="docker containerfile",
        line_comment="#",
        statements="from_instruction run_instruction cmd_instruction label_instruction "
        "expose_instruction env_instruction add_instruction copy_instruction "
        "entrypoint_instruction volume_instruction user_instruction workdir_instruction "
        "arg_instruction onbuild_instruction stopsignal_instruction healthcheck_instruction "
        "shell_instruction maintainer_instruction",
        verbatim="heredoc_block",
        is_code=False,
    ),
    "hcl": Language(
        module="tree_sitter_hcl",
        suffixes=".hcl .tf .tfvars .nomad",
        editor_ids="terraform terraform-vars opentofu",
        line_comment="#",
        block_comment=_SLASHES,
        remarks="//",
        statements="block attribute",
        verbatim="heredoc_template",
        is_code=False,
    ),
    "markdown": Language(
        module="tree_sitter_markdown",
        suffixes=".md .markdown",
        block_comment=("<!--", "-->"),
        statements="atx_heading setext_heading paragraph fenced_code_block indented_code_block "
        "html_block pipe_table block_quote thematic_break link_reference_definition",
        verbatim_lines="fenced_code_block indented_code_block html_block minus_metadata "
        "plus_metadata",
        is_code=False,
        is_prose=True,
    ),
    "notebook": Language(
        module="tree_sitter_json",
        suffixes=".ipynb",
        editor_ids="jupyter",
        statements="pair",
        has_cells=True,
        is_code=False,
    ),
}


_STATEMENT = re.compile(
    r"(?:^|_)(?:statement|declaration|definition|clause|item|comment|decorator)$"
)


# What ends as a statement does, and is only what holds some, or nothing.
_NOT_STATEMENTS = frozenset({"body_statement", "compound_statement", "empty_statement"})


def _by_word(fact: Callable[[Language], str]) -> dict[str, str]:
    return {word: name for name, language in LANGUAGES.items() for word in fact(language).split()}


_BY_SUFFIX = _by_word(lambda language: language.suffixes)

_BY_FILE_NAME = _by_word(lambda language: language.file_names)

_FILE_NAME_GLOBS = tuple(name for name in _BY_FILE_NAME if "*" in name)

_BY_INTERPRETER = _by_word(lambda language: language.interpreters)

_EMBEDDED_NAME = re.compile(r"\b(?:lang|type)\s*=\s*[\"']?([\w/+.-]+)")

_BY_EDITOR_ID = _by_word(lambda language: language.editor_ids)


def language_of(path: str, text: str = "", editor_id: str = "") -> str | None:
    """Return the language of the file `path` that holds `text`, or None if it is none of ours.

    Told by what the editor calls it, else by the suffix, a well-known name or a `#!` line.
    """
    by_editor = _BY_EDITOR_ID.get(editor_id, editor_id)
    if by_editor in LANGUAGES:
        return by_editor
    name = PurePath(path).name
    suffix = PurePath(path).suffix
    for language, facts in LANGUAGES.items():
        pattern = facts.contested.get(suffix.lower())
        if pattern and re.search(pattern, text, re.MULTILINE):
            return language
    # ".C" is C++, ".c" is C: the exact suffix first.
    by_suffix = _BY_SUFFIX.get(suffix) or _BY_SUFFIX.get(suffix.lower())
    by_name = _BY_FILE_NAME.get(name) or next(
        (_BY_FILE_NAME[glob] for glob in _FILE_NAME_GLOBS if fnmatchcase(name, glob)), None
    )
    return by_name or by_suffix or _BY_INTERPRETER.get(_interpreter(text))


def embedded_language(node: str, tag: str, facts: Language) -> str | None:
    """Return the language of what `node` holds, whose opening tag is `tag`; None for no language.

    `lang="ts"` and `type="application/json"` name another one than the node's own.
    """
    named = _EMBEDDED_NAME.search(tag)
    if named is None:
        return facts.embedded[node]
    name = re.split(r"[/+]", named[1])[-1].lower()
    if name in ("module", "ecmascript"):
        return facts.embedded[node]
    known = _BY_EDITOR_ID.get(name) or _BY_SUFFIX.get(f".{name}")
    return name if name in LANGUAGES else known


def _interpreter(text: str) -> str:
    """Return the program a `#!` line names, without folder and version; "" if there is none."""
    if not text.startswith("#!"):
        return ""
    words = re.split(r"[\r\n]", text, maxsplit=1)[0][2:].split()
    programs = [PurePath(word).name for word in words if not word.startswith("-")]
    if programs[:1] == ["env"]:
        programs = [program for program in programs[1:] if "=" not in program]
    return re.sub(r"[\d.]+$", "", programs[0]) if programs else ""


def facts_of(language: str | None) -> Language:
    """Return what is known of `language`: nothing, where it is none of ours."""
    return LANGUAGES.get(language or "", _UNKNOWN)


_UNKNOWN = Language(module="", is_code=False)


def is_code(language: str | None) -> bool:
    """Return True for a language of ours that is neither data nor markup."""
    return facts_of(language).is_code


def comment(language: str | None, words: str) -> str:
    """Return `words` as a comment in `language`; unmarked where there is none or none is known."""
    facts = LANGUAGES.get(language or "")
    return facts.comment(words) if facts else words


def comment_openers(language: str | None) -> tuple[str, ...]:
    """Return what a comment or docstring may begin with; in any language where none is known."""
    known = [LANGUAGES[language]] if language and language in LANGUAGES else LANGUAGES.values()
    return tuple(dict.fromkeys(opener for facts in known for opener in facts.comment_openers()))


def compiles(text: str, language: str) -> bool:
    """Return False where the language's own compiler is at hand and refuses `text`."""
    check = LANGUAGES[language].compiles if language in LANGUAGES else None
    check_interruption()
    is_taken = check is None or check(text)
    check_interruption()
    return is_taken


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """A loaded grammar, with its queries compiled."""

    facts: Language
    language: tree_sitter.Language
    definitions: tree_sitter.Query
    problems: tree_sitter.Query
    prose: tree_sitter.Query
    statements: tree_sitter.Query
    not_statements: frozenset[str]
    verbatim: tree_sitter.Query
    directive: re.Pattern[bytes] | None
    newer: Mapping[re.Pattern[bytes], bytes]
    import_patterns: Mapping[str, re.Pattern[bytes]]
    import_parents: Mapping[str, re.Pattern[bytes]]
    wrappers: frozenset[str]
    attached: frozenset[str]
    unnamed: frozenset[str]


@cache
def grammar(language: str) -> Grammar:
    """Return the grammar of `language`, loaded at its first use.

    Raises InputError if it is not ours.
    """
    # Imported here, as the grammars are: the command line starts sooner without it.
    from importlib import resources

    facts = LANGUAGES.get(language)
    if facts is None:
        raise InputError(f"no grammar for {language!r}; use one of {', '.join(LANGUAGES)}")
    loaded = _load(getattr(import_module(facts.module), facts.function)())
    folder = resources.files("redraft.syntax") / "queries"
    definitions = "\n".join(
        (folder / f"{name}.scm").read_text(encoding="utf-8") for name in facts.queries.split()
    )
    return Grammar(
        facts=facts,
        language=loaded,
        definitions=tree_sitter.Query(loaded, definitions),
        problems=tree_sitter.Query(loaded, "(ERROR) @problem (MISSING) @problem"),
        prose=tree_sitter.Query(loaded, _prose_query(loaded)),
        statements=tree_sitter.Query(loaded, _statement_query(loaded, facts)),
        not_statements=_NOT_STATEMENTS | set(facts.not_statements.split()),
        verbatim=tree_sitter.Query(
            loaded,
            _any_of(facts.verbatim.split(), "verbatim")
            + _any_of(facts.verbatim_lines.split(), "lines")
            + facts.verbatim_query,
        ),
        directive=re.compile(f"^(?:{facts.directive})".encode(), re.MULTILINE)
        if facts.directive
        else None,
        newer={
            re.compile(pattern.encode(), re.MULTILINE): filler.encode()
            for pattern, filler in facts.newer.items()
        },
        import_patterns=_patterns(
            dict.fromkeys(facts.imports.split(), "") | dict(facts.import_patterns)
        ),
        import_parents=_patterns(facts.import_parents),
        wrappers=frozenset(facts.wrappers.split()),
        attached=frozenset(facts.attached.split()),
        unnamed=frozenset(facts.unnamed.split()),
    )


def _patterns(patterns: Mapping[str, str]) -> dict[str, re.Pattern[bytes]]:
    return {kind: re.compile(pattern.encode()) for kind, pattern in patterns.items()}


def _prose_query(loaded: tree_sitter.Language) -> str:
    """Return a query of comments, and of strings that are statements by themselves."""
    kinds = _list_named_kinds(loaded)
    comments = _any_of(sorted(kind for kind in kinds if "comment" in kind), "comment")
    has_strings = {"expression_statement", "string"} <= kinds
    return comments + ("(expression_statement (string) @string)" if has_strings else "")


def _statement_query(loaded: tree_sitter.Language, facts: Language) -> str:
    """Return a query of the node types that end as statements' do, and of the table's own."""
    kinds = set(filter(_STATEMENT.search, _list_named_kinds(loaded)))
    kinds |= set(facts.statements.split())
    in_blocks = "".join(f"({block} (_) @statement)\n" for block in facts.blocks.split())
    return _any_of(sorted(kinds), "statement") + in_blocks


def _list_named_kinds(loaded: tree_sitter.Language) -> set[str]:
    """Return the types of the nodes that a query may name."""
    return {
        kind
        for number in range(loaded.node_kind_count)
        if loaded.node_kind_is_named(number)
        and loaded.node_kind_is_visible(number)
        and (kind := loaded.node_kind_for_id(number))
    }


def _any_of(kinds: Sequence[str], capture: str) -> str:
    """Return a query that captures the nodes of these types; "" for none."""
    return f"[{' '.join(f'({kind})' for kind in kinds)}] @{capture}\n" if kinds else ""


def _load(pointer: object) -> tree_sitter.Language:
    # Some wheels still give a bare address, which tree-sitter takes with a deprecation warning.
    if isinstance(pointer, int):
        import ctypes

        new_capsule = ctypes.pythonapi.PyCapsule_New
        new_capsule.restype = ctypes.py_object
        new_capsule.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        pointer = new_capsule(pointer, b"tree_sitter.Language", None)
    return tree_sitter.Language(pointer)
