"""The use case against a scripted model: real cases by table, then laws under random replies."""

import itertools
import random
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from tests.redraft.scripted_model import ScriptedModel

from redraft import edit, syntax
from redraft.edit import rewrite
from redraft.records import (
    DecodeOptions,
    EditRequest,
    Outcome,
    Refused,
    Rewritten,
    Span,
    Unchanged,
)
from redraft.text import diff

EDITS = Path(__file__).parents[2] / "fixtures" / "edits"

# What to edit in each case: a name, or the exact text.
TARGETS = {
    "python-docstring-dedented": "Shelf.take",
    "python-fence-in-docstring": "slug",
    "markdown-inner-fences": "## Install\n\nRun this once:\n\n```sh\npip install shelf\n```\n\n"
    "Then restart.\n",
    "go-fenced-again-with-tags": "Circle.Area",
    "typescript-elision-restored": "total",
    "javascript-partial-line": "price * qty",
    "rust-whole-impl-for-one-method": "Stack.len",
    "java-first-line-dedented-trailing-space": "Names.join",
}


def request_for(path, text, target, instruction):
    language = syntax.language_of(path, text)
    if target in text and (language is None or " " in target):
        span = Span(text.index(target), text.index(target) + len(target))
    else:
        span = syntax.target_named(text, language, target).span
    return EditRequest(
        path=path, text=text, target=span, instruction=instruction, language=language
    )


def read(path):
    return path.read_bytes().decode()


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
@pytest.mark.parametrize("case", sorted(path.name for path in EDITS.iterdir()))
def test_a_reply_becomes_the_edit_that_was_asked_for(case, ending):
    (before,), (after,) = ((EDITS / case).glob(f"{name}.*") for name in ("before", "after"))
    text, expected = (read(path).replace("\n", ending) for path in (before, after))
    target = TARGETS[case].replace("\n", ending)
    request = request_for(before.name, text, target, read(EDITS / case / "instruction.txt"))
    model = ScriptedModel(replies=[read(EDITS / case / "reply.txt")])
    outcome = rewrite(request, model, DecodeOptions())
    assert isinstance(outcome, Rewritten), outcome
    assert outcome.new_text == expected
    assert_lawful(request, outcome)
    changed = sum(len(r.span) for r in outcome.replacements)
    assert changed < 20, "only what changed is replaced"
    assert outcome.stats.output_tokens > 0


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param("Here is the updated function:\n\n````python\ndef f(a):\n", id="a preamble"),
        pytest.param("<|im_start|>assistant\n````python\ndef f(a):\n", id="a chat tag"),
    ],
)
def test_a_reply_that_ends_at_a_fence_of_its_own_before_any_code_is_refused(reply):
    outcome = rewrite(long_request(), ScriptedModel(replies=[reply]), DecodeOptions())
    assert isinstance(outcome, Refused)
    assert outcome.reason == "no_code"


def test_every_case_has_a_target():
    assert set(TARGETS) == {path.name for path in EDITS.iterdir()}


def assert_lawful(request, outcome):
    """A `Rewritten` does what its record promises."""
    assert diff.apply_replacements(request.text, outcome.replacements) == outcome.new_text
    assert outcome.new_text != request.text
    spans = [replacement.span for replacement in outcome.replacements]
    assert all(a.stop <= b.start for a, b in pairwise(spans))
    # Outside of the target text is only added: what it needs, above it.
    outside = [span for span in spans if span not in request.target]
    assert all(len(span) == 0 and span.stop <= request.target.start for span in outside)
    assert outcome.new_text.endswith(request.text[request.target.stop :])


PYTHON = "import os\r\n\r\nclass A:\r\n\tdef f(self):  \r\n\t\tx = 1\r\n\t\treturn x\n\r\ny = 2"

SCRAPS = [
    "def f(self):",
    "    x = 1",
    "\treturn x",
    "```",
    "```python",
    "...",
    "# ... existing code ...",
    "<|im_end|>",
    "<|im_start|>assistant",
    "Here is the code:",
    "class A:",
    "y = 2",
    "é\u2028\x0c",
    "(",
    "",
    "  ",
    "\r",
    "\x00",
]


