"""A draft model has the same vocabulary or is refused, and never changes the text."""

from pathlib import Path

import pytest
from tests.redraft.engine.helpers import decode, make_prompt
from tests.redraft.engine.tiny import MERGES, write_transformer

from redraft.engine.draft_model import PREFILL_ROWS, DraftModel
from redraft.errors import ModelError
from redraft_lookup import ModelCosts

PROMPT = make_prompt("def f(x): return x")
STRATEGIES = ("draft", "lookup+draft", "auto")


@pytest.mark.parametrize(
    ("merges", "reason"),
    [
        pytest.param(MERGES[:-1], "it knows 267 tokens, not 268", id="fewer tokens"),
        pytest.param((*MERGES[:-1], "c b"), "token 265 is b'cb', not b'bc'", id="another token"),
    ],
)
def test_another_vocabulary_is_refused(merges, reason, open_engine, tiny_path, tmp_path: Path):
    other = tmp_path / "other.gguf"
    write_transformer(other, merges=merges)
    with pytest.raises(ModelError, match=f"other.gguf cannot draft for tiny.gguf: {reason}"):
        open_engine(tiny_path, draft=other)


def test_a_missing_draft_model_is_named(open_engine, tiny_path: Path, tmp_path: Path):
    with pytest.raises(ModelError, match=r"cannot load .*none\.gguf"):
        open_engine(tiny_path, draft=tmp_path / "none.gguf")


def test_a_strategy_that_needs_one_says_so(tiny):
    with pytest.raises(ModelError, match="needs a draft model: name one with --draft-model"):
        decode(tiny, make_prompt("x"), strategy="draft")


def make_guesses_cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let drafts be long: on tiny models they cost as much as the pass that checks them."""
    monkeypatch.setattr(ModelCosts, "best_length", lambda costs, acceptance, limit: min(limit, 7))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_model_drafts_for_itself_nearly_always_right(
    strategy, open_engine, tiny_path: Path, monkeypatch
):
    make_guesses_cheap(monkeypatch)
    engine = open_engine(tiny_path, draft=tiny_path)
    plain = decode(engine, PROMPT, strategy="plain", exactness="invariant")
    drafted = decode(engine, PROMPT, strategy=strategy, exactness="invariant")
    assert drafted.text == plain.text
    assert plain.stats.output_tokens > 20
    if strategy == "draft":
        assert drafted.stats.accepted >= 0.9 * drafted.stats.drafted > 0
        assert drafted.stats.passes < plain.stats.passes / 3
        assert {origin for step in drafted.passes for origin in step.origins} <= {"model", None}


def test_its_context_is_bounded_by_the_limit_too(open_engine, tiny_path: Path, monkeypatch):
    make_guesses_cheap(monkeypatch)
    engine = open_engine(tiny_path, draft=tiny_path, n_ctx=300)
    n_most = 300 - len(engine._model.tokenize("def f(x): return xAgain: "))
    drafted = decode(engine, PROMPT, strategy="draft", exactness="invariant", max_tokens=n_most)
    plain = decode(engine, PROMPT, strategy="plain", exactness="invariant", max_tokens=n_most)
    assert drafted.text == plain.text
    cells = engine._drafters.draft_model._cache.context.n_ctx
    assert 300 <= cells < 300 + PREFILL_ROWS + 256  # llama.cpp makes a multiple of 256


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_poor_draft_model_changes_no_token(
    strategy, open_engine, tiny_path, tmp_path: Path, monkeypatch
):
    make_guesses_cheap(monkeypatch)
    other = tmp_path / "other.gguf"
    write_transformer(other, seed=1)
    engine = open_engine(tiny_path, draft=other)
    for text in ("def f(x): return x", "abc abc abc", "retint"):
        plain = decode(engine, make_prompt(text), strategy="plain", exactness="invariant")
        drafted = decode(engine, make_prompt(text), strategy=strategy, exactness="invariant")
        assert drafted.text == plain.text


LONG = make_prompt("abc def retint " * 100)


def test_nothing_is_read_where_no_draft_is_wanted(open_engine, tiny_path: Path, monkeypatch):
    monkeypatch.setattr(DraftModel, "forward", None)
    monkeypatch.setattr(DraftModel, "read", lambda *_, **__: refuse())
    engine = open_engine(tiny_path, draft=tiny_path)
    for strategy in ("plain", "lookup", "copy"):
        assert decode(engine, LONG, strategy=strategy).stats.draft_s == 0


def refuse():
    raise AssertionError("the draft model reads for nothing")
    yield 0


def test_a_cancel_ends_the_reading_within_a_part(open_engine, tiny_path: Path, monkeypatch):
    make_guesses_cheap(monkeypatch)
    engine = open_engine(tiny_path, draft=tiny_path)
    parts = watch_reading(monkeypatch)
    cancelled = decode(engine, LONG, strategy="draft", cancelled=lambda: len(parts) >= 2)
    assert cancelled.finish == "cancelled"
    assert len(parts) == 2
    assert cancelled.stats.output_tokens >= 2  # plain passes went on meanwhile
    # What was read stays: the next request goes on from there.
    parts.clear()
    decode(engine, LONG, strategy="draft")
    assert parts[0] >= 128
    assert parts == sorted(parts)


def watch_reading(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Keep how many tokens are read after each part."""
    parts: list[int] = []
    read = DraftModel.read

    def watched(model: DraftModel, tokens, *, n_more: int):
        for n_read in read(model, tokens, n_more=n_more):
            parts.append(n_read)
            yield n_read

    monkeypatch.setattr(DraftModel, "read", watched)
    return parts


def test_the_time_of_the_draft_model_is_part_of_the_decoding(
    open_engine, tiny_path: Path, monkeypatch
):
    make_guesses_cheap(monkeypatch)
    engine = open_engine(tiny_path, draft=tiny_path)
    stats = decode(engine, LONG, strategy="draft").stats
    assert 0 < stats.draft_s < stats.decode_s
    assert decode(engine, LONG, strategy="plain").stats.draft_s == 0


def test_a_reply_longer_than_the_prompt_fits_the_draft_model(open_engine, tiny_path: Path):
    engine = open_engine(tiny_path, draft=tiny_path)
    plain = decode(
        engine, make_prompt("x"), strategy="plain", exactness="invariant", max_tokens=5000
    )
    drafted = decode(
        engine, make_prompt("x"), strategy="draft", exactness="invariant", max_tokens=5000
    )
    assert drafted.text == plain.text
