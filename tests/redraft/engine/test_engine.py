"""Whole requests: the same text whatever was drafted, and a valid cache however they end."""

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from tests.redraft.engine.helpers import decode, make_prompt
from tests.redraft.engine.tiny import CHAT_END

from redraft.engine import Engine, calibration
from redraft.engine import request as request_module
from redraft.engine.calibration import CalibrationStore
from redraft.engine.state_cache import StateCache
from redraft.errors import EngineError, ModelError
from redraft.records import DecodeOptions, Piece, Progress, Prompt

STRATEGIES = ("plain", "lookup", "copy", "jacobi", "lookahead", "auto")
CODE = "def area(width, height):\n    return width * height\n\n\ndef double(x):\n    return x + x\n"
LONG = "".join(f"def f{i}(x):\n    return x + {i}\n\n" for i in range(30))
OTHER = "".join(f"int g{i}(int x) {{ return x - {i}; }}\n" for i in range(30))


def copy_task(code: str = CODE, n: str = "") -> Prompt:
    """The small model writes the code again, and then on and on."""
    again = f"The same code again{n}:\n"
    return make_prompt(f"Code:\n{code}\n", f"{again}{code}\n{again}", source=code)


def greeting(source: str = "") -> Prompt:
    """A chat that the small model ends by itself."""
    chat = "<|im_start|>user\nSay hello in one short sentence.<|im_end|>\n<|im_start|>assistant\n"
    return Prompt(file=(Piece(chat, control=True),), request=(), source=source, stop=())


class TestOneText:
    """In invariant mode the strategy decides the passes and nothing else."""

    @pytest.mark.parametrize("options", [{}, {"temperature": 0.8, "seed": 7, "top_k": 40}], ids=str)
    def test_of_the_small_model(self, options: dict, small_engine: Engine):
        completions = {
            strategy: decode(
                small_engine,
                copy_task(),
                strategy=strategy,
                exactness="invariant",
                max_tokens=32,
                **options,
            )
            for strategy in STRATEGIES
        }
        assert len({completion.text for completion in completions.values()}) == 1
        if not options:
            assert completions["copy"].stats.passes < completions["plain"].stats.passes / 3

    @pytest.mark.parametrize("strategy", STRATEGIES)
    @pytest.mark.parametrize("temperature", [0, 1])
    @pytest.mark.parametrize("text", ["", "abcabcabc", CODE, LONG, "→ 😀 é" * 9], ids=range(5))
    def test_of_a_tiny_model(self, strategy, temperature, text, tiny: Engine):
        prompt = make_prompt("x" + text, source=text)
        options = {
            "exactness": "invariant",
            "temperature": temperature,
            "seed": 3,
            "max_tokens": 90,
        }
        plain = decode(tiny, prompt, strategy="plain", **options)
        drafted = decode(tiny, prompt, strategy=strategy, **options)
        assert drafted.text == plain.text
        assert drafted.finish == plain.finish
        assert drafted.stats.output_tokens == plain.stats.output_tokens

    def test_other_seeds_give_other_texts(self, tiny: Engine):
        texts = {
            decode(tiny, make_prompt("ab"), temperature=1, seed=seed).text for seed in range(4)
        }
        assert len(texts) == 4

    @pytest.mark.parametrize("exactness", ["fast", "invariant"])
    def test_the_same_request_twice_gives_the_same_text(self, exactness, tiny: Engine):
        prompt = make_prompt(CODE, source=CODE)
        first, second = (decode(tiny, prompt, exactness=exactness) for _ in range(2))
        assert first.text == second.text

    def test_passes_add_up(self, tiny: Engine):
        completion = decode(tiny, make_prompt(CODE, source=CODE), exactness="invariant")
        pieces = [piece for step in completion.passes for piece in step.pieces]
        assert b"".join(pieces).decode(errors="replace") == completion.text
        assert len(completion.passes) == completion.stats.passes
        assert sum(len(step.tokens) for step in completion.passes) == completion.stats.output_tokens


