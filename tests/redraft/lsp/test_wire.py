"""The contract in code and the contract in prose say the same."""

import re
from dataclasses import fields
from typing import get_args

import pytest
from tests.redraft.lsp.editor import ROOT

from redraft.lsp import wire
from redraft.lsp.actions import BUILT_IN
from redraft.lsp.config import Editor
from redraft.messages import Completion, Pass, Reason, Stats

PROSE = (ROOT / "docs" / "protocol.md").read_text(encoding="utf-8")


def camel(name: str) -> str:
    return re.sub(r"_([a-z])", lambda match: match[1].upper(), name)


@pytest.mark.parametrize(
    "name",
    [
        *(getattr(wire, name) for name in wire.__all__ if isinstance(getattr(wire, name), str)),
        *(field.name for field in fields(wire.EditParams)),
        *get_args(wire.Scope),
        *wire.stats_of(Stats()),
        *(action.name for action in BUILT_IN),
        *(camel(field.name) for field in fields(Editor) if field.name != "decoding"),
        *(reason for reason in get_args(Reason) if reason not in ("cancelled", "stale")),
    ],
)
def test_every_name_of_the_wire_is_documented(name: str) -> None:
    assert re.search(rf"`[^`\n]*\b{re.escape(name)}\b[^`\n]*`", PROSE)


def test_a_pass_is_cut_where_the_origin_changes_and_not_inside_a_character() -> None:
    one = Pass(
        tokens=(1, 2, 3),
        pieces=(b"a\xce", b"\xbb", b"c"),
        origins=("copied", "copied", None),
        drafted=2,
        seconds=0.5,
    )
    (answer,) = wire.passes_of(Completion(text="aλc", finish="stop", stats=Stats(), passes=(one,)))
    assert answer["text"] == [{"origin": "copied", "text": "aλ"}, {"origin": None, "text": "c"}]
