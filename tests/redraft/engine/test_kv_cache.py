"""The cache holds the committed tokens and nothing else, whatever was drafted and dropped."""

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from redraft.engine.kv_cache import KVCache, chunk_ends
from redraft.engine.llama import Context, LlamaModel
from redraft.engine.state_cache import DiskCache, StateCache
from redraft.errors import EngineError
from redraft_lookup.draft import EMPTY, ROOT, Draft

MakeContext = Callable[..., Context]

ROW_COUNTS = (8, 16, 32)  # round alike on every backend that has been seen
N_TOKENS = 256  # the bytes of the tiny vocabulary
ROUNDING = 0.1  # of 16-bit cells; a text with another token is much further away


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [
        pytest.param([], [], id="nothing to prefill"),
        pytest.param([0, 0], [], id="empty parts need no pass"),
        pytest.param([100], [100], id="a short part is one pass"),
        pytest.param([128], [128], id="a full chunk is one pass"),
        pytest.param([129], [128, 129], id="one token more is another"),
        pytest.param([300, 20], [128, 256, 300, 320], id="a part ends a pass"),
        pytest.param([0, 130], [128, 130], id="an empty first part changes nothing"),
        pytest.param([130, 130], [128, 130, 258, 260], id="chunks count from the part's start"),
    ],
)
def test_prefill_passes_end_at(lengths: list[int], expected: list[int]):
    assert chunk_ends(lengths, 128) == expected


@pytest.mark.parametrize("seed", range(30))
def test_prefill_passes_cover_all_and_do_not_depend_on_later_parts(seed: int):
    chance = random.Random(seed)
    lengths = [chance.randrange(400) for _ in range(chance.randrange(1, 5))]
    ends = chunk_ends(lengths, 128)
    assert ends == sorted(set(ends))
    assert (ends or [0])[-1] == sum(lengths)
    assert all(stop - start <= 128 for start, stop in zip([0, *ends], ends, strict=False))
    assert ends[: len(chunk_ends(lengths[:-1], 128))] == chunk_ends(lengths[:-1], 128)


def make_cache(context: Context, *parts: Sequence[int], row_counts=(), budget=0) -> KVCache:
    cache = KVCache(context, chunk=32, state_cache=StateCache(budget), prefill_counts=row_counts)
    cache.row_counts = row_counts
    prefill(cache, *parts)
    return cache


def prefill(cache: KVCache, *parts: Sequence[int]) -> list[int]:
    return list(cache.prefill(parts))


def step(cache: KVCache, token: int, draft: Draft = EMPTY, rows: Sequence[int] = (0,)) -> None:
    cache.forward(token, draft)
    cache.commit(rows)


def probe(cache: KVCache) -> np.ndarray:
    """Return the logits of a fixed pass behind the cache, which is left as it was."""
    logits = cache.forward(101, Draft.chain([102, 40, 120, 41], "guess")).copy()
    cache.commit(())
    return logits


def expect_like_fresh(
    cache: KVCache, parts: Sequence[Sequence[int]], committed: Sequence[int], context: Context
) -> None:
    """`cache` goes on as one does that was prefilled with `parts` and decoded plainly."""
    fresh = make_cache(context, *parts, row_counts=cache.row_counts)
    for token in committed:
        step(fresh, token)
    if cache.row_counts:
        assert np.array_equal(probe(cache), probe(fresh))
    else:
        assert np.abs(probe(cache) - probe(fresh)).max() < ROUNDING


def random_draft(chance: random.Random, *, n_leaves: int) -> Draft:
    if chance.random() < 0.3:
        return Draft.chain(
            [chance.randrange(N_TOKENS) for _ in range(chance.randrange(9))], "guess"
        )
    # Few token values, so that branches share what they begin with.
    branches = [
        [chance.randrange(60, 63) for _ in range(chance.randrange(1, 6))]
        for _ in range(chance.randrange(1, n_leaves + 1))
    ]
    return Draft.tree(branches, "guess")


def random_path(chance: random.Random, draft: Draft) -> list[int]:
    """Return rows from the root down to some node; now and then none, as after a near-tie."""
    if chance.random() < 0.15:
        return []
    rows, node = [0], ROOT
    while chance.random() < 0.85:
        children = [i for i, parent in enumerate(draft.parents) if parent == node]
        if not children:
            break
        node = chance.choice(children)
        rows.append(node + 1)
    return rows


