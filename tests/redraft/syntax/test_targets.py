from pathlib import Path

import pytest

from redraft.errors import InputError
from redraft.syntax import (
    bodies,
    language_of,
    parse_errors,
    target_at,
    target_named,
    targets,
)

SAMPLES = Path(__file__).parents[3] / "fixtures" / "languages"


def sample(name):
    text = (SAMPLES / name).read_bytes().decode()
    language = language_of(name, text)
    assert language is not None
    return text, language


NESTED = """\
import x

class A:
    y = 1

    # doc
    @d
    def f(self):
        def inner():
            return 1

        return inner

    class B:
        z = 2

def f(): return 0
"""


@pytest.mark.parametrize(
    ("line", "name"),
    [
        pytest.param(2, "A", id="the head of a class"),
        pytest.param(4, "A", id="a blank line of a class"),
        pytest.param(5, "A.f", id="a comment above a method"),
        pytest.param(6, "A.f", id="a decorator"),
        pytest.param(8, "A.f.inner", id="a function in a function"),
        pytest.param(10, "A.f", id="a blank line of a method"),
        pytest.param(14, "A.B", id="a nested class"),
        pytest.param(16, "f", id="a function of one line"),
    ],
)
def test_the_innermost_target_around_a_line(line, name):
    assert target_at(NESTED, "python", line).name == name


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param(NESTED, 0, id="an import"),
        pytest.param(NESTED, 99, id="a line past the end"),
        pytest.param("", 0, id="an empty file"),
    ],
)
def test_a_line_outside_everything_asks_for_a_range(text, line):
    with pytest.raises(InputError, match=f"line {line + 1} is in no function or class; give a ra"):
        target_at(text, "python", line)


@pytest.mark.parametrize(
    ("language", "text", "at", "name"),
    [
        pytest.param("javascript", "const a=()=>1;|const b=()=>2;\n", 0, "b", id="the second"),
        pytest.param("javascript", "const a=(|)=>1;const b=()=>2;\n", 0, "a", id="the first"),
        pytest.param("javascript", "const a=()=>1;const b=()=>2;|\n", 0, "b", id="the line's end"),
        pytest.param(
            "javascript", "// 😀😀\nf = () => { a = '😀'; |}; g = () => 1", 1, "f", id="code points"
        ),
        pytest.param(
            "javascript",
            "function f() {\n  |if (a) b = () => {\n    a;\n  };\n}\n",
            1,
            "f.b",
            id="a function that begins on the line, behind the cursor",
        ),
        pytest.param(
            "javascript",
            "function f() {\n  a = () => 1; |b = () => 2;\n}\n",
            1,
            "f.b",
            id="two in a third",
        ),
        pytest.param("java", "class A { void f() {} |void g() {} }\n", 0, "A.g", id="methods"),
        pytest.param(
            "javascript", "const a=()=>{\n}; |const b=()=>{\n};\n", 1, "b", id="ends and begins"
        ),
    ],
)
def test_the_column_decides_between_functions_of_one_line(language, text, at, name):
    before, after = text.split("|")
    column = len(before) - (before.rfind("\n") + 1)
    assert target_at(before + after, language, at, column).name == name


@pytest.mark.parametrize(
    ("language", "text", "names"),
    [
        pytest.param(
            "javascript",
            "describe('a queue', () => {\n  beforeEach(() => { a; });\n"
            '  it("holds: 1.2 \'x\'", async function () { b; });\n  it.each([1])(`n`, (n) => {});\n});\n'
            "app.get('/users/:id', auth, (req, res) => { c; });\nitems.map((x) => x);\n",
            ["describe a queue", "describe a queue.beforeEach", "describe a queue.it holds: 1.2 'x'",
             "describe a queue.it.each n", "app.get /users/:id"],
            id="tests and routes",
        ),
        pytest.param(
            "ruby",
            'RSpec.describe Shop::Cart do\n  it "adds" do\n    a\n  end\nend\ntask :build do\nend\n'
            'File.open("x") { |f| f }\n',
            ["describe Shop.Cart", "describe Shop.Cart.it adds", "task.build"],
            id="RSpec and rake",
        ),
        pytest.param(
            "csharp",
            "class A { int this[int i] { get => 1; } event B C { add { } remove { } }\n"
            "  public static implicit operator int(A a) => 1; F g = x => { return x; }; }\n",
            ["A", "A.this", "A.C", "A.operator int", "A.g"],
            id="indexers, events, operators and lambdas",
        ),
        pytest.param(
            "go",
            'package a\nfunc TestF(t *T) {\n\tt.Run("one", func(t *T) { g() })\n'
            "\th := func() {}\n}\n",
            ["TestF", "TestF.t.Run one", "TestF.h"],
            id="subtests and closures",
        ),
        pytest.param(
            "php",
            "<?php\n$f = function () { };\nRoute::get('/a', fn () => 1);\n",
            ["f", "Route get /a"],
            id="closures and routes",
        ),
    ],
)  # fmt: skip
def test_callbacks_and_functions_in_variables_are_targets(language, text, names):
    assert [target.name for target in targets(text, language)] == names


def test_a_callback_is_found_by_its_name_as_written():
    text = "app.get('/users/:id.json', (req, res) => { a; });\n"
    for name in ("app.get /users/:id.json", "get /users/:id.json"):
        assert target_named(text, "javascript", name).span.of(text) == text.strip()


