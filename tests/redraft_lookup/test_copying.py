"""How soon drafts are right again after each kind of edit, and what they cost where they never are."""

import random
import tracemalloc

import pytest
from tests.redraft_lookup.fakes import SLOPE_CURVE, STAIRCASE_CURVE
from tests.redraft_lookup.words import MERGING, PLAIN, Edit, Words, draft_edit

from redraft_lookup.copying import CopyDrafter
from redraft_lookup.cost import CostCurve
from redraft_lookup.draft import EMPTY, Observation
from redraft_lookup.llama_cpp_rules import NgramMod

curves = pytest.mark.parametrize(
    "curve", [SLOPE_CURVE, STAIRCASE_CURVE], ids=["slope", "staircase"]
)
vocabularies = pytest.mark.parametrize(
    "pattern", [PLAIN, MERGING], ids=["whole words", "merging words"]
)

NAMES = "alpha beta gamma delta kappa sigma omega theta lambda zeta".split()


def function(name: str, i: int) -> str:
    return (
        f"def {name}_{i}(left, right):\n    value = left.{name}[{i}] + right\n    return value\n\n"
    )


def code(n_functions: int) -> str:
    return "".join(function(NAMES[i % len(NAMES)], i) for i in range(n_functions))


CODE = code(12)
MIDDLE = function(*("sigma", 5))


def n_tokens(text: str, words: Words) -> int:
    return len(words.tokenize(text.encode()))


@curves
@vocabularies
def test_the_first_token_is_drafted_already(curve: CostCurve, pattern: bytes):
    edit = draft_edit(CODE, CODE, curve=curve, words=Words(pattern))
    assert edit.steps[0].accepted == edit.steps[0].drafted > 20
    assert edit.origins[0] == "copied"


@vocabularies
@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("left.sigma[5]", "left.other[5]", id="a word replaced"),
        pytest.param("left.sigma[5]", "zip(new, old)[5]", id="some words replaced by more"),
        pytest.param("left.sigma[5] + ", "x + ", id="some words replaced by one"),
        pytest.param("    value = left.sigma[5] + right\n", "", id="a line deleted"),
        pytest.param("[5] + right", "", id="some words deleted"),
        pytest.param(MIDDLE, "", id="a function deleted"),
        pytest.param("left.sigma[5]", "left.sigma.again[5]", id="words inserted"),
        pytest.param(MIDDLE, f"x = 7\n{MIDDLE}", id="a line inserted"),
        pytest.param(MIDDLE, f"import os\nprint(os.name)\n\n{MIDDLE}", id="lines inserted"),
    ],
)
def test_copying_goes_on_within_three_tokens_of_an_edit(old: str, new: str, pattern: bytes):
    assert CODE.count(old) == 1
    words = Words(pattern)
    edit = draft_edit(CODE, CODE.replace(old, new), words=words)
    stem = CODE[: CODE.index(old)] + new
    assert edit.n_fresh_after(n_tokens(stem, words)) <= 3


