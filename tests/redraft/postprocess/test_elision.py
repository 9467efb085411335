import pytest

from redraft.postprocess.elision import find_remarks, restore_elisions


@pytest.mark.parametrize(
    "line",
    [
        "...",
        "    # ...",
        "// ... existing code ...",
        "/* ... rest of the function ... */",
        "<!-- ... -->",
        "# rest of the code unchanged",
        "# Rest of your code here",
        "    // rest unchanged",
        "// existing code",
        "-- existing implementation remains the same",
        "# The rest of the class remains unchanged",
        "# remaining methods stay the same",
        "{/* ... existing content ... */}",
        "[...]",
        "(rest of the file unchanged)",
        "# ... (12 lines omitted)",
        "// other methods unchanged",
        "# no changes here",
        "... rest of the code ...",
        "// snip",
        "# same as before",
        "// Rest bleibt unverändert",
        "# el resto sigue igual",
        "// 其余代码保持不变",
    ],
)
def test_a_line_that_may_stand_for_left_out_code_is_found(line):
    assert find_remarks(["a = 1", line, "b = 2"]) == [1]


@pytest.mark.parametrize(
    "line",
    [
        "# Other methods",
        "# the value is unchanged",
        "# existing users keep their name",
        "[...items, x],",
        "(...args) => {",
        "...rest,",
        "    return rest",
        "# wait...",
        "## Remaining functions",
        "class Rest(Base): ...",
        'print("rest of the code unchanged")',
        "int printf(const char *, ...);",
        "#" * 5_000 + " ...",
    ],
)
def test_a_line_of_code_or_an_ordinary_comment_is_not(line):
    assert find_remarks(["a = 1", line, "b = 2"]) == []


def test_a_line_inside_a_string_is_none():
    assert find_remarks(["s = '''", "...", "'''"], content=[1]) == []


SOURCE = "def f(a):|  x = 1|  y = 2||  z = 3|  }|  }|  return x".split("|")


@pytest.mark.parametrize(
    ("reply", "restored"),
    [
        pytest.param(
            "def f(a, b):|  x = 1|...|  return x",
            "def f(a, b):|  x = 1|  y = 2||  z = 3|  }|  }|  return x",
            id="between two kept lines",
        ),
        pytest.param(
            "...|  z = 3|  }|  }|  return x + 1",
            "def f(a):|  x = 1|  y = 2||  z = 3|  }|  }|  return x + 1",
            id="from the start to a kept line",
        ),
        pytest.param(
            "def f(a, b):|  x = 1||...",
            "def f(a, b):|  x = 1||  y = 2||  z = 3|  }|  }|  return x",
            id="from a kept line to the end",
        ),
        pytest.param(
            "def f(a, b):|  x = 1|...|  }|  return x",
            "def f(a, b):|  x = 1|  y = 2||  z = 3|  }|  }|  return x",
            id="up to the source's last lines",
        ),
        pytest.param(
            "def f(a):|...|  y = 2|  new|  z = 3|...|  return x",
            "def f(a):|  x = 1|  y = 2|  new|  z = 3|  }|  }|  return x",
            id="two of them",
        ),
        pytest.param("def f(a):|...|...|  return x", None, id="not beside another one"),
        pytest.param(
            "def f(a):|...|  y = 3|  z = 3|...|  return x",
            None,
            id="not where a new line may be one that is missing",
        ),
    ],
)
def test_left_out_code_comes_back_where_there_is_no_doubt(reply, restored):
    lines, unsure = restore_elisions(SOURCE, reply.split("|"))
    assert bool(unsure) == (restored is None)
    if restored is not None:
        assert "|".join(lines) == restored
        # Each line of the source is there at most as often as it was.
        assert all(lines.count(line) <= SOURCE.count(line) for line in SOURCE if line.strip())


@pytest.mark.parametrize(
    ("shown", "reply"),
    [
        pytest.param(SOURCE, SOURCE, id="no remark"),
        pytest.param(
            ["# ... existing code ...", "x = 1"],
            ["# ... existing code ...", "x = 2"],
            id="a remark that the source has",
        ),
        pytest.param(
            ["def f():", "    return 1"],
            ["def f():", "    return 1", "def g():", "    ..."],
            id="the body of a new stub",
        ),
        pytest.param(
            ["class P(Protocol):", "    def a(self): ...", "    ..."],
            ["class P(Protocol):", "    def a(self, b): ...", "    ..."],
            id="a stub of the source",
        ),
        pytest.param(
            ["a: 1", "..."], ["a: 2", "..."], id="the end of a YAML document"
        ),
        pytest.param(
            ["a = 1", "b = 2"],
            ["a = 1", "# the same as before: see b", "b = 2"],
            id="a comment where nothing is missing",
        ),
        pytest.param(
            ["a = 1", "# ... and so on", "b = 2"],
            ["a = 1", "# ... and so forth", "b = 2"],
            id="a comment with dots, in other words",
        ),
    ],
)  # fmt: skip
def test_what_leaves_nothing_out_stays_as_it_is(shown, reply):
    assert restore_elisions(shown, reply) == (reply, "")


def test_dots_where_nothing_is_missing_go():
    lines, unsure = restore_elisions(
        ["a = 1", "b = 2", "c = 3"], ["a = 1", "# ...", "b = 2", "d = 4"]
    )
    assert (lines, unsure) == (["a = 1", "b = 2", "d = 4"], "")


def test_a_line_that_the_reply_moved_does_not_come_back_twice():
    shown = ["def f():", "    a()", "    b()", "    c()", "    d()", "    return 1"]
    reply = ["def f():", "    c()", "    # ...", "    d()", "    return 1"]
    lines, _ = restore_elisions(shown, reply)
    assert all(lines.count(line) <= 1 for line in lines)


def test_below_a_changed_line_nothing_comes_back():
    shown = ["def f(a):", "    x = a", "    return x"]
    assert restore_elisions(shown, ["def f(a, b):", "    ..."]) == (
        ["def f(a, b):", "    ..."],
        "...",
    )
