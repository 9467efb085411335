import pytest

from redraft.prompting.target_view import named_target, view_target
from redraft.records import EditRequest, Span


def view(marked):
    """`marked` holds the target between guillemets."""
    start, stop = marked.index("«"), marked.index("»") - 1
    text = marked.replace("«", "").replace("»", "")
    return view_target(EditRequest(path="a", text=text, target=Span(start, stop), instruction="Go"))


@pytest.mark.parametrize(
    ("marked", "text", "lines"),
    [
        pytest.param("a\n  «b\n  c»\nd", "  b\n  c", (2, 3), id="from the indentation on"),
        pytest.param("a\r\n«\tb\r\n»c", "\tb\n", (2, 2), id="a line with its CRLF"),
        pytest.param("a\r  x = «b» # c\r", "b", (2, 2), id="a piece of a line"),
        pytest.param("«»", "", (1, 1), id="an empty document"),
        pytest.param("a\n\t«»\n", "\t", (2, 2), id="an insertion on an indented line"),
        pytest.param("«a\n\n»b", "a\n\n", (1, 1), id="trailing blank lines"),
        pytest.param("\x0c«a\u2028b»", "\x0ca\u2028b", (1, 1), id="other separators are no lines"),
    ],
)
def test_a_target_as_the_model_sees_it(marked, text, lines):
    target = view(marked)
    assert target.text == text
    assert (target.first_line, target.last_line) == lines


@pytest.mark.parametrize(
    ("marked", "is_fragment"),
    [
        ("x = «b»\n", True),
        ("«b» # c\n", True),
        ("  «b\nc»  \n", False),
        ("a\n«b\n»c\n", False),
        ("a\n«b\nc» d\n", True),
    ],
)
def test_a_fragment_shares_a_line_with_other_text(marked, is_fragment):
    assert view(marked).is_fragment == is_fragment


@pytest.mark.parametrize(
    ("target", "name"),
    [
        pytest.param("def f():\n    return 1\n", "f", id="all of it"),
        pytest.param("\n\ndef f():\n    return 1", "f", id="blank lines around it do not count"),
        pytest.param("def f():\n", None, id="only its beginning"),
        pytest.param("    return 1\n", None, id="only its end"),
        pytest.param("def f():\n    return 1\n\n\nx = 2\n", None, id="more than it"),
    ],
)
def test_a_target_is_named_where_it_is_a_whole_function(target, name):
    text = "import a\n\n\ndef f():\n    return 1\n\n\nx = 2\n"
    start = text.index(target)
    span = Span(start, start + len(target))
    request = EditRequest(path="a.py", text=text, target=span, instruction="Go", language="python")
    found = named_target(request)
    assert (found.name if found else None) == name
