"""What an edit needs outside of its target is added where it belongs, once for all targets."""

import itertools

import pytest

from redraft import edit, syntax
from redraft.postprocess.needs import merge_edits, merge_imports
from redraft.records import Completion, DecodeOptions, EditRequest, Rewritten, Span, Stats
from redraft.text.diff import apply_replacements


def edit_targets(text: str, replies: dict[str, str], language: str, path: str) -> str:
    """Return `text` with the edits of all its targets put together."""
    edits = []
    for target in syntax.targets(text, language):
        if target.name not in replies:
            continue
        request = EditRequest(
            path=path, text=text, target=target.span, instruction="use it", language=language
        )
        prompt = edit.build_prompt_request(request, _Model(), DecodeOptions())
        completion = Completion(text=replies[target.name], finish="stop", stats=Stats())
        outcome = edit.outcome_of_reply(request, prompt.prompt, completion)
        assert isinstance(outcome, Rewritten), outcome
        edits.append((target.span, outcome.replacements))
    return apply_replacements(text, merge_edits(language, edits))


class _Model:
    n_ctx = 1_000_000
    chat_template = None

    def count_tokens(self, text: str) -> int:
        return len(text)


def functions(n: int) -> str:
    return "\n\n".join(f"def f{i}(p):\n    return os.path.exists(p)\n" for i in range(n))


@pytest.mark.parametrize(
    "head",
    [
        "",
        '"""Doc."""\n\n',
        "import os\n\n\n",
        "#!/usr/bin/python\n",
        "import os\nimport zlib\n\n\n",
    ],
)
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_ten_targets_that_add_the_same_import_add_one(head: str, ending: str):
    text = (head + functions(10)).replace("\n", ending)
    replies = {
        f"f{i}": f"from pathlib import Path\n\ndef f{i}(p):\n    return Path(p).exists()\n"
        for i in range(10)
    }
    new = edit_targets(text, replies, "python", "a.py")
    assert new.count("from pathlib import Path") == 1
    assert new.count("Path(p).exists()") == 10
    assert new.replace(ending, "").count("\r") == new.replace(ending, "").count("\n") == 0
    alone = edit_targets(text, {"f3": replies["f3"]}, "python", "a.py")
    without = [line for line in new.splitlines() if "def" not in line and "return" not in line]
    assert without == [x for x in alone.splitlines() if "def" not in x and "return" not in x]
    assert not syntax.parse_errors(new, "python")


@pytest.mark.parametrize(
    ("head", "imports", "expected"),
    [
        (
            "from x import a\n\n\n",
            ["from x import b", "from x import c"],
            "from x import a, b, c\n",
        ),
        (
            "from x import a\n\n\n",
            ["from x import a, b", "from x import b"],
            "from x import a, b\n",
        ),
        ("import os\n\n\n", ["from x import b", "from x import c"], "from x import b, c\n"),
        ("", ["from x import b", "from x import c"], "from x import b, c\n\n"),
        ("import os\n\n\n", ["import b", "import c"], "import b\nimport c\n"),
        ("import os\n\n\n", ["import c", "import b"], "import b\nimport c\n"),
        ("import os\n\n\n", ["import c", "from b import d"], "import c\nfrom b import d\n"),
    ],
)
def test_two_targets_with_different_imports(head: str, imports: list[str], expected: str):
    replies = {
        f"f{i}": f"{line}\n\ndef f{i}(p):\n    return {line.replace(',', ' ').split()[-1]}(p)\n"
        for i, line in enumerate(imports)
    }
    if imports[0].endswith("a, b"):
        replies["f1"] = replies["f1"].replace("return b(p)", "return b(a)")
    for order in itertools.permutations(replies):
        new = edit_targets(
            head + functions(2), {name: replies[name] for name in order}, "python", "a.py"
        )
        assert expected in new
        assert new.count("import") == expected.count("import") + head.count("import") - (
            "from x import a" in head
        )
        assert not syntax.parse_errors(new, "python")


def test_an_import_of_names_that_are_there_adds_nothing():
    text = "from x import a, b\n\n\ndef f():\n    pass\n"
    target = Span(text.index("def"), len(text))
    request = EditRequest(path="a.py", text=text, target=target, instruction="x", language="python")
    assert merge_imports(request, ["from x import b"], "def f():\n    b()\n") == ()


@pytest.mark.parametrize(
    ("language", "path", "head", "statement", "code", "old"),
    [
        (
            "go",
            "a.go",
            'package a\n\nimport (\n\t"os"\n)\n\n',
            'import "fmt"',
            "fmt.Print(1)",
            "x()",
        ),
        (
            "javascript",
            "a.js",
            "import { a } from 'x';\n\n",
            "import { b } from 'x';",
            "b();",
            "a();",
        ),
        ("javascript", "a.js", "", "import { b } from 'x';", "b();", "a();"),
        ("php", "a.php", "<?php\n\n", "use A\\B;", "new B();", "a();"),
        ("c", "a.c", "#include <stdio.h>\n\n", "#include <math.h>", "sqrt(2);", "a();"),
        ("java", "A.java", "import a.B;\n\n", "import c.D;", "new D();", "a();"),
    ],
)
def test_other_languages(language, path, head, statement, code, old):
    form = {"go": "func f%d() {\n\t%s\n}\n", "c": "void f%d(void) {\n  %s\n}\n"}
    one = form.get(language, "function f%d() {\n  %s\n}\n")
    if language == "java":
        one = "class A%d {\n  void f() {\n    %s\n  }\n}\n"
    text = head + "\n".join(one % (i, old) for i in range(3))
    names = [t.name for t in syntax.targets(text, language) if t.name.count(".") == 0]
    head_of_reply = "<?php\n" if language == "php" else ""
    replies = {
        name: f"{head_of_reply}{statement}\n\n{one % (i, code)}" for i, name in enumerate(names)
    }
    new = edit_targets(text, replies, language, path)
    bare = statement.split()[-1].strip(";") if language != "javascript" else "b }"
    assert new.count(bare) - new.count(f"new {bare}") == 1, new
    assert new.count(code) == 3
    assert syntax.parse_errors(new, language) == 0
