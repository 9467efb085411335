"""The output, files and exit code of `redraft codemod`; the model edits by rule."""

import json
import os
import re
import sys
import time
from pathlib import Path

import pytest
from tests.redraft.codemod.conftest import FILES, SHOP, TOOLS, WEB, contents
from tests.redraft.codemod.rule_model import BatchRuleModel, RuleModel

RENAMED = {name: text.replace("old", "new") for name, text in FILES.items()}
RENAMED["README.md"] = FILES["README.md"]


def as_bytes(files: dict[str, str]) -> dict[str, bytes]:
    return {name: text.encode() for name, text in sorted(files.items())}


def test_it_prints_the_diffs_in_order_and_changes_nothing(repo: Path, codemod, git):
    ran = codemod("rename old", ".")
    assert ran.code == 0
    assert re.findall(r"^\+\+\+ b/(.*)$", ran.out, re.MULTILINE) == [
        *("lib/tools.py", "lib/web.js", "shop.py")
    ]
    assert contents(repo) == as_bytes(FILES)
    (repo / "diff").write_text(ran.out)
    git("apply", "diff")
    (repo / "diff").unlink()
    assert contents(repo) == as_bytes(RENAMED)


def test_the_summary_goes_to_stderr(repo: Path, codemod):
    err = codemod("rename old", ".").err
    assert "redraft: plan     6 targets in 3 files; about " in err
    assert "redraft: files    3 changed\n" in err
    assert "redraft: targets  4 rewritten, 2 unchanged\n" in err
    assert re.search(r"redraft: tokens   [\d,]+ read \(0 of them reused\), \d+ written, 0% of", err)
    assert re.search(r"redraft: time     [\d.]+ s, [\d.]+ tokens/s\n", err)


def test_write_writes_and_undo_puts_back(repo: Path, codemod):
    ran = codemod("rename old", "--write", ".")
    assert ran.code == 0
    assert contents(repo) == as_bytes(RENAMED)
    run = re.search(r"undo (\S+)`", ran.err)[1]
    listed = codemod("log")
    assert listed.out == f"{run}  3 written  rename old\n"
    assert codemod("log", run).out.endswith("  shop.py  written\n")
    (repo / "lib/web.js").write_text("changed since\n")
    undone = codemod("undo", run)
    assert undone.code == 2
    assert undone.out == "shop.py\nlib/tools.py\n"
    assert "web.js changed since the run; it was left as it is" in undone.err
    assert contents(repo) == as_bytes(FILES | {"lib/web.js": "changed since\n"})
    (repo / "lib/web.js").write_text(RENAMED["lib/web.js"])
    assert codemod("undo", run).out == "lib/web.js\n"
    assert contents(repo) == as_bytes(FILES)
    assert codemod("undo", run).err == "redraft: 0 files reverted\n"
    assert json.loads(codemod("log", "--json").out)["files"] == {"undone": 3}


@pytest.mark.parametrize(
    "before",
    [
        pytest.param(b"def old():\r\n    return 'caf\xc3\xa9'\r\n", id="CRLF"),
        pytest.param(b"\xef\xbb\xbfdef old():\n    return 1", id="a byte order mark, no last LF"),
        pytest.param("def old():\n    return '😀'\n".encode("utf-16"), id="UTF-16"),
        pytest.param(
            b"x = 1\fdef old():\n  return 1\rdef b():\r  return old\r\n", id="odd endings"
        ),
    ],
)
def test_undo_restores_every_byte(repo: Path, codemod, before: bytes):
    path = repo / "odd.py"
    path.write_bytes(before)
    path.chmod(0o750)
    ran = codemod("rename old", "odd.py", "--write")
    assert ran.code == 0
    assert path.read_bytes() != before
    assert codemod("undo", re.search(r"undo (\S+)`", ran.err)[1]).code == 0
    assert path.read_bytes() == before
    assert path.stat().st_mode & 0o777 == 0o750


