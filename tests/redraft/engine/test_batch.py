"""Several requests in one context: each as it would be alone, whatever the others do."""

import itertools
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from tests.redraft.engine.prompts import decode, prompt

from redraft.engine import Engine
from redraft.engine import batch as together_module
from redraft.engine import request as request_module
from redraft.engine.llama import Context
from redraft.errors import EngineError
from redraft.records import Completion, DecodeOptions, Prompt

CODE = "def area(width, height):\n    return width * height\n\n\n"
LONG = "".join(f"def f{i}(x):\n    return x + {i}\n\n" for i in range(20))

# Of several files, one of them twice as long as a prefill pass, and several requests for each.
MIXED = [
    prompt(CODE, "Again: ", source=CODE),
    prompt(LONG, "Once more: ", source=LONG[:90]),
    prompt(CODE, "def ", source="def area(height, width)"),
    prompt("", "abc", source="abcabcabc"),
    prompt("abc", "", source=CODE),
    prompt(LONG, "x", source=LONG[90:200]),
    prompt(CODE, "Again: ", source=CODE),
]


def decode_many(
    engine: Engine,
    asked: list[Prompt],
    n_parallel: int,
    *,
    max_tokens: int = 40,
    cancelled=lambda: False,
    **options,
) -> list[Completion]:
    requests = [(one, max_tokens) for one in asked]
    decoding = DecodeOptions(**{"exactness": "invariant"} | options)
    ended = list(
        engine.complete_many(requests, decoding, n_parallel=n_parallel, cancelled=cancelled)
    )
    assert sorted(i for i, _ in ended) == list(range(len(asked)))
    return [one for _, one in sorted(ended, key=lambda pair: pair[0])]


def n_prefilled(done: list[Completion]) -> int:
    return sum(one.stats.prompt_tokens - one.stats.reused_tokens for one in done)


@pytest.mark.parametrize("n_parallel", [2, 3, 7])
@pytest.mark.parametrize(
    "options",
    [
        *({"strategy": name} for name in ("copy", "plain", "lookup", "lookahead", "auto")),
        {"temperature": 1, "seed": 5},
    ],
    ids=str,
)
def test_each_text_is_what_it_is_alone(options, n_parallel: int, tiny: Engine):
    done = decode_many(tiny, MIXED, n_parallel, **options)
    for asked, one in zip(MIXED, done, strict=True):
        alone = decode(tiny, asked, exactness="invariant", **options)
        assert (one.text, one.finish) == (alone.text, alone.finish)
        assert one.stats.output_tokens == alone.stats.output_tokens


@pytest.mark.parametrize("n_parallel", [2, 4])
def test_a_file_is_prefilled_once_however_often_the_context_is_full(n_parallel: int, tiny: Engine):
    asked = [prompt(LONG, f"{i}: ", source=LONG[30 * i : 30 * i + 60]) for i in range(20)]
    done = decode_many(tiny, asked, n_parallel, max_tokens=60)
    n_file = tiny.count_tokens(LONG)
    n_own = sum(tiny.count_tokens(one.request[0].text) for one in asked)
    assert n_prefilled(done) == n_file + n_own
    for one, other in zip(asked, done, strict=True):
        assert other.text == decode(tiny, one, exactness="invariant", max_tokens=60).text


def test_files_that_alternate_are_right_too(tiny: Engine):
    files = [LONG, CODE, LONG[::-1]]
    asked = [prompt(files[i % 3], f"{i}: ", source=LONG[:60]) for i in range(12)]
    done = decode_many(tiny, asked, 2, max_tokens=60)
    for one, other in zip(asked, done, strict=True):
        assert other.text == decode(tiny, one, exactness="invariant", max_tokens=60).text


def test_prefill_is_timed_and_is_no_time_of_the_others(
    tiny: Engine, monkeypatch: pytest.MonkeyPatch
):
    # Without drafts: how many are made, and so when the context is full, follows from real times.
    decode_many(tiny, MIXED[:2], 2, strategy="plain")  # what passes cost is known from here on
    now, n_prefills = [0.0], [0]
    run = Context.run

    def timed(self: Context, tokens, *args, n_outputs: int):
        n_prefills[0] += n_outputs == 0
        now[0] += 1.0 if n_outputs else 100.0
        return run(self, tokens, *args, n_outputs=n_outputs)

    clock = SimpleNamespace(perf_counter=lambda: now[0])
    monkeypatch.setattr(Context, "run", timed)
    monkeypatch.setattr(together_module, "time", clock)
    monkeypatch.setattr("redraft.engine.request.time", clock)
    done = decode_many(tiny, MIXED, 3, strategy="plain")
    assert all(one.stats.decode_s == one.stats.passes for one in done)
    assert sum(one.stats.prefill_s for one in done) == 100.0 * n_prefills[0]