class TestReuse:
    @pytest.mark.parametrize("exactness", ["fast", "invariant"])
    def test_prefilled_or_not_the_text_is_the_same(self, exactness, open_engine, tiny_path: Path):
        cold, warm = open_engine(tiny_path), open_engine(tiny_path)
        prompt = make_prompt(LONG, source=LONG)
        warm.prefill(prompt.file, exactness=exactness)
        expected = decode(cold, prompt, exactness=exactness)
        completion = decode(warm, prompt, exactness=exactness)
        assert completion.text == expected.text
        assert expected.stats.reused_tokens == 0
        assert completion.stats.reused_tokens == warm.count_tokens(LONG)

    def test_the_small_model_too(self, small_engine: Engine):
        cold = decode(small_engine, copy_task(n=" 1"), exactness="invariant", max_tokens=30)
        decode(small_engine, make_prompt(OTHER), exactness="invariant", max_tokens=1)
        small_engine.prefill(copy_task().file, exactness="invariant")
        warm = decode(small_engine, copy_task(n=" 1"), exactness="invariant", max_tokens=30)
        assert warm.text == cold.text
        assert warm.stats.reused_tokens == small_engine.count_tokens(f"Code:\n{CODE}\n")

    def test_another_request_for_a_file_prefills_only_the_request(self, tiny: Engine):
        first, second = make_prompt(LONG, "One: "), make_prompt(LONG, "Another: ")
        assert decode(tiny, first).stats.reused_tokens == 0
        assert decode(tiny, second).stats.reused_tokens == tiny.count_tokens(LONG)

    def test_an_edit_keeps_the_passes_before_it(self, open_engine, tiny_path: Path):
        tiny, cold = open_engine(tiny_path), open_engine(tiny_path)
        edited = LONG.replace("x + 20", "x * 20")
        n_before = tiny.count_tokens(LONG[: LONG.index("x + 20")])
        decode(tiny, make_prompt(LONG))
        completion = decode(tiny, make_prompt(edited))
        assert n_before - 128 < completion.stats.reused_tokens <= n_before
        assert completion.text == decode(cold, make_prompt(edited)).text

    def test_a_file_that_comes_back_is_reused(self, open_engine, tiny_path: Path):
        tiny, cold = open_engine(tiny_path), open_engine(tiny_path)
        decode(tiny, make_prompt(LONG))
        assert decode(tiny, make_prompt(OTHER)).stats.reused_tokens == 0
        completion = decode(tiny, make_prompt(LONG, "Now: "))
        assert completion.stats.reused_tokens == tiny.count_tokens(LONG)
        assert completion.text == decode(cold, make_prompt(LONG, "Now: ")).text

    def test_earlier_files_stay_within_the_budget(self, tiny: Engine):
        decode(tiny, make_prompt(LONG))
        n_bytes = len(tiny._pool.cache.context.save(0))
        store = tiny._pool.cache._state_cache = StateCache(2 * n_bytes)
        for i in range(5):
            decode(tiny, make_prompt(f"{i} {LONG}"))
            assert store.size <= 2 * n_bytes
        assert decode(tiny, make_prompt(f"3 {LONG}")).stats.reused_tokens > 0
        assert decode(tiny, make_prompt(f"0 {LONG}")).stats.reused_tokens == 0

    def test_a_context_that_grows_keeps_the_file(self, open_engine, tiny_path: Path):
        tiny, cold = open_engine(tiny_path), open_engine(tiny_path)
        decode(tiny, make_prompt(LONG))
        small = tiny._pool.cache.context.n_ctx
        completion = decode(tiny, make_prompt(LONG), max_tokens=small)
        assert tiny._pool.cache.context.n_ctx > small
        assert completion.stats.reused_tokens == tiny.count_tokens(LONG)
        assert completion.text == decode(cold, make_prompt(LONG), max_tokens=small).text

    def test_a_file_that_leaves_no_room_is_not_prefilled(self, open_engine, tiny_path: Path):
        tiny = open_engine(tiny_path, n_ctx=2100)
        tiny.prefill(make_prompt(LONG).file)
        assert decode(tiny, make_prompt(LONG)).stats.reused_tokens == 0


