import pytest

from redraft import syntax
from redraft.postprocess.needs import merge_imports, place_outside
from redraft.records import EditRequest, Span
from redraft.text.diff import apply_replacements


def add(path, text, *statements, used):
    """Return `text` with the import `statements` that its last line needs once it says `used`."""
    start = text.rstrip().rfind("\n") + 1
    request = EditRequest(
        path=path,
        text=text,
        target=Span(start, len(text)),
        instruction="Go",
        language=syntax.language_of(path, text),
    )
    return apply_replacements(text, sorted_by_place(merge_imports(request, statements, used)))


def sorted_by_place(replacements):
    return sorted(replacements, key=lambda replacement: replacement.span)


@pytest.mark.parametrize(
    ("path", "text", "statement", "used", "head"),
    [
        pytest.param(
            "a.py", "import abc\nimport os\n\nx = 1\n", "import math", "math.pi",
            "import abc\nimport math\nimport os\n\nx", id="sorted in"),
        pytest.param(
            "a.py", "import os\nimport abc\n\nx = 1\n", "import math", "math.pi",
            "import os\nimport abc\nimport math\n\nx", id="behind the last of an unsorted block"),
        pytest.param(
            "a.py", "from z import a\nfrom b import c\nfrom .m import d\n\nx = 1\n", "from os import sep", "sep",
            "from z import a\nfrom b import c\nfrom os import sep\nfrom .m", id="above relative ones"),
        pytest.param(
            "a.py", "from .m import d\n\nx = 1\n", "import os", "os.sep",
            "import os\nfrom .m import d\n\nx", id="above the first relative one"),
        pytest.param(
            "a.py", '"""A\x0cb."""\nx = 1\n', "import os", "os.sep",
            '"""A\x0cb."""\n\nimport os\n\nx', id="below a docstring with a form feed"),
        pytest.param(
            "a.py", "from os import path\n\nx = 1\n", "from os import path, sep", "sep",
            "from os import path, sep\n\nx", id="a name added"),
        pytest.param(
            "a.py", '#!/bin/python\n"""Doc."""\n\nx = 1\n', "import os", "os.sep",
            '#!/bin/python\n"""Doc."""\n\nimport os\n\nx', id="below the docstring"),
        pytest.param(
            "a.py", "import os\n\nx = 1\n", "from __future__ import annotations", "annotations",
            "from __future__ import annotations\nimport os\n\nx", id="a future import first"),
        pytest.param(
            "a.py", "import os\r\n\r\nx = 1\r\n", "import re", "re.I",
            "import os\r\nimport re\r\n\r\nx", id="CRLF"),
        pytest.param(
            "a.go", 'package a\n\nimport (\n\t"fmt"\n\t"strings"\n)\n\nvar x = 1\n', 'import "os"', "os.Args",
            'package a\n\nimport (\n\t"fmt"\n\t"os"\n\t"strings"\n)\n\nvar', id="into a Go group"),
        pytest.param(
            "a.ts", "import { a } from './m';\n\nlet x = 1;\n", "import { b } from './m';", "b()",
            "import { a, b } from './m';\n\nlet", id="a name in braces"),
        pytest.param(
            "a.js", "const a = require('a');\n\nlet x = 1;\n", "const fs = require('fs');", "fs.f()",
            "const a = require('a');\nconst fs = require('fs');\n\nlet", id="require"),
        pytest.param(
            "a.php", "<?php\nnamespace A;\n\nuse B\\C;\n\n$x = 1;\n", "use B\\D;", "new D()",
            "<?php\nnamespace A;\n\nuse B\\C;\nuse B\\D;\n\n$x", id="PHP"),
        pytest.param(
            "a.cs", "using System;\nusing System.Text;\n\nclass A {}\n", "using System.Linq;", "xs.Any()",
            "using System;\nusing System.Linq;\nusing System.Text;\n\nclass", id="C#"),
        pytest.param(
            "a.rs", "use std::fmt;\nuse std::io;\n\nconst X: u8 = 1;\n", "use std::fs;", "fs::read()",
            "use std::fmt;\nuse std::fs;\nuse std::io;\n\nconst", id="Rust"),
        pytest.param(
            "A.java", "package a;\n\nimport java.util.List;\n\nclass A {}\n", "import java.util.Map;", "Map m",
            "package a;\n\nimport java.util.List;\nimport java.util.Map;\n\nclass", id="Java"),
        pytest.param(
            "a.c", "#include <stdio.h>\n\nint x = 1;\n", "#include <string.h>", "strlen(s)",
            "#include <stdio.h>\n#include <string.h>\n\nint", id="C"),
        pytest.param(
            "a.rb", "require 'json'\n\nX = 1\n", "require 'set'", "Set.new",
            "require 'json'\nrequire 'set'\n\nX", id="Ruby"),
        pytest.param(
            "A.java", "package a;\n\nclass A {}\n", "import java.util.Map;", "Map m",
            "package a;\n\nimport java.util.Map;\n\nclass", id="the first of a file"),
    ],
)  # fmt: skip
def test_a_new_import_goes_where_the_file_has_its_imports(path, text, statement, used, head):
    edited = add(path, text, statement, used=used)
    assert edited.startswith(head)


@pytest.mark.parametrize(
    ("path", "text", "statement", "used"),
    [
        pytest.param("a.py", "import os\n\nx = 1\n", "import os", "os.sep", id="it is there"),
        pytest.param("a.py", "from a import b, c\n\nx = 1\n", "from a import c", "c", id="its name is"),
        pytest.param("a.js", 'import a from "a";\n\nx();\n', "import a from 'a'", "a()",
                     id="in other quotes"),
        pytest.param("a.py", "import os\n\nx = 1\n", "import re", "os.sep", id="nothing uses it"),
    ],
)  # fmt: skip
def test_an_import_that_is_not_needed_adds_nothing(path, text, statement, used):
    assert add(path, text, statement, used=used) == text


def test_an_import_is_added_once():
    assert add("a.py", "import os\n\nx = 1\n", "import re", "import re", used="re.I") == (
        "import os\nimport re\n\nx = 1\n"
    )


@pytest.mark.parametrize(
    ("text", "piece", "expected"),
    [
        pytest.param(
            "class A:\n    def f(self):\n        pass\n",
            ["    def helper():", "        return 1"],
            "def helper():\n    return 1\n\n\nclass A:\n    def f(self):\n        pass\n",
            id="in front of the class",
        ),
        pytest.param(
            "import os\n\n\nclass A:\n    def f(self):\n        pass\n",
            ["LIMIT = 3"],
            "import os\n\n\nLIMIT = 3\n\n\nclass A:\n    def f(self):\n        pass\n",
            id="below the imports",
        ),
    ],
)
def test_a_new_helper_goes_in_front_of_the_outermost_definition(text, piece, expected):
    span = syntax.target_named(text, "python", "A.f").span
    request = EditRequest(path="a.py", text=text, target=span, instruction="Go", language="python")
    assert apply_replacements(text, place_outside(request, [piece])) == expected