@pytest.mark.parametrize(
    ("args", "code"),
    [
        pytest.param(["rename old", "."], 1, id="something would change"),
        pytest.param(["rename old", ".", "--select", "free"], 0, id="nothing would change"),
        pytest.param(["rename old", ".", "--select", "none"], 0, id="no targets"),
    ],
)
def test_check_exits_with_1_where_a_file_would_change(repo: Path, codemod, args, code):
    assert codemod(*args, "--check").code == code
    assert contents(repo) == as_bytes(FILES)


@pytest.mark.parametrize("jobs", [1, 2, 4, 64])
def test_results_do_not_depend_on_jobs(repo: Path, codemod, jobs: int):
    for i in range(9):
        text = "\n\n".join(f"def old_{n}():\n    return {n}\n" for n in range(i))
        (repo / f"many{i}.py").write_text(text)
    single, batch = RuleModel(), BatchRuleModel()
    one_by_one = codemod("rename old", ".", model=single)
    # The replies of the first run must not be taken from the cache.
    ran = codemod("rename  old", ".", "--jobs", str(jobs), model=batch)
    assert (ran.code, ran.out) == (one_by_one.code, one_by_one.out)
    assert len(batch.prompts) == len(single.prompts) == 42
    assert bool(batch.batch_sizes) == (jobs > 1)


def test_targets_of_one_file_share_its_part_of_the_prompt(repo: Path, codemod):
    model = BatchRuleModel()
    codemod("rename old", "shop.py", model=model)
    assert len(model.prompts) == 3
    assert len({prompt.file for prompt in model.prompts}) == 1
    assert len({prompt.request for prompt in model.prompts}) == 3


@pytest.mark.parametrize(
    ("args", "setting", "expected"),
    [
        pytest.param([], "", "invariant", id="nobody says anything"),
        pytest.param([], "exactness = 'fast'", "fast", id="the settings do"),
        pytest.param(["--exactness", "fast"], "exactness = 'invariant'", "fast", id="the flag"),
    ],
)
def test_exactness_can_be_set(repo: Path, codemod, args, setting, expected):
    (repo / "redraft.toml").write_text(setting)

    class Noting(RuleModel):
        def complete(self, prompt, options, **kwargs):
            assert options.exactness == expected
            return super().complete(prompt, options, **kwargs)

    assert codemod("rename old", ".", "--jobs", "1", *args, model=Noting()).code == 0


def test_known_replies_are_not_asked_for_again(repo: Path, codemod):
    first, again, edited = BatchRuleModel(), BatchRuleModel(), BatchRuleModel()
    out = codemod("rename old", ".", model=first).out
    ran = codemod("rename old", ".", "--jobs", "1", model=again)
    assert (ran.out, again.prompts) == (out, [])
    assert "redraft: tokens" not in ran.err
    (repo / "shop.py").write_text(SHOP + "\n")
    codemod("rename old", ".", model=edited)
    assert len(edited.prompts) == 3


def test_a_run_deletes_replies_of_more_than_30_days_ago(repo: Path, codemod):
    codemod("rename old", ".")
    (folder,) = Path(os.environ["XDG_CACHE_HOME"]).glob("redraft/codemod")
    for age_days, n_prompts in (29.9, 0), (30.1, 6):
        put_at = time.time() - age_days * 24 * 3600
        for path in folder.rglob("*"):
            os.utime(path, (put_at, put_at))
        model = BatchRuleModel()
        codemod("rename old", ".", model=model)
        assert len(model.prompts) == n_prompts


def test_jsonl_is_a_line_a_file_then_the_summary(repo: Path, codemod):
    lines = [json.loads(line) for line in codemod("rename old", ".", "--jsonl").out.splitlines()]
    assert [line.get("path") for line in lines] == ["lib/tools.py", "lib/web.js", "shop.py", None]
    shop = lines[2]
    assert (shop["state"], shop["written"], shop["message"]) == ("changed", False, "")
    assert shop["diff"].startswith("--- a/shop.py\n")
    assert [(t["name"], t["line"], t["last_line"], t["outcome"]) for t in shop["targets"]] == [
        ("old_total", 1, 2, "rewritten"),
        ("Cart.old_sum", 6, 7, "rewritten"),
        ("Cart.show", 9, 10, "unchanged"),
    ]
    assert lines[3]["summary"]["targets"] == {"rewritten": 4, "unchanged": 2}


