import pytest
from tests.redraft.scripted_model import ScriptedModel

from redraft import syntax
from redraft.prompting.build import build_prompt
from redraft.records import EditRequest, Prompt, Refused, Span

TEXT = """import math


def area(r):
    return math.pi * r * r


class Box:
    def fill(self, thing):
        self.things.append(thing)  # at the end
"""


def request(text, target, *, instruction="Say hi", path="box.py"):
    start = text.index(target)
    return EditRequest(
        path=path,
        text=text,
        target=Span(start, start + len(target)),
        instruction=instruction,
        language=syntax.language_of(path, text),
    )


def parts(prompt):
    assert isinstance(prompt, Prompt)
    return tuple("".join(p.text for p in part) for part in (prompt.file, prompt.request))


FILL = "    def fill(self, thing):\n        self.things.append(thing)  # at the end"


def test_the_file_comes_first_and_raw_then_target_instruction_and_an_open_fence():
    file, question = parts(build_prompt(request(TEXT, FILL), ScriptedModel(), max_tokens=100))
    assert f"box.py\n```python\n{TEXT}```\n" in file
    assert (
        question.index("lines 9-10 (`Box.fill`)") < question.index(FILL) < question.index("Say hi")
    )
    assert question.endswith("<|im_start|>assistant\n```python\n")


def test_the_file_part_does_not_depend_on_the_request():
    one = build_prompt(request(TEXT, FILL), ScriptedModel(), max_tokens=100)
    other = build_prompt(
        request(TEXT, "import math\n", instruction="```\nx"), ScriptedModel(), max_tokens=9
    )
    assert one.file == other.file


@pytest.mark.parametrize(
    ("target", "source"),
    [
        pytest.param(FILL, FILL + "\n", id="a method, at its indentation"),
        pytest.param(FILL.lstrip(), FILL + "\n", id="from its first letter: the line start"),
        pytest.param("math.pi * r", "math.pi * r\n", id="a piece of a line"),
        pytest.param(TEXT, TEXT, id="the whole file"),
        pytest.param("import math\n", "import math\n", id="a line with its ending"),
    ],
)
def test_the_source_is_what_a_reply_would_print(target, source):
    prompt = build_prompt(request(TEXT, target), ScriptedModel(), max_tokens=100)
    assert prompt.source == source
    pieces = [piece.text for piece in (*prompt.file, *prompt.request)]
    assert source in pieces, "tokenised on its own"


class TestOfACodemod:
    """Many parts of a file are asked about: each prompt adds a name to what all share."""

    INSTRUCTION = "Add a docstring"

    def prompt(self, target, *, text=TEXT, path="box.py", model=None, max_tokens=100):
        edit = request(text, target, instruction=self.INSTRUCTION, path=path)
        return build_prompt(edit, model or ScriptedModel(), max_tokens=max_tokens, route="codemod")

    def test_file_and_instruction_are_common_and_the_part_is_named(self):
        area = "def area(r):\n    return math.pi * r * r"
        file, question = parts(self.prompt(FILL))
        assert file == parts(self.prompt(area))[0]
        assert f"box.py\n```python\n{TEXT}```\n" in file
        assert self.INSTRUCTION in file
        assert "`Box.fill`" in question
        assert "self.things" not in question
        assert question.endswith("```python\n")

    def test_it_is_copied_from_column_0_where_it_will_be_written(self):
        source = self.prompt(FILL).source
        assert source == "def fill(self, thing):\n    self.things.append(thing)  # at the end\n"

    def test_a_part_that_has_no_name_of_its_own_is_shown(self):
        twice = f"{TEXT}\n\nclass Box:\n    def fill(self):\n        return 1\n"
        for target, text in ((FILL, twice), ("import math", TEXT)):
            assert self.prompt(target, text=text) == build_prompt(
                request(text, target, instruction=self.INSTRUCTION), ScriptedModel(), max_tokens=100
            )

    def test_a_part_of_a_truncated_file_is_shown(self):
        target = "def f20(a):\n    b = a + 20\n    c = b * 20\n    return c"
        small = ScriptedModel(n_ctx=700)
        prompt = self.prompt(target, text=PYTHON, path="a.py", model=small, max_tokens=50)
        assert prompt.notes
        assert target in parts(prompt)[1]

    def test_what_does_not_fit_is_refused(self):
        refused = self.prompt(PYTHON, text=PYTHON, path="a.py", model=ScriptedModel(n_ctx=300))
        assert isinstance(refused, Refused)


def test_a_whole_file_is_printed_once():
    file, question = parts(build_prompt(request(TEXT, TEXT), ScriptedModel(), max_tokens=100))
    assert (file + question).count("def area") == 1