class TestEndings:
    def test_a_time_limit_counts_from_a_request_s_own_start(
        self, tiny: Engine, monkeypatch: pytest.MonkeyPatch
    ):
        decode_many(tiny, MIXED, 2)
        clock = itertools.count()
        fake = SimpleNamespace(monotonic=lambda: next(clock), perf_counter=time.perf_counter)
        monkeypatch.setattr(request_module, "time", fake)
        asked = [prompt(CODE, f"{i}") for i in range(8)]
        options = {"strategy": "plain", "max_tokens": 10}
        limit_s = 60  # two texts of 10 passes ask some 40 times for the time, all of them 160 times
        done = decode_many(tiny, asked, 2, timeout_s=limit_s, **options)
        assert next(clock) > limit_s
        assert {one.finish for one in done} == {"length"}
        late = decode_many(tiny, asked, 2, timeout_s=8, **options)
        assert {one.finish for one in late} == {"timeout"}
        assert all(0 < one.stats.output_tokens < 10 for one in late)

    def test_a_time_limit_may_pass_in_a_prefill(
        self, tiny: Engine, monkeypatch: pytest.MonkeyPatch
    ):
        decode_many(tiny, MIXED, 2)
        clock = itertools.count()
        fake = SimpleNamespace(monotonic=lambda: next(clock), perf_counter=time.perf_counter)
        monkeypatch.setattr(request_module, "time", fake)
        asked = [prompt(LONG, "a"), prompt("", "b" * 3), prompt(LONG, "c"), prompt(CODE, "d")]
        done = decode_many(tiny, asked, 2, timeout_s=4, max_tokens=1)
        assert [one.finish for one in done] == ["timeout", "length", "timeout", "length"]
        monkeypatch.undo()
        assert done[3].text == decode(tiny, asked[3], exactness="invariant", max_tokens=1).text

    def test_cancelling_ends_all_of_them_between_two_passes(
        self, tiny: Engine, monkeypatch: pytest.MonkeyPatch
    ):
        asked, options = MIXED[:4], {"max_tokens": 6, "strategy": "plain"}
        expected = decode_many(tiny, asked, 2, **options)
        n_passes = [0]
        run = Context.run

        def counted(self: Context, *args, **kwargs):
            n_passes[0] += 1
            return run(self, *args, **kwargs)

        monkeypatch.setattr(Context, "run", counted)
        decode_many(tiny, asked, 2, **options)
        for most in range(n_passes[0]):
            n_passes[0] = 0
            done = decode_many(
                tiny, asked, 2, cancelled=lambda most=most: n_passes[0] >= most, **options
            )
            assert n_passes[0] == most
            assert done[-1].finish == "cancelled"
            for one, whole in zip(done, expected, strict=True):
                assert whole.text.startswith(one.text.rstrip("\ufffd"))

    def test_logits_that_are_no_numbers_are_named(
        self, tiny: Engine, monkeypatch: pytest.MonkeyPatch
    ):
        expected = decode_many(tiny, MIXED, 2)
        run = Context.run
        with monkeypatch.context() as patch:
            patch.setattr(
                Context, "run", lambda *args, **kw: np.full_like(run(*args, **kw), np.nan)
            )
            with pytest.raises(EngineError, match="no usable answer: no usable logits"):
                decode_many(tiny, MIXED, 2)
        assert [one.text for one in decode_many(tiny, MIXED, 2)] == [one.text for one in expected]

    def test_a_request_too_long_for_the_model_is_refused(self, open_engine, tiny_path: Path):
        engine = open_engine(tiny_path, n_ctx=200)
        with pytest.raises(EngineError, match="but the context holds 200"):
            decode_many(engine, [prompt(CODE), prompt(LONG)], 2)


def test_what_passes_cost_is_told_and_measured_where_it_is_not_known(
    open_engine, tiny_path: Path, recurrent_path: Path
):
    engine = open_engine(tiny_path)
    costs = engine.costs(500, "fast")
    assert costs is not None
    assert costs.max_rows >= 64
    padded = engine.costs(500, "invariant")
    assert padded is not None
    assert padded.seconds(1) == padded.seconds(2)
    assert open_engine(recurrent_path).costs(500, "fast") is None
