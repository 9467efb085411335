"""A run, top to bottom: read, ask (twice, if need be), merge, format, write, tell.

All targets of a file are edited on the same text and independently of each other, so neither their
order nor how many replies are written at once can show in the result. A file is done as a whole or
not at all. Knows no terminal, journal or clock.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal, TypeAlias

from redraft import syntax
from redraft.codemod.plan import Plan, PlannedFile, digest
from redraft.codemod.programs import Command
from redraft.codemod.replies import Cache, Reply, replies
from redraft.codemod.results import Declined, Ending, FileResult, TargetResult
from redraft.edit import PromptRequest, ask, choose_retry, outcome_of_reply
from redraft.errors import EngineError, InputError
from redraft.records import (
    Completion,
    DecodeOptions,
    EditRequest,
    Model,
    Outcome,
    Refused,
    Replacement,
    Rewritten,
)
from redraft.text import diff, files
from redraft.text.files import Document
from redraft.text.lines import LineIndex

__all__ = [
    "Answer",
    "FileEdit",
    "PreparedFile",
    "RetryRequest",
    "Review",
    "RunContext",
    "Verdict",
    "answered",
    "answers",
    "opened",
    "run",
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


_WINDOW: Final = 8  # replies asked for at once, for each that is written at the same time


def run(plan: Plan, model: Model, task: RunContext) -> Iterator[FileResult]:
    """Edit the files of `plan` in their order, a result for each.

    Ends early once `task.cancelled`, or the reviewer, says so: then the last file's writes are
    complete, and no other file was touched.
    """
    for window in _windows(plan.files, task):
        if task.cancelled():
            return
        read = [opened(plan.root, file, model, task) for file in window]
        asked = [file for file in read if isinstance(file, PreparedFile)]
        replied = iter(answered(asked, model, task))
        for file in read:
            if isinstance(file, FileResult):
                yield task.write(file)
                continue
            done, answers = next(replied)
            result, goes_on = FileEdit(plan.root, done, model, task).result(answers)
            if result is not None:
                yield task.write(result)
            if not goes_on:
                return


def _windows(planned: Sequence[PlannedFile], task: RunContext) -> Iterator[list[PlannedFile]]:
    """`planned` in groups that keep so many replies busy as can be written at once."""
    enough = 1 if task.n_parallel == 1 or task.review else task.n_parallel * _WINDOW
    window: list[PlannedFile] = []
    for file in planned:
        window.append(file)
        if sum(len(one.targets) for one in window) >= enough:
            yield window
            window = []
    if window:
        yield window


def answered(
    files: Sequence[PreparedFile], model: Model, task: RunContext
) -> list[tuple[PreparedFile, list[Answer]]]:
    """Each file and the answers to its prompts, those of second tries among them.

    The stats of a second try's answer are for both tries.
    """
    got = iter(answers([one for file in files for one in file.asked], model, task))
    found = [(file, [next(got) for _ in file.asked]) for file in files]
    tries: list[tuple[int, int, PromptRequest]] = []
    for at, (file, own) in enumerate(found):
        for n, answer in enumerate(own):
            request = file.requests[n]
            outcome = _outcome(request, file.asked[n], answer)
            if outcome and choose_retry(request, outcome, is_named_only=True) == "show_target":
                shown = ask(request, model, replace(task.options, route="edit"))
                if isinstance(shown, PromptRequest) and shown != file.asked[n]:
                    tries.append((at, n, shown))
    again = answers([shown for *_, shown in tries], model, replace(task, on_reply=_ignore))
    for (at, n, shown), answer in zip(tries, again, strict=True):
        file, own = found[at]
        # A run that is cut short here has not done with the file.
        outcome = _outcome(file.requests[n], shown, answer)
        if outcome and (not isinstance(outcome, Refused) or outcome.reason == "cancelled"):
            own[n] = _both(own[n], answer)
            asked = (*file.asked[:n], shown, *file.asked[n + 1 :])
            found[at] = (replace(file, asked=asked), own)
    return found


def _outcome(
    request: EditRequest, asked: PromptRequest | Refused, answer: Answer
) -> Outcome | None:
    """What `answer` comes to; None where nothing was asked or the library failed."""
    if isinstance(asked, Refused) or isinstance(answer, Refused):
        return None
    if not isinstance(answer.completion, Completion):
        return None
    return outcome_of_reply(request, asked.prompt, answer.completion)


def _both(first: Answer, second: Answer) -> Answer:
    """`second`, with what `first` cost counted in."""
    if isinstance(first, Refused) or isinstance(second, Refused):
        return second
    one, other = first.completion, second.completion
    if not isinstance(one, Completion) or not isinstance(other, Completion):
        return second
    completion = replace(other, stats=one.stats + other.stats)
    return Reply(completion=completion, cached=first.cached and second.cached)


class FileEdit:
    """One file's edit, from the answers to its result."""

    def __init__(self, root: Path, opened: PreparedFile, model: Model, task: RunContext) -> None:
        self._root = root
        self._opened = opened
        self._model = model
        self._task = task
        self._index = LineIndex(opened.document.text)

    def result(self, replied: Sequence[Answer]) -> tuple[FileResult | None, bool]:
        """The file's result, and whether the run goes on; None where the file was cut short."""
        results: list[TargetResult] = []
        goes_on = True
        for n, answer in enumerate(replied):
            one = self._ended(n, answer)
            if isinstance(one, EngineError):
                return self._failed(str(one), results), True
            if isinstance(one.ending, Refused) and one.ending.reason == "cancelled":
                return None, False
            if self._task.review and isinstance(one.ending, Rewritten):
                one, goes_on = self._reviewed(n, one, quit_before=not goes_on)
            results.append(one)
        return self._merged(results), goes_on

    def _ended(self, n: int, answer: Answer) -> TargetResult | EngineError:
        request, target = self._opened.requests[n], self._opened.file.targets[n]
        asked = self._opened.asked[n]
        ending: Ending
        if isinstance(asked, Refused):
            ending = asked
        elif isinstance(answer, Refused):
            ending = answer
        elif isinstance(answer.completion, EngineError):
            return answer.completion
        else:
            ending = outcome_of_reply(request, asked.prompt, answer.completion)
        return TargetResult(
            target=target,
            line=self._index.line_at(target.span.start) + 1,
            last_line=self._index.line_at(max(target.span.start, target.span.stop - 1)) + 1,
            ending=ending,
            cached=isinstance(answer, Reply) and answer.cached,
        )

    def _merged(self, results: list[TargetResult]) -> FileResult:
        """The edits of all targets together, as long as the file still parses with them."""
        file, document = self._opened.file, self._opened.document
        text = diff.apply_replacements(document.text, _replacements(results))
        if text == document.text:
            return self._unchanged(results)
        if file.language and _n_errors(text, file) > _n_errors(document.text, file):
            return self._unchanged([_without_parse(result, file) for result in results])
        formatted = self._formatted(text)
        if isinstance(formatted, InputError):
            return self._failed(str(formatted), results)
        if formatted == document.text:
            return self._unchanged(results)
        return replace(self._unchanged(results), state="changed", new_text=formatted)

    def _unchanged(self, results: list[TargetResult]) -> FileResult:
        return FileResult(
            path=self._opened.file.path,
            state="unchanged",
            targets=tuple(results),
            document=self._opened.document,
        )

    def _failed(self, message: str, results: list[TargetResult]) -> FileResult:
        return replace(self._unchanged(results), state="failed", message=message)

    def _formatted(self, text: str) -> str | InputError:
        """`text` as the user's formatter prints it."""
        command, path = self._task.formatter, self._opened.file.path
        if command is None:
            return text
        old = self._opened.document
        code, out, said = command.run(self._root, path, replace(old, text=text).encode())
        if code or not out:
            why = f"exit code {code}: {said}" if code else "it printed nothing on stdout"
            return InputError(f"the formatter failed on {path}: {why}; nothing was written")
        try:
            new = files.decode(out, self._root / path)
        except InputError as error:
            return error
        if (new.bom, new.encoding) != (old.bom, old.encoding):
            return InputError(f"the formatter changed the encoding of {path}; nothing was written")
        return new.text

    def _reviewed(
        self, n: int, result: TargetResult, *, quit_before: bool
    ) -> tuple[TargetResult, bool]:
        """`result` as the person decided, and whether the run goes on."""
        review, document = self._task.review, self._opened.document
        declined = replace(result, ending=Declined(stats=result.ending.stats))
        if quit_before or review is None:
            return declined, False
        verdict = review(self._opened.file.path, document, result)
        match verdict:
            case "yes":
                return result, True
            case "no" | "quit":
                return declined, verdict == "no"
            case RetryRequest(instruction=instruction):
                return self._again(n, instruction)

    def _again(self, n: int, instruction: str) -> tuple[TargetResult, bool]:
        request = replace(self._opened.requests[n], instruction=instruction)
        asked = ask(request, self._model, self._task.options)
        (answer,) = answers([asked], self._model, self._task)
        opened = self._opened
        self._opened = replace(
            opened,
            requests=(*opened.requests[:n], request, *opened.requests[n + 1 :]),
            asked=(*opened.asked[:n], asked, *opened.asked[n + 1 :]),
        )
        again = self._ended(n, answer)
        if isinstance(again, EngineError):
            raise again
        if isinstance(again.ending, Rewritten):
            return self._reviewed(n, again, quit_before=False)
        return again, True


def _replacements(results: Sequence[TargetResult]) -> list[Replacement]:
    rewritten = (one.ending for one in results if isinstance(one.ending, Rewritten))
    return [replacement for ending in rewritten for replacement in ending.replacements]


def _n_errors(text: str, file: PlannedFile) -> int:
    return syntax.parse_errors(text, file.language or "")


def _without_parse(result: TargetResult, file: PlannedFile) -> TargetResult:
    """`result` with its edit taken back: each parsed alone, together they do not."""
    if not isinstance(result.ending, Rewritten):
        return result
    message = (
        f"together with the edits of other targets {file.path} would no longer parse as "
        f"{file.language}; edit them one at a time"
    )
    stats = result.ending.stats
    return replace(result, ending=Refused(reason="parse_broken", message=message, stats=stats))
