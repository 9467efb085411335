"""Problems, verbatim stretches, imports and statements of small texts."""

import argparse
import ast
import dataclasses
import difflib
import inspect
import io
import json
import logging
import optparse
import sys
import textwrap
import tokenize

import pytest

from redraft.errors import InputError
from redraft.syntax import (
    import_statements,
    parse_errors,
    parse_problems,
    prose,
    statements,
    targets,
    verbatim_lines,
    verbatim_spans,
)
from redraft.text.lines import LineIndex


def texts(spans, text):
    return [span.of(text) for span in spans]


@pytest.mark.parametrize(
    ("language", "text", "found"),
    [
        ("python", "x = 1\n", []),
        ("python", "é = (1\ny = 2\n", ["= (1\ny"]),
        ("c", "int f() { return 1 }", [""]),
        ("go", "package a\nfunc f() {\n", ["{"]),
    ],
)
def test_problems_are_places(language, text, found):
    assert texts(parse_problems(text, language), text) == found


@pytest.mark.parametrize(
    ("language", "good", "bad"),
    [
        ("json", '{"a": [1, 2]}', '{"a": [1 2]}'),
        ("yaml", "a:\n  - b\n", "a: [b\n"),
        ("toml", "[a]\nb = 1\n", "[a]\nb =\n"),
        ("html", "<p><b>a</b></p>", "<p><b>a</b"),
        ("html", "<script>f(1)</script>", "<script>f(1</script>"),
        ("html", "<script type='text/x'>f(1</script>", "<script type='module'>f(1</script>"),
        ("html", "<style>a { b: c }</style>", "<style>a { b: c</style>"),
        ("vue", "<script lang=ts>let a: T;</script>", "<script>let a: T;</script>"),
        ("svelte", "{#if a}<p/>{/if}", "{#if a}<p/>"),
        ("css", "a { b: c }", "a { b: c"),
        ("xml", "<a><b/></a>", "<a><b></a>"),
        ("makefile", "all: a\n\tcc\n", "ifdef A\nall: a\n\tcc\n"),
        ("dockerfile", "FROM a\nRUN b\n", "FROM a\nFOO b\n"),
        ("hcl", 'a "b" {\n  c = 1\n}\n', 'a "b" {\n  c = 1\n'),
        ("sql", "SELECT a FROM b;", "SELECT a FROM (b;"),
    ],
)
def test_data_and_markup_have_a_parse_guard(language, good, bad):
    assert parse_problems(good, language) == ()
    assert parse_problems(bad, language)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("python", "def f[T = int, U = str](x: T) -> T:\n    return x\n"),
        ("typescript", "interface B<in out T, out U> { a: T }\n"),
        ("go", "package a\n\nvar b = new(c + 1)\n"),
        ("c", "void f(void) { goto *t[1]; }\n"),
        ("c", "int f(int x) {\n    DEFER(free(x))\n    return x;\n}\n"),
        ("cpp", "class W : public A {\n  Q_OBJECT\n public slots:\n  void a();\n};\n"),
        ("cpp", "class W {\n signals:\n  void b();\n};\nvoid f() { emit b(); }\n"),
        ("csharp", "class A { void F(B x) { x?.Y = 1; } }\n"),
        ("csharp", "static class A { extension(B b) { int C() { return 1; } } }\n"),
        ("kotlin", "fun f(x: Any) = when (x) {\n    is Int if x > 1 -> x\n    else -> 0\n}\n"),
        ("kotlin", "context(a: A)\nfun f() { b() }\n"),
        ("kotlin", "interface A { fun b() }\n"),
        ("bash", "rm -- !(a|b).txt\n"),
        ("sql", "\\echo one (\nSELECT 1;\n"),
    ],
)  # fmt: skip
def test_syntax_newer_than_the_grammar_is_no_problem(language, text):
    assert parse_problems(text, language) == ()
    for problem in parse_problems(text + ")\n", language):
        assert problem.stop <= len(text) + 2


def test_names_and_statements_are_read_from_the_text_itself():
    text = "def f[T = int](é: T):\n    return é\n"
    assert [target.name for target in targets(text, "python")] == ["f"]
    assert statements(text, "python")[0].span.of(text) == text.strip()


