"""Whether every strategy writes what plain decoding writes, token by token.

The prompts are the built-in files, each edited in several ways and each asked about, so that there
are answers that copy and answers that do not.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from redraft.bench.subject import Subject, answer, first_difference
from redraft.bench.tasks import Task, built_in, request
from redraft.prompting import template
from redraft.prompting.build import build_prompt
from redraft.records import Exactness, Piece, Prompt

__all__ = ["ASKED", "Case", "Difference", "Tally", "cases", "compare"]

ASKED = (  # of each file, beside its own edit
    "Add a comment above every function that says what it returns.",
    "Give the longest function a shorter name and use it everywhere.",
    "Check the arguments of every function and fail with a clear message.",
)
QUESTIONS = (
    "What does this file do, and where could it fail?",
    "Write a test for the longest function in it.",
)
ANSWER_TOKENS = 200  # of a question


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One prompt to answer."""

    name: str
    prompt: Prompt
    max_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Where a strategy's answer parts from the plain one: after `token` equal tokens."""

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
    subject: Subject, strategies: Sequence[str], *, exactness: Exactness, n_tokens: int
) -> Iterator[dict[str, Tally]]:
    """Decode case after case until `n_tokens` plain tokens are compared; yields the tallies."""
    tallies = {name: Tally() for name in strategies if name != "plain"}
    n_plain = 0
    for case in cases(subject):
        asked, limit = case.prompt, case.max_tokens
        plain = answer(subject.decode(asked, "plain", exactness, max_tokens=limit))
        for name, tally in tallies.items():
            own = answer(subject.decode(asked, name, exactness, max_tokens=limit))
            parted = first_difference(own, plain)
            tally.tokens += len(plain) if parted is None else parted + 1
            if parted is not None:
                tally.differences.append(Difference(case=case.name, token=parted))
        n_plain += len(plain)
        yield tallies
        if n_plain >= n_tokens:
            return


def cases(subject: Subject) -> Iterator[Case]:
    """All prompts there are: first one of each kind for each file, then the others."""
    tasks = built_in()
    for round_ in range(1 + len(ASKED)):
        for task in tasks:
            text = ASKED[round_ - 1] if round_ else task.instruction
            yield from _edits(subject, task, text)
            if round_ < len(QUESTIONS):
                yield _question(subject, task, QUESTIONS[round_])


def _edits(subject: Subject, task: Task, instruction: str) -> Iterator[Case]:
    asked = Task(
        id=task.id,
        lang=task.lang,
        path=task.path,
        instruction=instruction,
        before=task.before,
        max_tokens=task.max_tokens,
    )
    for scope in ("function", "file"):
        built = build_prompt(request(asked, scope), subject, max_tokens=task.max_tokens)
        if isinstance(built, Prompt):
            name = f"{task.id}, {scope}: {instruction}"
            yield Case(name=name, prompt=built, max_tokens=task.max_tokens)


def _question(subject: Subject, task: Task, question: str) -> Case:
    frame = template.render_frame(subject.chat_template)
    return Case(
        name=f"{task.id}: {question}",
        prompt=Prompt(
            file=(frame.opening, Piece(f"{task.path}\n\n{task.before}\n")),
            request=(Piece(question), frame.closing),
            source="",
            stop=(),
        ),
        max_tokens=ANSWER_TOKENS,
    )