@pytest.mark.parametrize("seed", range(300))
def test_whatever_the_reply_says_edits_stay_inside_the_target(seed):
    random_ = random.Random(seed)
    start, stop = sorted(random_.randrange(len(PYTHON) + 1) for _ in range(2))
    request = EditRequest(
        path="a.py",
        text=PYTHON,
        target=Span(start, stop),
        instruction=random_.choice(["Remove it", "Add a line", "Dedent it"]),
        language=random_.choice(["python", None]),
    )
    source = PYTHON[start:stop].replace("\r\n", "\n").split("\n")
    lines = random_.choices(SCRAPS + source, k=random_.randrange(9))
    model = ScriptedModel(replies=["\n".join(lines)])
    outcome = rewrite(request, model, DecodeOptions())
    if isinstance(outcome, Rewritten):
        assert_lawful(request, outcome)


@pytest.mark.parametrize("seed", range(100))
def test_a_copied_target_is_unchanged(seed):
    random_ = random.Random(seed)
    text = "".join(random_.choices(["a", "b c", " ", "\t", "\n", "\r\n", "\r", "é", "x()"], k=40))
    start, stop = sorted(random_.randrange(len(text) + 1) for _ in range(2))
    request = EditRequest(path="a.txt", text=text, target=Span(start, stop), instruction="Do")
    if not request.target.of(text).strip():
        return

    class Copying(ScriptedModel):
        def complete(self, prompt, *args, **kwargs):
            self.replies = [prompt.source + "```"]
            return super().complete(prompt, *args, **kwargs)

    assert isinstance(rewrite(request, Copying(), DecodeOptions()), Unchanged)


LONG = "def f(a):\n" + "".join(f"    a = step_{i}(a)\n" for i in range(100)) + "    return a\n"


def long_request():
    return request_for("long.py", LONG, "f", "Call it g")


def test_a_reply_cut_at_the_given_limit_is_refused_with_the_limit():
    model = ScriptedModel(replies=[LONG])
    outcome = rewrite(long_request(), model, DecodeOptions(max_tokens=64))
    assert isinstance(outcome, Refused)
    assert outcome.reason == "token_limit"
    assert "64 tokens" in outcome.message
    assert model.token_limits == [64]


def test_without_a_limit_there_is_room_for_half_as_much_again():
    model = ScriptedModel(replies=[LONG.replace("(a):", "(a):\n    a = 1" * 40) + "```"])
    rewrite(long_request(), model, DecodeOptions())
    n_target = model.count_tokens(LONG)
    assert model.token_limits[0] >= 1.5 * n_target


def test_a_target_that_nearly_fills_the_context_still_gets_an_edit():
    n_target = ScriptedModel().count_tokens(LONG)
    model = ScriptedModel(
        replies=[LONG.replace("def f", "def g") + "```"], n_ctx=int(2.4 * n_target)
    )
    outcome = rewrite(long_request(), model, DecodeOptions())
    assert isinstance(outcome, Rewritten)


def test_a_target_too_long_for_the_context_is_refused_before_the_model_is_asked():
    outcome = rewrite(long_request(), ScriptedModel(n_ctx=300), DecodeOptions())
    assert isinstance(outcome, Refused)
    assert outcome.reason == "context"


def test_a_deadline_ends_the_edit():
    model = ScriptedModel(replies=[LONG], token_s=0.1)
    outcome = rewrite(long_request(), model, DecodeOptions(timeout_s=2.0))
    assert isinstance(outcome, Refused)
    assert outcome.reason == "timeout"
    assert outcome.stats.output_tokens == 20


def test_a_cancelled_edit_says_so_and_progress_was_reported_until_then():
    seen = []
    outcome = rewrite(
        long_request(),
        ScriptedModel(replies=[LONG]),
        DecodeOptions(),
        on_progress=seen.append,
        cancelled=lambda: len(seen) == 5,
    )
    assert isinstance(outcome, Refused)
    assert outcome.reason == "cancelled"
    assert seen[-1].text == LONG[: len(seen[-1].text)]


def test_what_was_left_out_of_the_prompt_reaches_the_user():
    text = LONG + "\n" + "".join(f"x_{i} = {i}\n" for i in range(2000))
    request = request_for("long.py", text, "f", "Call it g")
    for reply, kind in ((LONG.replace("def f", "def g"), Rewritten), (LONG, Unchanged)):
        outcome = rewrite(
            request, ScriptedModel(replies=[reply + "```"], n_ctx=6000), DecodeOptions()
        )
        assert isinstance(outcome, kind)
        assert "lines 1 to" in outcome.notes[0]


