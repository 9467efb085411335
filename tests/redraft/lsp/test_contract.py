"""What the wire promises is what the server's records give.

That code and prose name the same things is the concern of tests/editors/test_protocol.py.
"""

import re
from dataclasses import fields
from typing import get_args, get_type_hints

import pytest
from tests.redraft.lsp.editor import ROOT

from redraft.edit import outcome_of_reply
from redraft.lsp import contract, responses
from redraft.lsp.params import EditCommand, Place
from redraft.lsp.server_config import EditorSettings
from redraft.records import (
    Completion,
    EditRequest,
    Finish,
    Pass,
    Progress,
    Prompt,
    Reason,
    Refused,
    Span,
    Stats,
)

PROSE = (ROOT / "docs" / "protocol.md").read_text(encoding="utf-8")


def camel(name: str) -> str:
    return re.sub(r"_([a-z])", lambda match: match[1].upper(), name)


@pytest.mark.parametrize(
    "name",
    [camel(field.name) for field in fields(EditorSettings) if field.name != "decoding"],
)
def test_settings_are_documented(name: str) -> None:
    assert re.search(rf"`[^`\n]*\b{re.escape(name)}\b[^`\n]*`", PROSE)


def test_the_shapes_of_the_wire_are_those_of_the_records() -> None:
    arguments = {camel(field.name) for field in fields(EditCommand)}
    assert contract.EditParams.__annotations__.keys() == arguments | {"position"}
    place = {camel(field.name) for field in fields(Place)}
    assert contract.TargetParams.__annotations__.keys() == place | {"position"}
    assert contract.EditStats.__required_keys__ == responses.convert_stats(Stats()).keys()
    assert {*get_args(Reason)} - {"cancelled", "stale"} == {*get_args(contract.Reason)}
    phases = get_args(get_type_hints(Progress)["phase"])
    assert {"waiting", *phases} == {*get_args(contract.Phase)}


@pytest.mark.parametrize(
    ("finish", "setting"), [("length", "redraft.maxTokens"), ("timeout", "redraft.timeout")]
)
def test_a_limit_is_called_what_the_editor_calls_it(finish: Finish, setting: str) -> None:
    request = EditRequest(path="a.py", text="x = 1\n", target=Span(0, 6), instruction="Go on.")
    cut = Completion(text="", finish=finish, stats=Stats())
    outcome = outcome_of_reply(request, Prompt(file=(), request=(), source="", stop=()), cut)
    assert isinstance(outcome, Refused)
    error = responses.refused_error(outcome)
    assert f"; raise {setting} or edit a smaller part" in error.message


def test_a_pass_is_cut_where_the_origin_changes_and_not_inside_a_character() -> None:
    one = Pass(
        tokens=(1, 2, 3),
        pieces=(b"a\xce", b"\xbb", b"c"),
        origins=("copied", "copied", None),
        runners_up=(),
        drafted=2,
        seconds=0.5,
    )
    (answer,) = responses.convert_passes(
        Completion(text="aλc", finish="stop", stats=Stats(), passes=(one,))
    )
    assert answer["text"] == [{"origin": "copied", "text": "aλ"}, {"origin": None, "text": "c"}]
