"""The laws of an edit, over real code: a few hundred functions here, more by `redraft_bench laws`."""

import random
from pathlib import Path

from redraft_bench import laws

SAMPLES = Path(__file__).parents[3] / "fixtures" / "languages"


def attack(paths, seed, n_functions):
    tally, random_ = laws.Tally(), random.Random(seed)
    for path, text in laws.read_sources(paths, random_):
        if tally.n_functions >= n_functions:
            break
        laws.attack(tally, path, text, random_)
    return tally


def test_the_laws_hold_in_our_samples_of_each_language():
    tally = attack([SAMPLES], seed=1, n_functions=1_000)
    assert tally.n_functions > 20
    assert not tally.failed, "\n".join(each.describe() for each in tally.failed[:5])


def test_the_laws_hold_in_installed_packages():
    tally = attack(laws.default_roots(), seed=2, n_functions=100)
    assert tally.n_functions >= 50
    for law in laws.LAWS:
        n_broken = tally.n_attacks(law, holds=False)
        # Which functions are drawn depends on what is installed, and a few break a law.
        assert n_broken <= 0.05 * tally.n_attacks(law), "\n".join(
            each.describe() for each in tally.failed if each.law == law
        )


def test_replies_to_10_000_lines_take_little_time():
    # Five times the law, one second: the machine may be busy.
    assert all(seconds < 5.0 for seconds in dict(laws.measure_time()).values())