@pytest.mark.parametrize("reply", [LONG.replace("def f", "def g"), LONG, ""])
def test_what_the_model_notes_reaches_the_user_and_the_completion_whoever_asks(reply):
    class Noting(ScriptedModel):
        def complete(self, prompt, *args, **kwargs):
            return replace(super().complete(prompt, *args, **kwargs), notes=("decoded plainly",))

    seen = []
    model = Noting(replies=[reply + "\n````"])
    outcome = rewrite(long_request(), model, DecodeOptions(), on_completion=seen.append)
    assert outcome.notes == ("decoded plainly",)
    assert {completion.text for completion in seen} == {reply}


ADDED = "def add(a, b):\n    # both\n    return a - b\n"
RIGHT, SENTENCE = ADDED.replace("-", "+") + "```", "The sign is wrong.\nIt is minus."
MISTAKES = {
    "parse_broken": ADDED.replace(")", "") + "```",
    "elision": "def add(b, a):\n    # ... rest unchanged ...\n    pass\n```",
}


def tried_twice(replies, **options):
    model = ScriptedModel(replies=replies, token_s=options.pop("token_s", 0.0))
    request = request_for("sums.py", ADDED, "add", "Fix it")
    return rewrite(request, model, DecodeOptions(**options)), model


@pytest.mark.parametrize(
    ("mistake", "told"),
    [
        ("parse_broken", "was no valid code"),
        ("elision", "left out code that has to stay"),
    ],
)
def test_a_mistake_is_told_to_the_model_which_gets_a_second_try(mistake, told):
    outcome, model = tried_twice([MISTAKES[mistake], SENTENCE, RIGHT])
    assert isinstance(outcome, Rewritten)
    assert outcome.new_text == ADDED.replace("-", "+")
    assert outcome.notes[-1].endswith("what the model wrote when told so")
    first, thinking, second = ("".join(piece.text for piece in p.request) for p in model.prompts)
    assert len({prompt.file for prompt in model.prompts}) == 1, "so that its cells are reused"
    assert told in thinking
    assert told not in first
    assert second == f"{thinking}The sign is wrong.\n\n````python\n"


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_second_mistake_leaves_the_first_outcome_with_what_both_cost(mistake):
    outcome, model = tried_twice([MISTAKES[mistake], SENTENCE, MISTAKES["parse_broken"]])
    kind = "unchanged" if isinstance(outcome, Unchanged) else outcome.reason
    assert kind == mistake
    assert len(model.prompts) == 3
    replied = ("".join(p.text for p in (*one.file, *one.request)) for one in model.prompts)
    assert outcome.stats.prompt_tokens == sum(map(model.count_tokens, replied))


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        pytest.param("", Refused, id="no code"),
        pytest.param("x\n```", Refused, id="most of it deleted"),
        pytest.param(f"{LONG}```", Unchanged, id="as it was, where nothing is said to be wrong"),
    ],
)
def test_another_ending_is_final(reply, kind):
    model = ScriptedModel(replies=[reply])
    assert isinstance(rewrite(long_request(), model, DecodeOptions()), kind)
    assert len(model.prompts) == 1


def test_both_tries_have_one_deadline():
    spent = []

    class Slow(ScriptedModel):
        def complete(self, prompt, options, **kwargs):
            spent.append(options.timeout_s)
            done = super().complete(prompt, options, **kwargs)
            return replace(done, stats=replace(done.stats, prefill_s=1.0, decode_s=2.0))

    request = request_for("sums.py", ADDED, "add", "Fix it")
    rewrite(request, Slow(replies=[MISTAKES["elision"]]), DecodeOptions(timeout_s=5.0))
    assert spent == [5.0, 2.0, 0.0]


def test_a_second_try_can_be_cancelled():
    model = ScriptedModel(replies=[MISTAKES["parse_broken"], SENTENCE, RIGHT])
    request = request_for("sums.py", ADDED, "add", "Fix it")
    outcome = rewrite(request, model, DecodeOptions(), cancelled=lambda: len(model.prompts) == 3)
    assert isinstance(outcome, Refused)
    assert outcome.reason == "cancelled"


@pytest.mark.parametrize("at", [1, 5, 20, 60])
def test_work_on_a_complete_reply_can_be_cancelled(at: int):
    """After the last token `cancelled` is asked on, and at any look the edit may end."""
    looks = itertools.count(1)

    class Watched(ScriptedModel):
        is_done = False

        def complete(self, *args, **kwargs):
            completion = super().complete(*args, **kwargs)
            self.is_done = True
            return completion

    def cancelled() -> bool:
        return model.is_done and next(looks) >= at

    model = Watched(replies=[f"{LONG.replace('def f', 'def g')}````"])
    outcome = rewrite(long_request(), model, DecodeOptions(), cancelled=cancelled)
    assert isinstance(outcome, Refused)
    assert outcome.reason == "cancelled"
    assert next(looks) == at + 1
    assert outcome.stats.output_tokens > 0


