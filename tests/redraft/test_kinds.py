"""One reply of each kind that once came out as a wrong edit, from the request to the file.

`AT` in a text stands for the ends of the target; a name is looked up. Where a reply is refused, the
file stays as it was.
"""

from dataclasses import dataclass, replace

import pytest
from tests.redraft.scripted_model import ScriptedModel

from redraft import syntax
from redraft.edit import rewrite
from redraft.records import DecodeOptions, EditRequest, Refused, Rewritten, Span, Unchanged

AT = "\N{BROKEN BAR}"
REFUSED = "refused"


@dataclass(frozen=True, kw_only=True)
class Kind:
    path: str
    text: str
    reply: str
    want: str | tuple[str, ...]  # the new text, or REFUSED and what the message says
    name: str = ""
    instruction: str = "Change it"

    def request(self) -> EditRequest:
        text = self.text.replace(AT, "")
        language = syntax.language_of(self.path, text)
        if self.name:
            span = syntax.target_named(text, language, self.name).span
        else:
            start, stop = self.text.index(AT), self.text.rindex(AT) - len(AT)
            span = Span(start, stop)
        return EditRequest(
            path=self.path, text=text, target=span, instruction=self.instruction, language=language
        )


def edit(kind: Kind, *more_replies: str):
    replies = [f"{reply}````\n" for reply in (kind.reply, *more_replies)]
    return rewrite(kind.request(), ScriptedModel(replies=replies), DecodeOptions())


USAGE = '''\
class Tool:
    def usage(self):
        print("""
usage: tool FILE
  -v  say more
""")
        return 1
'''
RECIPE = "build:\n\tcc -c main.c\n\tcc -o app main.o\n"
SHELF = "class Shelf:\n    def take(self):\n        return 1\n\n    def put(self, box):\n        self.boxes.append(box)\n"
CSHARP = (
    "namespace Store\n{\n    class Shelf\n    {\n        int Take()\n        {\n"
    "            return 1;\n        }\n    }\n}\n"
)
AREA = "def area(radius):\n    return 3 * radius * radius\n\n\nprint(area(2))\n"
TALLY = "def tally(items):\n    print(len(items))\n    audit(items)\n    return len(items)\n"