class TestEndings:
    PROMPT = make_prompt(LONG, source=LONG)

    def complete(self, engine: Engine, n_calls: int, **options):
        """Cancel from the `n_calls`-th call on; return how many calls came later, and all."""
        calls = itertools.count(1)
        late: list[int] = []

        def cancelled() -> bool:
            n = next(calls)
            if n > n_calls:
                late.append(n)
            return n >= n_calls

        completion = decode(engine, self.PROMPT, cancelled=cancelled, **options)
        return completion, len(late), next(calls) - 1

    @pytest.mark.parametrize("exactness", ["fast", "invariant"])
    def test_cancelling_after_any_pass_ends_there_and_the_next_request_is_right(
        self, exactness, open_engine, tiny_path: Path
    ):
        options = {"exactness": exactness, "strategy": "lookahead", "max_tokens": 12}
        engine = open_engine(tiny_path)
        expected, _, n_cold = self.complete(engine, 10**6, **options)
        _, _, n_warm = self.complete(engine, 10**6, **options)
        assert n_cold > n_warm > 4
        for n in range(1, n_warm + 1):
            self.expect_cancelled(engine, n, expected.text, options)
        for n in range(1, n_cold + 1):
            self.expect_cancelled(open_engine(tiny_path), n, expected.text, options)

    def expect_cancelled(self, engine: Engine, n_calls: int, expected: str, options: dict) -> None:
        completion, n_late, _ = self.complete(engine, n_calls, **options)
        assert n_late == 0
        # What is measured after the answer ends at once too, and takes nothing from it.
        assert completion.finish == "cancelled" or completion.text == expected
        assert expected.startswith(completion.text.rstrip("\ufffd"))
        assert decode(engine, self.PROMPT, **options).text == expected

    def test_prefill_is_cancelled_between_passes(self, tiny: Engine):
        tiny.prefill(self.PROMPT.file, cancelled=lambda: True)
        assert tiny._pool.cache.tokens == []
        answers = iter([False, False, True])
        tiny.prefill(self.PROMPT.file, cancelled=lambda: next(answers))
        assert decode(tiny, self.PROMPT).stats.reused_tokens == 256

    @pytest.mark.parametrize("n_passes", [0, 2, 9])
    def test_the_deadline_is_checked_after_every_pass(
        self, n_passes: int, monkeypatch: pytest.MonkeyPatch, tiny: Engine
    ):
        decode(tiny, make_prompt("x"))
        clock = itertools.count()
        fake = SimpleNamespace(monotonic=lambda: next(clock), perf_counter=time.perf_counter)
        monkeypatch.setattr(request_module, "time", fake)
        completion = decode(tiny, self.PROMPT, strategy="plain", timeout_s=n_passes + 1)
        assert completion.finish == "timeout"
        assert next(clock) == n_passes + 2

    @pytest.mark.parametrize("strategy", ["plain", "copy", "lookahead"])
    def test_the_token_limit_cuts_drafts(self, strategy, small_engine: Engine):
        whole = decode(small_engine, copy_task(), exactness="invariant", max_tokens=30)
        for n in (1, 2, 7, 20):
            cut = decode(
                small_engine, copy_task(), strategy=strategy, exactness="invariant", max_tokens=n
            )
            assert (cut.finish, cut.stats.output_tokens) == ("length", n)
            assert whole.text.startswith(cut.text)

    def test_the_end_of_generation_inside_a_draft_ends_the_text(self, small_engine: Engine):
        plain = decode(small_engine, greeting(), strategy="plain", exactness="invariant")
        assert plain.finish == "stop"
        source = plain.text + " And a good day to you, and to yours, and to all."
        completion = decode(small_engine, greeting(source), exactness="invariant")
        assert (completion.text, completion.finish) == (plain.text, "stop")
        assert completion.stats.passes < plain.stats.passes

    def test_a_stop_string_inside_a_draft_ends_the_text(self, small_engine: Engine):
        whole = decode(small_engine, copy_task(), exactness="invariant")
        stop = whole.text[25:40]
        prompt = make_prompt(
            f"Code:\n{CODE}\n", copy_task().request[0].text, source=CODE, stop=["never", stop]
        )
        for strategy in ("plain", "copy"):
            completion = decode(small_engine, prompt, strategy=strategy, exactness="invariant")
            expected = whole.text[: whole.text.index(stop)]
            assert (completion.text, completion.finish) == (expected, "stop")

    def test_progress_grows_to_the_whole_text(self, tiny: Engine):
        seen: list[Progress] = []
        completion = tiny.complete(
            self.PROMPT,
            DecodeOptions(exactness="invariant"),
            max_tokens=20,
            on_progress=seen.append,
        )
        phases = [phase for phase, _ in itertools.groupby(progress.phase for progress in seen)]
        assert phases == ["prefill", "decode"]
        for _, group in itertools.groupby(seen, lambda progress: progress.phase):
            counts = [progress.done for progress in group]
            assert counts == sorted(counts)
        assert all(progress.done <= progress.expected for progress in seen)
        assert seen[-1].done == completion.stats.output_tokens

    def test_an_error_in_the_middle_leaves_a_valid_cache(self, open_engine, tiny_path: Path):
        def fail_late(progress: Progress) -> None:
            if progress.phase == "decode" and progress.done > 3:
                raise KeyboardInterrupt

        engine, options = open_engine(tiny_path), DecodeOptions(exactness="invariant")
        with pytest.raises(KeyboardInterrupt):
            engine.complete(self.PROMPT, options, max_tokens=20, on_progress=fail_late)
        expected = decode(open_engine(tiny_path), self.PROMPT, exactness="invariant")
        assert decode(engine, self.PROMPT, exactness="invariant").text == expected.text

    def test_invalid_logits_are_reported_and_the_next_request_is_right(
        self, monkeypatch, tiny: Engine
    ):
        options = {"strategy": "lookahead", "exactness": "invariant"}
        expected = decode(tiny, self.PROMPT, **options)
        run = tiny._pool.cache.context.run
        with monkeypatch.context() as patch:
            patch.setattr(
                tiny._pool.cache.context,
                "run",
                lambda *args, **kw: np.full_like(run(*args, **kw), np.nan),
            )
            with pytest.raises(EngineError, match="no usable answer: no usable logits"):
                decode(tiny, self.PROMPT, **options)
        assert decode(tiny, self.PROMPT, **options).text == expected.text


