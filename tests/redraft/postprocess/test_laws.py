"""The laws of an edit, over real code: a few hundred functions here, more by `redraft_bench laws`."""

import sys
import sysconfig
from pathlib import Path

from redraft.interruption import interruptible
from redraft_bench import laws

SAMPLES = Path(__file__).parents[3] / "fixtures" / "languages"


def test_the_laws_hold_in_our_samples_of_each_language():
    tally = laws.attack_sources([SAMPLES], n_functions=1_000, seed=1, jobs=2)
    assert len(tally.n_functions) > 20  # languages
    assert not tally.failed, "\n".join(each.describe() for each in tally.failed[:5])


def test_the_laws_hold_in_installed_packages():
    roots = [Path(sysconfig.get_paths()["purelib"])]
    tally = laws.attack_sources(roots, n_functions=100, seed=2, jobs=2)
    for law in laws.LAWS:
        n_broken = tally.n_attacks(law, holds=False)
        # Which functions are drawn depends on the packages' versions, and a few break a law.
        assert n_broken <= 0.02 * tally.n_attacks(law), "\n".join(
            each.describe() for each in tally.failed if each.law == law
        )


def test_the_number_of_processes_does_not_show():
    one, two = (
        laws.attack_sources([SAMPLES], n_functions=20, seed=3, jobs=jobs) for jobs in (1, 2)
    )
    assert one == two


def count_calls(function, *args):
    """Return how many functions are called, Python's own and C's: what takes the time."""
    n_calls = 0

    def count(_frame, event, _arg):
        nonlocal n_calls
        n_calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        assert function(*args)
    finally:
        sys.setprofile(None)
    return n_calls


def count_checks(function, *args):
    """Return how often the work looks whether it is still wanted."""
    n_checks = 0

    def count():
        nonlocal n_checks
        n_checks += 1

    with interruptible(count):
        assert function(*args)
    return n_checks


def test_work_on_a_long_reply_can_be_interrupted_at_every_step():
    """What happens between two looks does not grow with the text, but for single calls into C."""
    long, longer = (list(laws.build_long_replies(n_lines)) for n_lines in (400, 1_600))
    for (kind, *one), (_, *other) in zip(long, longer, strict=True):
        n_checks, n_more = (count_checks(laws.apply_long_reply, *each) for each in (one, other))
        assert n_checks > 400, kind
        assert n_more > 2 * n_checks, kind


def test_work_grows_with_the_length_of_the_reply_and_not_with_its_square():
    long, longer = (list(laws.build_long_replies(n_lines)) for n_lines in (400, 1_600))
    for (kind, *one), (_, *other) in zip(long, longer, strict=True):
        growth = count_calls(laws.apply_long_reply, *other) / count_calls(
            laws.apply_long_reply, *one
        )
        assert growth < 5.5, kind  # four times the lines; sixteen would be the square
