"""What is done with every file, and the first half of doing it: reading, asking, replies.

Knows no terminal, journal or clock.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from redraft.codemod.cache import Cache
from redraft.codemod.commands import Command
from redraft.codemod.plan import PlannedFile, digest
from redraft.codemod.replies import Reply, replies
from redraft.codemod.results import FileResult, TargetResult
from redraft.edit import PromptRequest, ask
from redraft.errors import InputError
from redraft.records import DecodeOptions, EditRequest, Model, Refused
from redraft.text import files
from redraft.text.files import Document

__all__ = [
    "Answer",
    "PreparedFile",
    "RetryRequest",
    "Review",
    "RunContext",
    "Verdict",
    "answers",
    "opened",
]


@dataclass(frozen=True, slots=True)
class RetryRequest:
    """Make the edit anew with this instruction."""

    instruction: str


Verdict: TypeAlias = Literal["yes", "no", "quit"] | RetryRequest

Review: TypeAlias = Callable[[str, Document, TargetResult], Verdict]


def _never() -> bool:
    return False


def _ignore(_: Reply) -> None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContext:
    """What is done with every file. `write` gets each result and returns it with its ending."""

    instruction: str
    options: DecodeOptions
    n_parallel: int = 1
    cache: Cache | None = None
    formatter: Command | None = None
    write: Callable[[FileResult], FileResult] = lambda result: result
    review: Review | None = None
    on_reply: Callable[[Reply], None] = _ignore
    cancelled: Callable[[], bool] = _never


Answer: TypeAlias = Reply | Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedFile:
    """A file that was read, and one prompt or refusal for each of its targets."""

    file: PlannedFile
    document: Document
    requests: tuple[EditRequest, ...]
    asked: tuple[PromptRequest | Refused, ...]


def opened(
    root: Path, file: PlannedFile, model: Model, task: RunContext
) -> PreparedFile | FileResult:
    """Read `file` and word its prompts; a failed result where it is not what was planned."""
    try:
        document = files.read(root / file.path)
    except InputError as error:
        return FileResult(path=file.path, state="failed", message=str(error))
    if digest(document.encode()) != file.sha256:
        message = f"{root / file.path} changed since the run began; nothing was written"
        return FileResult(path=file.path, state="failed", message=message)
    requests = tuple(
        EditRequest(
            path=file.path,
            text=document.text,
            target=target.span,
            instruction=task.instruction,
            language=file.language,
        )
        for target in file.targets
    )
    asked = tuple(ask(request, model, task.options) for request in requests)
    return PreparedFile(file=file, document=document, requests=requests, asked=asked)


def answers(
    asked: Sequence[PromptRequest | Refused], model: Model, task: RunContext
) -> list[Answer]:
    """For each prompt its reply; a refusal stays one."""
    got = iter(
        replies(
            [one for one in asked if isinstance(one, PromptRequest)],
            model,
            task.options,
            cache=task.cache,
            n_parallel=task.n_parallel,
            on_reply=task.on_reply,
            cancelled=task.cancelled,
        )
    )
    return [one if isinstance(one, Refused) else next(got) for one in asked]