class TestLearnedEdits:
    """What was changed once is drafted changed."""

    def origins_of(self, edit: Edit, words: Words, text: str) -> list[str | None]:
        """The origins of the last token of each occurrence of `text` in the answer."""
        found, written = [], ""
        for token, origin in zip(edit.tokens, edit.origins, strict=True):
            written += words.piece(token).decode()
            if written.endswith(text):
                found.append(origin)
        return found

    @vocabularies
    def test_a_rename_is_drafted_after_two_occurrences(self, pattern: bytes):
        lines = [f"    amount += {name}.first(amount, {i})\n" for i, name in enumerate(NAMES)]
        before = (
            f"def solve(amount):\n    assert True, missing\n{''.join(lines)}    return amount\n"
        )
        after = before.replace("amount", "subtotal")
        assert after.count("subtotal") >= 20
        words = Words(pattern)
        edit = draft_edit(before, after, words=words)
        origins = self.origins_of(edit, words, "subtotal")
        assert (
            origins[2:].count("learned") >= len(origins) - 4
        )  # the last of a pass is never drafted
        start = n_tokens(after[: after.index("first")], words)
        assert edit.n_fresh_after(start) <= 1
        assert len(edit.rows) <= 15

    @vocabularies
    def test_a_changed_call_is_drafted_at_the_next_sites(self, pattern: bytes):
        before = "".join(
            f"{name} = load(path)\nshow({name}, {i})\n" for i, name in enumerate(NAMES)
        )
        after = before.replace("load(path)", "load(path, mode)")
        words = Words(pattern)
        edit = draft_edit(before, after, words=words)
        origins = self.origins_of(edit, words, "(path, mode")
        assert origins[2:] == ["learned"] * 8

    @vocabularies
    def test_a_change_of_one_place_only_is_soon_forgotten(self, pattern: bytes):
        before = "".join(f"{name} = total + {i}\n" for i, name in enumerate(NAMES * 3))
        after = before.replace("total", "first", 1)
        words = Words(pattern)
        edit = draft_edit(before, after, words=words)
        assert edit.drafter._pointer.substitutions == []
        n_ahead = len(edit.tokens) // 2
        wrong = sum(step.drafted - step.accepted for step in edit.steps)
        assert wrong < 2 * SLOPE_CURVE.best_rows + 20
        last_half = edit.origins[n_ahead:]
        assert last_half.count("copied") > 0.9 * len(last_half)

    @vocabularies
    @pytest.mark.parametrize(
        ("indent", "head", "tail"),
        [
            pytest.param(4, "    with lock:\n", "", id="into a block"),
            pytest.param(-4, "", "", id="out of a block"),
        ],
    )
    def test_the_lines_of_a_block_that_moves_are_drafted_where_they_go(
        self, indent: int, head: str, tail: str, pattern: bytes
    ):
        block = [f"        {name}.{i} = load({name}, {i})\n" for i, name in enumerate(NAMES * 3)]
        rest = "".join(f"    show({name})\n" for name in NAMES)
        moved = [line.rjust(len(line) + indent) if indent > 0 else line[-indent:] for line in block]
        before = f"def solve():\n{''.join(block)}{rest}"
        after = f"def solve():\n{head}{''.join(moved)}{rest}{tail}"
        words = Words(pattern)
        edit = draft_edit(before, after, words=words)
        assert edit.origins.count("learned") > len(block)
        assert edit.drafter._pointer.substitutions == []
        third = after.index(moved[2])
        assert edit.n_fresh_after(n_tokens(after[:third], words)) <= 4
        assert len(edit.rows) <= 20

    @vocabularies
    @pytest.mark.parametrize("seed", range(5))
    def test_renames_here_and_there_never_change_the_answer(self, seed: int, pattern: bytes):
        """After a refuted substitution the pointer stands in a source that began anew."""
        rng = random.Random(seed)
        before = "".join(
            f"{rng.choice(NAMES)} = total.{rng.choice(NAMES)}(total, {i})\n" for i in range(40)
        )
        parts = before.split("total")
        after = parts[0] + "".join(rng.choice(["total", "sum_of", "x"]) + p for p in parts[1:])
        edit = draft_edit(before, after, words=Words(pattern))
        assert len(edit.rows) < len(edit.tokens)

    def test_a_rename_reaches_the_end_of_a_long_file(self):
        before = "".join(f"{name} = total + {i}\n" for i, name in enumerate(NAMES * 60))
        words = Words()
        edit = draft_edit(before, before.replace("total", "subtotal"), words=words)
        origins = self.origins_of(edit, words, "subtotal")
        assert origins[2:].count("learned") > 0.95 * len(origins)