def test_a_reply_that_is_complete_gets_time_to_become_an_edit(monkeypatch: pytest.MonkeyPatch):
    class Slow(ScriptedModel):
        def complete(self, prompt, options, **kwargs):
            done = super().complete(prompt, options, **kwargs)
            return replace(done, stats=replace(done.stats, decode_s=4.9))

    def try_it() -> Outcome:
        model = Slow(replies=[f"{LONG.replace('def f', 'def g')}````"])
        return rewrite(long_request(), model, DecodeOptions(timeout_s=5.0))

    assert isinstance(try_it(), Rewritten)
    monkeypatch.setattr(edit, "_LEAST_S", -1.0)
    monkeypatch.setattr(edit.time, "monotonic", itertools.count(step=0.5).__next__)
    outcome = try_it()
    assert isinstance(outcome, Refused)
    assert outcome.reason == "timeout"


def test_progress_shows_code_only():
    seen = []
    model = ScriptedModel(replies=[MISTAKES["parse_broken"], SENTENCE, RIGHT])
    request = request_for("sums.py", ADDED, "add", "Fix it")
    rewrite(request, model, DecodeOptions(), on_progress=seen.append)
    assert not any("sign" in step.text for step in seen)
    assert seen[-1].text.startswith(ADDED.replace("-", "+"))


def closest(replies, *, instruction="Fix it", behind=0.5, another_version=True):
    """A function comes back with its mistake, and the sign was nearly another one."""
    runners_up = {"-": ("+", behind), "b": ("c", behind + 1)}
    model = ScriptedModel(replies=[f"{ADDED}```", *replies], runners_up=runners_up)
    seen = {"steps": [], "completions": []}
    outcome = rewrite(
        replace(
            request_for("sums.py", ADDED, "add", instruction),
            wants_another_version=another_version,
        ),
        model,
        DecodeOptions(),
        on_progress=seen["steps"].append,
        on_completion=seen["completions"].append,
    )
    return outcome, model, seen


BEGUN = ADDED[: ADDED.index("-")] + "+"


@pytest.mark.parametrize("instruction", ["Fix it", "Tidy it up", "Behebe den Fehler", "修复它"])
def test_another_version_goes_the_way_that_was_closest(instruction: str):
    outcome, model, seen = closest([" b\n````"], instruction=instruction)
    assert isinstance(outcome, Rewritten)
    assert outcome.new_text == ADDED.replace("-", "+")
    assert outcome.notes[-1].startswith("the model first left the code as it is")
    first, second = model.prompts
    assert second.file == first.file, "so that its cells are reused"
    opened = "".join(piece.text for piece in first.request) + BEGUN
    assert "".join(piece.text for piece in second.request) == opened
    assert seen["steps"][-1].text.startswith(f"{BEGUN} b\n")
    assert model.token_limits[1] == model.token_limits[0] - model.count_tokens(BEGUN)
    both = [
        sum(map(model.count_tokens, (p.text for p in (*one.file, *one.request))))
        for one in model.prompts
    ]
    assert outcome.stats.prompt_tokens == sum(both)


def test_a_trace_of_the_second_way_shows_the_whole_reply():
    _, _, seen = closest([" b\n````"])
    completion = seen["completions"][-1]
    written = b"".join(piece for one in completion.passes for piece in one.pieces)
    assert written.decode().startswith(completion.text)
    assert completion.text == ADDED.replace("-", "+").removesuffix("\n")


@pytest.mark.parametrize("reply", [" b )\n```", " b\n    # ... rest unchanged ...\n    x\n```"])
def test_a_second_way_that_leads_to_no_edit_leaves_the_code_as_it_is(reply):
    outcome, model, _ = closest([reply])
    assert isinstance(outcome, Unchanged)
    assert len(model.prompts) == 2


@pytest.mark.parametrize("instruction", ["Fix it", "It should return the sum", "Tidy it up"])
def test_code_that_comes_back_as_it_is_is_unchanged_unless_another_version_is_wanted(instruction):
    outcome, model, _ = closest([" b\n````"], instruction=instruction, another_version=False)
    assert isinstance(outcome, Unchanged)
    assert len(model.prompts) == 1


def test_a_model_that_is_sure_of_every_token_is_not_asked_again():
    outcome, model, _ = closest([" b\n````"], behind=9.0)
    assert isinstance(outcome, Unchanged)
    assert len(model.prompts) == 1
