import pytest

from redraft import syntax
from redraft.postprocess.dress import is_prose, strip_dress
from redraft.records import EditRequest, Span

CODE = "def f():\n    return 2"


def strip(reply, asked):
    return "\n".join(strip_dress(reply, asked))


def request(own="def f():\n    return 1\n", *, instruction="Return 2", path="f.py"):
    return EditRequest(
        path=path,
        text=own,
        target=Span(0, len(own)),
        instruction=instruction,
        language=syntax.language_of(path, own),
    )


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
    assert strip(reply, request()).strip("\n") == CODE


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
    assert strip(reply, request(own, path="a.md")) == reply


def test_an_inner_fence_stays_when_outer_ones_go():
    own = "# T\n\n```sh\nls\n```\n\nmore\n"
    reply = "````md\n# U\n\n```sh\nls\n```\n\nmore\n````\nDone."
    same_width = "```md\n# U\n\n```sh\nls\n```\n\nmore\n```\nDone."
    for wrapped in (reply, same_width):
        assert strip(wrapped, request(own, path="a.md")) == "# U\n\n```sh\nls\n```\n\nmore"


def test_an_unmatched_closing_fence_goes_and_inner_ones_stay():
    own = "# T\n\n```sh\nls\n```\n"
    assert strip(own + "```", request(own, path="a.md")) == own.removesuffix("\n")


def test_fences_of_a_docstring_stay():
    own = 'def f():\n    """\n    ```\n    f()\n    ```\n    """\n'
    assert strip(own, request(own)) == own


@pytest.mark.parametrize(
    ("own", "instruction"),
    [
        pytest.param("END = '<|im_end|>'\n", "Rename it", id="the target holds it"),
        pytest.param("END = ''\n", "Make it '<|im_end|>'", id="the instruction asks for it"),
    ],
)
def test_a_tag_that_belongs_to_the_code_stays(own, instruction):
    reply = "STOP = '<|im_end|>'\n"
    assert strip(reply, request(own, instruction=instruction)) == reply


@pytest.mark.parametrize("reply", ["", "```", "```python\n```", "<|im_end|>", "\n\n"])
def test_nothing_is_left_of_a_reply_without_code(reply):
    assert not strip(reply, request()).strip()


def test_a_closing_fence_ends_code_of_which_no_line_is_the_old_one():
    code = "def g(x):\n    return 3"
    assert strip(f"{code}\n```\n", request()) == code


@pytest.mark.parametrize(
    ("path", "own"),
    [
        pytest.param("a.html", "<p><s>9</s> 8</p>", id="struck out text"),
        pytest.param("a.html", "<s>\n9\n</s>\n<p>8</p>", id="struck out lines"),
        pytest.param("a.py", "P = '[INST] {} [/INST]'", id="a prompt"),
        pytest.param("a.py", 's = """\n<think>\nx\n</think>\n"""', id="a thought in a string"),
        pytest.param("a.py", 's = """\n```\nx\n```\n"""', id="a fence in a string"),
    ],
)
def test_what_looks_like_dress_inside_the_code_is_text(path, own):
    assert strip(own, request(own, path=path)) == own


def test_a_new_tag_in_a_page_is_text():
    assert strip("<p><s>9</s> 8</p>", request("<p>9</p>\n", path="a.html")) == "<p><s>9</s> 8</p>"


def test_what_a_model_thought_first_goes():
    assert strip(f"<think>\nAdd one?\n</think>\n{CODE}", request()) == CODE


def test_of_two_answers_in_fences_the_first_counts():
    reply = f"Sure:\n```python\n{CODE}\n```\nOr shorter:\n```python\nf = lambda: 2\n```"
    assert strip(reply, request()) == CODE


def test_a_diff_is_read_as_its_new_side():
    reply = "@@ -1,2 +1,2 @@\n def f():\n-    return 1\n+    return 2"
    assert strip(reply, request()) == CODE


def test_blocks_to_search_and_replace_are_no_code():
    reply = "<<<<<<< SEARCH\n    return 1\n=======\n    return 2\n>>>>>>> REPLACE"
    assert strip(reply, request()) == ""


@pytest.mark.parametrize(
    "line",
    [
        "I cannot make this change",
        "Here is the updated function:",
        "This function returns the sum of its items.",
        "Note that nothing was changed",
    ],
)
def test_a_sentence_about_code_is_prose(line):
    assert is_prose(line)


@pytest.mark.parametrize(
    "line",
    [
        "return x",
        "for x in xs:",
        "x = 1",
        "end",
        "",
        "def f():",
        "return a if b else c",
        "static void main;",
    ],
)
def test_a_line_of_code_is_not(line):
    assert not is_prose(line)