class TestOtherSources:
    def test_a_moved_block_is_looked_up(self):
        blocks = [function(name, i) for i, name in enumerate(NAMES)]
        after = "".join([blocks[8], *blocks[:8], blocks[9]])
        edit = draft_edit("".join(blocks), after)
        assert len(edit.rows) < len(edit.tokens) / 8

    def test_a_repeated_new_block_is_looked_up(self):
        new = "log(level=1, text='started', when=now(), where=here)\n"
        after = CODE.replace("    value", f"    {new}    value")
        edit = draft_edit(CODE, after)
        assert "lookup" in edit.origins
        assert len(edit.rows) < len(edit.tokens) / 8

    def test_without_a_source_the_prompt_is_looked_up(self):
        edit = draft_edit(CODE, CODE, source="")
        assert set(edit.origins) <= {"lookup", None}
        assert len(edit.rows) < len(edit.tokens) / 8

    def test_a_source_that_is_not_in_the_prompt_is_copied(self):
        edit = draft_edit(CODE, CODE, in_prompt=False)
        assert len(edit.rows) < len(edit.tokens) / 20

    def test_nothing_to_copy_from_at_all(self):
        edit = draft_edit("", " ".join(f"word{i}" for i in range(99)))
        assert set(edit.origins) <= {"copied", "lookup", None}

    def test_an_answer_that_goes_on_behind_the_source(self):
        tail = " ".join(f"new{i}" for i in range(99))
        edit = draft_edit(CODE, CODE + tail)
        assert edit.seconds(SLOPE_CURVE) < draft_edit(CODE, CODE).seconds(SLOPE_CURVE) + 220

    def test_an_empty_answer(self):
        assert draft_edit(CODE, "").tokens == []

    @curves
    @pytest.mark.parametrize("seed", range(4))
    def test_an_unrelated_answer_costs_at_most_three_percent(self, seed: int, curve: CostCurve):
        rng = random.Random(seed)
        answer = " ".join(rng.choices([f"w{i}" for i in range(900)], k=500))
        edit = draft_edit(CODE, answer, curve=curve)
        assert edit.seconds(curve) <= 1.03 * len(edit.tokens) * curve.seconds(1)


@curves
@pytest.mark.parametrize("n", [300, 2000])
def test_verbatim_copying_reaches_nine_tenths_of_the_best_rate(n: int, curve: CostCurve):
    words = Words()
    text = words.text(words.tokenize(code(n // 20).encode())[:n])
    edit = draft_edit(text, text, words=words, curve=curve)
    assert len(edit.tokens) == n
    best = curve.best_rows / curve.seconds(curve.best_rows)
    # The pass that says the end brings no token.
    assert n / (edit.seconds(curve) - curve.seconds(edit.rows[-1])) >= 0.9 * best


@pytest.mark.parametrize("seed", range(3))
def test_five_scattered_edits_take_far_fewer_passes_than_ngram_mod(seed: int):
    rng = random.Random(seed)
    words = Words()
    text = words.text(words.tokenize(code(200).encode())[:4000])
    before = words.tokenize(text.encode())
    after = list(before)
    for part in (500, 1200, 1900, 2600, 3300):
        at = part + rng.randrange(100)
        after[at : at + rng.randrange(2)] = words.tokenize(b"new words")
    edit = draft_edit(text, words.text(after), words=words)
    mod = draft_edit(
        text, words.text(after), words=words, make=lambda prompt, _, **options: NgramMod(prompt)
    )
    assert len(mod.rows) >= 2.5 * len(edit.rows)


@pytest.mark.parametrize(
    "curve",
    [
        pytest.param(SLOPE_CURVE, id="slope"),
        pytest.param(STAIRCASE_CURVE, id="staircase"),
        # What a busy machine may measure: rows that cost nothing, so every guess pays.
        pytest.param(CostCurve.of({1: 1.0, 64: 1.0}), id="flat"),
    ],
)
def test_drafts_keep_to_their_budget(curve: CostCurve):
    words = Words()
    source = words.tokenize(CODE.encode())
    drafter = CopyDrafter(source, source, curve=curve, vocabulary=words)
    # The functions are alike: in their midst several places and lookups make a guess each.
    for token in words.tokenize(MIDDLE.encode()):
        for budget in (0, 1, 2, 5, 63, 500):
            assert len(drafter.propose(budget)) <= min(budget, curve.max_rows - 1)
        drafter.observe(Observation(tokens=(token,), draft=EMPTY, path=()))


def test_memory_stays_under_a_megabyte_for_ten_thousand_tokens():
    rng = random.Random(0)
    words = Words()
    text = " ".join(rng.choices([f"name_{i}" for i in range(3000)], k=5000))
    tokens = words.tokenize(text.encode())
    assert len(tokens) == 9999
    tracemalloc.start()
    try:
        drafter = CopyDrafter(tokens, tokens, curve=SLOPE_CURVE, vocabulary=words)
        for i in range(0, 9000, 50):
            draft = drafter.propose(50)
            path = tuple(range(len(draft)))
            drafter.observe(Observation(tokens=tuple(tokens[i : i + 50]), draft=draft, path=path))
        n_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert n_bytes < 2e6  # prompt and answer, 10,000 tokens each
