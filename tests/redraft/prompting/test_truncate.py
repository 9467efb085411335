"""A file too long for the context: what is kept, and what the model and the user are told."""

import pytest
from tests.redraft.edit_requests import part_of_file, part_texts
from tests.redraft.scripted_model import ScriptedModel

from redraft import syntax
from redraft.prompting.build import build_prompt

PYTHON = "import os\n\n\n" + "\n\n".join(
    f"def f{i}(a):\n    b = a + {i}\n    c = b * {i}\n    return c\n" for i in range(40)
)
GO = "package p\n\n" + "\n".join(
    f"func F{i}(a int) int {{\n\tb := a + {i}\n\tc := b * {i}\n\treturn c\n}}\n" for i in range(40)
)
LUA = "local M = {}\n\n" + "\n".join(
    f"function M.f{i}(a)\n  local b = a + {i}\n  local c = b * {i}\n  return c\nend\n"
    for i in range(40)
)


@pytest.mark.parametrize(
    ("path", "text", "target", "head", "comment"),
    [
        ("a.py", PYTHON, "def f20(a):\n    b = a + 20", "import os", "    # ... (3 lines omitted)"),
        ("a.go", GO, "func F20(a int) int {", "package p", "\t// ... (3 lines omitted)"),
        ("a.lua", LUA, "function M.f20(a)", "local M = {}", "  -- ... (3 lines omitted)"),
    ],
    ids=["Python", "Go", "Lua"],
)
def test_a_file_too_long_loses_the_bodies_farthest_from_the_target(
    path, text, target, head, comment
):
    edit = part_of_file(text, target, path=path)
    whole = build_prompt(edit, ScriptedModel(), max_tokens=100)
    n_prompt = sum(ScriptedModel().count_tokens(p.text) for p in (*whole.file, *whole.request))
    model = ScriptedModel(n_ctx=n_prompt - 200)
    prompt = build_prompt(edit, model, max_tokens=100)
    file, _ = part_texts(prompt)
    assert sum(model.count_tokens(p.text) for p in (*prompt.file, *prompt.request)) <= (
        model.n_ctx - 100
    )
    assert head in file
    assert target in file
    assert f"\n{comment}\n" in file
    assert "19" in file.split("20")[0][-40:], "the neighbour keeps its body"
    n_cut = file.count(comment)
    assert 0 < n_cut < 39
    (note,) = prompt.notes
    assert f"{n_cut} other functions ({3 * n_cut} lines)" in note
    code = file.split("```")[1].partition("\n")[2]
    assert syntax.parse_errors(code, edit.language) == 0


@pytest.mark.parametrize(
    ("path", "ending"),
    [("notes.txt", "\n"), ("notes.txt", "\r\n"), ("notes.txt", "\r"), ("data.py", "\n")],
    ids=["plain text", "CRLF", "CR", "code without functions"],
)
def test_without_functions_to_shorten_whole_lines_around_the_target_are_kept(path, ending):
    text = "".join(f"line_{i} = {i}{ending}" for i in range(1000))
    edit = part_of_file(text, f"line_500 = 500{ending}", path=path)
    prompt = build_prompt(edit, ScriptedModel(n_ctx=1500), max_tokens=100)
    file, _ = part_texts(prompt)
    kept = [line for line in file.split("\n") if line.startswith("line_")]
    assert "line_500 = 500" in kept
    assert len(kept) > 100
    assert all(line in text.split(ending) for line in kept)
    (note,) = prompt.notes
    first, last = (int(kept[i].split("_")[1].split()[0]) + 1 for i in (0, -1))
    assert f"lines {first} to {last} of 1,000" in note
    assert f"({first - 1:,} lines omitted)" in file
    assert f"({1000 - last:,} lines omitted)" in file
    assert abs((501 - first) - (last - 501)) < 20, "the target stands in the middle"


def test_what_one_side_cannot_use_goes_to_the_other():
    text = "".join(f"line_{i}\n" for i in range(1000))
    file, _ = part_texts(
        build_prompt(
            part_of_file(text, "line_3\n", path="a.txt"), ScriptedModel(n_ctx=700), max_tokens=9
        )
    )
    assert "line_0\n" in file
    assert "line_150\n" in file


def test_a_target_that_fills_the_context_is_shown_alone():
    text = "".join(f"line_{i}\n" for i in range(1000))
    target = text[text.index("line_200") : text.index("line_500")]
    prompt = build_prompt(
        part_of_file(text, target, path="a.txt"), ScriptedModel(n_ctx=800), max_tokens=9
    )
    assert part_texts(prompt)[0].endswith("a.txt\n")
    assert "only the target" in prompt.notes[0]