def test_a_function_that_ends_in_a_class_wins_over_the_class():
    text = "def f():\n    class A:\n        x = 1\n"
    assert target_at(text, "python", 2).name == "f"


def test_a_namespace_is_never_the_target_of_a_line():
    with pytest.raises(InputError, match="line 2 is in no function"):
        target_at("namespace a {\nint x;\n}\n", "cpp", 1)


@pytest.mark.parametrize(
    ("file", "name", "found"),
    [
        pytest.param("sample.py", "euros", "Price.euros", id="the last part"),
        pytest.param("sample.py", "Error.hint", "Price.Error.hint", id="the last two parts"),
        pytest.param("sample.cpp", "geo::Stack<T>::push", "geo.Stack.push", id="as C++ writes it"),
        pytest.param("sample.cpp", "Stack.push", "geo.Stack.push", id="a C++ method in short"),
        pytest.param("sample.cpp", "Shape::~Shape", "geo.Shape.~Shape", id="a destructor"),
        pytest.param("sample.cpp", "operator<", "geo.Shape.operator<", id="an operator"),
        pytest.param("sample.lua", "M:push", "M.push", id="as Lua writes it"),
        pytest.param("sample.rb", "Basket#total", "Shop.Basket.total", id="as Ruby writes it"),
        pytest.param("sample.js", "module.exports.parse", "parse", id="an exported function"),
        pytest.param("sample.js", "Queue.prototype.clear", "Queue.clear", id="a prototype's"),
        pytest.param("sample.rs", "impl Tally for Counter<T>", "impl Tally for Counter", id="impl"),
        pytest.param("sample.cs", "operator ==", "Example.Shop.Basket.operator ==", id="C# =="),
    ],
)
def test_a_target_is_found_by_what_people_call_it(file, name, found):
    assert target_named(*sample(file), name).name == found


def test_an_exact_name_wins_over_an_ending():
    assert target_named(NESTED, "python", "f").span.of(NESTED) == "def f(): return 0"


def unnamed(text, language, name):
    with pytest.raises(InputError) as caught:
        target_named(text, language, name)
    return str(caught.value)


def test_an_unknown_name_suggests_close_ones():
    message = unnamed(*sample("sample.py"), "Price.euro")
    assert message.startswith("nothing is named 'Price.euro'; did you mean Price.euros")


def test_an_unlike_name_lists_what_there_is():
    assert unnamed(NESTED, "python", "zzzzzz").endswith("there are A, A.f, A.f.inner, A.B, f")


def test_a_long_list_is_cut_and_says_so():
    text = "".join(f"def f{n}(): pass\n" for n in range(20))
    assert unnamed(text, "python", "zzzzzz").endswith("f11 and 8 more")


@pytest.mark.parametrize("name", ["f", "", ".", "::"])
def test_a_file_without_targets_asks_for_a_range(name):
    assert "give a range of lines" in unnamed("x = 1\n", "python", name)


def test_an_ambiguous_name_lists_the_candidates_with_their_lines():
    text = "class A:\n  def f(self): pass\nclass B:\n  def f(self): pass\n"
    message = unnamed(text, "python", "f")
    assert message.startswith("2 targets are named 'f': A.f (line 2), B.f (line 4); give more")


def test_overloads_are_ambiguous():
    text = "class A { void f() {}\n void f(int x) {} }"
    assert "A.f (line 1), A.f (line 2)" in unnamed(text, "java", "A.f")


def test_bodies_are_the_outermost_insides():
    text = (
        "function f() {\n  function g() { a; }\n}\nconst h = () => {\r\n\tμ;\r\n};\nk = () => 1;\n"
    )
    assert [body.of(text) for body in bodies(text, "javascript")] == ["function g() { a; }", "μ;"]


def test_empty_bodies_are_left():
    assert bodies("void f() {}\nvoid g() { }\n", "c") == ()


@pytest.mark.parametrize(
    ("text", "language", "broken"),
    [
        pytest.param("x = 1\n", "python", False, id="clean"),
        pytest.param("", "go", False, id="empty"),
        pytest.param("def f(:\n", "python", True, id="an error"),
        pytest.param("int f() { return 1 }", "c", True, id="a missing semicolon"),
    ],
)
def test_parse_errors_are_counted(text, language, broken):
    assert (parse_errors(text, language) > 0) == broken


def test_two_errors_are_more_than_one():
    good, bad = "def f():\n    pass\n", "def f(:\n    pass\n"
    assert parse_errors(bad + good + bad, "python") > parse_errors(good + bad, "python") > 0


@pytest.mark.parametrize(
    ("text", "language"),
    [
        pytest.param("function f() {\n" * 600 + "}\n" * 600, "javascript", id="functions"),
        pytest.param("x = " + "(" * 5000 + "1" + ")" * 5000, "python", id="brackets"),
        pytest.param("f([" * 5000, "javascript", id="brackets never closed"),
        pytest.param("var a = function (x) { return x; };" * 2000, "javascript", id="a long line"),
        pytest.param("\ud83d def f(): pass", "python", id="a lone surrogate"),
        pytest.param("\0\x01\x7f", "c", id="control characters"),
    ],
)
def test_deep_long_and_odd_texts_end(text, language):
    for target in targets(text, language):
        assert target.span.stop <= len(text)
    bodies(text, language)
    parse_errors(text, language)


def test_an_unknown_language_names_the_known():
    with pytest.raises(InputError, match="no grammar for 'cobol'; use one of python, javascript"):
        targets("", "cobol")
