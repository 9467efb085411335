"""`n_ctx` bounds the cells of all contexts together, and growing takes no second set of them."""

import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.redraft.engine.helpers import decode, make_prompt

from redraft.engine import Engine
from redraft.engine.context_pool import CONTEXT_STEP, SPARE_ROWS
from redraft.engine.llama import Context
from redraft.errors import EngineError
from redraft.records import DecodeOptions

N_CTX = 4096
ROUNDING = 256  # llama.cpp makes a multiple of so many cells
LONG = "".join(f"def f{i}(x):\n    return x + {i}\n\n" for i in range(40))


class Ledger:
    """The contexts that are open, and the most cells that were at once."""

    def __init__(self) -> None:
        self.open: dict[int, int] = {}
        self.most_cells = 0
        self.most_contexts = 0

    def add(self, context: Context) -> None:
        self.open[id(context)] = context.n_ctx
        self.most_cells = max(self.most_cells, sum(self.open.values()))
        self.most_contexts = max(self.most_contexts, len(self.open))


@pytest.fixture
def ledger(monkeypatch: pytest.MonkeyPatch) -> Iterator[Ledger]:
    kept = Ledger()
    make, close = Context.__init__, Context.close

    def make_and_note(context: Context, *args, **kwargs) -> None:
        make(context, *args, **kwargs)
        kept.add(context)

    def close_and_note(context: Context) -> None:
        close(context)
        kept.open.pop(id(context), None)

    monkeypatch.setattr(Context, "__init__", make_and_note)
    monkeypatch.setattr(Context, "close", close_and_note)
    return kept


@pytest.fixture
def engine(open_engine, tiny_path: Path, ledger: Ledger, monkeypatch) -> Engine:
    engine = open_engine(tiny_path, n_ctx=N_CTX)
    monkeypatch.setattr(engine, "_is_measured", lambda depth, exactness: True)
    return engine


@pytest.mark.parametrize("n_parallel", [2, 4, 12])
def test_many_texts_take_no_more_cells_than_one_may(engine: Engine, ledger: Ledger, n_parallel):
    prompts = [make_prompt(LONG, f"{i}: ", source=LONG[:200]) for i in range(12)]
    decode(engine, make_prompt(LONG), exactness="invariant")  # its cache stays meanwhile
    requests = [(prompt, 300) for prompt in prompts]
    options = DecodeOptions(exactness="invariant")
    completions = dict(engine.complete_many(requests, options, n_parallel=n_parallel))
    assert ledger.most_cells <= 1.1 * N_CTX
    for i, prompt in enumerate(prompts):
        alone = decode(engine, prompt, exactness="invariant", max_tokens=300)
        assert completions[i].text == alone.text
    assert ledger.most_cells <= 1.1 * N_CTX


@pytest.mark.parametrize(
    ("n_ctx", "max_tokens", "n_contexts"),
    [
        pytest.param(700, 70, 1, id="below a step"),
        pytest.param(4200, 420, 1, id="above a step"),
        pytest.param(9000, 900, 1, id="two steps"),
        pytest.param(9000, 10, 2, id="room for both"),
    ],
)
def test_contexts_have_no_more_cells_together_than_one_at_the_limit(
    n_ctx, max_tokens, n_contexts, open_engine, tiny_path: Path, ledger: Ledger, monkeypatch
):
    engine = open_engine(tiny_path, n_ctx=n_ctx)
    monkeypatch.setattr(engine, "_is_measured", lambda depth, exactness: True)
    file = LONG[:500]
    decode(engine, make_prompt(file), exactness="invariant")
    requests = [(make_prompt(file, f"{i}: "), max_tokens) for i in range(6)]
    options = DecodeOptions(exactness="invariant")
    completions = dict(engine.complete_many(requests, options, n_parallel=6))
    at_limit = -(-(n_ctx + SPARE_ROWS) // ROUNDING) * ROUNDING
    assert ledger.most_contexts == n_contexts
    assert ledger.most_cells <= at_limit + (n_contexts - 1) * ROUNDING
    for i, (prompt, _) in enumerate(requests):
        alone = decode(engine, prompt, exactness="invariant", max_tokens=max_tokens)
        assert completions[i].text == alone.text


def test_what_a_shared_context_has_no_room_for_is_decoded_alone(engine: Engine, ledger: Ledger):
    prompts = [make_prompt(LONG, f"{i}: ", source=LONG[:200]) for i in range(3)]
    n_most = N_CTX - engine.count_tokens(LONG) - 50
    requests = [(prompts[0], n_most), (prompts[1], 30), (prompts[2], 30)]
    options = DecodeOptions(exactness="invariant", strategy="plain", timeout_s=0.5)
    completions = dict(engine.complete_many(requests, options, n_parallel=3))
    assert sorted(completions) == [0, 1, 2]
    assert ledger.most_cells <= 1.1 * N_CTX


def test_the_file_outlives_the_room_that_several_texts_need(engine: Engine):
    decode(engine, make_prompt(LONG), exactness="invariant")
    requests = [(make_prompt("", f"{i}: "), 600) for i in range(4)]
    list(engine.complete_many(requests, DecodeOptions(exactness="invariant"), n_parallel=4))
    again = decode(engine, make_prompt(LONG), exactness="invariant")
    assert again.stats.reused_tokens >= engine.count_tokens(LONG)


def test_a_context_grows_without_a_second_one_and_copies_its_cells_once(
    open_engine, tiny_path: Path, ledger: Ledger
):
    engine = open_engine(tiny_path, n_ctx=2 * CONTEXT_STEP)
    decode(engine, make_prompt(LONG), exactness="invariant")
    cells = engine._pool.cache.context.saved_size(0)
    tracemalloc.start()
    try:
        more = engine._pool.cache_for(CONTEXT_STEP + 1, "invariant")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert more.context.n_ctx > CONTEXT_STEP
    assert ledger.most_contexts == 1
    assert peak < 1.2 * cells
    grown = decode(engine, make_prompt(LONG), exactness="invariant")
    assert grown.stats.reused_tokens >= engine.count_tokens(LONG)


def test_a_context_that_cannot_grow_leaves_the_file_where_it_is_found_again(
    open_engine, tiny_path: Path, monkeypatch: pytest.MonkeyPatch
):
    engine = open_engine(tiny_path, n_ctx=2 * CONTEXT_STEP)
    decode(engine, make_prompt(LONG), exactness="invariant")
    make = Context.__init__

    def refuse(context: Context, *args, **kwargs) -> None:
        if kwargs["n_ctx"] > CONTEXT_STEP + 1000:
            raise EngineError("no memory for that")
        make(context, *args, **kwargs)

    monkeypatch.setattr(Context, "__init__", refuse)
    with pytest.raises(EngineError, match="no memory for that"):
        decode(engine, make_prompt(LONG), exactness="invariant", max_tokens=CONTEXT_STEP)
    again = decode(engine, make_prompt(LONG), exactness="invariant")
    assert again.stats.reused_tokens >= engine.count_tokens(LONG)