class TestPrompts:
    def test_special_tokens_in_a_file_are_text(self, tiny: Engine):
        for piece, n_tokens in (
            (Piece(CHAT_END), len(CHAT_END)),
            (Piece(CHAT_END, control=True), 1),
        ):
            prompt = Prompt(file=(piece,), request=(Piece("x"),), source="", stop=())
            n = decode(tiny, prompt, max_tokens=1).stats.prompt_tokens
            assert (n == 2) == (n_tokens == 1)

    @pytest.mark.parametrize(
        "prompt",
        [
            make_prompt("abc", ""),
            make_prompt("", "abc"),
            make_prompt("a", ""),
            make_prompt("", "a"),
        ],
        ids=["no request", "no file", "one token of file", "one token of request"],
    )
    @pytest.mark.parametrize("exactness", ["fast", "invariant"])
    def test_either_part_may_be_empty(self, prompt, exactness, open_engine, tiny_path: Path):
        completion = decode(open_engine(tiny_path), prompt, exactness=exactness)
        whole = prompt.file[0].text + prompt.request[0].text
        same = decode(open_engine(tiny_path), make_prompt(whole, ""), exactness=exactness)
        assert completion.text == same.text

    def test_an_empty_prompt_is_refused(self, tiny: Engine):
        with pytest.raises(EngineError, match="the prompt is empty"):
            decode(tiny, make_prompt("", ""))

    def test_a_prompt_beyond_the_context_is_refused_with_numbers(self, open_engine, tiny_path):
        engine = open_engine(tiny_path, n_ctx=64)
        with pytest.raises(
            EngineError, match=r"need 113 tokens, but the context holds 64: .*n_ctx"
        ):
            decode(engine, make_prompt("y" * 96, "x"), max_tokens=16)
        assert decode(engine, make_prompt("y", "x"), max_tokens=16).stats.output_tokens

    @pytest.mark.parametrize("exactness", ["fast", "invariant"])
    @pytest.mark.parametrize("n_ctx", [16, 64, 300])
    def test_a_context_is_used_to_its_last_token(
        self, n_ctx: int, exactness, open_engine, tiny_path: Path
    ):
        engine = open_engine(tiny_path, n_ctx=n_ctx)
        prompt = make_prompt("ab", "x" * 9, source="x" * 500)
        n_prompt = decode(engine, prompt, max_tokens=1).stats.prompt_tokens
        room = n_ctx - n_prompt
        cut = decode(engine, prompt, max_tokens=room, exactness=exactness)
        free = decode(open_engine(tiny_path), prompt, max_tokens=room, exactness=exactness)
        assert cut.text == free.text
        with pytest.raises(EngineError, match=f"need {n_ctx + 1} tokens"):
            decode(engine, prompt, max_tokens=room + 1)

    def test_a_small_context_is_calibrated_too(self, open_engine, tiny_path: Path, tmp_path: Path):
        engine = open_engine(tiny_path, n_ctx=300)
        engine._calibrations = CalibrationStore(tmp_path, tiny_path, n_threads=2)
        completion = decode(engine, make_prompt("ab"), exactness="invariant")
        same = decode(open_engine(tiny_path), make_prompt("ab"), exactness="invariant")
        assert completion.text == same.text

    @pytest.mark.parametrize("n_ctx", [0, -1, 16_385])
    def test_a_context_the_model_was_not_trained_for_is_refused(self, n_ctx, tiny_path: Path):
        with pytest.raises(ModelError, match=f"n_ctx must be from 1 to 16384 .*, not {n_ctx}"):
            Engine.open(tiny_path, n_ctx=n_ctx)


