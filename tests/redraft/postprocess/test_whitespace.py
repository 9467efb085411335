import random

import pytest

from redraft.postprocess.alignment import align
from redraft.postprocess.whitespace import Indentation, fit_lines, join_lines, repair_first_line
from redraft.text.lines import split_lines


def join(source, lines, ending=";"):
    shown = [line.rstrip("\r\n") for line in split_lines(source)]
    return join_lines(source, align(shown, lines), lines, ending=ending)


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
        pytest.param("", "a\nb", "a;b;", id="nothing before: the ending given"),
        pytest.param("a\x0cb\u2028\n", "a\x0cb\u2028\nc", "a\x0cb\u2028\nc\n", id="odd separators"),
    ],
)
def test_each_line_has_the_ending_of_its_place(source, reply, expected):
    assert join(source, reply.split("\n")) == expected


def test_a_copied_text_comes_back_byte_for_byte():
    random_ = random.Random(9)
    for _ in range(500):
        n = random_.randrange(1, 12)
        source = "".join(random_.choices(["a", "b", " ", "\t", "\n", "\r\n", "\r", "é"], k=n))
        lines = [line.rstrip("\r\n") for line in split_lines(source)]
        assert join(source, lines, ending="\n") == source


def fit(shown, reply, *, content=(), base=None):
    shown, reply = shown.split("|"), reply.split("|")
    target = Indentation.of("\n".join(shown))
    reply = repair_first_line(reply, shown, content)
    alignment = align(shown, reply)
    return "|".join(fit_lines(alignment, target=target, content=content, base=base))


@pytest.mark.parametrize(
    ("shown", "reply", "expected"),
    [
        pytest.param(
            "    def f():|        x", "def f():|    x||    y",
            "    def f():|        x||        y", id="a dedented block"),
        pytest.param(
            "def f():|    x", "    def f():|        y",
            "def f():|    y", id="an indented block"),
        pytest.param(
            "    def f():|        x", "def f():|        x|        y",
            "    def f():|        x|        y", id="only the first line lost it"),
        pytest.param(
            "    def f():|        x", "    @g|    def f():|        x",
            "    @g|    def f():|        x", id="nothing to do"),
        pytest.param(
            "\tif x {|\t\ty|\t}", "if x {|  z|  if y {|    q|  }|}",
            "\tif x {|\t\tz|\t\tif y {|\t\t\tq|\t\t}|\t}", id="two spaces where the source has tabs"),
        pytest.param(
            "\tif x {|\t\ty|\t}", "    if x {|        z|    }",
            "\tif x {|\t\tz|\t}", id="four spaces where the source has tabs"),
        pytest.param(
            "  if x:|    y", "\tif x:|\t\ty|\t\tz",
            "  if x:|    y|    z", id="tabs where the source has two spaces"),
        pytest.param(
            "def f():|  if x:|    y|  return z", "def f():|    if x:|        y|        w|    return z",
            "def f():|  if x:|    y|    w|  return z", id="four columns where the source has two"),
        pytest.param(
            "def f():|    if x:|        y|    return z",
            "def f():|  if x:|    y|    w|  return z",
            "def f():|    if x:|        y|        w|    return z", id="two columns where it has four"),
        pytest.param(
            "\t/**|\t * x|\t */", "\t/**|\t * y|\t */",
            "\t/**|\t * y|\t */", id="a block comment keeps its blank"),
        pytest.param(
            "a  |b", "a|b   |c ", "a  |b|c", id="trailing white space of kept lines is the file's"),
    ],
)  # fmt: skip
def test_new_lines_are_indented_as_their_surroundings_and_kept_ones_not_at_all(
    shown, reply, expected
):
    assert fit(shown, reply) == expected


@pytest.mark.parametrize(
    ("shown", "reply"),
    [
        pytest.param("def f():|    a()|    b()", "def f():|    with x:|        a()|        b()",
                     id="wrapped in with"),
        pytest.param("  f() {|    a();|  }", "  f() {|    try {|      a();|    } catch {}|  }",
                     id="wrapped in try"),
        pytest.param("def f():|    if x:|        a()|        b()", "def f():|    a()|    b()",
                     id="unwrapped"),
        pytest.param("def f():|    a()|    b()|    c()", "def f():|    if x:|        a()|    b()|    c()",
                     id="one line of several wrapped"),
        pytest.param("func f() {|\ta()|}", "func f() {|\tif x {|\t\ta()|\t}|}", id="with tabs"),
    ],
)  # fmt: skip
def test_a_block_that_moved_stands_where_the_reply_has_it(shown, reply):
    assert fit(shown, reply) == reply


def test_a_kept_line_beside_no_change_stands_where_the_file_has_it():
    assert fit(
        "def f():|    a()|    b()|    c()|    d()", "def f():|    a()|      b()|    c()|    e()"
    ) == ("def f():|    a()|    b()|    c()|    e()")


def test_content_is_kept_as_the_file_has_it_and_new_as_the_reply_has_it():
    shown = '    s = """|a|  b|"""|    t'
    assert fit(shown, 's = """|a|  b|"""|u', content={1, 2, 3}) == '    s = """|a|  b|"""|    u'
    assert fit(shown, '    s = """|a|c|"""|    t', content={1, 2, 3}) == '    s = """|a|c|"""|    t'


def test_a_new_line_of_a_string_that_was_shifted_stands_as_the_lines_beside_it():
    shown = '    s = """|    a|    """'
    reply = 's = """|a|b|"""'
    assert fit(shown, reply, content={1, 2, 3}) == '    s = """|    a|    b|    """'


def test_what_is_inserted_begins_where_it_is_told_to():
    alignment = align([], ["a:", "  b"])
    fitted = fit_lines(alignment, target=Indentation("    "), base="    ")
    assert fitted == ["    a:", "        b"]


def test_a_changed_line_of_content_moves_as_all_of_the_reply_does():
    shown = "\tf();|\t#pragma omp a|\tg();"
    reply = "        f();|        #pragma omp b|        g();"
    assert fit(shown, reply, content={1}) == "\tf();|\t#pragma omp b|\tg();"


def test_in_a_file_that_mixes_tabs_and_spaces_each_line_keeps_its_own():
    shown = "f() {|    if (a) {|\tb();|    }|}"
    assert fit(shown, "f() {|    if (a) {|\tc();|\td();|    }|}") == (
        "f() {|    if (a) {|\tc();|\td();|    }|}"
    )


def test_what_all_of_a_reply_has_in_front_goes_where_tabs_and_spaces_are_mixed():
    shown = "f() {|    if (a)|\tb();|  }"
    reply = "    f() {|        if (a)|    \tc();|      }"
    assert fit(shown, reply) == "f() {|    if (a)|\tc();|  }"


def test_what_all_of_a_reply_lacks_in_front_comes_back_where_tabs_and_spaces_are_mixed():
    shown = "\tf()|\t  {|\t    a = (b|\t\t- c);|\t  }"
    reply = "f()|  {|    a = (b|\t- d);|  }"
    assert fit(shown, reply) == shown.replace("- c", "- d")


def test_where_kept_lines_are_the_files_own_nothing_moves():
    shown = "      f()|      {|\tint a = 1;|\treturn a;|      }"
    reply = shown.replace("{|", "{|\t// why|")
    assert fit(shown, reply) == reply
