"""Every language, by its sample file."""

import random
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

# Kind, qualified name, first and last line (from 1) of every target of the sample files.
EXPECTED = {
    "sample.c": """
        struct node 3-7
        struct point 9-11
        enum color 13-13
        function count 17-26
        function push 28-33
        function choose 35-37
        function add 39-44
    """,
    "sample.cpp": """
        module geo 3-42
        class geo.Shape 5-22
        method geo.Shape.Shape 8-8
        method geo.Shape.~Shape 9-9
        method geo.Shape.operator< 13-16
        struct geo.Shape.Cache 19-21
        class geo.Stack 24-32
        method geo.Stack.empty 28-28
        function geo.Stack.push 34-38
        enum geo.Color 40-40
        function geo.Shape.area 44-46
        function largest 48-52
        function find 54-56
        function main 58-60
    """,
    "sample.cs": """
        module Example.Shop 3-47
        class Example.Shop.Basket 5-32
        method Example.Shop.Basket.Basket 11-14
        method Example.Shop.Basket.Count 16-16
        method Example.Shop.Basket.Largest 18-24
        function Example.Shop.Basket.Largest.Local 22-22
        method Example.Shop.Basket.Name 26-29
        method Example.Shop.Basket.operator == 31-31
        interface Example.Shop.IVisitor 34-37
        method Example.Shop.IVisitor.Visit 36-36
        class Example.Shop.Pair 39-39
        struct Example.Shop.Point 41-44
        enum Example.Shop.Color 46-46
    """,
    "sample.go": """
        struct Stack 6-9
        interface Walker 12-15
        type Name 17-17
        method Stack.Push 20-23
        method Stack.Len 25-25
        method Name.String 27-29
        function Map 31-40
        function main 42-47
    """,
    "sample.java": """
        class Shelf 5-43
        method Shelf.Shelf 12-14
        method Shelf.largest 16-22
        interface Shelf.Visitor 24-30
        method Shelf.Visitor.visit 25-25
        method Shelf.Visitor.limit 27-29
        enum Shelf.Kind 32-36
        method Shelf.Kind.old 35-35
        class Shelf.Pair 38-42
        method Shelf.Pair.sum 39-41
    """,
    "sample.js": """
        function later 5-11
        function double 13-13
        function counted 15-23
        function counted.bump 18-21
        function one 25-25
        function two 25-25
        class Queue 27-39
        method Queue.of 30-32
        method Queue.size 34-34
        method Queue.onPush 36-38
        object api 41-48
        method api.get 42-44
        method api.post 45-47
        function parse 50-52
        function Queue.clear 54-56
        function ids 58-60
    """,
    "sample.kt": """
        class Basket 3-22
        method Basket.first 8-15
        function Basket.first.check 11-13
        method Basket.size 17-17
        method Basket.empty 20-20
        class Visitor 24-26
        method Visitor.visit 25-25
        object Registry 28-32
        method Registry.add 29-31
        class Color 34-34
        function double 36-37
        function load 39-41
    """,
    "sample.lua": """
        function M.new 4-8
        function M.push 10-13
        function check 15-18
        function twice 20-22
        function M.pop 24-28
        object handlers 30-34
        method handlers.open 31-33
    """,
    "sample.php": """
        class Basket 5-22
        method Basket.__construct 11-11
        method Basket.total 13-21
        interface Visitor 24-27
        method Visitor.visit 26-26
        trait Named 29-35
        method Named.name 31-34
        enum Color 37-42
        method Color.label 41-41
        function helper 44-48
    """,
    "sample.py": """
        function rate 8-12
        class Price 15-36
        method Price.euros 24-27
        method Price.fetch 29-33
        function Price.fetch.parse 30-31
        class Price.Error 35-36
        method Price.Error.hint 36-36
        function total 39-40
    """,
    "sample.rb": """
        module Shop 5-34
        class Shop.Basket 7-33
        method Shop.Basket.initialize 11-13
        method Shop.Basket.total 15-18
        method Shop.Basket.empty 20-22
        method Shop.Basket.parse 25-27
        method Shop.Basket.secret? 30-32
        function helper 36-38
    """,
    "sample.rs": """
        struct Counter 5-9
        enum Mode 11-16
        trait Tally 18-25
        method Tally.tally 19-19
        method Tally.double 21-24
        impl impl Counter 27-37
        method Counter.new 28-32
        method Counter.push 34-36
        impl impl Tally for Counter 39-43
        method Counter.tally 40-42
        impl impl fmt.Display for Mode 45-49
        method Mode.fmt 46-48
        macro square 51-55
        module tests 57-68
        function tests.counts 61-67
        function tests.counts.helper 63-65
    """,
    "sample.sh": """
        function fail 4-8
        function build 10-13
        function clean 15-17
    """,
    "sample.ts": """
        interface Point 3-8
        type Shape 10-10
        enum Color 12-15
        class Store 17-34
        method Store.constructor 23-23
        method Store.find 25-29
        method Store.reset 31-33
        class Base 36-38
        method Base.area 37-37
        function external 40-40
        module Geometry 42-46
        function Geometry.distance 43-45
        function area 48-50
    """,
    "sample.tsx": """
        interface Props 3-5
        function Counter 7-14
        function Counter.bump 10-12
        function Title 16-16
        function App 18-25
    """,
}


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
    assert listed == [line.strip() for line in EXPECTED[name].strip().splitlines()]


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
    assert found
    for body, following in zip(found, [*found[1:], Span(len(text), len(text))], strict=True):
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