KINDS = {
    "string content shifted": Kind(
        path="tool.py",
        text=USAGE,
        name="Tool.usage",
        reply='def usage(self):\n    print("""\nusage: tool FILE\n  -v  say more\n""")\n    return 2\n',
        want=USAGE.replace("return 1", "return 2"),
    ),
    "a directive belongs at column 0": Kind(
        path="main.c",
        text=f"int main(void) {{\n{AT}    trace();\n{AT}    return 0;\n}}\n",
        instruction="Wrap this line in #ifdef DEBUG",
        reply="#ifdef DEBUG\n    trace();\n#endif\n",
        want="int main(void) {\n#ifdef DEBUG\n    trace();\n#endif\n    return 0;\n}\n",
    ),
    "ifeq around a recipe": Kind(
        path="Makefile",
        text=f"build:\n{AT}\tcc -c main.c\n{AT}\tcc -o app main.o\n",
        instruction="Only compile where CC is set",
        reply="ifneq ($(CC),)\n\tcc -c main.c\nendif\n",
        want="build:\nifneq ($(CC),)\n\tcc -c main.c\nendif\n\tcc -o app main.o\n",
    ),
    "a recipe keeps its tabs": Kind(
        path="Makefile",
        text=f"{AT}{RECIPE}{AT}",
        reply="build:\n    cc -O2 -c main.c\n    cc -o app main.o\n",
        want=RECIPE.replace("cc -c", "cc -O2 -c"),
    ),
    "the end of a heredoc in Bash": Kind(
        path="say.sh",
        text="say() {\n    cat <<EOF\nhello\n  you\nEOF\n    return 0\n}\n",
        name="say",
        reply="    say() {\n        cat <<EOF\nhello\n  all\nEOF\n        return 0\n    }\n",
        want="say() {\n    cat <<EOF\nhello\n  all\nEOF\n    return 0\n}\n",
    ),
    "a heredoc in Ruby": Kind(
        path="say.rb",
        text="class Say\n  def text\n    <<TEXT\nhello\n  you\nTEXT\n  end\nend\n",
        name="Say.text",
        reply="def text\n  <<TEXT\nhello\n  all\nTEXT\nend\n",
        want="class Say\n  def text\n    <<TEXT\nhello\n  all\nTEXT\n  end\nend\n",
    ),
    "a heredoc in PHP": Kind(
        path="say.php",
        text="<?php\nfunction text() {\n    return <<<TEXT\nhello\n  you\nTEXT;\n}\n",
        name="text",
        reply="function text() {\n    return <<<TEXT\nhello\n  all\nTEXT;\n}\n",
        want="<?php\nfunction text() {\n    return <<<TEXT\nhello\n  all\nTEXT;\n}\n",
    ),
    "a heredoc in Perl": Kind(
        path="say.pl",
        text="sub text {\n    return <<'TEXT';\nhello\n  you\nTEXT\n}\n",
        name="text",
        reply="sub text {\n    return <<'TEXT';\nhello\n  all\nTEXT\n}\n",
        want="sub text {\n    return <<'TEXT';\nhello\n  all\nTEXT\n}\n",
    ),
    "Markdown with a fence and a nested list": Kind(
        path="README.md",
        text=f"{AT}- one\n  - two\n\n    ```sh\n    run me\n    ```\n- three\n{AT}",
        reply="- one\n  - two\n\n    ```sh\n    run it\n    ```\n- three\n",
        want="- one\n  - two\n\n    ```sh\n    run it\n    ```\n- three\n",
    ),
    "surroundings pasted": Kind(
        path="pyproject.toml",
        text=f"[tool.ruff]\n{AT}line-length = 80\n{AT}\n[tool.mypy]\nstrict = true\n",
        reply="[tool.ruff]\nline-length = 100\n",
        want="[tool.ruff]\nline-length = 100\n\n[tool.mypy]\nstrict = true\n",
    ),
    "a part for the whole": Kind(
        path="shelf.py",
        text=SHELF,
        name="Shelf",
        reply="    def take(self):\n        return 2\n",
        want=(SHELF.replace("return 1", "return 2"), REFUSED),
    ),
    "the whole for a part": Kind(
        path="tally.py",
        text=TALLY.replace("    print(len(items))\n", f"{AT}    print(len(items))\n{AT}"),
        reply=TALLY.replace("print(len(items))", "log(len(items))"),
        want=(TALLY.replace("print(len(items))", "log(len(items))"), REFUSED),
    ),
    "the same name twice": Kind(
        path="area.py",
        text=AREA,
        name="area",
        reply="def area(radius):\n    return 3.14 * radius * radius\n\n\nOr, shorter:\n\n"
        "def area(r):\n    return 3.14 * r**2\n",
        want=(AREA.replace("3 *", "3.14 *"), REFUSED),
    ),
    "nested scopes": Kind(
        path="Shelf.cs",
        text=CSHARP,
        name="Store.Shelf.Take",
        reply="class Shelf\n{\n    int Take()\n    {\n        return 2;\n    }\n}\n",
        want=CSHARP.replace("return 1", "return 2"),
    ),
    "an import and a helper that the edit needs": Kind(
        path="area.py",
        text=AREA,
        name="area",
        reply="import math\n\n\ndef square(x):\n    return x * x\n\n\n"
        "def area(radius):\n    return math.pi * square(radius)\n",
        want="import math\n\ndef square(x):\n    return x * x\n\n\n"
        "def area(radius):\n    return math.pi * square(radius)\n\n\nprint(area(2))\n",
    ),
    "an import that is there": Kind(
        path="area.py",
        text=f"import math\n\n\n{AREA}",
        name="area",
        reply="import math\n\ndef area(radius):\n    return math.pi * radius * radius\n",
        want=f"import math\n\n\n{AREA.replace('3 *', 'math.pi *')}",
    ),
    "words that speak of white space": Kind(
        path="tool.py",
        text=USAGE,
        name="Tool.usage",
        instruction="Strip surrounding whitespace from the text",
        reply='def usage(self):\n    print("""\nusage: tool FILE\n  -v  say more\n""".strip())\n'
        "    return 1\n",
        want=USAGE.replace('\n""")', '\n""".strip())'),
    ),
    "words that speak of replacing": Kind(
        path="tally.py",
        text=TALLY,
        name="tally",
        instruction="Replace print with logging",
        reply="\n",
        want=REFUSED,
    ),
    "prose for code": Kind(
        path="say.sh",
        text="say() {\n    echo hello\n}\n",
        name="say",
        reply="I cannot make this change\n",
        want=REFUSED,
    ),
    "an elision": Kind(
        path="shelf.py",
        text=SHELF,
        name="Shelf",
        reply="class Shelf:\n    def take(self):\n        return 2\n\n    # ... rest of the class ...\n",
        want=(SHELF.replace("return 1", "return 2"), REFUSED),
    ),
    "dots that are code": Kind(
        path="shelf.py",
        text="class Shelf(Protocol):\n    def take(self) -> int: ...\n\n    def put(self) -> None: ...\n",
        name="Shelf",
        reply="class Shelf(Protocol):\n    def take(self) -> str: ...\n\n    def put(self) -> None: ...\n",
        want="class Shelf(Protocol):\n    def take(self) -> str: ...\n\n    def put(self) -> None: ...\n",
    ),
    "a tag of chats in the text": Kind(
        path="price.html",
        text=f"<p>\n{AT}  <s>10</s> 9\n{AT}</p>\n",
        reply="  <s>10</s> 8\n",
        want="<p>\n  <s>10</s> 8\n</p>\n",
    ),
    "another function's body": Kind(
        path="text.py",
        text="class Click:\n    def text(self):\n        return self.message\n\n\n"
        "class Missing:\n    def text(self):\n        kind = self.kind\n"
        "        return f'{kind} is missing: {self.hint}'\n",
        name="Click.text",
        reply="def text(self):\n    kind = self.kind\n    return f'{kind} is missing: {self.hint}!'\n",
        want=REFUSED,
    ),
    "a statement lost": Kind(
        path="tally.py",
        text=TALLY,
        name="tally",
        instruction="Print a label",
        reply="def tally(items):\n    print('n', len(items))\n    return len(items)\n",
        want=(REFUSED, "audit(items)"),
    ),
    "a call for its effect lost": Kind(
        path="tally.py",
        text=TALLY,
        name="tally",
        instruction="Print a label",
        reply="def tally(items):\n    print('n', len(items))\n    n = 1\n    return len(items)\n",
        want=(REFUSED, "audit(items)"),
    ),
    "syntax that is newer than our Python": Kind(
        path="first.py",
        text="def first[T](items: list[T]) -> T:\n    return items[0]\n",
        name="first",
        reply="def first[T](items: list[T]) -> T:\n    return items[-1]\n",
        want="def first[T](items: list[T]) -> T:\n    return items[-1]\n",
    ),
    "a definition beside the old one": Kind(
        path="load.js",
        text="const fs = require('fs');\n\nfunction load(p) {\n  return fs.readFileSync(p);\n}\n",
        name="load",
        reply="const fs = require('fs');\n\nfunction load(p) {\n  return fs.readFileSync(p, 'utf8');\n}\n",
        want="const fs = require('fs');\n\nfunction load(p) {\n  return fs.readFileSync(p, 'utf8');\n}\n",
    ),
    "a fix where nothing is wrong": Kind(
        path="area.py",
        text=AREA,
        name="area",
        instruction="Fix typos in comments",
        reply="def area(radius):\n    return 3 * radius * radius\n",
        want=AREA,
    ),
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_reply_of_the_kind(kind: Kind):
    outcome = edit(kind)
    want = (kind.want,) if isinstance(kind.want, str) else kind.want
    if isinstance(outcome, Refused):
        assert REFUSED in want, outcome.message
        if want[0] == REFUSED and len(want) > 1:
            assert want[1] in outcome.message
        return
    text = kind.request().text
    assert (outcome.new_text if isinstance(outcome, Rewritten) else text) == want[0]


@pytest.mark.parametrize(
    "instruction",
    ["删除 audit 调用", "Entferne den Aufruf von audit", "audit の呼び出しを削除して"],
)
def test_a_deletion_may_be_asked_for_in_any_language(instruction: str):
    kind = replace(
        KINDS["a statement lost"],
        instruction=instruction,
        reply=TALLY.replace("    audit(items)\n", ""),
    )
    outcome = edit(kind, "The call is to go.\n", kind.reply)
    assert isinstance(outcome, Rewritten), outcome
    assert outcome.new_text == kind.reply


@pytest.mark.parametrize(
    ("path", "text", "name"),
    [
        pytest.param("a.js", "const a=()=>1;const b=()=>2;\n", "b", id="two on a line"),
        pytest.param(
            "a.test.js", "describe('sum', () => {\n  it('adds', () => {\n    b();\n  });\n});\n",
            "describe sum.it adds", id="a test's callback",
        ),
        pytest.param(
            "A.cs", "class A {\n    int this[int i] { get { return b[i]; } }\n}\n", "A.this",
            id="an indexer",
        ),
    ],
)  # fmt: skip
def test_the_function_is_the_one_that_the_cursor_is_in(path: str, text: str, name: str):
    at = text.rindex("b")
    line, column = text.count("\n", 0, at), at - (text.rfind("\n", 0, at) + 1)
    target = syntax.target_at(text, syntax.language_of(path, text), line, column)
    assert target.name == name


def test_lines_that_still_use_the_old_form_are_named():
    text = "def send(text, strict):\n    return text\n\n\nsend('a', strict=True)\n"
    kind = Kind(
        path="send.py",
        text=text,
        name="send",
        reply="def send(text, careful):\n    return text\n",
        want=text.replace("text, strict", "text, careful"),
    )
    outcome = edit(kind)
    assert isinstance(outcome, Rewritten)
    assert [caller.line for caller in outcome.callers] == [5]
    assert any("5" in note for note in outcome.notes)


def test_unchanged_is_not_insisted_on():
    kind = KINDS["a fix where nothing is wrong"]
    assert isinstance(edit(kind), Unchanged)