def test_json_is_one_object(repo: Path, codemod):
    record = json.loads(codemod("rename old", ".", "--json").out)
    assert sorted(record) == ["broken", "callers", "files", "run", "skipped", "summary"]
    assert [file["path"] for file in record["files"]] == ["lib/tools.py", "lib/web.js", "shop.py"]


def refusing(source: str) -> str:
    """Breaks the methods of `Cart`, and renames the rest."""
    return source.replace("(self", "((self") if "self" in source else source.replace("old", "new")


def test_a_refusal_is_a_failure_and_the_rest_is_done(repo: Path, codemod):
    ran = codemod("rename old", ".", "--write", model=BatchRuleModel(rule=refusing))
    assert ran.code == 2
    assert "2 refused: parse_broken, 3 rewritten" in ran.err
    assert re.search(r"failed: shop.py:6 Cart.old_sum: the edited file would no longer", ran.err)
    changed = RENAMED | {"shop.py": SHOP.replace("old_total", "new_total")}
    assert contents(repo) == as_bytes(changed)


class NeedsTarget(BatchRuleModel):
    """Writes a target well only where it sees it; one that is merely named it breaks."""

    def complete(self, prompt, *args, **kwargs):
        is_shown = any(piece.text == prompt.source for piece in prompt.request)
        self.rule = (lambda s: s.replace("old", "new")) if is_shown else refusing
        return super().complete(prompt, *args, **kwargs)


@pytest.mark.parametrize("jobs", ["1", "4"])
def test_a_target_whose_reply_is_refused_is_shown_in_a_second_prompt(
    repo: Path, codemod, jobs: str
):
    model = NeedsTarget()
    ran = codemod("rename old", ".", "--write", "--jsonl", "--jobs", jobs, model=model)
    assert ran.code == 0
    assert contents(repo) == as_bytes(RENAMED)
    assert len(model.prompts) == 6 + 2
    shop = json.loads(ran.out.splitlines()[2])
    once, twice = (target["stats"]["prompt_tokens"] for target in shop["targets"][:2])
    assert twice > 1.5 * once
    again = NeedsTarget()
    codemod("undo", json.loads(ran.out.splitlines()[-1])["run"])
    assert codemod("rename old", ".", "--jobs", jobs, model=again).code == 0
    assert again.prompts == [], "both tries are known"


LONG = (
    "def old_report(rows):\n"
    + "".join(f"    line_{n} = rows[{n}]\n" for n in range(12))
    + "    return rows\n"
)


@pytest.mark.parametrize(
    ("reason", "reply"),
    [
        ("parse_broken", LONG.replace("(rows)", "(rows")),
        ("elision", "def old_report(a):\n    # ... rest unchanged ...\n    pass\n"),
        ("deletion", "def new_report(rows):\n    return rows\n"),
        ("no_code", "\n"),
    ],
)
def test_every_refusal_that_showing_the_target_may_mend_is_retried(
    repo: Path, codemod, reason: str, reply: str
):
    (repo / "report.py").write_text(f"import csv\n\n\n{LONG}")
    stubborn = BatchRuleModel(rule=lambda source: reply)
    ran = codemod("rename old", "report.py", model=stubborn)
    assert f"targets  1 refused: {reason}\n" in ran.err
    assert len(stubborn.prompts) == 2

    class NeedsTarget(BatchRuleModel):
        def before_reply(self, prompt):
            is_shown = any(piece.text == prompt.source for piece in prompt.request)
            self.rule = (lambda s: s.replace("old", "new")) if is_shown else (lambda s: reply)

    ran = codemod("rename  old", "report.py", "--write", model=NeedsTarget())
    assert ran.code == 0
    assert (repo / "report.py").read_text().endswith(LONG.replace("old", "new"))


