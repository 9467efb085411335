"""Run a codemod, top to bottom: read, ask (twice, if need be), merge, format, review, write.

All targets of a file are edited on the same text and independently of each other, so neither their
order nor how many replies are written at once can show in the result. A file is done as a whole or
not at all. Knows no terminal, journal or clock.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Final, Literal, TypeAlias

from redraft import syntax
from redraft.codemod.plan import Plan, PlannedFile, digest
from redraft.codemod.programs import Command
from redraft.codemod.replies import Reply, ReplyCache, collect_replies
from redraft.codemod.results import Declined, FileResult, TargetResult
from redraft.edit import PromptRequest, build_prompt_request, choose_retry, outcome_of_reply
from redraft.errors import EngineError, InputError
from redraft.postprocess.callers import changed_definitions, find_callers
from redraft.postprocess.needs import merge_edits
from redraft.records import (
    Completion,
    DecodeOptions,
    EditRequest,
    Model,
    Outcome,
    Reason,
    Refused,
    Rewritten,
)
from redraft.syntax import Target
from redraft.text import diff, files
from redraft.text.files import Document
from redraft.text.lines import LineIndex

__all__ = ["RetryRequest", "Review", "RunContext", "Verdict", "run"]

_WINDOW: Final = 8  # replies asked for at once, for each that is written at the same time


@dataclass(frozen=True, slots=True)
class RetryRequest:
    """Make the edit again, with this instruction."""

    instruction: str


Verdict: TypeAlias = Literal["yes", "no", "quit"] | RetryRequest

Review: TypeAlias = Callable[[str, Document, TargetResult], Verdict]
"""Asks a person about one edit of the file at that path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContext:
    """Everything that is done with each file. `write` returns each result with its ending."""

    instruction: str
    options: DecodeOptions
    allowed: tuple[Reason, ...] = ()  # as in `EditRequest`
    adds_imports: bool = True
    n_parallel: int = 1
    cache: ReplyCache | None = None
    formatter: Command | None = None
    write: Callable[[FileResult], FileResult] = lambda result: result
    review: Review | None = None
    on_reply: Callable[[Reply], None] = lambda _: None
    cancelled: Callable[[], bool] = lambda: False


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetEdit:
    """A target, the request to edit it, its prompt, and the replies so far: the last one counts.

    `prompt` is a refusal where the request does not fit the model's context.
    """

    target: Target
    request: EditRequest
    prompt: PromptRequest | Refused
    replies: tuple[Reply, ...] = ()

    @property
    def is_cached(self) -> bool:
        """True where all replies were known from an earlier run."""
        return bool(self.replies) and all(reply.is_cached for reply in self.replies)

    @property
    def outcome(self) -> Outcome | EngineError:
        """The outcome of the last reply, its stats those of all replies together."""
        if isinstance(self.prompt, Refused):
            return self.prompt
        # `prompt` is the last one by now: only the last reply was written to it.
        *earlier, completion = (reply.completion for reply in self.replies)
        if isinstance(completion, EngineError):
            return completion
        outcome = outcome_of_reply(self.request, self.prompt.prompt, completion)
        costs = (first.stats for first in earlier if isinstance(first, Completion))
        return replace(outcome, stats=sum(costs, outcome.stats))


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedFile:
    """A file that was read, and the edit to make of each of its targets."""

    file: PlannedFile
    document: Document
    edits: tuple[TargetEdit, ...]


def run(plan: Plan, model: Model, context: RunContext) -> Iterator[FileResult]:
    """Edit the files of `plan` in their order, and yield a result for each.

    Ends early once `context.cancelled`, or the reviewer, says so: then the last file's writes are
    complete, and no other file was touched.
    """
    for window in _group_files(plan.files, context):
        if context.cancelled():
            return
        # Prompts of several files go out together, so that no worker waits at a file's end.
        prepared = [prepare_file(plan.root, file, model, context) for file in window]
        waiting = [file for file in prepared if isinstance(file, PreparedFile)]
        edits = iter(
            reply_with_retries([edit for file in waiting for edit in file.edits], model, context)
        )
        for file in prepared:
            if isinstance(file, FileResult):
                yield context.write(file)
                continue
            replied = replace(file, edits=tuple(islice(edits, len(file.edits))))
            result, goes_on = _FileFinisher(plan.root, replied, model, context).finish()
            if result is not None:
                yield context.write(result)
            if not goes_on:
                return