@pytest.mark.parametrize("row_counts", [ROW_COUNTS, ()], ids=["invariant", "fast"])
@pytest.mark.parametrize("seed", range(12))
def test_after_any_passes_the_cache_equals_that_of_a_fresh_decode(
    seed: int, row_counts: tuple[int, ...], make_context: MakeContext
):
    chance = random.Random(seed)
    parts = [[chance.randrange(N_TOKENS) for _ in range(n)] for n in (70, 9)]
    cache = make_cache(make_context(), *parts, row_counts=row_counts)
    token = chance.randrange(N_TOKENS)
    committed: list[int] = []
    for _ in range(12):
        draft = random_draft(chance, n_leaves=5)
        rows = random_path(chance, draft)
        step(cache, token, draft, rows)
        committed += ((token, *draft.tokens)[row] for row in rows)
        token = chance.randrange(N_TOKENS) if rows else token
        if not row_counts and chance.random() < 0.2:
            n_back = chance.randrange(min(3, len(committed)) + 1)
            cache.rewind(n_back)
            del committed[len(committed) - n_back :]
    assert cache.context.n_past() == len(cache.tokens)
    assert all(cache.context.n_past(branch) == 0 for branch in range(1, cache.context.n_seq))
    expect_like_fresh(cache, parts, committed, make_context())


def test_these_comparisons_can_fail(make_context: MakeContext):
    logits = [probe(make_cache(make_context(), [*range(70), n], [1, 2, 3])) for n in (90, 91)]
    assert np.abs(logits[0] - logits[1]).max() > 5 * ROUNDING


def test_the_real_small_model_too(small_model_path, make_context: MakeContext):
    model = LlamaModel(small_model_path)
    chance = random.Random(1)
    ids = model.tokenize("def area(width, height):\n    return width * height\n" * 3)
    cache = make_cache(make_context(model), ids, [], row_counts=ROW_COUNTS)
    committed: list[int] = []
    for _ in range(6):
        branches = [chance.choices(ids, k=4), chance.choices(ids, k=3)]
        draft = Draft.tree(branches, "guess")
        rows = random_path(chance, draft)
        step(cache, ids[0], draft, rows)
        committed += ((ids[0], *draft.tokens)[row] for row in rows)
    expect_like_fresh(cache, [ids, []], committed, make_context(model))


@pytest.mark.parametrize("seed", range(8))
def test_each_branch_of_a_tree_reads_as_if_it_were_alone(seed: int, make_context: MakeContext):
    chance = random.Random(seed)
    prompt = [chance.randrange(N_TOKENS) for _ in range(50)]
    cache = make_cache(make_context(), prompt, row_counts=ROW_COUNTS)
    draft = random_draft(chance, n_leaves=5)
    logits = cache.forward(7, draft).copy()
    cache.commit(())
    for node in range(len(draft)):
        path = [node]
        while draft.parents[path[0]] != ROOT:
            path.insert(0, draft.parents[path[0]])
        chain = Draft.chain([draft.tokens[i] for i in path], "guess")
        alone = cache.forward(7, chain)[-1].copy()
        cache.commit(())
        assert np.array_equal(logits[node + 1], alone), (node, draft)


def test_a_pass_is_padded_to_an_allowed_row_count(make_context: MakeContext, monkeypatch):
    context = make_context()
    cache = make_cache(context, [1, 2, 3], row_counts=(8, 32))
    sizes: list[int] = []
    run = context.run
    monkeypatch.setattr(
        context,
        "run",
        lambda tokens, *rest, **kw: sizes.append(len(tokens)) or run(tokens, *rest, **kw),
    )
    for n_drafted in (0, 7, 8, 31):
        logits = cache.forward(4, Draft.chain([5] * n_drafted, "guess"))
        cache.commit(())
        assert len(logits) == 1 + n_drafted
    assert sizes == [8, 8, 32, 32]


