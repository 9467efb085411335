"""Every language, by its sample file."""

import random
import re
from pathlib import Path

import pytest

from redraft.records import Span
from redraft.syntax import (
    LANGUAGES,
    bodies,
    language_of,
    parse_errors,
    target_at,
    target_named,
    targets,
)
from redraft.text.lines import LineIndex

SAMPLES = Path(__file__).parents[3] / "fixtures" / "languages"


def sections(name):
    """Return the expectations of a sample: for each `[section]` its lines."""
    text = (SAMPLES / "expected" / f"{name}.txt").read_text(encoding="utf-8")
    parts = re.split(r"^\[(\w+)\]\n", text, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], map(str.splitlines, parts[1::2]), strict=True))


NAMES = sorted(path.name for path in SAMPLES.iterdir() if path.is_file())
EXPECTED = {name: sections(name) for name in NAMES}


def sample(name):
    text = (SAMPLES / name).read_bytes().decode()
    language = language_of(name, text)
    assert language is not None
    return text, language


def test_there_is_a_sample_of_every_language():
    assert {sample(name)[1] for name in EXPECTED} == set(LANGUAGES)


@pytest.mark.parametrize("name", EXPECTED)
def test_the_targets_of_a_file(name):
    text, language = sample(name)
    index = LineIndex(text)
    listed = [
        f"{target.kind} {target.name} "
        f"{index.line_at(target.span.start) + 1}-{index.line_at(target.span.stop) + 1}"
        for target in targets(text, language)
    ]
    assert listed == EXPECTED[name]["targets"]


@pytest.mark.parametrize("name", EXPECTED)
def test_samples_parse_and_every_ending_does_too(name):
    text, language = sample(name)
    expected = [(target.kind, target.name) for target in targets(text, language)]
    for ending in ("\n", "\r\n", "\r"):
        other = text.replace("\n", ending)
        assert parse_errors(other, language) == 0
        assert [(target.kind, target.name) for target in targets(other, language)] == expected


@pytest.mark.parametrize("name", EXPECTED)
def test_spans_hold_whole_definitions_and_bodies_lie_inside(name):
    text, language = sample(name)
    spans = [target.span for target in targets(text, language)]
    for span in spans:
        assert not span.of(text)[-1].isspace()
    found = bodies(text, language)
    assert len(found) == int(EXPECTED[name]["bodies"][0])
    for body, following in zip(found, [*found, Span(len(text), len(text))][1:], strict=True):
        assert body.stop <= following.start
        assert any(body in span for span in spans)
        assert body.of(text) == body.of(text).strip()


@pytest.mark.parametrize("name", EXPECTED)
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


@pytest.mark.parametrize("name", EXPECTED)
def test_damaged_files_still_have_sound_spans(name):
    text, language = sample(name)
    rng = random.Random(name)
    for _ in range(8):
        at = rng.randrange(len(text))
        damaged = text[:at] + rng.choice("(){}'\"\r\n😀") + text[at + rng.randrange(9) :]
        for target in targets(damaged, language):
            assert target.name.rsplit(".", 1)[-1]
            assert 0 < len(target.span) <= len(damaged)
        parse_errors(damaged, language)
