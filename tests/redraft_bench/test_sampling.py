"""The cost of choosing a token, measured without a model."""

from redraft_bench.sampling import CHOOSERS, measure


def test_each_way_of_choosing_is_timed():
    found = measure(n_vocab=500, n_tokens=3)
    assert set(found) == set(CHOOSERS)
    assert all(microseconds > 0 for microseconds in found.values())


def test_sampling_prints_a_line_for_each(run_bench):
    ran = run_bench("sampling", "--vocabulary", "500", "--tokens", "3")
    for name in CHOOSERS:
        assert f"| {name} " in ran.out
