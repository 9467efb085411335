"""What a target takes in, and what it leaves to its neighbours."""

import pytest

from redraft.syntax import target_named


@pytest.mark.parametrize(
    ("language", "text", "name", "span"),
    [
        pytest.param(
            "python",
            "x = 1  # one\n@a\n# why\n@b(\n  c)\ndef f():\n  pass\n\n\ny = 2\n",
            "f",
            "@a\n# why\n@b(\n  c)\ndef f():\n  pass",
            id="decorators, a comment between them, not the comment of the line above",
        ),
        pytest.param(
            "python",
            "# far\n\n# near\ndef f(): pass\n",
            "f",
            "# near\ndef f(): pass",
            id="a comment after a blank line is not attached",
        ),
        pytest.param(
            "python",
            "#!/usr/bin/python\ndef f(): pass\n",
            "f",
            "def f(): pass",
            id="a #! line belongs to the file",
        ),
        pytest.param(
            "python",
            "class A:\n    # first\n    def f(self): pass\n",
            "f",
            "    # first\n    def f(self): pass",
            id="a comment before the first method",
        ),
        pytest.param(
            "python",
            "if x: pass\nelse:\n\tdef f(): return '漢😀'\n",
            "f",
            "\tdef f(): return '漢😀'",
            id="an indented function among characters outside ASCII",
        ),
        pytest.param(
            "javascript",
            "a(); /** doc */ function f() {} b();\n",
            "f",
            "/** doc */ function f() {}",
            id="code before it on its line",
        ),
        pytest.param(
            "javascript",
            "a(); // not mine\nfunction f() {}\n",
            "f",
            "function f() {}",
            id="a comment behind other code is not attached",
        ),
        pytest.param(
            "javascript",
            "export const f = async () => {\n};\n",
            "f",
            "export const f = async () => {\n};",
            id="the whole statement of an arrow function",
        ),
        pytest.param(
            "javascript",
            "const a = 1, f = () => 2, b = 3;",
            "f",
            "f = () => 2",
            id="one of several declarations",
        ),
        pytest.param(
            "javascript",
            "export default () => {\n};\n",
            "default",
            "export default () => {\n};",
            id="a nameless default export",
        ),
        pytest.param(
            "javascript",
            "const B = memo((p) => {\n});\n",
            "B",
            "const B = memo((p) => {\n});",
            id="a wrapped component",
        ),
        pytest.param(
            "typescript",
            "class A {\n  @d()\n  /** doc */\n  @e\n  private async f<T>(): Promise<T> {}\n}",
            "A.f",
            "  @d()\n  /** doc */\n  @e\n  private async f<T>(): Promise<T> {}",
            id="decorators of a method",
        ),
        pytest.param(
            "rust",
            "//! file\n#[a] // note\n#[b]\n/// doc\npub fn f() {}\n",
            "f",
            "#[a] // note\n#[b]\n/// doc\npub fn f() {}",
            id="attributes and doc comments, not the file's",
        ),
        pytest.param(
            "go",
            "package p\n\n// T is.\ntype T struct{}\n",
            "T",
            "// T is.\ntype T struct{}",
            id="a Go type with its keyword",
        ),
        pytest.param(
            "cpp",
            "/// doc\ntemplate <class T>\nstruct [[nodiscard]] S {\n};\n",
            "S",
            "/// doc\ntemplate <class T>\nstruct [[nodiscard]] S {\n};",
            id="a template with its semicolon",
        ),
        pytest.param(
            "cpp",
            "struct A { explicit operator bool() const; bool operator()(int) { return 1; } };",
            "A.operator()",
            "bool operator()(int) { return 1; }",
            id="an operator",
        ),
        pytest.param(
            "c",
            "static int *(*f)(void) { }\n",
            "f",
            "static int *(*f)(void) { }",
            id="a declarator",
        ),
        pytest.param(
            "java",
            "class A {\n  /** doc */\n  @Override public <T> T f() { return null; }\n}\n",
            "f",
            "  /** doc */\n  @Override public <T> T f() { return null; }",
            id="an annotation",
        ),
        pytest.param(
            "ruby",
            "class A\n  # doc\n  private def f = 1\nend\n",
            "A#f",
            "  # doc\n  private def f = 1",
            id="a private method",
        ),
        pytest.param(
            "php",
            "<?php\n/** doc */\n#[A]\nfunction f() {}\n",
            "f",
            "/** doc */\n#[A]\nfunction f() {}",
            id="a PHP attribute",
        ),
        pytest.param(
            "lua",
            "local x = 1\n--- doc\nlocal f = function() end\n",
            "f",
            "--- doc\nlocal f = function() end",
            id="a local function value",
        ),
        pytest.param(
            "bash",
            "#!/bin/sh\nf() { :; } # after\n",
            "f",
            "f() { :; }",
            id="a shell function below a #! line",
        ),
        pytest.param(
            "python",
            "def broken(:\n    x = 1\n\ndef f():\n    return 1\n",
            "f",
            "def f():\n    return 1",
            id="a function behind a syntax error",
        ),
    ],
)
def test_a_span_takes_in_what_belongs_to_the_target(language, text, name, span):
    assert target_named(text, language, name).span.of(text) == span
