"""One file's edit, from the answers to its result: what each means, and all of them together."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from redraft import syntax
from redraft.codemod.plan import PlannedFile
from redraft.codemod.replies import Reply
from redraft.codemod.results import Declined, Ending, FileResult, TargetResult
from redraft.codemod.task import Answer, PreparedFile, RetryRequest, RunContext, answers
from redraft.edit import ask, outcome_of_reply
from redraft.errors import EngineError, InputError
from redraft.records import Model, Refused, Replacement, Rewritten
from redraft.text import diff, files
from redraft.text.lines import LineIndex

__all__ = ["FileEdit"]


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