def test_sarif_tells_refusals_with_their_place(repo: Path, codemod):
    (repo / "odd name.py").write_text("def a(self):\n    pass\n")
    record = json.loads(codemod("x", ".", "--sarif", model=BatchRuleModel(rule=refusing)).out)
    assert record["version"] == "2.1.0"
    (run,) = record["runs"]
    alerts = [
        (
            alert["ruleId"],
            alert["level"],
            alert["locations"][0]["physicalLocation"]["artifactLocation"]["uri"],
            alert["locations"][0]["physicalLocation"]["region"],
        )
        for alert in run["results"]
    ]
    assert alerts == [
        ("parse_broken", "warning", "odd%20name.py", {"startLine": 1, "endLine": 2}),
        ("parse_broken", "warning", "shop.py", {"startLine": 6, "endLine": 7}),
        ("parse_broken", "warning", "shop.py", {"startLine": 9, "endLine": 10}),
    ]
    assert {alert["ruleId"] for alert in run["results"]} <= {
        r["id"] for r in run["tool"]["driver"]["rules"]
    }


def test_the_report_needs_nothing_else_and_is_safe(repo: Path, codemod):
    (repo / "x.py").write_text("def old():\n    return '<script>alert(1)</script>'\n")
    report = repo / "out.html"
    codemod("rename <old>", ".", "--report", report, model=BatchRuleModel(rule=refusing))
    page = report.read_text()
    assert not re.search(r"(?:src|href)=|<script|@import|url\(", page)
    assert "rename &lt;old&gt;" in page
    assert "&lt;script&gt;" in page
    assert page.count("<details") == 4
    assert "would no longer parse" in page
    assert page.count("<circle") == 7


def test_fail_fast_stops_at_the_first_failure(repo: Path, codemod):
    ran = codemod("x", "shop.py", "lib", "--fail-fast", "--jobs", "1", "--write",
                  model=BatchRuleModel(rule=lambda source: "def (:\n"))  # fmt: skip
    assert ran.code == 2
    assert "redraft: files    1 unchanged\n" in ran.err


@pytest.mark.parametrize(
    ("args", "sources"),
    [
        pytest.param(["--limit", "2"], ["old_total(1", "return 0"], id="the first targets"),
        pytest.param(
            ["--limit", "4"], ["old_total(1", "return 0", "oldName", "qty"], id="of files"
        ),
        pytest.param(["--lang", "javascript"], ["oldName"], id="a language"),
        pytest.param(["--include", "/*.py", "--select", "Cart.*"], ["sum(", "cart"], id="a name"),
        pytest.param(["--scope", "file", "--exclude", "lib"], ["class Cart"], id="whole files"),
        pytest.param(["--scope", "file", "--include", "*.md"], ["# old"], id="text"),
    ],
)
def test_the_targets_can_be_narrowed(repo: Path, codemod, args, sources):
    model = BatchRuleModel()
    codemod("rename old", ".", "--jobs", "1", *args, model=model)
    assert len(model.prompts) == len(sources)
    assert all(text in p.source for text, p in zip(sources, model.prompts, strict=True))


def test_a_plan_does_not_ask_the_model(repo: Path, codemod):
    model = BatchRuleModel()
    (repo / "link.py").symlink_to("shop.py")
    ran = codemod("rename old", ".", "--plan", model=model)
    assert ran.code == 0
    assert ran.out == (
        "lib/tools.py  helper free\nlib/web.js  oldName\nshop.py  old_total Cart.old_sum Cart.show\n"
    )
    assert "plan     6 targets in 3 files; about " in ran.err
    record = json.loads(codemod("rename old", ".", "--plan", "--json").out)
    assert [file["path"] for file in record["files"]] == ["lib/tools.py", "lib/web.js", "shop.py"]
    assert record["skipped"][0]["path"] == "link.py"
    assert record["estimate"]["output_tokens"] > 0
    assert model.prompts == []


