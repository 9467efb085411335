"""Several requests in one context: each gets the text it would get alone."""

import itertools
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from tests.redraft.engine.helpers import decode, make_prompt

from redraft.engine import Engine
from redraft.engine import batch as batch_module
from redraft.engine import request as request_module
from redraft.engine.calibration import CalibrationStore
from redraft.engine.llama import Context
from redraft.errors import EngineError
from redraft.records import Completion, DecodeOptions, Prompt

CODE = "def area(width, height):\n    return width * height\n\n\n"
LONG = "".join(f"def f{i}(x):\n    return x + {i}\n\n" for i in range(20))

# Of several files, one of them twice as long as a prefill pass, and several requests for each.
MIXED = [
    make_prompt(CODE, "Again: ", source=CODE),
    make_prompt(LONG, "Once more: ", source=LONG[:90]),
    make_prompt(CODE, "def ", source="def area(height, width)"),
    make_prompt("", "abc", source="abcabcabc"),
    make_prompt("abc", "", source=CODE),
    make_prompt(LONG, "x", source=LONG[90:200]),
    make_prompt(CODE, "Again: ", source=CODE),
]


@pytest.fixture
def tiny(tiny: Engine, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """An engine that has measured enough, so that no text is decoded alone first."""
    monkeypatch.setattr(tiny, "_is_measured", lambda depth, exactness: True)
    return tiny


def decode_many(
    engine: Engine,
    prompts: list[Prompt],
    n_parallel: int,
    *,
    max_tokens: int = 40,
    cancelled=lambda: False,
    **options,
) -> list[Completion]:
    """Return the completions in the order of their prompts."""
    requests = [(prompt, max_tokens) for prompt in prompts]
    decoding = DecodeOptions(**{"exactness": "invariant"} | options)
    completions = list(
        engine.complete_many(requests, decoding, n_parallel=n_parallel, cancelled=cancelled)
    )
    completions.sort(key=lambda pair: pair[0])
    assert [i for i, _ in completions] == list(range(len(prompts)))
    return [completion for _, completion in completions]


def count_prefilled(completions: list[Completion]) -> int:
    all_stats = [completion.stats for completion in completions]
    return sum(stats.prompt_tokens - stats.reused_tokens for stats in all_stats)


@pytest.mark.parametrize("n_parallel", [2, 3, 7])
@pytest.mark.parametrize(
    "options",
    [
        *({"strategy": name} for name in ("copy", "plain", "lookup", "lookahead", "auto")),
        {"temperature": 1, "seed": 5},
    ],
    ids=str,
)
def test_each_text_equals_that_of_a_single_request(options, n_parallel: int, tiny: Engine):
    completions = decode_many(tiny, MIXED, n_parallel, **options)
    for prompt, completion in zip(MIXED, completions, strict=True):
        single = decode(tiny, prompt, exactness="invariant", **options)
        assert (completion.text, completion.finish) == (single.text, single.finish)
        assert completion.stats.output_tokens == single.stats.output_tokens


@pytest.mark.parametrize("n_parallel", [2, 4])
def test_a_file_is_prefilled_once_though_the_context_fills_up(n_parallel: int, tiny: Engine):
    prompts = [make_prompt(LONG, f"{i}: ", source=LONG[30 * i : 30 * i + 60]) for i in range(20)]
    completions = decode_many(tiny, prompts, n_parallel, max_tokens=60)
    n_file = tiny.count_tokens(LONG)
    n_requests = sum(tiny.count_tokens(prompt.request[0].text) for prompt in prompts)
    assert count_prefilled(completions) == n_file + n_requests
    for prompt, completion in zip(prompts, completions, strict=True):
        assert completion.text == decode(tiny, prompt, exactness="invariant", max_tokens=60).text


def test_files_may_alternate(tiny: Engine):
    files = [LONG, CODE, LONG[::-1]]
    prompts = [make_prompt(files[i % 3], f"{i}: ", source=LONG[:60]) for i in range(12)]
    completions = decode_many(tiny, prompts, 2, max_tokens=60)
    for prompt, completion in zip(prompts, completions, strict=True):
        assert completion.text == decode(tiny, prompt, exactness="invariant", max_tokens=60).text


def test_prefill_time_is_not_charged_to_running_requests(
    tiny: Engine, monkeypatch: pytest.MonkeyPatch
):
    # Without drafts: how many are made, and so when the context is full, follows from real times.
    decode_many(tiny, MIXED[:2], 2, strategy="plain")  # what passes cost is known from here on
    now, n_prefills = [0.0], [0]
    run = Context.run

    def run_in_fake_time(self: Context, tokens, *args, n_outputs: int):
        n_prefills[0] += n_outputs == 0
        now[0] += 1.0 if n_outputs else 100.0
        return run(self, tokens, *args, n_outputs=n_outputs)

    clock = SimpleNamespace(perf_counter=lambda: now[0])
    monkeypatch.setattr(Context, "run", run_in_fake_time)
    monkeypatch.setattr(batch_module, "time", clock)
    monkeypatch.setattr("redraft.engine.request.time", clock)
    completions = decode_many(tiny, MIXED, 3, strategy="plain")
    assert all(completion.stats.decode_s == completion.stats.passes for completion in completions)
    assert sum(completion.stats.prefill_s for completion in completions) == 100.0 * n_prefills[0]


class TestEndings:
    def test_a_time_limit_counts_from_the_start_of_its_own_request(
        self, tiny: Engine, monkeypatch: pytest.MonkeyPatch
    ):
        decode_many(tiny, MIXED, 2)
        clock = itertools.count()
        fake = SimpleNamespace(monotonic=lambda: next(clock), perf_counter=time.perf_counter)
        monkeypatch.setattr(request_module, "time", fake)
        prompts = [make_prompt(CODE, f"{i}") for i in range(8)]
        options = {"strategy": "plain", "max_tokens": 10}
        limit_s = 60  # two texts of 10 passes read the clock some 40 times, all of them 160 times
        completions = decode_many(tiny, prompts, 2, timeout_s=limit_s, **options)
        assert next(clock) > limit_s
        assert {completion.finish for completion in completions} == {"length"}
        late = decode_many(tiny, prompts, 2, timeout_s=8, **options)
        assert {completion.finish for completion in late} == {"timeout"}
        assert all(0 < completion.stats.output_tokens < 10 for completion in late)

    def test_a_time_limit_may_pass_during_prefill(
        self, tiny: Engine, monkeypatch: pytest.MonkeyPatch
    ):
        decode_many(tiny, MIXED, 2)
        clock = itertools.count()
        fake = SimpleNamespace(monotonic=lambda: next(clock), perf_counter=time.perf_counter)
        monkeypatch.setattr(request_module, "time", fake)
        prompts = [
            make_prompt(LONG, "a"),
            make_prompt("", "b" * 3),
            make_prompt(LONG, "c"),
            make_prompt(CODE, "d"),
        ]
        completions = decode_many(tiny, prompts, 2, timeout_s=4, max_tokens=1)
        finishes = [completion.finish for completion in completions]
        assert finishes == ["timeout", "length", "timeout", "length"]
        monkeypatch.undo()
        single = decode(tiny, prompts[3], exactness="invariant", max_tokens=1)
        assert completions[3].text == single.text

    def test_cancelling_ends_all_requests_between_two_passes(
        self, tiny: Engine, monkeypatch: pytest.MonkeyPatch
    ):
        prompts, options = MIXED[:4], {"max_tokens": 6, "strategy": "plain"}
        expected = decode_many(tiny, prompts, 2, **options)
        n_passes = [0]
        run = Context.run

        def run_and_count(self: Context, *args, **kwargs):
            n_passes[0] += 1
            return run(self, *args, **kwargs)

        monkeypatch.setattr(Context, "run", run_and_count)
        decode_many(tiny, prompts, 2, **options)
        for most in range(n_passes[0]):
            n_passes[0] = 0
            completions = decode_many(
                tiny, prompts, 2, cancelled=lambda most=most: n_passes[0] >= most, **options
            )
            assert n_passes[0] == most
            assert completions[-1].finish == "cancelled"
            for completion, whole in zip(completions, expected, strict=True):
                assert whole.text.startswith(completion.text.rstrip("\ufffd"))

    def test_a_cancel_does_not_wait_until_a_full_context_is_rebuilt(
        self, tiny: Engine, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(batch_module, "ROWS_PER_TOKEN", 1)  # too few: rows are rejected
        rebuilding, n_passes = [False], [0]
        rebuild, run = batch_module.SharedContext._rebuild, Context.run

        def rebuild_and_note(shared) -> None:
            rebuilding[0] = True
            rebuild(shared)

        def run_and_count(context: Context, *args, **kwargs):
            n_passes[0] += rebuilding[0]
            return run(context, *args, **kwargs)

        monkeypatch.setattr(batch_module.SharedContext, "_rebuild", rebuild_and_note)
        monkeypatch.setattr(Context, "run", run_and_count)
        prompts = [make_prompt(LONG, f"{i}: ", source=CODE) for i in range(3)]
        options = {"max_tokens": 300, "strategy": "jacobi", "exactness": "fast"}
        whole = decode_many(tiny, prompts, 2, **options)
        assert n_passes[0] > 10, "the context was never rebuilt"
        rebuilding[0], n_passes[0] = False, 0
        completions = decode_many(tiny, prompts, 2, cancelled=lambda: rebuilding[0], **options)
        assert n_passes[0] <= 1
        assert completions[-1].finish == "cancelled"
        assert any(completion.stats.output_tokens for completion in completions)
        rebuilding[0] = False
        assert [c.text for c in decode_many(tiny, prompts, 2, **options)] == [c.text for c in whole]

    def test_invalid_logits_are_reported(self, tiny: Engine, monkeypatch: pytest.MonkeyPatch):
        expected = decode_many(tiny, MIXED, 2)
        run = Context.run
        with monkeypatch.context() as patch:
            patch.setattr(
                Context, "run", lambda *args, **kw: np.full_like(run(*args, **kw), np.nan)
            )
            with pytest.raises(EngineError, match="no usable answer: no usable logits"):
                decode_many(tiny, MIXED, 2)
        again = decode_many(tiny, MIXED, 2)
        assert [completion.text for completion in again] == [whole.text for whole in expected]

    def test_a_request_too_long_for_the_model_is_refused(self, open_engine, tiny_path: Path):
        engine = open_engine(tiny_path, n_ctx=200)
        with pytest.raises(EngineError, match="but the context holds 200"):
            decode_many(engine, [make_prompt(CODE), make_prompt(LONG)], 2)


class TestUnknownMachine:
    """Row counts are compared behind a text as long as the longest, which is decoded alone."""

    @pytest.fixture
    def unknown(self, open_engine, tiny_path: Path, tmp_path: Path) -> Engine:
        engine = open_engine(tiny_path)
        engine._calibrations = CalibrationStore(tmp_path, tiny_path, n_threads=2)
        return engine

    @pytest.mark.parametrize("exactness", ["fast", "invariant"])
    def test_the_longest_text_measures_for_all(self, exactness, unknown: Engine):
        requests = [(prompt, 10) for prompt in MIXED]
        options = DecodeOptions(exactness=exactness)
        (first, measured), *others = unknown.complete_many(requests, options, n_parallel=3)
        assert MIXED[first] == max(MIXED, key=lambda p: len(p.file[0].text + p.request[0].text))
        assert measured.stats.calibration_s > 0
        assert sorted([first, *(i for i, _ in others)]) == list(range(len(MIXED)))
        assert not any(completion.stats.calibration_s for _, completion in others)

    def test_what_is_known_by_then_decides_no_text(self, unknown: Engine, open_engine, tiny_path):
        known = open_engine(tiny_path)
        known.measure(2000, "invariant")
        texts = [
            [completion.text for completion in decode_many(engine, MIXED, 3)]
            for engine in (unknown, known)
        ]
        assert texts[0] == texts[1]

    def test_where_no_two_rows_are_alike_texts_are_decoded_one_by_one(self, unknown: Engine):
        unknown._calibrations.record_probe(0, unknown._calibrations.anchor, is_alike=False)
        completions = decode_many(unknown, MIXED, 3, max_tokens=5)
        assert [c.stats.passes for c in completions] == [c.stats.output_tokens for c in completions]
        assert [c.text for c in completions] == [
            decode(unknown, prompt, exactness="invariant", max_tokens=5).text for prompt in MIXED
        ]


def test_costs_are_measured_if_they_are_unknown(open_engine, tiny_path: Path, recurrent_path: Path):
    engine = open_engine(tiny_path)
    costs = engine.costs(500, "fast")
    assert costs is not None
    assert costs.max_rows >= 8
    padded = engine.costs(500, "invariant")
    assert padded is not None
    assert padded.seconds(1) == padded.seconds(2)
    assert open_engine(recurrent_path).costs(500, "fast") is None
