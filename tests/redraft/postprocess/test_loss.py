import pytest

from redraft.postprocess.alignment import align
from redraft.postprocess.loss import find_loss


def lost(shown, reply):
    loss = find_loss(align(shown.split("|"), reply.split("|")))
    return [line.strip() for line in loss.lines]


@pytest.mark.parametrize(
    ("shown", "reply", "named"),
    [
        pytest.param(
            "def f(x):|    check(x)|    return x", "def f(x):|    return x", ["check(x)"],
            id="a statement"),
        pytest.param(
            "if a:|    b()|elif c:|    d()", "if a:|    b()", ["elif c:", "d()"], id="a branch"),
        pytest.param("@cached|def f():|    g()", "def f():|    g()", ["@cached"], id="a decorator"),
        pytest.param(
            "def f():|    a(1)|def g():|    b(2)", "def f():|    a(3)", ["def g():", "b(2)"],
            id="a sibling"),
        pytest.param(
            "try:|    a()|except OSError:|    log()|    b()", "try:|    a()|    b()",
            ["except OSError:", "log()"], id="a handler"),
        pytest.param("a = one()|b = two()", "a = one()|pass", ["b = two()"], id="for a pass"),
        pytest.param(
            "for i in a:|    n -= 1|for i in b:|    m += 1",
            "for i in a:|    m += 1|for i in b:|    k(n)", ["n -= 1"], id="swapped with another"),
        pytest.param("a = one()|b = two()", "a = one()|...", ["b = two()"], id="for dots"),
        pytest.param(
            "check(a)|return a", "return b", ["check(a)"], id="beside a return that was changed"),
        pytest.param("check(radius)|return a", "x = 1|return a", ["check(radius)"],
                     id="a call for its effect becomes an assignment"),
        pytest.param("await log.send(a);|b()", "// nothing|b()", ["await log.send(a);"],
                     id="an awaited call becomes a comment"),
    ],
)  # fmt: skip
def test_a_line_without_a_counterpart_is_named(shown, reply, named):
    assert lost(shown, reply) == named


@pytest.mark.parametrize(
    ("shown", "reply"),
    [
        pytest.param("a()|b()", "a()|b()", id="kept"),
        pytest.param("a()|b()|c()", "b()|c()|a()", id="moved"),
        pytest.param(
            "for i in a:|    n -= 1|for i in b:|    m += 1",
            "for i in a:|    m += 1|for i in b:|    n += 1", id="swapped with a changed one"),
        pytest.param("    a()|    b()", "with x:|        a()|        b()", id="moved as a block"),
        pytest.param("x = load(path)", "x = load(Path(path))", id="changed"),
        pytest.param("def old():|    pass", "def new():|    pass", id="renamed to a keyword"),
        pytest.param("a(1)|x = 7|b(2)|x = 8", "a(1)|x = 8|b(2)|x = 8", id="as one that stands elsewhere"),
        pytest.param("return x", "return None", id="changed to a literal"),
        pytest.param('"hi"', '""', id="changed to an empty string"),
        pytest.param("total", "🌊", id="changed to a symbol"),
        pytest.param(
            "out = []|for x in xs:|    out.append(f(x))|return out", "return [f(x) for x in xs]",
            id="absorbed by a comprehension"),
        pytest.param("a = g(1)|return a + 2", "return g(1) + 2", id="a name that was inlined"),
        pytest.param("f = open(p)|s = f.read()|f.close()", "s = Path(p).read_text()",
                     id="calls of a name that is gone"),
        pytest.param("a()||}", "a()", id="blanks and brackets"),
        pytest.param("check(radius)", "assert valid(size)", id="a call that became another"),
        pytest.param("show(a)|return a", "y = g(b)|return a", id="a call that became an assigned one"),
    ],
)  # fmt: skip
def test_a_line_with_a_counterpart_is_not_lost(shown, reply):
    assert lost(shown, reply) == []


def test_what_may_go_is_not_named():
    alignment = align(["a()", "# why", "b()"], ["a()", "b()"])
    assert not find_loss(alignment, ignored={1})


def test_branches_are_counted():
    shown = "if a:|    x(1)|for b in c:|    y(2)|while d:|    z(3)".split("|")
    loss = find_loss(align(shown, shown[:2]))
    assert (loss.n_branches, loss.n_branches_lost, loss.n_cut) == (3, 2, 4)
    assert loss.is_sole


def test_the_first_lines_are_named():
    loss = find_loss(align(["keep()", *(f"call_{n}()" for n in range(5))], ["keep()"]))
    assert loss.describe() == "`call_0()`, `call_1()`, `call_2()` and 2 more lines"