def notebook(*cells, language="python"):
    listed = [{"cell_type": kind, "source": source} for kind, source in cells]
    return json.dumps({"cells": listed, "metadata": {"language_info": {"name": language}}})


@pytest.mark.parametrize(
    ("text", "n_problems"),
    [
        pytest.param(notebook(("code", ["def f():\n", "    return 1"])), 0, id="good code"),
        pytest.param(notebook(("code", "x = 1"), ("code", "def f(:\n  1")), 1, id="a broken cell"),
        pytest.param(notebook(("markdown", "def f(:")), 0, id="prose is no code"),
        pytest.param(notebook(("code", "%time x\n!ls (\nf?")), 0, id="magics"),
        pytest.param(notebook(("code", "%%bash\nls (")), 0, id="a cell of another program"),
        pytest.param(notebook(("code", "fn f(")), 1, id="Python by its name"),
        pytest.param(notebook(("code", "fn f(), "), language="rust"), 1, id="Rust"),
        pytest.param(notebook(("code", "f(,"), language="cobol"), 0, id="no language of ours"),
        pytest.param('{"cells": 1, "metadata": []}', 0, id="no notebook"),
        pytest.param('{"cells": [}', 1, id="no JSON"),
    ],
)
def test_a_notebook_is_json_and_the_code_of_its_cells(text, n_problems):
    assert min(len(parse_problems(text, "notebook")), 1) == n_problems


def test_a_problem_of_a_cell_is_where_its_source_is():
    text = notebook(("code", "é = 1"), ("code", ["def f(:\n", "  1"]))
    (place,) = set(parse_problems(text, "notebook"))
    assert place.of(text) == '["def f(:\\n", "  1"]'


@pytest.mark.parametrize(
    ("language", "text", "spans", "lines"),
    [
        pytest.param(
            "python",
            'def f():\n    """One.\n\n      Two.\n    """\n    x = "a"\n',
            ['"""One.\n\n      Two.\n    """'],
            [2, 3, 4],
            id="a docstring, not a short string",
        ),
        pytest.param(
            "python", "x = ('a'\n     'b')\n", [], [], id="strings next to each other on two lines"
        ),
        pytest.param(
            "javascript",
            "x = `é ${f(`a\n  b`)}\n  c`;\n",
            ["`é ${f(`a\n  b`)}\n  c`"],
            [1, 2],
            id="a template in a template",
        ),
        pytest.param(
            "bash",
            "if x; then\n  cat <<-E | sort\n\ta\n\tE\nfi\n",
            ["\ta\n\tE"],
            [2, 3],
            id="a heredoc with its end, not the line that opens it",
        ),
        pytest.param(
            "ruby",
            "def f\n  a <<~X, <<-Y\n    x\n  X\n    y\n  Y\nend\n",
            ["\n    x\n  X\n    y\n  Y"],
            [2, 3, 4, 5],
            id="two heredocs of one line",
        ),
        pytest.param(
            "php", "<?php\n$x = <<<E\n  a\n  E;\n", ["<<<E\n  a\n  E"], [2, 3], id="PHP's heredoc"
        ),
        pytest.param(
            "c",
            'void f() {\n#ifdef A\r\n  g("#x");\n#define M(a) \\\n  a\n/*\n#no\n*/\n#endif\n}\n',
            ["#ifdef A", "#define M(a) \\\n  a", "#endif"],
            [1, 3, 4, 8],
            id="preprocessor lines and those they go on in",
        ),
        pytest.param(
            "rust", 'f("a\n  b", r#"c\n"#, "d");\n', ['"a\n  b"', 'r#"c\n"#'], [1, 2], id="Rust"
        ),
        pytest.param(
            "csharp",
            'class A { string x = @"a\n b"; string y = $"""\n  {z}\n  """; }\n',
            ['@"a\n b"', '$"""\n  {z}\n  """'],
            [1, 2, 3],
            id="verbatim and raw strings",
        ),
        pytest.param(
            "makefile",
            "all:\n\tcc \\\n\t  x\nifdef A\nB = 1\nendif\n",
            ["\tcc \\\n\t  x\nifdef A", "endif"],
            [1, 2, 3, 5],
            id="recipes and directives",
        ),
        pytest.param(
            "markdown",
            "- a\n\n```c\nint x;\n```\n\n    code\n",
            ["```c\nint x;\n```", "    code"],
            [2, 3, 4, 6],
            id="code in Markdown",
        ),
        pytest.param(
            "html",
            "<p>\n a</p>\n<pre>\n b\n</pre>\n<script>\n  c(`\n`)\n</script>\n"
            "<script type=text/x>\n d\n</script>\n",
            ["<pre>\n b\n</pre>", "`\n`", "<script type=text/x>\n d\n</script>"],
            [3, 4, 7, 10, 11],
            id="pre and what a script holds that is no JavaScript",
        ),
        pytest.param("yaml", "a: |\n  b\n    c\n", [], [], id="a block scalar moves with its key"),
        pytest.param("go", "var x = `a\rb`\r", ["`a\rb`"], [1], id="lines that end in CR"),
    ],
)
def test_white_space_that_is_content(language, text, spans, lines):
    assert texts(verbatim_spans(text, language), text) == spans
    assert sorted(verbatim_lines(text, language)) == lines


