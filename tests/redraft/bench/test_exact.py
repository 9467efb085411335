"""`redraft bench exact` in short: invariant decoding is the same whatever was drafted."""

from pathlib import Path

import pytest

from redraft.bench import exact
from redraft.bench.engine import BenchEngine
from redraft.records import Completion, Pass, Stats

NAMES = ("plain", "lookup", "copy", "copy@5")


@pytest.fixture
def fresh_engine(small_model_path: Path, tmp_path: Path):
    """An engine that knows nothing of this machine."""
    with BenchEngine.load(small_model_path) as engine:
        engine.calibrate_anew(tmp_path / "costs")
        engine.save_states(tmp_path / "states")
        yield engine


def test_invariant_decoding_never_differs(fresh_engine: BenchEngine):
    *_, tallies = exact.compare(
        fresh_engine, NAMES, exactness="invariant", n_tokens=200, n_together=(2,), max_answer=50
    )
    assert not any(tally.differences for tally in tallies.values())
    for name in NAMES[1:]:
        of_strategy = [tally for key, tally in tallies.items() if key.startswith(f"{name}, ")]
        assert sum(tally.tokens for tally in of_strategy) >= 200
    reused = {name: tally.reused_tokens for name, tally in tallies.items()}
    assert all((n == 0) == name.endswith("cold") for name, n in reused.items() if "tog" not in name)
    assert any(name.endswith("2 together") for name in tallies)


def test_a_wrong_class_is_found_out(fresh_engine: BenchEngine, monkeypatch):
    """64 rows go through another attention kernel than 8."""
    monkeypatch.setattr(fresh_engine._calibrations, "row_counts", lambda depth: (2, 8, 64))
    *_, tallies = exact.compare(
        fresh_engine,
        ("plain", "lookup", "copy"),
        exactness="invariant",
        n_tokens=300,
        max_answer=100,
    )
    assert any(tally.differences for tally in tallies.values())


class Parting:
    """Writes 0, 1, 2... but `copy` goes astray after 7 tokens."""

    n_ctx = 32_768
    chat_template = None

    def __init__(self) -> None:
        self.log: list[str] = []

    def count_tokens(self, text: str) -> int:
        return len(text) // 4

    def forget(self) -> None:
        self.log.append("forget")

    def restart(self) -> None:
        self.log.append("restart")

    def decode(self, prompt, strategy, exactness, *, max_tokens) -> Completion:
        self.log.append(strategy)
        tokens = [i if i < 7 or strategy != "copy" else -1 for i in range(10)]
        whole = Pass(
            tokens=tuple(tokens),
            pieces=(b"a",) * 10,
            origins=(None,) * 10,
            runners_up=(),
            drafted=0,
            seconds=0.1,
        )
        stats = Stats(output_tokens=10, passes=1)
        return Completion(text="a" * 10, finish="length", stats=stats, passes=(whole,))

    def decode_together(self, prompts, strategy, exactness) -> list[Completion]:
        self.log.append(f"{len(prompts)} {strategy}")
        return [self.decode(prompt, strategy, exactness, max_tokens=n) for prompt, n in prompts]


def test_a_difference_is_counted_with_its_place():
    *_, tallies = exact.compare(
        Parting(), ("plain", "copy", "lookup"), exactness="fast", n_tokens=20
    )
    assert [parted.token for parted in tallies["copy, warm"].differences] == [7]
    assert [parted.token for parted in tallies["copy, cold"].differences] == [7]
    assert tallies["copy, cold"].tokens == 8
    assert tallies["copy, cold"].per_1000_tokens == 125
    assert tallies["lookup, cold"].differences == []
    assert tallies["lookup, saved"].tokens == 10
    first = next(exact.describe_differences(tallies))
    assert first.startswith("copy, warm parts after 7 tokens of ")


def test_strategies_begin_in_turns_and_share_passes_where_they_can():
    engine = Parting()
    *_, tallies = exact.compare(
        engine,
        ("plain", "copy", "lookahead"),
        exactness="fast",
        n_tokens=60,
        n_together=(2, 3),
    )
    assert engine.log[:9] == [
        *("restart", "plain", "copy", "forget", "lookahead"),
        *("restart", "plain", "forget", "copy"),
    ]
    assert engine.log.count("2 copy") == 3
    assert engine.log.count("3 copy") == 2
    assert {name: tally.tokens for name, tally in tallies.items() if "lookahead" in name} == {
        "lookahead, cold": 20,
        "lookahead, saved": 20,
        "lookahead, warm": 20,
    }
    assert "lookahead, 2 together" not in tallies


def test_there_are_prompts_for_20000_tokens_and_no_two_alike():
    cases = list(exact.build_cases(Parting()))
    assert len({case.name for case in cases}) == len(cases)
    assert sum(case.max_tokens for case in cases) > 40_000
