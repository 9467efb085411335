"""The table of languages: recognition, comments, and each one's own compiler."""

import pytest

from redraft.syntax import LANGUAGES, comment, comment_openers, compiles, language_of
from redraft.syntax.languages import grammar


@pytest.mark.parametrize(
    ("path", "text", "language"),
    [
        ("a/b.py", "", "python"),
        ("B.PY", "", "python"),
        ("a.jsx", "", "javascript"),
        ("a.d.ts", "", "typescript"),
        ("a.tsx", "", "tsx"),
        ("a.h", "int f(void);\n", "c"),
        ("a.h", "namespace a {}\n", "cpp"),
        ("a.h", "#import <A.h>\n@interface A\n@end\n", "objective-c"),
        ("a.C", "", "cpp"),
        ("Makefile.PL", "", "perl"),
        ("a.kts", "", "kotlin"),
        ("Rakefile", "", "ruby"),
        ("home/.bashrc", "", "bash"),
        ("run", "#!/bin/sh\n", "bash"),
        ("run", "#!/usr/bin/env -S FOO=1 python3.11 -u\r\n", "python"),
        ("run", "#! /usr/bin/node", "javascript"),
        ("run", "#!\n", None),
        ("run", "#!/usr/bin/env\n", None),
        ("run", "#!/usr/bin/tclsh\n", None),
        ("notes.txt", "# x\n", None),
        ("Makefile", "", "makefile"),
        ("Makefile.am", "", "makefile"),
        ("Dockerfile.dev", "", "dockerfile"),
        ("Gemfile.lock", "", None),
        ("Cargo.lock", "", "toml"),
        ("main.tf", "", "hcl"),
        ("", "", None),
    ],
)
def test_the_language_of_a_file(path, text, language):
    assert language_of(path, text) == language


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_node_types_of_the_table_are_the_grammars(language):
    facts, loaded = LANGUAGES[language], grammar(language).language
    kinds = {loaded.node_kind_for_id(number) for number in range(loaded.node_kind_count)}
    words = f"{facts.wrappers} {facts.attached} {facts.imports} {facts.not_statements}".split()
    words += [*facts.import_patterns, *facts.import_parents, *facts.embedded]
    assert set(words) <= kinds


def test_no_two_languages_claim_one_name():
    for fact in ("suffixes", "file_names", "interpreters", "editor_ids"):
        words = [word for facts in LANGUAGES.values() for word in getattr(facts, fact).split()]
        assert len(words) == len(set(words)), fact


@pytest.mark.parametrize(
    ("editor_id", "language"),
    [("typescriptreact", "tsx"), ("shellscript", "bash"), ("cs", "csharp"), ("swift", "swift"),
     ("plaintext", "python"), ("", "python")],
)  # fmt: skip
def test_what_the_editor_calls_a_language_comes_first(editor_id, language):
    assert language_of("a.py", "", editor_id) == language


@pytest.mark.parametrize(
    ("language", "text"),
    [("sql", "-- x"), ("lua", "-- x"), ("bash", "# x"), ("swift", "// x"), (None, "x"),
     ("cobol", "x")],
)  # fmt: skip
def test_comments_are_the_languages_own(language, text):
    assert comment(language, "x") == text


def test_an_unknown_language_may_open_a_comment_in_any_way():
    assert {"#", "//", "--", '"""'} <= set(comment_openers(None))


@pytest.mark.parametrize(
    ("code", "expected"),
    [("x = 1", True), ("x = ", False), ("return 1", False), ("\0", False), ("'\\d'", True)],
)
def test_python_itself_says_what_is_python(code, expected):
    assert compiles(code, "python") is expected


@pytest.mark.parametrize(
    "text",
    [
        "def f[T](x: T): pass\n",
        "class A[T = int]: pass\n",
        "type A = int\n",
        "x = f'{a['b']}'\n",
        't"{x}"\n',
        "try:\n    pass\nexcept A, B:\n    pass\n",
    ],
)
def test_python_newer_than_ours_is_not_refused(text):
    assert compiles(text, "python")


def test_a_language_without_a_compiler_takes_everything():
    assert compiles("]][", "go")
