import pytest

from redraft.postprocess.elision import find_elisions, restore_elisions


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
    ],
)
def test_a_line_that_stands_for_left_out_code_is_found(line):
    assert find_elisions(["a = 1", line, "b = 2"], ["a = 1", "c = 3", "b = 2"]) == [1]


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
        "#" * 5_000 + " ...",
    ],
)
def test_a_line_of_code_or_an_ordinary_comment_is_not(line):
    assert find_elisions(["a = 1", line, "b = 2"], ["a = 1", "c = 3", "b = 2"]) == []


def test_a_line_the_source_holds_as_often_is_code():
    source = ["# ... existing code ...", "x = 1", "# ... existing code ..."]
    assert find_elisions(source, source) == []
    assert find_elisions([*source, source[0]], source) == [3]


def test_the_body_of_a_new_stub_is_code_but_that_of_a_known_function_is_not():
    source = ["def f():", "    return 1"]
    assert find_elisions(["def f():", "    ..."], source) == [1]
    assert find_elisions([*source, "def g():", "    ..."], source) == []


SOURCE = "def f(a):|  x = 1|  y = 2||  z = 3|  }|  }|  return x".split("|")


@pytest.mark.parametrize(
    ("reply", "restored"),
    [
        pytest.param(
            "def f(a, b):|  x = 1|...|  return x",
            "def f(a, b):|  x = 1|  y = 2||  z = 3|  }|  }|  return x",
            id="between two lines that are there once",
        ),
        pytest.param(
            "...|  z = 4",
            None,
            id="not below a start that is followed by a changed line",
        ),
        pytest.param(
            "...|  z = 3|  }|  return x + 1",
            "def f(a):|  x = 1|  y = 2||  z = 3|  }|  return x + 1",
            id="from the start to a line that is there once",
        ),
        pytest.param(
            "def f(a, b):|  x = 1||...",
            "def f(a, b):|  x = 1|  y = 2||  z = 3|  }|  }|  return x",
            id="from a line that is there once to the end",
        ),
        pytest.param(
            "def f(a, b):|  x = 1|...|  }|  return x",
            "def f(a, b):|  x = 1|  y = 2||  z = 3|  }|  }|  return x",
            id="up to lines that are the source's last",
        ),
        pytest.param(
            "def f(a):|  }|...|  return y", None, id="not below a line that is there twice"
        ),
        pytest.param("def f(a, b):|...|  return x", None, id="not below a line that was changed"),
        pytest.param("def f(a):|  z = 3|...|  x = 1|  q", None, id="not backwards"),
        pytest.param("def f(a):|...|...|  return x", None, id="not beside another one"),
        pytest.param(
            "def f(a):|...|  y = 3|  z = 3|...|  return x",
            None,
            id="none when one of two is unsure",
        ),
        pytest.param(
            "def f(a):|  x = 1|...|  z = 3|  new|  }|...|  return x",
            None,
            id="none when the second hangs on a line that is there twice",
        ),
        pytest.param(
            "def f(a):|...|  y = 2|  new|  z = 3|...|  return x",
            "def f(a):|  x = 1|  y = 2|  new|  z = 3|  }|  }|  return x",
            id="two of them",
        ),
    ],
)
def test_left_out_code_comes_back_where_there_is_no_doubt(reply, restored):
    lines = reply.split("|")
    elisions = find_elisions(lines, SOURCE)
    assert elisions
    assert restore_elisions(lines, SOURCE, elisions) == (restored and restored.split("|"))


def test_without_elisions_nothing_changes():
    assert restore_elisions(SOURCE, SOURCE, []) == SOURCE
