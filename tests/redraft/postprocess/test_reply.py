"""From replies to edits, each by a small case; what the steps do alone is tested beside them."""

from dataclasses import replace

import pytest

from redraft import syntax
from redraft.postprocess.reply import EditedTarget, Violation, interpret
from redraft.records import Completion, EditRequest, Span, Stats

TEXT = """class Shelf:
    def take(self, n):
        self.n -= n
        if self.n < 0:
            raise ValueError("short")
        self.log(n)
        self.save()
        return self.n
"""

TAKE = TEXT.partition("\n")[2].removesuffix("\n")
DEDENTED = "\n".join(line[4:] for line in TAKE.split("\n"))


def ask(text, start, stop, instruction="Make n an int", path="shelf.py"):
    return EditRequest(
        path=path,
        text=text,
        target=Span(start, stop),
        instruction=instruction,
        language=syntax.language_of(path, text),
    )


def method(instruction="Make n an int"):
    return ask(TEXT, TEXT.index(TAKE), len(TEXT) - 1, instruction)


def read(request, reply, finish="stop"):
    completion = Completion(text=reply, finish=finish, stats=Stats(output_tokens=64))
    found = interpret(request, completion)
    return found.text if isinstance(found, EditedTarget) and not found.needs else found


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(TAKE.replace("n):", "n: int):"), id="as it should be"),
        pytest.param(DEDENTED.replace("n):", "n: int):"), id="dedented (C04)"),
        pytest.param(
            TAKE.replace("n):", "n: int):").lstrip(), id="the first line alone dedented (C04)"
        ),
        pytest.param(
            "\n".join(" " * 8 + line for line in DEDENTED.split("\n")).replace("n):", "n: int):"),
            id="indented too far",
        ),
        pytest.param(
            "Here is the updated function:\n\n```python\n"
            + DEDENTED.replace("n):", "n: int):")
            + "\n```\n\nI added a type.<|im_end|>",
            id="with everything around it (C03)",
        ),
        pytest.param(
            "    def take(self, n: int):\n        self.n -= n\n        # ... existing code ...\n"
            "        return self.n",
            id="with code left out (C07)",
        ),
        pytest.param(
            TEXT.replace("n):", "n: int):") + "    # rest of the class unchanged", id="in its class"
        ),
        pytest.param(
            "\n".join(line + "  " for line in TAKE.replace("n):", "n: int):").split("\n")).replace(
                "int):  ", "int):"
            ),
            id="with spaces at line ends (C08)",
        ),
    ],
)
def test_however_a_reply_is_dressed_the_edit_is_the_same(reply):
    assert read(method(), reply) == TAKE.replace("n):", "n: int):")


@pytest.mark.parametrize("reply", [TAKE, DEDENTED, TAKE + "\n\n", f"```\n{TAKE}\n```"])
def test_a_copy_is_the_old_text(reply):
    assert read(method(), reply) == TAKE


@pytest.mark.parametrize(
    ("reply", "finish", "reason", "words"),
    [
        pytest.param(TAKE, "length", "token_limit", "64 tokens", id="cut at the limit (C06)"),
        pytest.param(TAKE, "timeout", "timeout", "raise timeout", id="cut at the deadline"),
        pytest.param(TAKE, "cancelled", "cancelled", "cancelled", id="cancelled"),
        pytest.param("", "stop", "no_code", "no code", id="empty"),
        pytest.param("```\n```", "stop", "no_code", "no code", id="empty fences"),
        pytest.param("...", "stop", "no_code", "no code", id="nothing but dots"),
        pytest.param("Here is the updated function:\n", "stop", "no_code", "no code", id="prose"),
        pytest.param(
            "class Shelf:\n    pass",
            "stop",
            "no_code",
            "something else",
            id="the class without the method",
        ),
        pytest.param(
            "def take(self, n: int):\n    # ... existing code ...\n    self.save(n)",
            "stop",
            "elision",
            "# ... existing code ...",
            id="code left out, not certain which (C07)",
        ),
        pytest.param(
            "def take(self, n: int):\n    return n",
            "stop",
            "deletion",
            "`self.log(n)`",
            id="most of it gone",
        ),
        pytest.param(
            TAKE.replace("(self", "((self"), "stop", "parse_broken", "python", id="broken"
        ),
        pytest.param(
            "I cannot change this function because the type is not known.",
            "stop",
            "no_code",
            "no code",
            id="an answer in prose",
        ),
    ],
)
def test_a_reply_that_cannot_be_used_is_refused(reply, finish, reason, words):
    violation = read(method(), reply, finish)
    assert isinstance(violation, Violation)
    assert violation.reason == reason
    assert words in violation.message


def test_a_comment_the_source_holds_is_no_elision():
    text = "def f():\n    # ... existing code ...\n    return 1\n"
    reply = "def f():\n    # ... existing code ...\n    return 2"
    assert read(ask(text, 0, len(text)), reply) == reply + "\n"