class TestPrefill:
    FILE = tuple(range(100))

    def test_yields_what_was_cached_and_then_each_pass(self, make_context: MakeContext):
        cache = make_cache(make_context(), self.FILE)
        assert prefill(cache, self.FILE, [1, 2, 3]) == [100, 103]
        assert cache.tokens == [*self.FILE, 1, 2, 3]

    def test_an_edit_in_the_middle_keeps_the_passes_before_it(self, make_context: MakeContext):
        cache = make_cache(make_context(), self.FILE)
        edited = [*self.FILE[:70], 200, *self.FILE[70:]]
        assert prefill(cache, edited, [1]) == [64, 96, 101, 102]

    def test_what_was_decoded_is_not_reused(self, make_context: MakeContext):
        """It was computed by passes of other sizes than a prefill has, and may round differently."""
        cache = make_cache(make_context(), self.FILE, [1, 2])
        step(cache, 3, Draft.chain([4, 5], "guess"), [0, 1, 2])
        assert prefill(cache, self.FILE, [1, 2, 3, 4, 5]) == [100, 105]

    def test_stopping_between_passes_leaves_a_valid_shorter_text(self, make_context: MakeContext):
        cache = make_cache(make_context(), [7])
        passes = cache.prefill([self.FILE, [1]])
        assert [next(passes), next(passes), next(passes)] == [0, 32, 64]
        passes.close()
        assert cache.tokens == [*self.FILE[:64]]
        assert prefill(cache, self.FILE, [1]) == [64, 96, 100, 101]

    @pytest.mark.parametrize("seed", range(6))
    def test_a_warm_cache_has_the_bits_of_a_cold_one(self, seed: int, make_context: MakeContext):
        chance = random.Random(seed)
        cache = make_cache(make_context(), [], row_counts=ROW_COUNTS, budget=10**8)
        versions = [[chance.randrange(N_TOKENS) for _ in range(chance.randrange(150))]]
        for _ in range(8):
            file = list(chance.choice(versions))
            at = chance.randrange(len(file) + 1)
            file[at : at + chance.randrange(4)] = chance.choices(range(N_TOKENS), k=3)
            versions.append(file)
            request = chance.choices(range(N_TOKENS), k=chance.randrange(1, 20))
            prefill(cache, file, request)
            expect_like_fresh(cache, [file, request], [], make_context())
            step(cache, 5, Draft.tree([[6, 7], [8, 9]], "guess"), [0, 3])


