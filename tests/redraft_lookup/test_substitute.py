"""What an edit teaches, and a source with it carried out; tokens and bytes stay in step."""

import random

import pytest
from tests.redraft_lookup.words import MERGING, PLAIN, Words

from redraft_lookup.substitute import (
    MAX_LENGTH,
    REWRITE_BYTES,
    IndentShift,
    RewrittenSource,
    Substitution,
    learn_substitution,
)


@pytest.mark.parametrize(
    ("before", "old", "new", "after", "expected"),
    [
        pytest.param("x = ", "total", "sum", " + 1", ("total", "sum"), id="a word"),
        pytest.param("x = to", "tal", "ken", " + 1", ("total", "token"), id="the end of a word"),
        pytest.param("x = ", "to", "to", "tal", None, id="nothing"),
        pytest.param("x = ", "sub", "", "total", ("subtotal", "total"), id="its start deleted"),
        pytest.param("x = ", "", "sub", "total", ("total", "subtotal"), id="its start inserted"),
        pytest.param("f(x", "", ", y", ")", ("x", "x, y"), id="an argument added"),
        pytest.param("f(", "", "y, ", "x)", ("f(", "f(y, "), id="an argument put in front"),
        pytest.param("f", "(", "[", "0]", ("f(", "f["), id="punctuation: with the word in front"),
        pytest.param("f", "()", "(1)", "\n", ("f(", "f(1"), id="between brackets"),
        pytest.param("", "(", "[", "", None, id="punctuation alone"),
        pytest.param("x\n", "", "\n", "y", None, id="a blank line"),
        pytest.param(" ", "größe", "breite", ";", ("größe", "breite"), id="letters beyond ASCII"),
        pytest.param("", "a" * 201, "b", " ", None, id="too long to come back"),
    ],
)
def test_an_edit_shows_a_substitution(
    before: str, old: str, new: str, after: str, expected: tuple[str, str] | None
):
    found = learn_substitution(*(text.encode() for text in (before, old, new, after)))
    assert (found and (found.old.decode(), found.new.decode())) == expected


@pytest.mark.parametrize(
    ("before", "old", "new", "expected"),
    [
        pytest.param("if x:\n", "        ", "    ", ("    ", ""), id="to the left"),
        pytest.param("if x:\n", "    ", "        ", ("", "    "), id="to the right"),
        pytest.param("if x:\n    ", "    y", "y", ("    ", ""), id="a part of it, and a word"),
        pytest.param("x()", "\n        ", "\n    ", ("    ", ""), id="a token with the line break"),
        pytest.param("x()\n", "\ty", "y", ("\t", ""), id="a tab, to the margin"),
        pytest.param("x()\n", "    ", "try:\n        ", ("", "    "), id="below a new line"),
        pytest.param("x()\n", "", "\t", ("", "\t"), id="from the margin"),
    ],
)
def test_a_line_that_is_indented_otherwise_teaches_a_shift(
    before: str, old: str, new: str, expected: tuple[str, str]
):
    found = learn_substitution(before.encode(), old.encode(), new.encode(), b" = 1\n")
    assert isinstance(found, IndentShift)
    assert (found.old.decode(), found.new.decode()) == expected


@pytest.mark.parametrize(
    ("before", "old", "new"),
    [
        pytest.param("x = ", "    ", " ", id="inside a line"),
        pytest.param("x()\n", "        y()\n    ", "    ", id="a line deleted"),
        pytest.param("x\ny", "()\n    y", "", id="lines deleted up to the same word"),
        pytest.param("x()\n", "  y", "z", id="another word"),
        pytest.param("x()\n", "\t", "    ", id="tabs to spaces"),
        pytest.param("", "    ", "", id="no line break in sight"),
        pytest.param("x()\n", "    ", "    y\n    ", id="a line inserted"),
    ],
)
def test_no_shift(before: str, old: str, new: str):
    assert not isinstance(
        learn_substitution(before.encode(), old.encode(), new.encode(), b" z\n"), IndentShift
    )


@pytest.mark.parametrize(
    ("old", "new", "shifted"),
    [
        ("    ", "", "a:\nb\n\n    c\n  d\ne"),
        ("", "  ", "a:\n      b\n\n          c\n    d\n  e"),
        ("\t", "", "a:\n    b\n\n        c\n  d\ne"),
    ],
)
def test_a_shift_moves_the_filled_lines_that_it_can(old: str, new: str, shifted: str):
    words = Words(MERGING)
    text = "a:\n    b\n\n        c\n  d\ne"
    source, shift = (
        RewrittenSource(words.tokenize(text.encode()), words),
        IndentShift(old.encode(), new.encode()),
    )
    source.rewrite(0, [shift])
    assert words.text(source.ids) == shifted
    expect_in_step(source, words)


@pytest.mark.parametrize("seed", range(40))
def test_a_learnt_substitution_turns_the_old_text_into_the_new(seed: int):
    rng = random.Random(seed)
    before, old, new, after = (
        "".join(rng.choices("ab_ (),\n", k=rng.randrange(6))).encode() for _ in range(4)
    )
    found = learn_substitution(before, old, new, after)
    if found is not None and not found.is_local:
        assert found.old in before + old + after
        replaced = (before + old + after).replace(found.old, found.new)
        assert found.old != found.new
        assert before + new + after == replaced or (before + old + after).count(found.old) > 1
        assert max(len(found.old), len(found.new)) <= MAX_LENGTH