@pytest.mark.parametrize("instruction", ["Delete this line", "Lösche das", "Tidy up"])
def test_an_empty_reply_deletes_only_where_the_user_allows_it(instruction):
    text = "a = 1\nb = 2\n"
    asked = ask(text, 0, 6, instruction)
    assert read(asked, "```").reason == "no_code"
    assert read(replace(asked, allowed=("deletion",)), "```") == ""


LINE = "def f(price, qty):\n    total = price * qty  # see note\n    return total\n"


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param("price * qty * 2", id="the piece"),
        pytest.param("    price * qty * 2\n", id="indented"),
        pytest.param("    total = price * qty * 2  # see note", id="the whole line"),
        pytest.param("total = price * qty * 2  # see note", id="the whole line, dedented"),
    ],
)
def test_a_piece_of_a_line_keeps_the_rest_of_it(reply):
    start = LINE.index("price * qty ")
    assert read(ask(LINE, start, start + 11), reply) == "price * qty * 2"


def test_the_space_at_the_end_of_a_piece_stays():
    start = LINE.index("price * qty ")
    assert read(ask(LINE, start, start + 13), "price + qty") == "price + qty  "


@pytest.mark.parametrize(
    ("text", "at", "reply", "new"),
    [
        pytest.param("", 0, "a\nb", "a\nb\n", id="into an empty file"),
        pytest.param("x\r\n", 3, "a\nb", "a\r\nb\r\n", id="at the end of a file"),
        pytest.param("x\r\ny\r\n", 3, "a", "a\r\n", id="above a line"),
        pytest.param("x\n\ny\n", 2, "a\nb", "a\nb", id="on a blank line"),
        pytest.param("x\n", 1, " + 1", " + 1", id="at the end of a line"),
        pytest.param("if x:\n    \n", 10, "a\nb", "a\n    b", id="on an indented line"),
        pytest.param("if x:\n    \n", 10, "    a\n    b", "a\n    b", id="there, indented again"),
    ],
)
def test_an_insertion_fits_where_it_is_made(text, at, reply, new):
    assert read(ask(text, at, at, path="a.txt"), reply) == new


@pytest.mark.parametrize(
    ("instruction", "reply", "new"),
    [
        ("Indent it by two", "  a  \n  b", "  a  \n  b\n"),
        ("Remove trailing whitespace", "a\nb", "a\nb\n"),
        ("Rename a to c", "c\nb", "c\nb \n"),
    ],
    ids=["indentation", "trailing space", "neither"],
)
def test_white_space_is_the_replys_own_when_that_is_what_was_asked(instruction, reply, new):
    text = "a  \nb \n"
    assert read(ask(text, 0, len(text), instruction, path="a.txt"), reply) == new


@pytest.mark.parametrize("ending", ["\r\n", "\r", "\n"], ids=["CRLF", "CR", "LF"])
def test_line_endings_stay_what_they_were(ending):
    text = TEXT.replace("\n", ending)
    target = TAKE.replace("\n", ending)
    start = text.index(target)
    reply = TAKE.replace("self.save()", "self.save()\n        self.flush()")
    assert read(ask(text, start, start + len(target)), reply) == reply.replace("\n", ending)


def test_constants_beside_a_method_stay_whole_in_the_class():
    limits = "    LIMITS = {\n        'a': 1,\n    }\n\n"
    new = limits + TAKE.replace("self.n -= n", "self.n -= self.LIMITS['a']")
    assert read(method(), new) == new


def test_a_line_break_of_markdown_stays_one():
    text = "one two  \nthree\n"
    assert read(ask(text, 0, len(text), path="a.md"), text.replace("two", "2")) == (
        "one 2  \nthree\n"
    )


HEADER = """struct Unit {
  Unit() = default;
  Unit(const Unit &H) = delete;
  Unit &operator=(const Unit &H) = delete;
};
"""