def test_a_recipe_gives_instruction_and_targets_and_flags_override_it(repo: Path, codemod):
    (repo / "r.toml").write_text(
        "instruction = 'rename old'\nselect = 'Cart.*'\ninclude = 'shop.py'\n"
        "[[examples]]\nbefore = 'old()'\nafter = 'new()'\n"
    )
    model = BatchRuleModel()
    assert codemod("--recipe", "r.toml", model=model).code == 0
    assert len(model.prompts) == 2
    prompt = "".join(piece.text for piece in model.prompts[0].file)
    assert "rename old\n\nFor example, this:\n```\nold()\n```\nbecomes this:\n```\nnew()" in prompt
    again = BatchRuleModel()
    codemod("--recipe", "r.toml", ".", "--select", "old_*", model=again)
    # The reply for `old_sum` is known from the first run.
    assert [prompt.source.split("(")[0] for prompt in again.prompts] == ["def old_total"]


def test_a_named_action_can_say_what_to_do(repo: Path, codemod):
    (repo / "redraft.toml").write_text(
        "[actions.rename]\ninstruction = 'rename old'\nscope = 'file'\nlanguages = ['javascript']\n"
    )
    model = BatchRuleModel()
    ran = codemod("--action", "rename", model=model)
    assert ran.code == 0
    assert [prompt.source for prompt in model.prompts] == [WEB]


@pytest.mark.parametrize(
    ("command", "edits"),
    [
        pytest.param("import sys; print(sys.stdin.read().upper(), end='')", True, id="formatted"),
        pytest.param("import sys; sys.exit('no such style')", "no such style", id="it fails"),
        pytest.param("pass", "it printed nothing", id="it prints nothing"),
        pytest.param("print('\\0')", "is binary", id="it prints no text"),
    ],
)
def test_a_formatter_has_the_last_word(repo: Path, codemod, command, edits):
    script = repo / ".git" / "format.py"
    script.write_text(command)
    ran = codemod(
        "rename old", "lib", "--write", "--format-with", f"{sys.executable} {script} {{}}"
    )
    expected = dict(FILES)
    if edits is True:
        expected |= {n: RENAMED[n].upper() for n in ("lib/tools.py", "lib/web.js")}
    else:
        assert edits in ran.err
    assert ran.code == (0 if edits is True else 2)
    assert contents(repo) == as_bytes(expected)


def test_a_file_that_fails_its_verification_is_put_back(repo: Path, codemod):
    script = repo / ".git" / "verify.py"
    script.write_text(
        "import pathlib, sys\n"
        "sys.exit('too new' if 'newName' in pathlib.Path('lib/web.js').read_text() else 0)\n"
    )
    ran = codemod("rename old", ".", "--write", "--verify-with", f"{sys.executable} {script}")
    assert ran.code == 2
    assert "files    2 changed, 1 rolled_back\n" in ran.err
    assert "failed: lib/web.js: the verification failed with exit code 1: too new\n" in ran.err
    assert contents(repo) == as_bytes(RENAMED | {"lib/web.js": WEB})
    run = re.search(r"undo (\S+)`", ran.err)[1]
    assert "  lib/web.js  rolled_back\n" in codemod("log", run).out
    assert codemod("undo", run).out == "shop.py\nlib/tools.py\n"
    assert contents(repo) == as_bytes(FILES)


