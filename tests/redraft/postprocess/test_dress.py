import pytest
from redraft.postprocess.fences import strip_fences
from tests.redraft.edit_requests import whole_file

CODE = "def f():\n    return 2"


def request(own="def f():\n    return 1\n", *, instruction="Return 2", language="python"):
    return whole_file(own, instruction, language=language)


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(CODE, id="nothing but code"),
        pytest.param(CODE.replace("\n", "\r\n"), id="CRLF"),
        pytest.param(f"```python\n{CODE}", id="the opening fence again"),
        pytest.param(f"\n```\n{CODE}\n```\n", id="both fences"),
        pytest.param(f"````python\n{CODE}\n````\n", id="longer fences"),
        pytest.param(f"~~~py\n{CODE}\n~~~", id="tilde fences"),
        pytest.param(
            f"Here is the updated function:\n\n```python\n{CODE}\n```\n\nIt returns 2 now.",
            id="a preamble, fences and a closing remark",
        ),
        pytest.param(f"Here's the updated function:\n{CODE}", id="a preamble alone"),
        pytest.param(f"{CODE}\n```\nIt returns 2 now.", id="a closing fence and a remark"),
        pytest.param(
            f"{CODE}\n```\nOr:\n\n```python\nf = lambda: 2\n```", id="a remark that holds code"
        ),
        pytest.param(f"{CODE}\n```\n", id="a closing fence"),
        pytest.param(f"{CODE}<|im_end|>", id="an end tag"),
        pytest.param(f"{CODE}\n<|im_end|>\n<|im_start|>user\nThanks", id="the next turn as well"),
        pytest.param(f"<|im_start|>assistant\n{CODE}", id="an opening tag with a role"),
        pytest.param(
            f"<|start_header_id|>assistant<|end_header_id|>\n\n{CODE}<|eot_id|>", id="Llama's tags"
        ),
        pytest.param(
            f"<|im_start|>assistant\n```python\n{CODE}\n```<|im_end|>", id="tags around fences"
        ),
    ],
)
def test_what_stands_around_the_code_goes(reply):
    assert strip_fences(reply, request()).strip("\n") == CODE


@pytest.mark.parametrize(
    ("own", "reply"),
    [
        pytest.param("# T\n\n```sh\nls\n```\n", "# U\n\n```sh\nls\n```", id="a fence of Markdown"),
        pytest.param("```sh\nls\n```\n", "```sh\nls -l\n```", id="Markdown that starts with one"),
        pytest.param("# T\n", "# T\n\n```sh\nls\n```\n\nmore", id="a new fence"),
        pytest.param("Text.\n", "Here is the list:\n\n- a", id="a line that could be a preamble"),
    ],
)
def test_inner_fences_of_prose_stay(own, reply):
    assert strip_fences(reply, request(own, language=None)) == reply


def test_an_inner_fence_stays_when_outer_ones_go():
    own = "# T\n\n```sh\nls\n```\n\nmore\n"
    reply = "````md\n# U\n\n```sh\nls\n```\n\nmore\n````\nDone."
    same_width = "```md\n# U\n\n```sh\nls\n```\n\nmore\n```\nDone."
    for wrapped in (reply, same_width):
        assert strip_fences(wrapped, request(own, language=None)) == "# U\n\n```sh\nls\n```\n\nmore"


def test_an_unmatched_closing_fence_goes_and_inner_ones_stay():
    own = "# T\n\n```sh\nls\n```\n"
    assert strip_fences(own + "```", request(own, language=None)) == own.removesuffix("\n")


def test_fences_of_a_docstring_stay():
    own = 'def f():\n    """\n    ```\n    f()\n    ```\n    """\n'
    assert strip_fences(own, request(own)) == own


@pytest.mark.parametrize(
    ("own", "instruction"),
    [
        pytest.param("END = '<|im_end|>'\n", "Rename it", id="the target holds it"),
        pytest.param("END = ''\n", "Make it '<|im_end|>'", id="the instruction asks for it"),
    ],
)
def test_a_tag_that_belongs_to_the_code_stays(own, instruction):
    reply = "STOP = '<|im_end|>'\n"
    assert strip_fences(reply, request(own, instruction=instruction)) == reply


@pytest.mark.parametrize("reply", ["", "```", "```python\n```", "<|im_end|>", "\n\n"])
def test_nothing_is_left_of_a_reply_without_code(reply):
    assert not strip_fences(reply, request()).strip()


def test_a_closing_fence_ends_code_of_which_no_line_is_the_old_one():
    code = "def g(x):\n    return 3"
    assert strip_fences(f"{code}\n```\n", request()) == code


@pytest.mark.parametrize("fence", ["```", "```python"])
def test_a_fence_below_a_preamble_that_nothing_follows_holds_no_code(fence):
    assert strip_fences(f"Here is the updated function:\n{fence}\n", request()).strip() == ""