class TestCalibration:
    """On a machine where no costs were measured yet."""

    PROMPT = make_prompt(LONG, source=LONG)

    @pytest.fixture
    def passes(self, tiny: Engine, tiny_path, tmp_path, monkeypatch) -> list[int]:
        """A number for each pass that `tiny` has measured so far."""
        passes: list[int] = []

        def measure(*args, **more) -> Iterator[None]:
            for _ in calibration.measure(*args, **more):
                passes.append(len(passes))
                yield

        monkeypatch.setattr(
            tiny, "_calibrations", CalibrationStore(tmp_path, tiny_path, n_threads=2)
        )
        monkeypatch.setattr("redraft.engine.engine.measure", measure)
        return passes

    @pytest.mark.parametrize("exactness", ["fast", "invariant"])
    def test_a_prefilled_file_is_measured_before_the_request_comes(
        self, exactness, tiny: Engine, passes
    ):
        tiny.prefill(self.PROMPT.file, exactness=exactness)
        n_passes = len(passes)
        assert n_passes > 5
        completion = decode(tiny, self.PROMPT, exactness=exactness, max_tokens=1)
        assert completion.stats.calibration_s < 0.1 * completion.stats.prefill_s + 0.1
        assert completion.stats.reused_tokens == tiny.count_tokens(LONG)

    def test_prefill_stops_measuring_after_one_pass_and_goes_on_later(self, tiny: Engine, passes):
        tiny.prefill(self.PROMPT.file, cancelled=lambda: len(passes) == 5)
        assert len(passes) == 5
        text = decode(tiny, self.PROMPT).text
        tiny.prefill(self.PROMPT.file)
        assert len(passes) > 5
        assert decode(tiny, self.PROMPT).text == text

    @pytest.mark.parametrize("exactness", ["fast", "invariant"])
    def test_a_first_request_measures_some_passes_and_later_ones_the_rest(
        self, exactness, tiny: Engine, passes
    ):
        first = decode(tiny, self.PROMPT, exactness=exactness)
        n_passes = len(passes)
        assert n_passes > 1
        assert first.stats.calibration_s > 0
        tiny._learning_s = 1000.0  # as if requests had taken long enough
        later = decode(tiny, self.PROMPT, exactness=exactness)
        assert len(passes) > n_passes
        assert later.stats.calibration_s > 0
        assert later.text == first.text

    @pytest.mark.parametrize("exactness", ["fast", "invariant"])
    @pytest.mark.parametrize("n_passes", [1, 2])
    def test_it_can_be_cancelled(self, n_passes: int, exactness, tiny: Engine, passes):
        completion = decode(
            tiny, self.PROMPT, exactness=exactness, cancelled=lambda: len(passes) >= n_passes
        )
        assert (completion.finish, len(passes)) == ("cancelled", n_passes)

    @pytest.mark.parametrize("exactness", ["fast", "invariant"])
    def test_a_curve_measured_under_load_does_not_keep_copying_back(
        self, exactness, small_engine: Engine, small_model_path, tmp_path, monkeypatch
    ):
        monkeypatch.setattr(
            small_engine,
            "_calibrations",
            CalibrationStore(tmp_path, small_model_path, n_threads=2),
        )
        expected = decode(small_engine, copy_task(), exactness=exactness)
        for bucket in small_engine._calibrations._buckets.values():
            bucket.times = {n: [(100 if n > 1 else 1) * min(t)] for n, t in bucket.times.items()}
        recovered = decode(small_engine, copy_task(), exactness=exactness)
        assert recovered.text == expected.text
        assert recovered.stats.accepted > 0

    def test_passes_of_requests_are_timed(self, tiny: Engine, passes):
        decode(tiny, self.PROMPT)
        key = (tiny._pool.cache.flash_attention, 512)
        depth = len(tiny._pool.cache.tokens)
        before = {
            n: list(t)
            for n, t in tiny._calibrations._bucket(depth, flash_attention=key[0]).times.items()
        }
        decode(tiny, self.PROMPT, strategy="plain")
        after = tiny._calibrations._bucket(depth, flash_attention=key[0]).times
        assert after[1] != before[1]

    @pytest.mark.parametrize("n_calls", [0, 3, 9, 10**9])
    def test_the_text_does_not_depend_on_how_much_was_proven(
        self, n_calls: int, tiny: Engine, passes, open_engine, tiny_path
    ):
        """A class of one row count or of six: the same tokens."""
        tiny.prefill(
            self.PROMPT.file, exactness="invariant", cancelled=lambda: len(passes) >= n_calls
        )
        completion = decode(tiny, self.PROMPT, exactness="invariant")
        known = open_engine(tiny_path)
        known.measure(1000, "invariant")
        expected = decode(known, self.PROMPT, exactness="invariant")
        assert completion.text == expected.text


