"""Strategies compared with plain decoding token by token.

The prompts are the built-in files, each edited in several ways and each asked about, so that there
are answers that copy and answers that do not.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from redraft.bench.engine import BenchEngine, answer_tokens, first_difference
from redraft.bench.results import markdown_table
from redraft.bench.tasks import build_request, built_in_tasks
from redraft.prompting import template
from redraft.prompting.build import build_prompt
from redraft.records import Completion, Exactness, Piece, Prompt

__all__ = [
    "Difference",
    "ExactnessCase",
    "Tally",
    "build_cases",
    "compare",
    "describe_differences",
    "format_tallies",
]

INSTRUCTIONS: Final = (  # for each file, besides its own edit
    "Add a comment above every function that says what it returns.",
    "Give the longest function a shorter name and use it everywhere.",
    "Check the arguments of every function and fail with a clear message.",
)
QUESTIONS: Final = (
    "What does this file do, and where could it fail?",
    "Write a test for the longest function in it.",
)
ANSWER_TOKENS: Final = 200  # of a question
STARTS: Final = ("warm", "cold", "saved")
ALONE: Final = ("draft", "lookup+draft", "lookahead")  # strategies that never share passes


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactnessCase:
    """One prompt to answer."""

    name: str
    prompt: Prompt
    max_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A place where a strategy's answer parts from the plain one: after `token` equal tokens."""

    case: str
    token: int


@dataclass(slots=True)
class Tally:
    """One strategy in one setting so far.

    tokens: those that were compared, up to a difference. reused_tokens: those of prompts that were
    not prefilled.
    """

    tokens: int = 0
    reused_tokens: int = 0
    differences: list[Difference] = field(default_factory=list)

    @property
    def per_1000_tokens(self) -> float:
        return 1000 * len(self.differences) / self.tokens if self.tokens else 0.0

    def add(self, case: str, completion: Completion, plain: Sequence[int]) -> None:
        """Compare an answer with the plain one."""
        parted_at = first_difference(answer_tokens(completion), plain)
        self.tokens += len(plain) if parted_at is None else parted_at + 1
        self.reused_tokens += completion.stats.reused_tokens
        if parted_at is not None:
            self.differences.append(Difference(case=case, token=parted_at))


def compare(
    engine: BenchEngine,
    strategies: Sequence[str],
    *,
    exactness: Exactness,
    n_tokens: int,
    n_together: Sequence[int] = (),
    max_answer: int | None = None,
) -> Iterator[dict[str, Tally]]:
    """Decode case after case until `n_tokens` plain tokens are compared, `max_answer` of each.

    Strategies begin in turns behind the plain answer's prompt, with an empty cache and with saved
    cells (`BenchEngine.save_states`); for each number of `n_together` as many cases are decoded in
    shared passes besides, where a strategy can. Yields the tallies of all strategies but "plain"
    after each case, named as in "copy, cold" and "copy, 2 together".
    """
    names = [name for name in strategies if name != "plain"]
    shared = [name for name in names if name.partition("@")[0] not in ALONE]
    tallies: dict[str, Tally] = defaultdict(Tally)
    compared: list[tuple[ExactnessCase, tuple[int, ...]]] = []  # cases and their plain answers
    n_plain = 0  # tokens of plain answers, which all strategies are compared with
    for case in build_cases(engine, max_answer):
        engine.restart()
        completion = engine.decode(case.prompt, "plain", exactness, max_tokens=case.max_tokens)
        plain = answer_tokens(completion)
        for i, name in enumerate(names):
            start = STARTS[(len(compared) + i) % len(STARTS)]
            if start == "cold":
                engine.forget()
            elif start == "saved":
                engine.restart()
            completion = engine.decode(case.prompt, name, exactness, max_tokens=case.max_tokens)
            tallies[f"{name}, {start}"].add(case.name, completion, plain)
        compared.append((case, plain))
        for n_texts in n_together if shared else ():
            if len(compared) % n_texts:
                continue
            batch = compared[-n_texts:]
            name = shared[len(compared) // n_texts % len(shared)]
            completions = engine.decode_together(
                [(case.prompt, case.max_tokens) for case, _ in batch], name, exactness
            )
            for (of_batch, answer), completion in zip(batch, completions, strict=True):
                tallies[f"{name}, {n_texts} together"].add(of_batch.name, completion, answer)
        n_plain += len(plain)
        yield tallies
        if n_plain >= n_tokens:
            return


def format_tallies(tallies: Mapping[str, Tally]) -> str:
    """Return a table with a line for each strategy and setting."""
    rows = [
        (name, str(tally.tokens), str(len(tally.differences)), f"{tally.per_1000_tokens:.2f}")
        for name, tally in tallies.items()
    ]
    return markdown_table(("strategy", "tokens", "differences", "per 1,000 tokens"), rows)


def describe_differences(tallies: Mapping[str, Tally]) -> Iterator[str]:
    """Yield a sentence for each difference."""
    for name, tally in tallies.items():
        for parted in tally.differences:
            yield f"{name} parts after {parted.token} tokens of {parted.case}"


def build_cases(engine: BenchEngine, max_answer: int | None = None) -> Iterator[ExactnessCase]:
    """Yield all prompts there are: first one of each kind for each file, then the others.

    Answers have at most `max_answer` tokens, or what the task allows.
    """
    for case in _build_whole_cases(engine):
        yield replace(case, max_tokens=min(case.max_tokens, max_answer or case.max_tokens))


def _build_whole_cases(engine: BenchEngine) -> Iterator[ExactnessCase]:
    frame = template.render_frame(engine.chat_template)
    for round_ in range(1 + len(INSTRUCTIONS)):
        for task in built_in_tasks():
            # The first round makes the file's own edit.
            instruction = INSTRUCTIONS[round_ - 1] if round_ else task.instruction
            for scope in ("function", "file"):
                request = build_request(replace(task, instruction=instruction), scope)
                prompt = build_prompt(request, engine, max_tokens=task.max_tokens)
                if isinstance(prompt, Prompt):  # the model may have too little context for a file
                    name = f"{task.id}, {scope}: {instruction}"
                    yield ExactnessCase(name=name, prompt=prompt, max_tokens=task.max_tokens)
            if round_ < len(QUESTIONS):
                prompt = Prompt(
                    file=(frame.opening, Piece(f"{task.path}\n\n{task.before}\n")),
                    request=(Piece(QUESTIONS[round_]), frame.closing),
                    source="",
                    stop=(),
                )
                name = f"{task.id}: {QUESTIONS[round_]}"
                yield ExactnessCase(name=name, prompt=prompt, max_tokens=ANSWER_TOKENS)