@pytest.mark.parametrize(
    ("answers", "renamed"),
    [
        pytest.param("y\nn\ny\nn\n", ["lib/tools.py", "shop.py:total"], id="yes and no"),
        pytest.param("n\na\n", ["lib/web.js", "shop.py"], id="all of the rest"),
        pytest.param("y\nq\n", ["lib/tools.py"], id="quit"),
        pytest.param("", [], id="the end of the input"),
        pytest.param("huh\n\ny\nq\n", ["lib/tools.py"], id="nonsense is asked again"),
        pytest.param("n\nn\ny\nq\n", ["shop.py:total"], id="quit keeps what was accepted"),
        pytest.param("e\n\ne\nnow\ny\nq\n", ["lib/tools.py"], id="another instruction"),
    ],
)
def test_each_edit_can_be_asked_about(repo: Path, codemod, answers, renamed):
    ran = codemod("rename old", ".", "--interactive", stdin=answers.encode())
    expected = dict(FILES)
    for name in renamed:
        path, _, part = name.partition(":")
        expected[path] = RENAMED[path]
        if part:
            expected[path] = SHOP.replace("old_total", "new_total")
    assert contents(repo) == as_bytes(expected)
    assert ran.code == 0


def test_another_instruction_reaches_the_model(repo: Path, codemod):
    model = BatchRuleModel()
    codemod("rename old", "lib", "--interactive", stdin=b"e\nuse new words\ny\nq\n", model=model)
    again = "".join(piece.text for piece in (*model.prompts[2].file, *model.prompts[2].request))
    assert "use new words" in again
    assert "rename old" not in again


ERRORS = [
    pytest.param(["x"], "give an instruction and a path", id="no path"),
    pytest.param([], "give an instruction and a path", id="nothing"),
    pytest.param([" ", "."], "give an instruction and a path", id="no instruction"),
    pytest.param(["x", "no.py"], "no.py does not exist", id="missing path"),
    pytest.param(["x", ".", "/"], "lies outside of", id="another tree"),
    pytest.param(["x", ".", "--lang", "basic"], "no grammar for 'basic'", id="language"),
    pytest.param(["x", ".", "--select", "/(/"], "not a regular expression", id="expression"),
    pytest.param(["x", ".", "--select", "(nope) @x"], "not a query", id="query"),
    pytest.param(["x", ".", "--resume"], "--resume goes with --write", id="resume what"),
    pytest.param(["x", ".", "--commit"], "--commit goes with --write", id="commit what"),
    pytest.param(["x", ".", "--verify-with", "true"], "--verify-with goes with", id="verify what"),
    pytest.param(["x", ".", "--format-with", "no-such-program"], "there is no such program"),
    pytest.param(["x", ".", "--format-with", "'"], "No closing quotation", id="quotes"),
    pytest.param(["x", ".", "--report", "no/a.html"], "there is no folder", id="report where"),
    pytest.param(["--recipe", "no.toml"], "cannot read the recipe", id="missing recipe"),
    pytest.param(["--recipe", "r.toml"], "unknown key 'instruktion'", id="recipe key"),
    pytest.param(["--recipe", "r.toml", "--action", "x"], "give only one", id="two sources"),
    pytest.param(["--action", "no"], "there is no action 'no': there are ", id="unknown action"),
    pytest.param(["--action", "fix"], "needs an editor", id="an editor's action"),
    pytest.param(["undo"], "takes one RUN", id="undo what"),
    pytest.param(["undo", "r0"], "there is no run 'r0'", id="unknown run"),
]


@pytest.mark.parametrize(("args", "message"), ERRORS)
def test_wrong_options_are_one_line_that_says_what_to_do(repo: Path, codemod, args, message):
    (repo / "r.toml").write_text("instruktion = 'x'\n")
    model = BatchRuleModel()
    ran = codemod(*args, model=model)
    assert (ran.code, ran.out, model.prompts) == (2, "", [])
    assert ran.err.startswith("redraft: error: ")
    assert message in ran.err
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize(
    "args", [["--jobs", "0"], ["--limit", "x"], ["--write", "--check"], ["--nope"]]
)
def test_a_wrong_flag_shows_the_usage(repo: Path, codemod, args):
    ran = codemod("x", ".", *args)
    assert ran.code == 2
    assert ran.err.startswith("usage: redraft")


def test_a_path_may_follow_an_option(repo: Path, codemod):
    assert "1 changed" in codemod("rename old", "--jobs", "2", "lib/web.js").err
    assert TOOLS in (repo / "lib/tools.py").read_text()
