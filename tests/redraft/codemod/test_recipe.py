from pathlib import Path

import pytest

from redraft.codemod.recipe import Example, Recipe, read_recipe
from redraft.errors import InputError

WHOLE = """
instruction = "Use pathlib"
scope = "file"
select = "/os\\\\.path/"
include = ["src/**/*.py"]
exclude = "src/vendor/"
lang = "python"

[[examples]]
before = "os.path.join(a, b)"
after = "Path(a) / b"

[[examples]]
before = "import os.path\\n"
after = ""
"""


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "paths.toml"
    path.write_text(text)
    return path


def test_a_recipe_says_what_to_do_and_where(tmp_path: Path):
    assert read_recipe(write(tmp_path, WHOLE)) == Recipe(
        instruction="Use pathlib",
        scope="file",
        select=("/os\\.path/",),
        include=("src/**/*.py",),
        exclude=("src/vendor/",),
        lang=("python",),
        examples=(
            Example(before="os.path.join(a, b)", after="Path(a) / b"),
            Example(before="import os.path\n", after=""),
        ),
    )


def test_the_model_is_shown_the_examples_whatever_is_in_them():
    example = Example(before="a\n```\nb\n", after="c")
    instruction = Recipe(instruction=" Do it. ", examples=(example,)).full_instruction
    assert instruction == (
        "Do it.\n\nFor example, this:\n````\na\n```\nb\n````\nbecomes this:\n```\nc\n```"
    )
    assert Recipe(instruction="Do it.").full_instruction == "Do it."


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("scope = 'file'", "instruction is missing", id="no instruction"),
        pytest.param("instruction = ' '", "instruction must be a text, not ' '", id="blank"),
        pytest.param("instruction = 'x'\nselct = 'y'", "unknown key 'selct': did you mean select?"),
        pytest.param("instruction = 'x'\nfoo = 1", "unknown key 'foo': the keys are instruction"),
        pytest.param("instruction = 'x'\nscope = 'class'", "scope must be one of function, file"),
        pytest.param("instruction = 'x'\nlang = ['basic']", "lang must be one of python"),
        pytest.param("instruction = 'x'\ninclude = [1]", "include must be a pattern or a list"),
        pytest.param("instruction = 'x'\nexamples = 'y'", "examples must be a list of tables"),
        pytest.param(
            "instruction = 'x'\n[[examples]]\nbefore = 'y'", "examples[0]: after is missing"
        ),
        pytest.param(
            "instruction = 'x'\n[[examples]]\nbefore = 'y'\nafter = ''\nafer = ''",
            "examples[0]: unknown key 'afer': did you mean after?",
        ),
        pytest.param("instruction = 'x", "is not valid TOML"),
    ],
)
def test_a_wrong_recipe_is_one_error_that_names_the_key(tmp_path: Path, text: str, message: str):
    path = write(tmp_path, text)
    with pytest.raises(InputError) as caught:
        read_recipe(path)
    assert str(path) in str(caught.value)
    assert message in str(caught.value)


def test_a_missing_recipe_is_an_error(tmp_path: Path):
    with pytest.raises(InputError, match="cannot read the recipe"):
        read_recipe(tmp_path / "no.toml")
