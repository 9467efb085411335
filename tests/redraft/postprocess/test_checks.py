import pytest

from redraft import syntax
from redraft.postprocess.alignment import align
from redraft.postprocess.checks import EditedTarget, ProposedEdit, first_violation
from redraft.records import EditRequest, Span

BODY = "def f():\n" + "".join(f"    step({i})\n" for i in range(9))


def check(new, *, text=BODY, instruction="Tidy up", path="f.py", rest="g()\n", allowed=()):
    """Return the reason for which `new` must not take the place of `text`, and what is lost."""
    request = EditRequest(
        path=path,
        text=text + rest,
        target=Span(0, len(text)),
        instruction=instruction,
        language=syntax.language_of(path, text),
        allowed=allowed,
    )
    shown, lines = (code.removesuffix("\n").split("\n") for code in (text, new))
    found = first_violation(
        ProposedEdit(request=request, alignment=align(shown, lines), edit=EditedTarget(text=new))
    )
    return (found.reason, [line.strip() for line in found.lost]) if found else None


def reason(new, **options):
    found = check(new, **options)
    return found and found[0]


@pytest.mark.parametrize(
    ("instruction", "new", "why"),
    [
        ("Add a docstring", 'def f():\n    """Do f."""\n', "deletion"),
        ("Add a docstring", "def f():\n    pass\n", "deletion"),
        ("Handle empty input and the minimum", "def f():\n    pass\n", "deletion"),
        ("Simplify it to a loop", "def f():\n    for i in range(9): step(i)\n", None),
        ("Add a docstring", BODY + "    (\n", "parse_broken"),
        ("Greet", BODY + "    print 'hi'\n", "parse_broken"),  # the grammar knows Python 2 as well
        ("Greet", BODY + "def f():\n    hi()\n", "parse_broken"),  # defined twice
    ],
)
def test_an_edit_that_loses_or_breaks_code_is_objected_to(instruction, new, why):
    assert reason(new, instruction=instruction) == why


LISTING = (
    "def f(xs):\n    check(xs)\n    if not xs:\n        return None\n    log(xs)\n    return xs\n"
)


def test_what_is_lost_is_named():
    new = LISTING.replace("    check(xs)\n", "").replace("    log(xs)\n", "")
    assert check(new, text=LISTING) == ("deletion", ["check(xs)", "log(xs)"])


@pytest.mark.parametrize(
    ("instruction", "left_out", "is_refused"),
    [
        ("Remove the call of log", "    log(xs)\n", False),
        ("Remove the type hints", "    if not xs:\n        return None\n    check(xs)\n", True),
        ("Entferne die Prüfung", "    log(xs)\n", True),
        ("Add a type", "    log(xs)\n", True),
    ],
)
def test_words_lower_the_threshold_and_do_not_switch_the_guard_off(
    instruction, left_out, is_refused
):
    new = LISTING
    for line in left_out.splitlines(keepends=True):
        new = new.replace(line, "")
    assert (reason(new, text=LISTING, instruction=instruction) == "deletion") == is_refused


def test_a_reason_that_the_user_allows_is_no_reason():
    new = LISTING.replace("    log(xs)\n", "")
    assert reason(new, text=LISTING, allowed=("deletion",)) is None
    assert reason(new + "(", text=LISTING, allowed=("deletion",)) == "parse_broken"


def test_comments_inside_of_code_may_go():
    text = LISTING.replace("    log", "    # why\n    log")
    assert reason(LISTING, text=text) is None


@pytest.mark.parametrize(
    ("path", "text", "new"),
    [
        (
            "a.ts",
            "export function f(x) {\n  return x;\n}\n",
            "function f(x) {\n  return x + 1;\n}\n",
        ),
        ("a.go", "func (s *S) F() int {\n\treturn 1\n}\n", "func F() int {\n\treturn 2\n}\n"),
        ("a.rs", "pub fn f() -> u8 {\n    1\n}\n", "fn f() -> u8 {\n    2\n}\n"),
    ],
)
def test_what_stands_before_a_name_may_not_vanish(path, text, new):
    assert reason(new, text=text, path=path, rest="") == "deletion"


@pytest.mark.parametrize(
    ("path", "text", "new"),
    [
        ("a.py", "def f(x):\n    return g(x)\n", "def f(x: int):\n    ...\n"),
        ("a.py", "def f(x):\n    return g(x)\n", "def f(x: int):\n    raise NotImplementedError\n"),
        ("a.rs", "fn f(x: u8) -> u8 {\n    g(x)\n}\n", "fn f(x: u16) -> u16 {\n    todo!()\n}\n"),
    ],
)
def test_a_body_may_not_become_a_placeholder(path, text, new):
    assert reason(new, text=text, path=path, rest="") == "deletion"


def test_a_short_target_may_become_shorter():
    assert reason("def f():\n    return 1\n", text="def f():\n    a = 1\n    return a\n") is None


def test_a_file_that_did_not_parse_may_stay_so():
    assert reason("def f(:\n  y\n", text="def f(:\n  x\n") is None


def test_a_function_of_a_file_that_does_not_parse_has_to():
    broken = "def g(:\n  x\n"
    assert reason("def f():\n    return (2\n", text="def f():\n    return 1\n", rest=broken)


def test_text_without_a_grammar_may_not_lose_most_of_its_lines():
    text = "".join(f"line {n}\n" for n in range(9))
    assert reason("line 0\n", text=text, path="a.txt", rest="") == "deletion"
    assert reason(text.replace("line", "row"), text=text, path="a.txt", rest="") is None


def test_two_docstrings_are_one_too_many():
    text = 'def f():\n    """Do."""\n    g()\n'
    assert reason(text.replace("    g", '    """Do it."""\n    g'), text=text) == "parse_broken"


@pytest.mark.parametrize(
    ("text", "new"),
    [
        ("const a = 1;\nf(a);\n", "const a = 1;\nconst a = 2;\nf(a);\n"),
        ("function f() {\n  g();\n}\n", "function f() {\n  await g();\n}\n"),
    ],
)
def test_what_parses_and_no_compiler_takes_is_broken(text, new):
    assert reason(new, text=text, path="a.js", rest="") == "parse_broken"