def _group_files(files: Sequence[PlannedFile], context: RunContext) -> Iterator[list[PlannedFile]]:
    """Yield `files` in groups that keep as many replies busy as can be written at once."""
    is_single = context.n_parallel == 1 or context.review is not None
    n_wanted = 1 if is_single else context.n_parallel * _WINDOW
    group: list[PlannedFile] = []
    for file in files:
        group.append(file)
        if sum(len(member.targets) for member in group) >= n_wanted:
            yield group
            group = []
    if group:
        yield group


def prepare_file(
    root: Path, file: PlannedFile, model: Model, context: RunContext
) -> PreparedFile | FileResult:
    """Read `file` and build its prompts; a failed result where it is not what was planned."""
    try:
        document = files.read(root / file.path)
    except InputError as error:
        return FileResult(path=file.path, state="failed", message=str(error))
    if digest(document.encode()) != file.sha256:
        message = f"{root / file.path} changed since the run began; nothing was written"
        return FileResult(path=file.path, state="failed", message=message)
    edits: list[TargetEdit] = []
    for target in file.targets:
        request = EditRequest(
            path=file.path,
            text=document.text,
            target=target.span,
            instruction=context.instruction,
            language=file.language,
            allowed=context.allowed,
            adds_imports=context.adds_imports,
        )
        prompt = build_prompt_request(request, model, context.options)
        edits.append(TargetEdit(target=target, request=request, prompt=prompt))
    return PreparedFile(file=file, document=document, edits=tuple(edits))


def reply_with_retries(
    edits: Sequence[TargetEdit], model: Model, context: RunContext
) -> list[TargetEdit]:
    """Return `edits` with the model's replies, some of them to a second prompt.

    To name a target costs a few tokens, to show it as many as it has: so targets are named first,
    and shown where `redraft.edit.choose_retry` says that this may mend the first reply.
    """
    edits = _add_replies(edits, model, context)
    # By the index of the edit. All second prompts go out together, after all first ones.
    retries: dict[int, TargetEdit] = {}
    for i, edit in enumerate(edits):
        outcome = edit.outcome
        if isinstance(outcome, EngineError):
            continue
        if choose_retry(edit.request, outcome, is_named_only=True) == "show_target":
            prompt = build_prompt_request(
                edit.request, model, replace(context.options, route="edit")
            )
            # Equal where the first prompt had to show the target already.
            if isinstance(prompt, PromptRequest) and prompt != edit.prompt:
                retries[i] = replace(edit, prompt=prompt)
    # A target counts once for those who watch.
    unwatched = replace(context, on_reply=lambda _: None)
    for i, edit in zip(retries, _add_replies([*retries.values()], model, unwatched), strict=True):
        outcome = edit.outcome
        # A second reply that is refused as well changes nothing. One that was cancelled does: the
        # run was cut short here, and the file is not done with.
        is_refused = isinstance(outcome, Refused) and outcome.reason != "cancelled"
        if not is_refused and not isinstance(outcome, EngineError):
            edits[i] = edit
    return edits


def _add_replies(
    edits: Sequence[TargetEdit], model: Model, context: RunContext
) -> list[TargetEdit]:
    """Return `edits` with one more reply each, but for those whose prompt is a refusal."""
    prompts = [edit.prompt for edit in edits if isinstance(edit.prompt, PromptRequest)]
    replies = iter(
        collect_replies(
            prompts,
            model,
            context.options,
            cache=context.cache,
            n_parallel=context.n_parallel,
            on_reply=context.on_reply,
            cancelled=context.cancelled,
        )
    )
    return [
        replace(edit, replies=(*edit.replies, next(replies)))
        if isinstance(edit.prompt, PromptRequest)
        else edit
        for edit in edits
    ]


