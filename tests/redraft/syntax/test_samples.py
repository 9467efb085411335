"""Every language, by its sample file."""

import random
from collections import Counter
from pathlib import Path

import pytest

from redraft.records import Span
from redraft.syntax import (
    LANGUAGES,
    bodies,
    comment,
    comment_openers,
    import_statements,
    language_of,
    parse_errors,
    parse_problems,
    statements,
    target_at,
    target_named,
    targets,
    verbatim_lines,
    verbatim_spans,
)
from redraft.text.lines import LineIndex

SAMPLES = Path(__file__).parents[3] / "fixtures" / "languages"


NAMES = sorted(path.name for path in SAMPLES.iterdir() if path.is_file())


def sample(name):
    text = (SAMPLES / name).read_bytes().decode()
    language = language_of(name, text)
    assert language is not None
    return text, language


def test_there_is_a_sample_of_every_language():
    assert {sample(name)[1] for name in NAMES} == set(LANGUAGES)


def describe(text, language):
    """Return all that is seen in a text, as fixtures/languages/expected has it; lines from 1."""
    index = LineIndex(text)

    def lines(span):
        return f"{index.line_at(span.start) + 1}-{index.line_at(span.stop) + 1}"

    kinds = Counter(statement.kind for statement in statements(text, language))
    sections = {
        "targets": [f"{t.kind} {t.name} {lines(t.span)}" for t in targets(text, language)],
        "bodies": [lines(body) for body in bodies(text, language)],
        "imports": [lines(span) for span in import_statements(text, language)],
        "verbatim": [str(line + 1) for line in sorted(verbatim_lines(text, language))],
        "statements": [f"{kind} {n}" for kind, n in sorted(kinds.items())],
    }
    return "".join(f"[{name}]\n" + "".join(f"{x}\n" for x in xs) for name, xs in sections.items())


@pytest.mark.parametrize("name", NAMES)
def test_what_is_seen_in_a_sample(name):
    expected = (SAMPLES / "expected" / f"{name}.txt").read_text(encoding="utf-8")
    assert describe(*sample(name)) == expected


@pytest.mark.parametrize("name", NAMES)
def test_samples_parse_and_every_ending_does_too(name):
    text, language = sample(name)
    expected = [(target.kind, target.name) for target in targets(text, language)]
    for ending in ("\n", "\r\n", "\r"):
        other = text.replace("\n", ending)
        assert parse_errors(other, language) == 0
        assert [(target.kind, target.name) for target in targets(other, language)] == expected


@pytest.mark.parametrize("name", NAMES)
def test_a_comment_of_the_language_parses(name):
    text, language = sample(name)
    remark = comment(language, "two words")
    assert "two words" in remark
    if openers := comment_openers(language):
        assert remark.startswith(openers)
        assert parse_errors(f"{text}\n{remark}\n", language) == 0


@pytest.mark.parametrize("name", NAMES)
def test_spans_hold_whole_definitions_and_bodies_lie_inside(name):
    text, language = sample(name)
    spans = [target.span for target in targets(text, language)]
    for span in spans:
        assert not span.of(text)[-1].isspace()
    found = bodies(text, language)
    for body, following in zip(found, [*found, Span(len(text), len(text))][1:], strict=True):
        assert body.stop <= following.start
        assert any(body in span for span in spans)
        assert body.of(text) == body.of(text).strip()


@pytest.mark.parametrize("name", NAMES)
def test_a_target_is_found_on_each_of_its_lines_and_by_its_name(name):
    text, language = sample(name)
    index = LineIndex(text)
    known = targets(text, language)
    names = [target.name for target in known]
    for target in known:
        if names.count(target.name) == 1:
            assert target_named(text, language, target.name) == target
        if target.kind in ("function", "method"):
            for offset in (target.span.start, target.span.stop):
                found = target_at(text, language, index.line_at(offset))
                assert found.span in target.span or index.line_at(found.span.start) == (
                    index.line_at(offset)
                )


@pytest.mark.parametrize("name", NAMES)
def test_damaged_files_still_have_sound_spans(name):
    text, language = sample(name)
    rng = random.Random(name)
    for _ in range(8):
        at = rng.randrange(len(text))
        damaged = text[:at] + rng.choice("(){}'\"\r\n😀") + text[at + rng.randrange(9) :]
        for target in targets(damaged, language):
            assert target.name.rsplit(".", 1)[-1]
            assert 0 < len(target.span) <= len(damaged)
        problems = parse_problems(damaged, language)
        assert len(problems) == parse_errors(damaged, language)
        others = [*verbatim_spans(damaged, language), *import_statements(damaged, language)]
        others += [statement.span for statement in statements(damaged, language)]
        assert all(span.stop <= len(damaged) for span in (*problems, *others))


@pytest.mark.parametrize("name", NAMES)
def test_statements_are_in_order_and_end_in_no_white_space(name):
    text, language = sample(name)
    spans = [statement.span for statement in statements(text, language)]
    assert spans == sorted(spans, key=lambda span: (span.start, -span.stop))
    assert all(len(span) and not span.of(text)[-1].isspace() for span in spans)


@pytest.mark.parametrize("name", NAMES)
def test_verbatim_lines_are_those_that_begin_in_verbatim_spans(name):
    text, language = sample(name)
    index = LineIndex(text)
    spans = verbatim_spans(text, language)
    for span, following in zip(spans, [*spans, Span(len(text), len(text))][1:], strict=True):
        assert span.stop <= following.start
    for line in verbatim_lines(text, language):
        start = index.line_span(line).start
        assert any(span.start <= start < span.stop for span in spans)
