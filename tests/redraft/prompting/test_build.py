import pytest
from tests.redraft.edit_requests import part_of_file, part_texts
from tests.redraft.scripted_model import ScriptedModel

from redraft.prompting.build import build_prompt
from redraft.records import EditRequest, Refused, Span

TEXT = """import math


def area(r):
    return math.pi * r * r


class Box:
    def fill(self, thing):
        self.things.append(thing)  # at the end
"""


PYTHON = "import os\n\n\n" + "\n\n".join(
    f"def f{i}(a):\n    b = a + {i}\n    c = b * {i}\n    return c\n" for i in range(40)
)

FILL = "    def fill(self, thing):\n        self.things.append(thing)  # at the end"


def test_the_file_comes_first_and_raw_then_target_instruction_and_an_open_fence():
    file, question = part_texts(
        build_prompt(part_of_file(TEXT, FILL), ScriptedModel(), max_tokens=100)
    )
    assert f"box.py\n````python\n{TEXT}````\n" in file
    assert (
        question.index("lines 9-10 (`Box.fill`)") < question.index(FILL) < question.index("Say hi")
    )
    assert question.endswith("<|im_start|>assistant\n````python\n")


def test_the_file_part_does_not_depend_on_the_request():
    one = build_prompt(part_of_file(TEXT, FILL), ScriptedModel(), max_tokens=100)
    other = build_prompt(
        part_of_file(TEXT, "import math\n", instruction="```\nx"), ScriptedModel(), max_tokens=9
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
    prompt = build_prompt(part_of_file(TEXT, target), ScriptedModel(), max_tokens=100)
    assert prompt.source == source
    pieces = [piece.text for piece in (*prompt.file, *prompt.request)]
    assert source in pieces, "tokenised on its own"


class TestOfACodemod:
    """Many parts of a file are asked about: each prompt adds a name to what all share."""

    INSTRUCTION = "Add a docstring"

    def prompt(self, target, *, text=TEXT, path="box.py", model=None, max_tokens=100):
        edit = part_of_file(text, target, instruction=self.INSTRUCTION, path=path)
        return build_prompt(edit, model or ScriptedModel(), max_tokens=max_tokens, route="codemod")

    def test_file_and_instruction_are_common_and_the_part_is_named(self):
        area = "def area(r):\n    return math.pi * r * r"
        file, question = part_texts(self.prompt(FILL))
        assert file == part_texts(self.prompt(area))[0]
        assert f"box.py\n````python\n{TEXT}````\n" in file
        assert self.INSTRUCTION in file
        assert "`Box.fill`" in question
        assert "self.things" not in question
        assert question.endswith("````python\n")

    def test_it_is_copied_from_column_0_where_it_will_be_written(self):
        source = self.prompt(FILL).source
        assert source == "def fill(self, thing):\n    self.things.append(thing)  # at the end\n"

    def test_a_part_that_has_no_name_of_its_own_is_shown(self):
        twice = f"{TEXT}\n\nclass Box:\n    def fill(self):\n        return 1\n"
        for target, text in ((FILL, twice), ("import math", TEXT)):
            assert self.prompt(target, text=text) == build_prompt(
                part_of_file(text, target, instruction=self.INSTRUCTION),
                ScriptedModel(),
                max_tokens=100,
            )

    def test_a_part_of_a_truncated_file_is_shown(self):
        target = "def f20(a):\n    b = a + 20\n    c = b * 20\n    return c"
        small = ScriptedModel(n_ctx=700)
        prompt = self.prompt(target, text=PYTHON, path="a.py", model=small, max_tokens=50)
        assert prompt.notes
        assert target in part_texts(prompt)[1]

    def test_what_does_not_fit_is_refused(self):
        refused = self.prompt(PYTHON, text=PYTHON, path="a.py", model=ScriptedModel(n_ctx=300))
        assert isinstance(refused, Refused)


def test_a_whole_file_is_printed_once():
    file, question = part_texts(
        build_prompt(part_of_file(TEXT, TEXT), ScriptedModel(), max_tokens=100)
    )
    assert (file + question).count("def area") == 1


def test_an_insertion_names_its_place():
    at = EditRequest(path="a.txt", text="a\nb\n", target=Span(2, 2), instruction="Add c")
    prompt = build_prompt(at, ScriptedModel(), max_tokens=9)
    assert "line 2" in part_texts(prompt)[1]
    assert prompt.source == ""


def test_line_endings_are_shown_as_lf_and_tabs_stay():
    text = "func f() {\r\n\tg()\r}\r\n"
    prompt = build_prompt(part_of_file(text, text, path="f.go"), ScriptedModel(), max_tokens=100)
    assert prompt.source == "func f() {\n\tg()\n}\n"


@pytest.mark.parametrize(
    ("path", "text", "instruction", "stop"),
    [
        pytest.param("a.py", "x = 1\n", "Go", "\n````", id="four: code may hold three"),
        pytest.param("a.md", "# T\n", "Go", "\n````", id="four in prose, which may get a block"),
        pytest.param("a.md", "# T\n````\nx\n````\n", "Go", "\n`````", id="longer than the file's"),
        pytest.param(
            "a.py", "x = 1\n", "Add\n````\ny\n````", "\n````", id="not than the instruction's"
        ),
        pytest.param("a.py", "x = '`````'\n", "Go", "\n````", id="runs inside a line don't count"),
    ],
)
def test_the_fence_is_longer_than_any_inside(path, text, instruction, stop):
    edit = part_of_file(text, text, path=path, instruction=instruction)
    prompt = build_prompt(edit, ScriptedModel(), max_tokens=9)
    assert prompt.stop == (stop,)
    assert f"{stop[1:]}{'python' if path == 'a.py' else 'md'}\n" == prompt.request[-1].text


def test_special_tokens_of_files_and_users_stay_text():
    text = "end = '<|im_end|>'\n"
    edit = part_of_file(text, text, instruction="Put <|im_start|> first")
    prompt = build_prompt(edit, ScriptedModel(), max_tokens=9)
    controls = "".join(p.text for p in (*prompt.file, *prompt.request) if p.control)
    assert controls == "<|im_start|>user\n<|im_end|>\n<|im_start|>assistant\n"


@pytest.mark.parametrize("target", [PYTHON, PYTHON[:-40]], ids=["whole file", "most of it"])
def test_a_target_that_does_not_fit_is_refused_with_figures(target):
    refused = build_prompt(part_of_file(PYTHON, target), ScriptedModel(n_ctx=1000), max_tokens=300)
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
    build_prompt(part_of_file(TEXT, FILL), Counting(), max_tokens=100)
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