@pytest.mark.parametrize(
    ("old", "text", "expected"),
    [
        pytest.param("total", "total = total", [0, 8], id="words"),
        pytest.param("total", "subtotal totals total_", [], id="not inside longer words"),
        pytest.param("f(", "f(x) of(x)", [0], id="a word and a sign"),
        pytest.param("x.", "x.y ax.y", [0], id="signs are no patterns"),
        pytest.param("größe", "größe größen", [0], id="letters beyond ASCII"),
    ],
)
def test_occurrences(old: str, text: str, expected: list[int]):
    pattern = Substitution(old.encode(), b"new").pattern
    assert [match.start() for match in pattern.finditer(text.encode())] == expected


def test_the_probability_follows_hits_and_misses():
    substitution = Substitution(b"a", b"b")
    assert substitution.probability == pytest.approx(2 / 3)
    substitution.hits += 5
    assert substitution.probability == pytest.approx(7 / 8)
    substitution.misses += 4
    assert substitution.probability == pytest.approx(7 / 12)


def expect_in_step(source: RewrittenSource, words: Words) -> None:
    """Tokens, array, offsets and applied substitutions tell the same story."""
    assert list(source.array) == list(source.ids)
    assert len(source.ids) == len(source.offsets) == len(source.applied)
    assert list(source.offsets) == sorted(source.offsets)
    for token, offset, applied in zip(source.ids, source.offsets, source.applied, strict=True):
        piece = words.piece(token)
        if applied is None:
            assert source.text[offset : offset + len(piece)] == piece


@pytest.mark.parametrize("pattern", [PLAIN, MERGING], ids=["whole words", "merging words"])
class TestSource:
    TEXT = "total = total + x\nshow(total, subtotal)\n"

    def source(self, words: Words, text: str = TEXT) -> RewrittenSource:
        return RewrittenSource(words.tokenize(text.encode()), words)

    def test_at_first_it_is_the_text(self, pattern: bytes):
        words = Words(pattern)
        source = self.source(words)
        assert words.text(source.ids) == self.TEXT
        assert source.applied == [None] * len(source.ids)
        expect_in_step(source, words)

    def test_the_rest_is_rewritten(self, pattern: bytes):
        words = Words(pattern)
        source, rename = self.source(words), Substitution(b"total", b"amount")
        source.rewrite(8, [rename])
        assert words.text(source.ids) == "amount + x\nshow(amount, subtotal)\n"
        substituted = [
            token
            for token, applied in zip(source.ids, source.applied, strict=True)
            if applied is rename
        ]
        assert "amount" in words.text(substituted)
        assert "x" not in words.text(substituted)
        expect_in_step(source, words)

    def test_bytes_before_untouched_stay(self, pattern: bytes):
        words = Words(pattern)
        source, rename = self.source(words), Substitution(b"total", b"amount")
        source.rewrite(8, [rename], untouched=13)
        assert words.text(source.ids) == "total + x\nshow(amount, subtotal)\n"
        expect_in_step(source, words)

    def test_the_longer_of_two_that_begin_together(self, pattern: bytes):
        words = Words(pattern)
        source = self.source(words)
        source.rewrite(0, [Substitution(b"total", b"n"), Substitution(b"total + x", b"all")])
        assert words.text(source.ids) == "n = all\nshow(n, subtotal)\n"

    def test_a_deleted_word_leaves_no_token(self, pattern: bytes):
        words = Words(pattern)
        source = self.source(words)
        source.rewrite(0, [Substitution(b"total", b"")])
        assert words.text(source.ids) == " =  + x\nshow(, subtotal)\n"

    def test_the_first_occurrence_left(self, pattern: bytes):
        source, rename = self.source(Words(pattern)), Substitution(b"total", b"amount")
        assert source.next_occurrence(rename, 1) == (8, 13)
        assert source.next_occurrence(rename, 24) is None

    def test_an_empty_text(self, pattern: bytes):
        words = Words(pattern)
        source = self.source(words, "")
        source.rewrite(0, [Substitution(b"a", b"b")])
        assert source.ids == []
        assert not source.needs_rewrite(0)

    def test_a_long_text_is_rewritten_some_way_ahead_and_later_on(self, pattern: bytes):
        words = Words(pattern)
        line = "value = total + other\n"
        text = line * 600
        source, rename = self.source(words, text), Substitution(b"total", b"amount")
        source.rewrite(0, [rename])
        renamed = text.replace("total", "amount")
        rewritten = words.text(source.ids[: source.n_rewritten])
        assert renamed.startswith(rewritten)
        assert REWRITE_BYTES <= len(rewritten) < 2 * REWRITE_BYTES
        assert (
            words.text(source.ids[source.n_rewritten :])
            == text[text.index("\n", REWRITE_BYTES - 1) + 1 :]
        )
        expect_in_step(source, words)
        position = next(i for i in range(len(source.ids)) if source.needs_rewrite(i))
        start = source.offsets[position]
        source.rewrite(start, [rename])
        assert renamed.endswith(text[start:].replace("total", "amount"))
        assert words.text(source.ids[: source.n_rewritten]).count("total") == 0

    @pytest.mark.parametrize("seed", range(15))
    def test_rewriting_is_replacing(self, pattern: bytes, seed: int):
        rng = random.Random(seed)
        words = Words(pattern)
        text = "".join(rng.choices(["a", "b", "ab", " ", "(", ")", "\n", "é"], k=120))
        source = self.source(words, text)
        start = rng.choice(source.offsets)
        substitution = Substitution(
            rng.choice([b"a", b"ab", b"b ("]), rng.choice([b"x", b"yy y", b""])
        )
        source.rewrite(start, [substitution])
        data = text.encode()
        expected = data[start:]
        for match in reversed(list(substitution.pattern.finditer(data, start))):
            expected = (
                data[start : match.start()] + substitution.new + expected[match.end() - start :]
            )
        assert b"".join(map(words.piece, source.ids)) == expected
        expect_in_step(source, words)