@pytest.mark.parametrize(
    ("path", "text", "target", "reply", "new"),
    [
        pytest.param(
            "a.hpp",
            HEADER,
            "  Unit &operator=(const Unit &H) = delete;",
            "  Unit &operator=(const Unit &H) = delete_it;",
            HEADER.replace(
                "&operator=(const Unit &H) = delete", "&operator=(const Unit &H) = delete_it"
            ),
            id="an operator that is none to the parser any more",
        ),
        pytest.param(
            "a.js",
            "A.prototype.end = function() {\n  return 1;\n}\n",
            "A.prototype.end = function() {\n  return 1;\n}",
            "A.proto.end = function() {\n  return 1;\n}",
            "A.proto.end = function() {\n  return 1;\n}\n",
            id="a method of something else",
        ),
        pytest.param(
            "a.js",
            "const f = () => {\n  g();\n\n\n\n\n  h();\n};\n",
            "const f = () => {\n  g();\n\n\n\n\n  h();\n};",
            "const f = () => {\n  g();\n\n\n\n\n  h(1);\n};",
            "const f = () => {\n  g();\n\n\n\n\n  h(1);\n};\n",
            id="many blank lines in a function",
        ),
        pytest.param(
            "a.py",
            '"""\nshop\n~~~~\n"""\n\n\ndef f():\n    return 1\n',
            "def f():\n    return 1",
            '"""\nshop\n~~~~\n"""\n\n\ndef f():\n    return 2\n',
            '"""\nshop\n~~~~\n"""\n\n\ndef f():\n    return 2\n',
            id="the rule below a heading is no fence",
        ),
        pytest.param(
            "a.py",
            'def f():\n    """F.\n\n    ```python\n    f()\n    ```\n    """\n    return 1\n',
            'def f():\n    """F.\n\n    ```python\n    f()\n    ```\n    """\n    return 1\n',
            '```python\ndef f():\n    """F.\n\n    ```python\n    f()\n    ```\n    """\n'
            "    return 2\n```",
            'def f():\n    """F.\n\n    ```python\n    f()\n    ```\n    """\n    return 2\n',
            id="fences in a docstring in a fence",
        ),
        pytest.param(
            "a.py",
            "TAG = '<s>'\n\n\ndef f():\n    return 1\n",
            "def f():\n    return 1",
            "<|im_start|>assistant\ndef f():\n    return 2<|im_end|>",
            "TAG = '<s>'\n\n\ndef f():\n    return 2\n",
            id="another tag than the one in the file",
        ),
        pytest.param(
            "a.c",
            "#ifdef A\n    #include <a.h>\n#else\n    #include <b.h>\n#endif\n\nint f(int a)\n"
            "{\n    return 1;\n}\n",
            "int f(int a)\n{\n    return 1;\n}",
            "    #include <b.h>\n#endif\n\nint f(int b)\n{\n    return 1;\n}",
            "#ifdef A\n    #include <a.h>\n#else\n    #include <b.h>\n#endif\n\nint f(int b)\n"
            "{\n    return 1;\n}\n",
            id="includes of another branch",
        ),
    ],
)
def test_what_the_parser_does_not_see_is_told_by_the_lines(path, text, target, reply, new):
    start = text.index(target)
    request = ask(text, start, start + len(target), path=path)
    edited = read(request, reply)
    assert isinstance(edited, str), edited
    assert f"{text[:start]}{edited}{text[start + len(target) :]}" == new


@pytest.mark.parametrize(
    ("text", "above", "reply", "new"),
    [
        pytest.param("def f():\n    g()\n", "def f():\n", "# why", "    # why\n", id="in a block"),
        pytest.param("if (a) {\n}\n", "if (a) {\n", "  b();", "  b();\n", id="in an empty block"),
        pytest.param("    if a {\n\tb\n    }\n", "if a {\n", "// c", "\t// c\n", id="a tab for eight"),
        pytest.param("  if (a &&\n      b) {\n      c();\n  }\n", "b) {\n", "d();", "      d();\n", id="no deeper than a long condition"),
        pytest.param("f() {\n    g\n    h\n\tk\n\tk\n}\n", "g\n", "# why", "    # why\n", id="spaces among tabs"),
        pytest.param(
            "def f():\n    g()\n    h()\n", "g()\n", "    g()\n    i()\n    h()", "    i()\n",
            id="between the lines around it",
        ),
        pytest.param(
            "def f():\n    g()\n    h()\n", "g()\n", "    g()\n    h()", "", id="nothing between them"
        ),
        pytest.param(
            "f();\n}\n", "f();\n", "f();\nif (a) {\n  g();\n}\n}", "if (a) {\n  g();\n}\n",
            id="a bracket of its own",
        ),
    ],
)  # fmt: skip
def test_an_insertion_takes_its_place_from_the_lines_around_it(text, above, reply, new):
    at = text.index(above) + len(above)
    path = "a.py" if "def" in text else "a.sh" if "f() {" in text else "a.js"
    assert read(ask(text, at, at, path=path), reply) == new


def test_a_function_that_shares_its_line_is_found_between_brackets():
    text = "t = setmetatable({\n}, {\n{ get = function()\n  return 1\nend\n}})\n"
    start, stop = text.index("get"), text.index("end") + 3
    request = ask(text, start, stop, path="a.lua")
    assert read(request, "}, {\n{ get = function()\n  return 2\nend\n}})") == text[
        start:stop
    ].replace("1", "2")


def test_tests_of_the_instruction_do_not_follow_a_fragment():
    text = "const head = () => 1; const tail = () => 2;\n"
    start = text.index("const tail")
    test = "assert(tail() === 3);"
    request = ask(text, start, len(text) - 1, f"Fix it:\n\n{test}", path="a.js")
    assert read(request, f"const tail = () => 3;\n\n{test}") == "const tail = () => 3;"


def test_a_line_that_the_instruction_quotes_may_go():
    text = "def helper(a, b)\n  a + b\nend\n"
    request = ask(text, 0, len(text), "Remove the line `a + b`.", path="a.rb")
    assert read(request, "def helper(a, b)\nend") == "def helper(a, b)\nend\n"
