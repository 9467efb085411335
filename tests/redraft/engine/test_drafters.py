"""Which drafter a request gets."""

from typing import get_args

import pytest

from redraft.engine.drafters import PRIORS, DraftingRequest, Kind


def test_auto_knows_what_to_expect_of_every_kind_of_request():
    assert set(PRIORS) == set(get_args(Kind))


@pytest.mark.parametrize(
    ("route", "source", "kind"),
    [
        ("edit", [1, 2], "edit"),
        ("codemod", [1, 2], "codemod"),
        ("edit", [], "new text"),
        ("codemod", [], "new text"),
    ],
)
def test_what_there_is_to_copy_tells_the_kind_of_request(route, source: list[int], kind: str):
    request = DraftingRequest(
        tokens=[1, 2, 3], source=source, curve=None, route=route, max_tokens=9
    )
    assert request.kind == kind
