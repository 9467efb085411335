"""Which drafter a request gets."""

from typing import get_args

from redraft.engine.drafters import PRIORS
from redraft.records import Route


def test_auto_knows_what_to_expect_on_every_route():
    assert set(PRIORS) == set(get_args(Route))