@pytest.mark.parametrize(
    ("language", "text", "found"),
    [
        pytest.param(
            "python",
            "# é\nfrom __future__ import a\nimport b, c  # why\nfrom d import (\n  e,\n)\n"
            "try:\n    import f\nexcept E:\n    pass\ndef g():\n    import h\n",
            ["from __future__ import a", "import b, c", "from d import (\n  e,\n)"],
            id="Python, top level only",
        ),
        pytest.param(
            "javascript",
            'import a from "a";\nconst { b } = require("b");\nconst c = load("c");\n'
            "require('d');\nexport * from 'e';\n",
            ['import a from "a";', 'const { b } = require("b");', "require('d');"],
            id="import and require",
        ),
        pytest.param(
            "c",
            "// A\n#ifndef A_H\n#define A_H\n#include <a.h>\n#ifdef B\n#include <b.h>\n#endif\n#endif\n",
            ["#include <a.h>"],
            id="in an include guard, not in an #ifdef",
        ),
        pytest.param(
            "cpp",
            "#pragma once\n#include <a>\nusing std::b;\nnamespace c { using d::e; }\n",
            ["#include <a>", "using std::b;"],
            id="include and using",
        ),
        pytest.param(
            "csharp",
            "using A;\nnamespace B\n{\n  using C;\n  class D { }\n}\n",
            ["using A;", "using C;"],
            id="in a namespace",
        ),
        pytest.param(
            "ruby",
            "require 'a'\nrequire_relative('b')\nputs 'c'\ndef f; require 'd'; end\n",
            ["require 'a'", "require_relative('b')"],
            id="Ruby's require",
        ),
        pytest.param(
            "php",
            "<?php\nnamespace A;\nuse B\\C;\nrequire_once 'd.php';\nf();\n",
            ["use B\\C;", "require_once 'd.php';"],
            id="PHP's use and require",
        ),
        pytest.param(
            "go", 'package a\nimport (\n\t"b"\n)\n', ['import (\n\t"b"\n)'], id="a block of imports"
        ),
        pytest.param(
            "lua",
            'local a = require "a"\nrequire("b")\nlocal c = 1\n',
            ['local a = require "a"', 'require("b")'],
            id="Lua's require",
        ),
        pytest.param(
            "bash", "source a\n. ./b\nrun c\n", ["source a", ". ./b"], id="source and its dot"
        ),
        pytest.param(
            "swift", "@testable import A\nlet b = 1\n", ["@testable import A"], id="with attributes"
        ),
        pytest.param("sql", "SELECT 1;\n", [], id="a language without imports"),
        pytest.param(
            "vue",
            "<template/>\n<script lang='ts'>\nimport a from 'a';\n</script>\n",
            ["import a from 'a';"],
            id="of a script in a page",
        ),
    ],
)
def test_imports_of_the_top_level(language, text, found):
    assert texts(import_statements(text, language), text) == found


