"""Which lines are named after an edit that renames a definition or changes its parameters."""

import pytest

from redraft.postprocess.callers import changed_definitions, describe_callers, find_callers
from redraft.records import Caller, Span

_CART = """\
from tax import rate


def total(items, strict=False):
    return sum(items)


class Cart:
    def total(self, vat):
        return total(self.items) + vat

    def show(self):
        print(self.total(1), "total", total)  # total
        return self.total(vat=2)


def report(cart, total=None):
    total = total or 3
    return total + cart.total(3)


print(total([1], strict=True))
"""


def callers(
    text: str, old: str, new: str, *, language: str = "python", count: int = 1
) -> list[int]:
    """Return the lines named after `old` in `text` became `new`."""
    edited = text.replace(old, new, count)
    start = text.index(old)
    changed = changed_definitions(text, edited, Span(start, start + len(old)), language)
    return [caller.line for caller in find_callers(edited, language, changed)]


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        ("def total(items, strict", "def sum_up(items, strict", [10, 13, 22]),
        ("def total(items, strict=False)", "def total(items)", [22]),
        ("def total(items, strict=False)", "def total(items, exact=False)", [22]),
        ("def total(items, strict=False)", "def total(items, strict=False, n=1)", []),
        ("def total(items, strict=False)", "def total(items, n, strict=False)", [10, 22]),
        ("def total(items, strict=False)", "def total(*items, **options)", []),
        ("def total(items, strict=False)", "def total(items, *, strict)", [10]),
        ("def total(self, vat)", "def total(self, tax)", [14]),
        ("def total(self, vat)", "def total(self)", [13, 14]),
        ("def total(self, vat)", "def gross(self, vat)", [13, 14]),
        ("def show(self)", "def render(self)", []),
        ("class Cart:", "class Basket:", []),
        ("return sum(items)", "return 0", []),
    ],
)
def test_python(old: str, new: str, lines: list[int]) -> None:
    assert callers(_CART, old, new) == lines


def test_other_methods_of_one_name_are_not_taken_for_it() -> None:
    text = (
        "class A:\n    def fit(self): ...\n\nclass B:\n    def fit(self): self.fit()\n\nx.fit()\n"
    )
    assert callers(text, "def fit", "def train") == []
    alone = text.replace("    def fit(self): self.fit()", "    pass")
    assert callers(alone, "def fit", "def train") == [7]
    assert callers(alone.replace("fit", "get"), "def get", "def fetch") == []


def test_an_alias_keeps_the_old_name() -> None:
    text = "def f(): pass\n\nf()\n"
    assert callers(text, "def f(): pass", "def g(): pass\nf = g") == []


def test_a_constructor_is_called_by_the_name_of_its_class() -> None:
    text = "class A:\n    def __init__(self, x, y): pass\n\nA(1, 2)\nA(1, y=2)\nA(*z)\nB(1, 2)\n"
    assert callers(text, "(self, x, y)", "(self, x)") == [4, 5]


@pytest.mark.parametrize(
    ("language", "text", "old", "new", "lines"),
    [
        ("go", "package a\nfunc f(a, b int) {}\nfunc g() { f(1, 2); x.f(1, 2) }\n", ", b", "", [3]),
        ("go", "package a\nfunc f(a int) {}\nfunc g() { f(1) }\n", "f(a", "h(a", [3]),
        ("rust", "fn f(a: u8) {}\nfn g() {\n f(1);\n}\n", "a: u8", "a: u8, b: u8", [3]),
        (
            "java",
            "class A {\n int f(int a) { return a; }\n int g() { return f(1); }\n}\n",
            "f(",
            "h(",
            [3],
        ),
        (
            "java",
            "class A {\n int f(int a) { return a; }\n int f(int a, int b) { return f(1); }\n}\n",
            "f(int a)",
            "f(int a, long c)",
            [],
        ),
        (
            "typescript",
            "function f(a: number, b?: string) {}\nf(1, 'x');\nf(1);\n",
            ", b?: string",
            "",
            [2],
        ),
        ("javascript", "const f = (a) => a;\nconst o = {f: 1};\nlist.map(f);\n", "f =", "h =", [3]),
        ("cpp", "int f(int a) { return a; }\nint g() { return f(1); }\n", "f(", "h(", [2]),
        ("kotlin", "fun f(a: Int, b: Int = 2) = a\nval x = f(1, b = 3)\n", "b: Int", "c: Int", [2]),
        ("ruby", "def f(a)\n  a\nend\nputs f(1)\n", "def f", "def h", [4]),
        ("bash", "f() {\n  echo f\n}\nf 1\n", "f() {", "h() {", [4]),
        ("php", "<?php\nfunction f($a) {}\nf(1);\n$f = 2;\n", "f($a)", "h($a)", [3]),
    ],
)
def test_languages(language: str, text: str, old: str, new: str, lines: list[int]) -> None:
    assert callers(text, old, new, language=language) == lines


def test_other_files_use_it_where_they_import_it() -> None:
    text = "def total(items): pass\n\nclass Cart:\n    def gross(self): pass\n"
    edited = text.replace("total", "sum_up").replace("gross", "brutto")
    changed = changed_definitions(text, edited, Span(0, len(text)), "python")
    other = "from shop.cart import total\n\nprint(total([]), cart.gross())\n"
    assert [c.line for c in find_callers(other, "python", changed, module="cart")] == [1, 3, 3]
    module = "from shop import cart\n\ncart.total([])\nother.total([])\n"
    assert [c.line for c in find_callers(module, "python", changed, module="cart")] == [3]
    unrelated = "def total(): pass\n\ntotal()\n"
    assert find_callers(unrelated, "python", changed, module="cart") == ()


def test_a_sentence_for_each_definition() -> None:
    places = [Caller(line=n, text="f()", definition="f") for n in (12, 40, 51)]
    there = Caller(line=2, text="g()", definition="g", path="b.py")
    assert describe_callers([*places, there]) == (
        "3 lines still use the old form of f: 12, 40, 51",
        "1 line still uses the old form of g: b.py:2",
    )
