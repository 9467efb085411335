"""`redraft bench exact` in short: invariant decoding is the same whatever was drafted."""

from pathlib import Path

from redraft.bench import exact
from redraft.bench.engine import BenchEngine
from redraft.records import Completion, Pass, Stats

NAMES = ("plain", "lookup", "copy", "copy@5")


def test_invariant_decoding_never_differs(small_model_path: Path):
    with BenchEngine.load(small_model_path) as bench_engine:
        *_, tallies = exact.compare(bench_engine, NAMES, exactness="invariant", n_tokens=150)
    assert {name: tally.differences for name, tally in tallies.items()} == {
        name: [] for name in NAMES[1:]
    }
    assert all(tally.tokens >= 150 for tally in tallies.values())


class Parting:
    """Writes 0, 1, 2... but `copy` goes astray after 7 tokens."""

    n_ctx = 32_768
    chat_template = None

    def count_tokens(self, text: str) -> int:
        return len(text) // 4

    def decode(self, prompt, strategy, exactness, *, max_tokens) -> Completion:
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


def test_a_difference_is_counted_with_its_place():
    *_, tallies = exact.compare(
        Parting(), ("plain", "copy", "lookup"), exactness="fast", n_tokens=20
    )
    assert [parted.token for parted in tallies["copy"].differences] == [7, 7]
    assert tallies["copy"].tokens == 16
    assert tallies["copy"].per_1000_tokens == 125
    assert tallies["lookup"].differences == []
    assert tallies["lookup"].tokens == 20


def test_there_are_prompts_for_20000_tokens_and_no_two_alike():
    cases = list(exact.build_cases(Parting()))
    assert len({case.name for case in cases}) == len(cases)
    assert sum(case.max_tokens for case in cases) > 40_000
