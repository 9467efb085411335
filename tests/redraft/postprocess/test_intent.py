import pytest

from redraft.postprocess.intent import asks_to_add, asks_to_fix, asks_to_lay_out, asks_to_remove


@pytest.mark.parametrize("word", ["remove", "Delete", "simplify", "inline", "clear out", "reduce"])
def test_words_that_ask_for_less(word):
    assert asks_to_remove(f"please {word} it")


@pytest.mark.parametrize(
    "words", ["Fix it", "find the bug", "the sum is wrong", "this test fails", "Debug load()"]
)
def test_words_that_say_the_code_is_wrong(words):
    assert asks_to_fix(words)


@pytest.mark.parametrize(
    "words",
    [
        "it prints the same text, but it should output it in reverse",
        "f is supposed to return 3 for an empty list",
        "The pattern should not match a dot",
        "return the correct interest",
    ],
)
def test_words_that_say_what_the_code_does_not_do_yet(words):
    assert asks_to_fix(words)


@pytest.mark.parametrize(
    "words",
    [
        "Add a prefix",
        "rename f to fixture",
        "Say what it does",
        "each function should have a docstring",  # it may have one
        "names should be in snake case",
        "should `return` be used here?",
    ],
)
def test_words_that_do_not(words):
    assert not asks_to_fix(words)


@pytest.mark.parametrize("words", ["Adds this", "use the helper", "put it below", "Replace f with"])
def test_words_that_want_quoted_code_in_the_file(words):
    assert asks_to_add(words)


@pytest.mark.parametrize("words", ["Fix bugs in add_all", "Fix it; these tests must pass:"])
def test_a_name_is_no_word_and_tests_are_only_shown(words):
    assert not asks_to_add(words)


def test_white_space_is_asked_about_by_its_names():
    assert asks_to_lay_out("Indent it by two spaces")
    assert not asks_to_lay_out("Rename it")


@pytest.mark.parametrize("asks", [asks_to_add, asks_to_fix, asks_to_lay_out, asks_to_remove])
def test_quoted_code_asks_for_nothing(asks):
    quoted = "```python\nadd(fix, tabs)\nremove(wrong)\n```"
    assert not asks(f"Look at this:\n{quoted}\nand this:\n\n  {quoted}\n\nIs it the same?")
    assert asks(f"Look:\n{quoted}\nThen add, fix, indent and remove")