@pytest.mark.parametrize(
    ("language", "text", "found"),
    [
        pytest.param(
            "python",
            "@é\ndef f(x):\n    # why\n    if x:\n        return [y for y in x if y]\n"
            "    elif g:\n        pass\n    else:\n        raise E\n",
            "decorated_definition decorator function_definition comment if_statement "
            "return_statement elif_clause pass_statement else_clause raise_statement",
            id="decorators, comments and branches",
        ),
        pytest.param(
            "javascript",
            "switch (a) { case 1: f(); break; default: g(); }\ntry { h() } catch (e) {}\n",
            "switch_statement switch_case expression_statement break_statement switch_default "
            "expression_statement try_statement expression_statement catch_clause",
            id="cases and catch",
        ),
        pytest.param(
            "rust",
            "fn f() -> u8 { let x = g(); match x { 1 => 2, _ => 3 } }",
            "function_item let_declaration expression_statement match_arm match_arm",
            id="match arms",
        ),
        pytest.param(
            "ruby",
            "def f\n  a = 1\n  if a then b else c end\n  g\nend\n",
            "method assignment if identifier else identifier identifier",
            id="expressions where statements stand",
        ),
    ],
)
def test_statements_with_their_kinds(language, text, found):
    assert [statement.kind for statement in statements(text, language)] == found.split()


def test_a_statement_has_its_place():
    text = "é = 1\nif é:\n    f(\n        é\n    )\n"
    assert texts((s.span for s in statements(text, "python")), text) == [
        "é = 1",
        "if é:\n    f(\n        é\n    )",
        "f(\n        é\n    )",
    ]


@pytest.mark.parametrize(
    "function", [parse_problems, verbatim_spans, verbatim_lines, import_statements, statements]
)
def test_an_unknown_language_is_refused(function):
    with pytest.raises(InputError, match="no grammar for 'cobol'"):
        function("", "cobol")


@pytest.mark.parametrize(
    ("language", "text", "found"),
    [
        ("python", "é = 1  # one\n# two\ndef f():\n    'three'\n    x = 'four'\n",
         ["# one", "# two", "'three'"]),
        ("javascript", "// one\nlet x = 'two' /* three */\n", ["// one", "/* three */"]),
        ("go", "package p // one\n", ["// one"]),
    ],
)  # fmt: skip
def test_prose_is_comments_and_docstrings(language, text, found):
    assert [span.of(text) for span in prose(text, language)] == found


@pytest.mark.parametrize(
    "module", [argparse, ast, dataclasses, difflib, logging, optparse, textwrap]
)
class TestAgainstPythonsOwnParser:
    """The standard library's modules, as `ast` and `tokenize` see them."""

    def test_imports(self, module):
        text = inspect.getsource(module)
        index = LineIndex(text)
        imports = [
            node for node in ast.parse(text).body if isinstance(node, ast.Import | ast.ImportFrom)
        ]
        spans = import_statements(text, "python")
        assert [index.line_at(span.start) for span in spans] == [n.lineno - 1 for n in imports]
        assert [index.line_at(span.stop) for span in spans] == [n.end_lineno - 1 for n in imports]

    def test_every_statement_is_one(self, module):
        text = inspect.getsource(module)
        index = LineIndex(text)
        places = {index.position(s.span.start, "utf-8") for s in statements(text, "python")}
        nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.stmt)]
        missing = [node for node in nodes if (node.lineno - 1, node.col_offset) not in places]
        assert nodes
        assert not missing, [ast.unparse(node) for node in missing]

    def test_lines_inside_of_strings(self, module):
        text = inspect.getsource(module)
        inside = set()
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.STRING:
                inside |= set(range(token.start[0], token.end[0]))
        assert inside <= verbatim_lines(text, "python")
        assert verbatim_lines(text, "python") == inside or sys.version_info >= (3, 12)  # f-strings


SPLIT = """int open_it(int a)
{
#ifdef A
    if (a) {
#else
    if (!a) {
#endif
        b();
    }
    return a;
}

int f(int a)
{
    return a;
}
"""


def test_a_brace_in_each_branch_of_the_preprocessor_opens_one_block():
    assert not parse_errors(SPLIT, "c")
    assert [target.name for target in targets(SPLIT, "c")] == ["open_it", "f"]


@pytest.mark.parametrize("line", ["if (a) {", "if (!a) {", "b();"])
def test_what_breaks_in_one_branch_is_an_error(line):
    assert parse_errors(SPLIT.replace(line, f"{line[:-1]}((;"), "c")


def test_a_string_that_computes_something_is_no_docstring():
    assert not prose("def f(y):\n    f'y:{yield y}'\n", "python")
