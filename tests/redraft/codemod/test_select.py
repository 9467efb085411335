import pytest

from redraft.codemod.select import Selection
from redraft.errors import InputError

PYTHON = """\
def outer():
    def inner():
        print("in")
    return inner


class Cart:
    def total(self):
        return 0

    def test_total(self):
        print("é")


def test_free():
    assert Cart
"""

CALLS_PRINT = '(call function: (identifier) @f (#eq? @f "print"))'


@pytest.mark.parametrize(
    ("patterns", "names"),
    [
        pytest.param([], ["outer", "Cart.total", "Cart.test_total", "test_free"], id="outermost"),
        pytest.param(["test_*"], ["Cart.test_total", "test_free"], id="a last name"),
        pytest.param(["Cart.*"], ["Cart.total", "Cart.test_total"], id="a whole name"),
        pytest.param(["inner"], ["outer.inner"], id="an inner function alone"),
        pytest.param(["Cart"], [], id="a class is no function"),
        pytest.param(["/print\\(/"], ["outer", "Cart.test_total"], id="a regular expression"),
        pytest.param(["/^ +return 0$/"], ["Cart.total"], id="of lines"),
        pytest.param([CALLS_PRINT], ["outer", "Cart.test_total"], id="a query"),
        pytest.param([CALLS_PRINT, "test_*"], ["Cart.test_total"], id="all have to hold"),
    ],
)
def test_patterns_choose_functions(patterns, names):
    chosen = Selection("function", tuple(patterns)).find_targets(PYTHON, "python")
    assert [target.name for target in chosen] == names


@pytest.mark.parametrize(
    ("pattern", "is_chosen"),
    [
        pytest.param("inner", True, id="a name in it"),
        pytest.param("nowhere", False, id="no such name"),
        pytest.param("/assert/", True, id="a regular expression"),
        pytest.param("/nowhere/", False, id="one that finds nothing"),
        pytest.param(CALLS_PRINT, True, id="a query"),
    ],
)
def test_patterns_choose_files(pattern, is_chosen):
    chosen = Selection("file", (pattern,)).find_targets(PYTHON, "python")
    assert [target.span.of(PYTHON) for target in chosen] == [PYTHON] * is_chosen


@pytest.mark.parametrize("scope", ["function", "file"])
def test_there_is_nothing_to_edit_in_an_empty_file(scope):
    assert Selection(scope).find_targets("\n", "python") == ()


def test_plain_text_is_edited_as_a_whole():
    assert len(Selection("file").find_targets("# Notes\n", None)) == 1
    assert Selection("function").find_targets("# Notes\n", None) == ()
    assert Selection("file", ("name",)).find_targets("# Notes\n", None) == ()


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        pytest.param("/(/", "--select /(/: not a regular expression", id="regular expression"),
        pytest.param(" ", "--select is empty", id="empty"),
    ],
)
def test_a_pattern_that_is_none_is_an_error(pattern, message):
    with pytest.raises(InputError) as caught:
        Selection("function", (pattern,))
    assert message in str(caught.value)


def test_a_query_of_another_grammar_is_an_error():
    selection = Selection("function", ("(call function: (identifier) @f)",))
    with pytest.raises(InputError, match="not a query of this grammar"):
        selection.find_targets("function f() {}\n", "javascript")


def test_of_a_group_of_tests_each_test_is_a_target():
    text = (
        "describe('a queue', () => {\n  function helper() { a; }\n"
        "  it('adds', () => { const f = () => 1; });\n});\napp.get('/', (req) => { b; });\n"
    )
    chosen = Selection("function").find_targets(text, "javascript")
    assert [target.name for target in chosen] == [
        "describe a queue.helper", "describe a queue.it adds", "app.get /",
    ]  # fmt: skip