class TestLifetime:
    def calls(self, engine: Engine) -> Iterator[Callable[[], object]]:
        yield lambda: decode(engine, make_prompt("x"))
        yield lambda: engine.prefill((Piece("x"),))
        yield lambda: engine.measure(10)

    def test_another_thread_is_refused(self, tiny: Engine):
        errors: list[str] = []

        def use() -> None:
            for call in self.calls(tiny):
                with pytest.raises(EngineError) as refused:
                    call()
                errors.append(str(refused.value))

        thread = threading.Thread(target=use)
        thread.start()
        thread.join()
        assert errors == ["the model belongs to the thread that loaded it"] * 3

    def test_closing_twice_is_harmless_and_use_after_it_is_refused(self, tiny_path: Path):
        with Engine.open(tiny_path) as engine:
            decode(engine, make_prompt("x"), strategy="plain")
        engine.close()
        for call in self.calls(engine):
            with pytest.raises(EngineError, match="the model is closed"):
                call()

    def test_a_measurement_is_kept(self, open_engine, tiny_path: Path):
        engine = open_engine(tiny_path)
        measurement = engine.measure(3000)
        assert measurement.depth == 3000
        kept = open_engine(tiny_path)._calibrations
        assert kept.get(3000, flash_attention=measurement.flash_attention) == measurement