class _FileFinisher:
    """Takes one file from the replies to its result."""

    def __init__(
        self, root: Path, prepared: PreparedFile, model: Model, context: RunContext
    ) -> None:
        self._root = root
        self._file = prepared.file
        self._document = prepared.document
        self._edits = prepared.edits
        self._model = model
        self._context = context
        self._index = LineIndex(prepared.document.text)

    def finish(self) -> tuple[FileResult | None, bool]:
        """Return the file's result, and whether the run goes on; None where it was cut short."""
        results: list[TargetResult] = []
        goes_on = True
        for edit in self._edits:
            result = self._judge(edit)
            if isinstance(result, EngineError):
                return self._fail(str(result), results), True
            if isinstance(result.outcome, Refused) and result.outcome.reason == "cancelled":
                return None, False
            if self._context.review and isinstance(result.outcome, Rewritten):
                # Once the person has quit, all that is left of the file is declined.
                if goes_on:
                    result, goes_on = self._review(self._context.review, edit, result)
                else:
                    result = replace(result, outcome=Declined(stats=result.outcome.stats))
            results.append(result)
        return self._merge(results), goes_on

    def _judge(self, edit: TargetEdit) -> TargetResult | EngineError:
        outcome = edit.outcome
        if isinstance(outcome, EngineError):
            return outcome
        span = edit.target.span
        return TargetResult(
            target=edit.target,
            line=self._index.line_at(span.start) + 1,
            last_line=self._index.line_at(max(span.start, span.stop - 1)) + 1,
            outcome=outcome,
            is_cached=edit.is_cached,
        )

    def _review(
        self, review: Review, edit: TargetEdit, result: TargetResult
    ) -> tuple[TargetResult, bool]:
        """Return `result` as the person decides, and whether the run goes on.

        Each new instruction is asked about in turn, until it is accepted or brings no edit.
        """
        while isinstance(result.outcome, Rewritten):
            verdict = review(self._file.path, self._document, result)
            match verdict:
                case "yes":
                    return result, True
                case "no" | "quit":
                    declined = Declined(stats=result.outcome.stats)
                    return replace(result, outcome=declined), verdict == "no"
                case RetryRequest(instruction=instruction):
                    request = replace(edit.request, instruction=instruction)
                    prompt = build_prompt_request(request, self._model, self._context.options)
                    edit = replace(edit, request=request, prompt=prompt, replies=())
                    (edit,) = _add_replies([edit], self._model, self._context)
                    judged = self._judge(edit)
                    if isinstance(judged, EngineError):
                        raise judged
                    result = judged
        return result, True

    def _merge(self, results: list[TargetResult]) -> FileResult:
        """Put the edits of all targets together, as long as the file still parses with them."""
        file, document = self._file, self._document
        rewritten = [
            (result.target.span, result.outcome.replacements)
            for result in results
            if isinstance(result.outcome, Rewritten)
        ]
        replacements = merge_edits(file.language, rewritten)
        text = diff.apply_replacements(document.text, replacements)
        if text == document.text:
            return self._unchanged(results)
        language = file.language
        if language and syntax.parse_errors(text, language) > syntax.parse_errors(
            document.text, language
        ):
            # Each parsed alone, together they do not: one opens a string, say, that another ends.
            message = (
                f"together with the edits of other targets {file.path} would no longer parse as "
                f"{language}; edit them one at a time"
            )
            return self._unchanged(
                [
                    replace(
                        result,
                        outcome=Refused(
                            reason="parse_broken", message=message, stats=result.outcome.stats
                        ),
                    )
                    if isinstance(result.outcome, Rewritten)
                    else result
                    for result in results
                ]
            )
        formatted = self._format(text)
        if isinstance(formatted, InputError):
            return self._fail(str(formatted), results)
        if formatted == document.text:
            return self._unchanged(results)
        results = self._find_callers(results, formatted)
        return replace(self._unchanged(results), state="changed", new_text=formatted)

    def _find_callers(self, results: list[TargetResult], text: str) -> list[TargetResult]:
        """Return `results` with the lines of `text`, all edits made, that they leave behind."""
        found: list[TargetResult] = []
        for result in results:
            outcome = result.outcome
            if isinstance(outcome, Rewritten):
                changed = changed_definitions(
                    self._document.text, outcome.new_text, result.target.span, self._file.language
                )
                callers = find_callers(text, self._file.language, changed)
                found.append(replace(result, outcome=replace(outcome, callers=callers)))
            else:
                found.append(result)
        return found

    def _format(self, text: str) -> str | InputError:
        """Return `text` as the user's formatter prints it."""
        command, path, document = self._context.formatter, self._file.path, self._document
        if command is None:
            return text
        code, stdout, tail = command.run(self._root, path, replace(document, text=text).encode())
        if code or not stdout:
            reason = f"exit code {code}: {tail}" if code else "it printed nothing on stdout"
            return InputError(f"the formatter failed on {path}: {reason}; nothing was written")
        try:
            new = files.decode(stdout, self._root / path)
        except InputError as error:
            return error
        if (new.bom, new.encoding) != (document.bom, document.encoding):
            return InputError(f"the formatter changed the encoding of {path}; nothing was written")
        return new.text

    def _unchanged(self, results: list[TargetResult]) -> FileResult:
        return FileResult(
            path=self._file.path,
            state="unchanged",
            targets=tuple(results),
            document=self._document,
        )

    def _fail(self, message: str, results: list[TargetResult]) -> FileResult:
        return replace(self._unchanged(results), state="failed", message=message)
