"""Strategies compared with plain decoding token by token.

The prompts are the built-in files, each edited in several ways and each asked about, so that there
are answers that copy and answers that do not.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from redraft.bench.engine import BenchEngine, answer_tokens, first_difference
from redraft.bench.tasks import build_request, built_in_tasks
from redraft.prompting import template
from redraft.prompting.build import build_prompt
from redraft.records import Exactness, Piece, Prompt

__all__ = ["Difference", "ExactnessCase", "Tally", "build_cases", "compare"]

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
    """One strategy so far. `tokens` counts those that were compared, up to a difference."""

    tokens: int = 0
    differences: list[Difference] = field(default_factory=list)

    @property
    def per_1000_tokens(self) -> float:
        return 1000 * len(self.differences) / self.tokens if self.tokens else 0.0


def compare(
    engine: BenchEngine, strategies: Sequence[str], *, exactness: Exactness, n_tokens: int
) -> Iterator[dict[str, Tally]]:
    """Decode case after case until `n_tokens` plain tokens are compared.

    Yields the tallies of all strategies but "plain" after each case.
    """
    tallies = {name: Tally() for name in strategies if name != "plain"}
    n_plain = 0  # tokens of plain answers, which all strategies are compared with
    for case in build_cases(engine):
        prompt, limit = case.prompt, case.max_tokens
        plain = answer_tokens(engine.decode(prompt, "plain", exactness, max_tokens=limit))
        for name, tally in tallies.items():
            answer = answer_tokens(engine.decode(prompt, name, exactness, max_tokens=limit))
            parted_at = first_difference(answer, plain)
            tally.tokens += len(plain) if parted_at is None else parted_at + 1
            if parted_at is not None:
                tally.differences.append(Difference(case=case.name, token=parted_at))
        n_plain += len(plain)
        yield tallies
        if n_plain >= n_tokens:
            return


def build_cases(engine: BenchEngine) -> Iterator[ExactnessCase]:
    """Yield all prompts there are: first one of each kind for each file, then the others."""
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