class TestRecurrentModel:
    """A model whose memory cannot be rolled back is decoded plainly, and says so."""

    PROMPT = make_prompt(LONG, source=LONG)

    def test_every_strategy_is_decoded_plainly(self, open_engine, recurrent_path: Path):
        texts = set()
        for strategy in (*STRATEGIES, "draft"):
            for exactness in ("fast", "invariant"):
                engine = open_engine(recurrent_path)
                completion = decode(engine, self.PROMPT, strategy=strategy, exactness=exactness)
                assert completion.stats.drafted == 0
                assert completion.stats.output_tokens > 5
                [note] = completion.notes
                assert "cannot be rolled back: it was decoded plainly" in note
                texts.add(completion.text)
        assert len(texts) == 1

    def test_nothing_is_ever_rolled_back(self, open_engine, recurrent_path: Path, monkeypatch):
        engine = open_engine(recurrent_path)
        expected = decode(engine, self.PROMPT)
        remove, refused = engine._pool.cache.context.remove, []
        monkeypatch.setattr(
            engine._pool.cache.context,
            "remove",
            lambda *args: remove(*args) or refused.append(args) or False,
        )
        decode(engine, make_prompt("x"))
        assert len(refused) <= 1, "only the next request's prefill finds out, and starts over"
        assert decode(engine, self.PROMPT).text == expected.text

    def test_the_next_request_is_right_after_a_cancel(self, open_engine, recurrent_path: Path):
        engine = open_engine(recurrent_path)
        expected = decode(engine, self.PROMPT).text
        for n in range(1, 9):
            calls = itertools.count(1)
            decode(engine, self.PROMPT, cancelled=lambda: next(calls) >= n)  # noqa: B023
            assert decode(engine, self.PROMPT).text == expected

    def test_a_warm_start_is_used_as_far_as_it_goes(self, open_engine, recurrent_path: Path):
        engine, cold = open_engine(recurrent_path), open_engine(recurrent_path)
        engine.prefill(self.PROMPT.file)
        completion = decode(engine, self.PROMPT)
        assert completion.stats.reused_tokens == engine.count_tokens(LONG)
        assert completion.text == decode(cold, self.PROMPT).text

    def test_it_cannot_be_measured(self, open_engine, recurrent_path: Path):
        with pytest.raises(EngineError, match="nothing to measure"):
            open_engine(recurrent_path).measure(10)


@pytest.mark.parametrize("strategy", ["copy", "copy@6", "lookup", "jacobi"])
def test_where_every_choice_is_a_near_tie_each_is_made_alone(
    strategy: str, tiny: Engine, monkeypatch: pytest.MonkeyPatch
):
    """And guesses that prove right are kept all the same, cells included."""
    source = "abcabc" * 9
    prompt = make_prompt("", "abc", source=source)
    plain = decode(tiny, prompt, strategy="plain", exactness="fast", max_tokens=60)
    again = make_prompt("", "abc", source=f"abc{plain.text}")  # what is copied is right
    monkeypatch.setattr(request_module, "NEAR_TIE", 1e9)
    drafted = decode(tiny, again, strategy=strategy, exactness="fast", max_tokens=60)
    assert drafted.text == plain.text
    assert drafted.stats.accepted <= drafted.stats.drafted
    if strategy == "copy@6":  # how much copy drafts by itself hangs on what passes cost here
        assert drafted.stats.accepted > 0
        assert drafted.stats.near_tie_redecodes > 0
