import random

import pytest

from redraft.postprocess.whitespace import reindent, restore_lines
from redraft.text.lines import split_lines


@pytest.mark.parametrize(
    ("source", "reply", "expected"),
    [
        pytest.param("a\r\nb\r\n", "a\nc\nb", "a\r\nc\r\nb\r\n", id="an added line among CRLF"),
        pytest.param("a\rb\r", "a\nc\nb\nd", "a\rc\rb\rd\r", id="CR only"),
        pytest.param("a\r\nb\nc\r\n", "a\nX\nc", "a\r\nX\nc\r\n", id="mixed: a changed line's own"),
        pytest.param("a\r\nb\nc\r\n", "a\nb\nc", "a\r\nb\nc\r\n", id="mixed: nothing changed"),
        pytest.param("a\nb\r\n", "new\na\nb", "new\na\nb\r\n", id="at the top: the next line's"),
        pytest.param("a\r\nb", "a\nb\nc", "a\r\nb\r\nc", id="no final ending before, none after"),
        pytest.param("a\nb\n", "a\nb", "a\nb\n", id="a final ending stays"),
        pytest.param("a  \nb\n", "a\nb   \nc ", "a  \nb\nc \n", id="trailing space as it was"),
        pytest.param("\n\na\n\n", "a\nb", "\n\na\nb\n\n", id="blank lines at the ends stay"),
        pytest.param("a\n  ", "b", "b\n  ", id="a last line of white space stays"),
        pytest.param("", "a\nb", "a;b;", id="nothing before: the ending given"),
        pytest.param("\n", "a", "a\n", id="a blank target is replaced"),
        pytest.param("a\nb\n", "", "\n", id="one empty line"),
        pytest.param("a\x0cb\u2028\n", "a\x0cb\u2028\nc", "a\x0cb\u2028\nc\n", id="odd separators"),
    ],
)
def test_kept_lines_are_as_they_were_and_new_ones_like_their_neighbours(source, reply, expected):
    assert restore_lines(source, reply.split("\n"), ending=";", exact=False) == expected


def test_exact_lines_keep_the_replys_own_white_space():
    assert (
        restore_lines("a  \r\n\r\nb\r\n\r\n", ["a", "b"], ending="\n", exact=True) == "a\r\nb\r\n"
    )


def test_a_copied_text_comes_back_byte_for_byte():
    random_ = random.Random(9)
    for _ in range(500):
        n = random_.randrange(12)
        source = "".join(random_.choices(["a", "b", " ", "\t", "\n", "\r\n", "\r", "é", ""], k=n))
        lines = [line.rstrip("\r\n") for line in split_lines(source)]
        assert restore_lines(source, _without_blank_ends(lines), ending="\n", exact=False) == source


def _without_blank_ends(lines):
    filled = [i for i, line in enumerate(lines) if line.strip()]
    return lines[filled[0] : filled[-1] + 1] if filled else lines


@pytest.mark.parametrize(
    ("source", "reply", "style", "expected"),
    [
        pytest.param(
            "    def f():|        x|", "def f():|    x||    y",
            "    ", "    def f():|        x||        y", id="a dedented block"),
        pytest.param(
            "def f():|    x", "    def f():|        x",
            "    ", "def f():|    x", id="an indented block"),
        pytest.param(
            "    def f():|        x", "def f():|        x|        y",
            "    ", "    def f():|        x|        y", id="only the first line lost it"),
        pytest.param(
            "    def f():|        x", "    @g|    def f():|        x",
            "    ", "    @g|    def f():|        x", id="nothing to do"),
        pytest.param(
            "\tif x {|\t\ty|\t}", "if x {|  z|  if y {|    q|  }|}",
            "\t", "\tif x {|\t\tz|\t\tif y {|\t\t\tq|\t\t}|\t}", id="spaces where the source has tabs"),
        pytest.param(
            "  if x:|    y", "\tif x:|\t\ty|\t\tz",
            "  ", "  if x:|    y|    z", id="tabs where the source has spaces"),
        pytest.param(
            "\t/**|\t * x|\t */", "\t/**|\t * y|\t */",
            "\t", "\t/**|\t * y|\t */", id="a source that mixes both is left"),
        pytest.param(
            '    s = """a|b|"""', 's = """a|b|"""|t',
            "    ", '    s = """a|    b|    """|    t', id="a string over lines moves along"),
    ],
)  # fmt: skip
def test_a_reply_moves_to_the_column_of_its_source(source, reply, style, expected):
    moved = reindent(reply.split("|"), source.split("|"), style=style)
    assert "|".join(moved) == expected
