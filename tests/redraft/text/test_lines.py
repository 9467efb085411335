import json
import random
from pathlib import Path

import pytest

from redraft.text.lines import (
    LineIndex,
    detect_indentation,
    line_ending,
    line_ending_at,
    split_lines,
    to_lf,
)

POSITIONS = json.loads(
    (Path(__file__).parents[3] / "fixtures" / "positions.json").read_text(encoding="utf-8")
)
UNITS = ("utf-8", "utf-16", "utf-32")
ODD = ["\n", "\r", "\r\n", "a", "\t", "μ", "漢", "😀", "e\u0301", "\f", "\u2028", "\x85", "\ud83d"]


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize(
    "case", POSITIONS, ids=[f"{case['name']} at {case['offset']}" for case in POSITIONS]
)
def test_positions_are_those_every_front_end_shares(case, unit):
    index = LineIndex(case["text"])
    assert index.position(case["offset"], unit) == (case["line"], case[unit])
    assert index.offset(case["line"], case[unit], unit) == case["offset"]


def naive_position(text, offset, unit):
    """One character at a time."""
    line = column = 0
    for at, character in enumerate(text[:offset]):
        if character == "\n" or (character == "\r" and text[at : at + 2] != "\r\n"):
            line, column = line + 1, 0
        elif character != "\r":
            wide = ord(character) > 0xFFFF
            n_bytes = len(character.encode("utf-8", "surrogatepass"))
            column += {"utf-8": n_bytes, "utf-16": 1 + wide, "utf-32": 1}[unit]
    return line, column


@pytest.mark.parametrize("seed", range(60))
def test_every_offset_goes_to_the_naive_position_and_back(seed):
    rng = random.Random(seed)
    text = "".join(rng.choices(ODD, k=rng.randrange(40)))
    index = LineIndex(text)
    for unit in UNITS:
        for offset in range(len(text) + 1):
            position = index.position(offset, unit)
            assert position == naive_position(text, offset, unit)
            inside_crlf = offset > 0 and text[offset - 1 : offset + 1] == "\r\n"
            assert index.offset(*position, unit) == offset - inside_crlf


@pytest.mark.parametrize("seed", range(20))
def test_line_spans_tile_the_text(seed):
    text = "".join(random.Random(seed).choices(ODD, k=30))
    index = LineIndex(text)
    spans = [index.line_span(line) for line in range(index.n_lines)]
    assert "".join(span.of(text) for span in spans) == text
    for line, span in enumerate(spans):
        assert {index.line_at(at) for at in range(span.start, span.stop)} <= {line}


@pytest.mark.parametrize(
    ("line", "column", "unit", "offset"),
    [
        pytest.param(0, 99, "utf-16", 3, id="a column past the end is the end of the line"),
        pytest.param(0, 4, "utf-16", 3, id="before its CRLF"),
        pytest.param(1, 99, "utf-8", 7, id="in the last line that is the end of the document"),
        pytest.param(9, 0, "utf-8", 7, id="a line past the last is the end of the document"),
        pytest.param(0, 2, "utf-16", 1, id="half a UTF-16 character is its start"),
        pytest.param(0, 3, "utf-8", 1, id="part of a UTF-8 character is its start"),
        pytest.param(0, 5, "utf-8", 2, id="after the character it is the next"),
    ],
)
def test_positions_outside_characters_are_clamped(line, column, unit, offset):
    assert LineIndex("a😀b\r\ncd").offset(line, column, unit) == offset


def test_an_offset_past_the_end_is_the_end():
    assert LineIndex("a\nbc").position(99, "utf-16") == (1, 2)


@pytest.mark.parametrize("line", [-1, 2])
def test_a_line_that_is_not_there_has_no_span(line):
    with pytest.raises(IndexError, match=f"line {line} of 2"):
        LineIndex("a\nb").line_span(line)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        pytest.param("", [], id="nothing"),
        pytest.param("a", ["a"], id="no ending"),
        pytest.param("a\n\nb\n", ["a\n", "\n", "b\n"], id="LF"),
        pytest.param("a\r\n\r\nb", ["a\r\n", "\r\n", "b"], id="CRLF"),
        pytest.param("a\r\rb\r", ["a\r", "\r", "b\r"], id="CR"),
        pytest.param("a\n\rb", ["a\n", "\r", "b"], id="LF CR are two"),
        pytest.param("a\f\u2028\x85\x1cb\n", ["a\f\u2028\x85\x1cb\n"], id="no other breaks a line"),
    ],
)
def test_lines_break_at_lf_crlf_and_cr_only(text, lines):
    assert split_lines(text) == lines


@pytest.mark.parametrize(
    ("line", "ending"),
    [("a\n", "\n"), ("a\r\n", "\r\n"), ("a\r", "\r"), ("a", ""), ("", ""), ("a\u2028", "")],
)
def test_the_ending_of_a_line(line, ending):
    assert line_ending(line) == ending


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", ""), ("a\nb", "a\nb"), ("a\r\nb\rc\r\r\n", "a\nb\nc\n\n"), ("a\u2028", "a\u2028")],
)
def test_every_ending_becomes_lf(text, expected):
    assert to_lf(text) == expected


@pytest.mark.parametrize(
    ("text", "offset", "ending"),
    [
        pytest.param("a\r\nb\n", 0, "\r\n", id="its own line's"),
        pytest.param("a\r\nb\n", 2, "\r\n", id="inside a CRLF it is CRLF"),
        pytest.param("a\r\nb\n", 3, "\n", id="the next line's own"),
        pytest.param("a\rb", 3, "\r", id="a last line without takes the one before"),
        pytest.param("a\n", 2, "\n", id="the empty line after the last ending too"),
        pytest.param("ab", 1, "\n", id="a text without any is LF"),
        pytest.param("", 0, "\n", id="so is the empty text"),
    ],
)
def test_a_new_line_takes_its_neighbours_ending(text, offset, ending):
    assert line_ending_at(text, offset) == ending


@pytest.mark.parametrize(
    ("text", "step"),
    [
        pytest.param("a\nb\n", None, id="nothing is indented"),
        pytest.param("if a:\n    b\n    c\n", "    ", id="four spaces"),
        pytest.param("a {\n  b {\n    c\n  }\n}\n", "  ", id="two spaces"),
        pytest.param("a {\n\tb {\n\t\tc\n\t}\n}\n", "\t", id="tabs"),
        pytest.param("/*\n * a\n * b\n */\nx {\n    y\n}\n", "    ", id="a block comment misleads"),
        pytest.param("a\r\n  b\r\n\r\n  c\r\n", "  ", id="CRLF and blank lines"),
        pytest.param("        a\n        b\n", "        ", id="one excerpt, all indented"),
        pytest.param("a\n b\n c\n", " ", id="one space if nothing else"),
    ],
)
def test_the_step_of_the_indentation(text, step):
    assert detect_indentation(text) == step
