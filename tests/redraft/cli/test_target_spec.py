import pytest

from redraft.cli.target_spec import TargetSpec
from redraft.errors import InputError

TEXT = "first\n\ndef f():\n    return 'μm' + '😀'\n# last"


@pytest.mark.parametrize(
    ("argument", "files", "place"),
    [
        ("a.py", ["a.py"], ("a.py", "")),
        ("a.py::f", ["a.py"], ("a.py", "::f")),
        ("a.py::C.f", ["a.py"], ("a.py", "::C.f")),
        ("a.cpp::C::f", ["a.cpp"], ("a.cpp", "::C::f")),
        ("a.py:3", ["a.py"], ("a.py", ":3")),
        ("a.py:3-5", ["a.py"], ("a.py", ":3-5")),
        ("a.py:3:1-5:2", ["a.py"], ("a.py", ":3:1-5:2")),
        ("a.py:3", ["a.py", "a.py:3"], ("a.py:3", "")),
        ("a::b", ["a", "a::b"], ("a::b", "")),
        ("a::b::c", ["a", "a::b"], ("a::b", "::c")),
        ("C:\\x\\a.py", ["C:\\x\\a.py"], ("C:\\x\\a.py", "")),
        ("C:\\x\\a.py", [], ("C:\\x\\a.py", "")),
        ("C:\\x\\a.py::f", [], ("C:\\x\\a.py", "::f")),
        ("gone.py::f", [], ("gone.py", "::f")),
        ("gone.py:3-5", [], ("gone.py", ":3-5")),
        ("gone.py:3:1-5:2", [], ("gone.py", ":3:1-5:2")),
        ("gone.cpp::C::f", [], ("gone.cpp", "::C::f")),
        ("-", [], ("-", "")),
        ("", [], ("", "")),
        (":3", [], (":3", "")),
    ],
)
def test_the_longest_name_that_exists_is_the_file(
    argument: str, files: list[str], place: tuple[str, str]
) -> None:
    assert TargetSpec.parse(argument, files.__contains__) == TargetSpec(
        path=place[0], part=place[1]
    )


@pytest.mark.parametrize(
    ("part", "target"),
    [
        pytest.param("", TEXT, id="the whole file"),
        pytest.param(":1-1", "first\n", id="one line, with its ending"),
        pytest.param(":1-2", "first\n\n", id="two lines"),
        pytest.param(":5-5", "# last", id="the last line has no ending"),
        pytest.param(":1-5", TEXT, id="all lines"),
        pytest.param(":4", "def f():\n    return 'μm' + '😀'", id="the function around a line"),
        pytest.param(":4:9", "def f():\n    return 'μm' + '😀'", id="the function around a caret"),
        pytest.param("::f", "def f():\n    return 'μm' + '😀'", id="a name"),
        pytest.param(":4:12-4:16", "'μm'", id="columns are code points, not bytes"),
        pytest.param(":4:19-4:22", "'😀'", id="nor UTF-16 units"),
        pytest.param(":1:6-2:1", "\n", id="a line ending alone"),
        pytest.param(":1:1-5:7", TEXT, id="from caret to caret"),
        pytest.param(":2:1-2:1", "", id="an insertion point"),
    ],
)
def test_a_part_means_exactly_this_text(part: str, target: str) -> None:
    assert TargetSpec(path="x.py", part=part).find_span(TEXT, "python").of(TEXT) == target


def test_the_line_after_the_last_ending_can_hold_a_caret_but_is_no_line() -> None:
    place = TargetSpec(path="x", part=":2:1-2:1")
    assert place.find_span("one\n", None).start == 4
    with pytest.raises(InputError, match="there is no line 2: the file has 1"):
        TargetSpec(path="x", part=":2-2").find_span("one\n", None)


@pytest.mark.parametrize("text", ["", "one", "one\r\n", "\r", "\n\n"])
def test_every_line_of_a_text_can_be_named(text: str) -> None:
    lines = max(1, text.count("\n") + text.count("\r") - text.count("\r\n"))
    whole = TargetSpec(path="x", part=f":1-{lines}").find_span(text, None)
    assert whole.of(text) == text
    with pytest.raises(InputError):
        TargetSpec(path="x", part=f":{lines + 1}").find_span(text, None)
