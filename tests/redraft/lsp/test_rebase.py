import random

import pytest

from redraft.lsp.documents import describe_change, find_change, locate_target
from redraft.records import Replacement, Span
from redraft.text.diff import apply_replacements

OLD = "head\ndef f():\n    return 1\ntail\n"
TARGET = Span(5, 26)


def after(changes: list[tuple[int, int, str]]) -> tuple[str, list]:
    text, steps = OLD, []
    for start, stop, new in changes:
        change = Replacement(span=Span(start, stop), new_text=new)
        text = apply_replacements(text, [change])
        steps.append(describe_change(change, text))
    return text, steps


@pytest.mark.parametrize(
    ("changes", "start"),
    [
        ([], 5),
        ([(0, 0, "# top\n")], 11),
        ([(0, 5, "")], 0),
        ([(5, 5, "# right above\n")], 19),
        ([(26, 26, "\n# right below")], 5),
        ([(27, 32, "")], 5),
        ([(0, 1, "HH"), (28, 28, "below\n"), (0, 0, "\n")], 7),
        ([(9, 10, "gg"), (9, 11, "f")], 5),
        ([(10, 10, "x"), (0, 0, "\n"), (11, 12, "")], 6),
    ],
    ids=[
        "nothing",
        "a line above",
        "the line above removed",
        "a line typed right above",
        "a line typed right below",
        "what follows removed",
        "above and below",
        "changed and undone",
        "changed, moved and undone",
    ],
)
def test_a_target_that_still_reads_the_same_is_found(changes: list, start: int) -> None:
    new, steps = after(changes)
    place = locate_target(TARGET, steps, OLD, new)
    assert place == Span(start, start + len(TARGET))
    assert place.of(new) == TARGET.of(OLD)


@pytest.mark.parametrize(
    "changes",
    [
        [(10, 11, "g")],
        [(26, 26, " + 1")],
        [(5, 5, "async ")],
        [(0, 10, "")],
        [(20, 30, "x")],
        [(0, 32, "other")],
        [(10, 10, "x"), (10, 11, "y")],
    ],
    ids=[
        "inside",
        "typed at its end",
        "typed before it on its line",
        "cut at the front",
        "cut at the back",
        "all replaced",
        "changed twice",
    ],
)
def test_a_target_that_was_touched_is_not_found(changes: list) -> None:
    new, steps = after(changes)
    assert locate_target(TARGET, steps, OLD, new) is None


@pytest.mark.parametrize("seed", range(200))
def test_the_difference_turns_one_text_into_the_other(seed: int) -> None:
    rng = random.Random(seed)
    old, new = ("".join(rng.choices("ab\n", k=rng.randrange(30))) for _ in range(2))
    assert apply_replacements(old, [find_change(old, new)]) == new


@pytest.mark.parametrize("seed", range(300))
def test_a_found_place_is_where_untouched_text_went(seed: int) -> None:
    """Every character is distinct, so that the target's true place can be looked up."""
    rng = random.Random(seed)
    old = "".join(chr(0x4E00 + n) if n % 7 else "\n" for n in range(60))
    fresh = iter(range(0x6000, 0x9000))
    start = rng.randrange(50)
    target = Span(start, start + rng.randrange(1, 10))
    text, steps = old, []
    for _ in range(rng.randrange(1, 6)):
        a = rng.randrange(len(text) + 1)
        b = min(len(text), a + rng.randrange(4))
        new = "".join(chr(next(fresh)) for _ in range(rng.randrange(4))) + rng.choice(["", "\n"])
        change = Replacement(span=Span(a, b), new_text=new)
        text = apply_replacements(text, [change])
        steps.append(describe_change(change, text))
    place = locate_target(target, steps, old, text)
    assert place is None or text[place.start : place.stop] == target.of(old)
    letters = target.of(old).replace("\n", "")
    if place and letters:
        assert place.start <= text.index(letters[0]) < place.stop