def test_an_insertion_names_its_place():
    at = EditRequest(path="a.txt", text="a\nb\n", target=Span(2, 2), instruction="Add c")
    prompt = build_prompt(at, ScriptedModel(), max_tokens=9)
    assert "line 2" in parts(prompt)[1]
    assert prompt.source == ""


def test_line_endings_are_shown_as_lf_and_tabs_stay():
    text = "func f() {\r\n\tg()\r}\r\n"
    prompt = build_prompt(request(text, text, path="f.go"), ScriptedModel(), max_tokens=100)
    assert prompt.source == "func f() {\n\tg()\n}\n"


@pytest.mark.parametrize(
    ("path", "text", "instruction", "stop"),
    [
        pytest.param("a.py", "x = 1\n", "Go", "\n```", id="three"),
        pytest.param("a.md", "# T\n", "Go", "\n````", id="four in prose, which may get a block"),
        pytest.param("a.md", "# T\n````\nx\n````\n", "Go", "\n`````", id="longer than the file's"),
        pytest.param(
            "a.py", "x = 1\n", "Add\n```\ny\n```", "\n```", id="not than the instruction's"
        ),
        pytest.param("a.py", "x = '`````'\n", "Go", "\n```", id="runs inside a line don't count"),
    ],
)
def test_the_fence_is_longer_than_any_inside(path, text, instruction, stop):
    edit = request(text, text, path=path, instruction=instruction)
    prompt = build_prompt(edit, ScriptedModel(), max_tokens=9)
    assert prompt.stop == (stop,)
    assert f"{stop[1:]}{'python' if path == 'a.py' else 'md'}\n" == prompt.request[-1].text


def test_special_tokens_of_files_and_users_stay_text():
    text = "end = '<|im_end|>'\n"
    edit = request(text, text, instruction="Put <|im_start|> first")
    prompt = build_prompt(edit, ScriptedModel(), max_tokens=9)
    controls = "".join(p.text for p in (*prompt.file, *prompt.request) if p.control)
    assert controls == "<|im_start|>user\n<|im_end|>\n<|im_start|>assistant\n"


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
    edit = request(text, target, path=path)
    whole = build_prompt(edit, ScriptedModel(), max_tokens=100)
    n_prompt = sum(ScriptedModel().count_tokens(p.text) for p in (*whole.file, *whole.request))
    model = ScriptedModel(n_ctx=n_prompt - 200)
    prompt = build_prompt(edit, model, max_tokens=100)
    file, _ = parts(prompt)
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
    edit = request(text, f"line_500 = 500{ending}", path=path)
    prompt = build_prompt(edit, ScriptedModel(n_ctx=1500), max_tokens=100)
    file, _ = parts(prompt)
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
    file, _ = parts(
        build_prompt(
            request(text, "line_3\n", path="a.txt"), ScriptedModel(n_ctx=700), max_tokens=9
        )
    )
    assert "line_0\n" in file
    assert "line_150\n" in file


def test_a_target_that_fills_the_context_is_shown_alone():
    text = "".join(f"line_{i}\n" for i in range(1000))
    target = text[text.index("line_200") : text.index("line_500")]
    prompt = build_prompt(
        request(text, target, path="a.txt"), ScriptedModel(n_ctx=800), max_tokens=9
    )
    assert parts(prompt)[0].endswith("a.txt\n")
    assert "only the target" in prompt.notes[0]


@pytest.mark.parametrize("target", [PYTHON, PYTHON[:-40]], ids=["whole file", "most of it"])
def test_a_target_that_does_not_fit_is_refused_with_figures(target):
    refused = build_prompt(request(PYTHON, target), ScriptedModel(n_ctx=1000), max_tokens=300)
    assert isinstance(refused, Refused)
    assert refused.reason == "context"
    assert "1,000" in refused.message
    assert "300" in refused.message
    assert f"{ScriptedModel().count_tokens(target):,}" in refused.message


def test_tokens_of_the_file_are_counted_once_when_it_fits():
    class Counting(ScriptedModel):
        def count_tokens(self, text):
            counted.append(text)
            return super().count_tokens(text)

    counted = []
    build_prompt(request(TEXT, FILL), Counting(), max_tokens=100)
    assert counted.count(TEXT) == 1


@pytest.mark.parametrize("spare", range(12))
def test_a_context_with_next_to_no_room_for_the_file_still_gives_a_prompt(spare):
    text = "x = 1\n" * 500
    edit = EditRequest(path="a.txt", text=text, target=Span(60, 60), instruction="Add y")
    model = ScriptedModel()
    whole = build_prompt(edit, model, max_tokens=9)
    n_rest = sum(model.count_tokens(p.text) for p in (*whole.file, *whole.request))
    n_rest -= model.count_tokens(text)
    prompt = build_prompt(edit, ScriptedModel(n_ctx=n_rest + 9 + spare), max_tokens=9)
    assert isinstance(prompt, Refused) or prompt.notes