class TestSwap:
    A, B = tuple(range(100)), tuple(range(200, 90, -1))

    def test_a_file_that_comes_back_is_restored(self, make_context: MakeContext):
        cache = make_cache(make_context(), self.A, [1], budget=10**8)
        assert prefill(cache, self.B, [1])[0] == 0
        assert prefill(cache, self.A, [2]) == [100, 101]
        expect_like_fresh(cache, [self.A, [2]], [], make_context())

    def test_files_that_begin_alike_are_both_kept(self, make_context: MakeContext):
        head = tuple(range(40))
        first, second = head + self.A, head + self.B
        cache = make_cache(make_context(), first, [1], budget=10**8)
        assert prefill(cache, second, [1])[0] == 32
        assert prefill(cache, first, [2])[0] == len(first)
        assert prefill(cache, second, [2])[0] == len(second)

    def test_without_a_budget_nothing_is_kept_or_even_read(
        self, make_context: MakeContext, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(Context, "save", lambda *_: pytest.fail("the cells were read"))
        cache = make_cache(make_context(), self.A, [1], budget=0)
        prefill(cache, self.B, [1])
        assert prefill(cache, self.A, [2])[0] == 0

    @pytest.mark.parametrize(
        ("min_tokens", "n_saved"),
        [
            pytest.param(1, [1, 0], id="on disk the first time only"),
            pytest.param(10_000, [0, 0], id="never where the disk does not want it"),
        ],
    )
    def test_closing_reads_only_what_will_be_kept(
        self, min_tokens, n_saved, make_context: MakeContext, tmp_path: Path, monkeypatch
    ):
        model = tmp_path / "model.gguf"
        model.touch()
        disk = DiskCache(tmp_path / "states", model, n_threads=2, min_tokens=min_tokens)
        saved: list[int] = []
        save = Context.save
        monkeypatch.setattr(Context, "save", lambda *args: saved.append(1) or save(*args))
        for n in n_saved:
            saved.clear()
            memory = StateCache(10**9)  # has room, but ends with the engine
            cache = KVCache(make_context(), chunk=32, state_cache=memory, disk_cache=disk)
            prefill(cache, self.A, [1])
            cache.close()
            assert len(saved) == n

    def test_room_for_a_file_is_made_before_it_is_saved(
        self, make_context: MakeContext, monkeypatch: pytest.MonkeyPatch
    ):
        cache = make_cache(make_context(), self.A, [1], budget=0)
        n_bytes = cache.context.saved_size(0)
        memory = StateCache(n_bytes * 3 // 2)
        cache._state_cache = memory
        held: list[int] = []
        save = Context.save
        monkeypatch.setattr(Context, "save", lambda *args: held.append(memory.size) or save(*args))
        for first in (101, 102, 103):  # no two files begin alike
            prefill(cache, [first, *self.A[1:]], [1])
        assert len(held) == 3
        assert max(held) + n_bytes <= n_bytes * 3 // 2

    def test_a_larger_context_keeps_the_file(self, make_context: MakeContext):
        cache = make_cache(make_context(), self.A, [1, 2], row_counts=ROW_COUNTS)
        step(cache, 3)
        file = cache.take_file()
        assert file is not None
        moved = KVCache(
            make_context(n_ctx=1024),
            chunk=32,
            state_cache=StateCache(0),
            prefill_counts=ROW_COUNTS,
        )
        moved.restore(file)
        moved.row_counts = ROW_COUNTS
        assert prefill(moved, self.A, [4]) == [100, 101]
        expect_like_fresh(moved, [self.A, [4]], [], make_context())


class TestAside:
    """Rows behind a near-tie wait while a pass of one row decides it."""

    FILE = tuple(range(40))

    def set_aside(self, context: Context) -> KVCache:
        """Rows 0 and 1 of a pass are kept, its row 2 is a near-tie, rows 3 to 5 stand behind it."""
        cache = make_cache(context, self.FILE, [1])
        cache.forward(5, Draft.chain([60, 61, 62, 63, 64], "guess"))
        cache.commit((0, 1), aside=(3, 4, 5))
        assert cache.tokens == [*self.FILE, 1, 5, 60]
        return cache

    def decide(self, cache: KVCache) -> np.ndarray:
        return cache.forward(61, EMPTY).copy()

    def test_the_pass_does_not_see_them(self, make_context: MakeContext):
        decided = self.decide(self.set_aside(make_context()))
        fresh = make_cache(make_context(), self.FILE, [1, 5, 60])
        assert np.abs(decided - fresh.forward(61, EMPTY)).max() < ROUNDING

    @pytest.mark.parametrize("n_kept", range(4))
    def test_they_are_kept_behind_it_as_far_as_they_hold(self, make_context: MakeContext, n_kept):
        cache = self.set_aside(make_context())
        self.decide(cache)
        cache.commit(range(1 + n_kept))
        kept = [5, 60, 61, 62, 63, 64][: 3 + n_kept]
        assert cache.tokens == [*self.FILE, 1, *kept]
        expect_like_fresh(cache, [self.FILE, [1]], kept, make_context())

    def test_a_second_near_tie_sets_the_rest_aside_again(self, make_context: MakeContext):
        cache = self.set_aside(make_context())
        self.decide(cache)
        cache.commit((0, 1), aside=(3,))  # 61 and 62 are kept, 63 is decided next
        cache.forward(63, EMPTY)
        cache.commit((0, 1))
        expect_like_fresh(cache, [self.FILE, [1]], [5, 60, 61, 62, 63, 64], make_context())

    def test_a_request_that_ends_meanwhile_leaves_none_of_them(self, make_context: MakeContext):
        cache = self.set_aside(make_context())
        prefill(cache, self.FILE, [7])
        step(cache, 8)
        expect_like_fresh(cache, [self.FILE, [7]], [8], make_context())


class TestFailure:
    def fill(self, context: Context) -> KVCache:
        return make_cache(context, [i % N_TOKENS for i in range(context.n_ctx - 5)], [1])

    @pytest.mark.parametrize(
        "draft",
        [
            pytest.param(Draft.chain([5] * 20, "guess"), id="a chain that does not fit"),
            pytest.param(Draft.tree([[i, 5, 6] for i in range(8)], "guess"), id="such a tree"),
        ],
    )
    def test_a_refused_pass_leaves_the_text_as_it_was(self, draft, make_context: MakeContext):
        context = make_context(n_ctx=256)
        cache, tokens = self.fill(context), [i % N_TOKENS for i in range(context.n_ctx - 5)]
        assert cache.max_rows == 4
        with pytest.raises(EngineError, match=f"refused a pass of {1 + len(draft)} rows"):
            cache.forward(3, draft)
        assert cache.tokens == [*tokens, 1]
        step(cache, 3)
        fresh = self.fill(make_context(n_ctx=256))
        step(fresh, 3)
        assert np.array_equal(cache.forward(4, EMPTY).copy(), fresh.forward(4, EMPTY))

    def test_an_uncommitted_pass_is_dropped(self, make_context: MakeContext):
        """As after logits that name no token."""
        cache = make_cache(make_context(), [1, 2, 3], [4], row_counts=ROW_COUNTS)
        cache.forward(5, Draft.tree([[6, 7], [8, 9]], "guess"))
        prefill(cache, [1, 2, 3], [4])
        assert cache.context.n_past(1) == 0
        tree = Draft.tree([[60, 61], [62, 60]], "guess")
        step(cache, 5, tree, [0, 3, 4])
        expect_like_fresh(cache, [[1, 2, 3], [4]], [5, 62, 60], make_context())

    def test_more_branches_than_sequences_are_refused(self, make_context: MakeContext):
        cache = make_cache(make_context(), [1, 2, 3])
        with pytest.raises(EngineError, match="a token tree of 9 leaves needs more than 8"):
            cache.forward(4, Draft.tree([[i] for i in range(9)], "guess"))
        step(cache, 4)
        assert cache.tokens == [1, 2, 3, 4]
