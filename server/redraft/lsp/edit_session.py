"""One edit from the command to its end, and which edits run.

Edits of one document run side by side and are made one after the other, as long as each has a
target of its own; of two that overlap, the user decides which one goes on. An edit is computed on a
snapshot; what is sent refers to the document as it is by then, or nothing is sent. Knows nothing of
prompts or replies: `redraft.edit.rewrite` makes an edit, on the model's thread.
"""

import asyncio
import functools
import itertools
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams, JsonRpcRequestCancelled

from redraft.config.settings import Settings
from redraft.edit import rewrite
from redraft.errors import InputError, ModelError, RedraftError
from redraft.lsp import contract, responses
from redraft.lsp.client import Client, WorkDoneProgress
from redraft.lsp.documents import (
    Documents,
    OpenDocument,
    Snapshot,
    path_from_uri,
    to_range,
    to_text_edits,
)
from redraft.lsp.model_worker import LanguageModel, ModelWorker
from redraft.lsp.params import (
    EditCommand,
    Place,
    describe_target,
    find_target,
    list_alternatives,
    parse_edit,
    parse_place,
)
from redraft.lsp.server_config import ServerConfig
from redraft.records import (
    Completion,
    EditRequest,
    Outcome,
    Progress,
    Refused,
    Rewritten,
    Span,
    Unchanged,
)
from redraft.text.diff import apply_replacements

__all__ = ["EditSessions", "RunningEdit", "throttle"]

_REPORT_S: Final = 0.1  # between two progress reports
_TRIES: Final = 3  # of an edit that the client refuses because it is a change ahead
_CHANGE_S: Final = 0.5  # for that change to arrive
_REPLACE: Final = "Replace"
_ANOTHER: Final = "Another version"
_TRACED: Final = 20  # edits that `redraft.showTrace` tells of


@dataclass(kw_only=True, eq=False)
class RunningEdit:
    """An edit that runs: what it is about and how far it is.

    `cancel_reason` says why it was cancelled, if it was. Times in seconds of the monotonic clock.
    """

    id: str
    command: EditCommand
    document: OpenDocument
    snapshot: Snapshot
    display: WorkDoneProgress
    began: float = field(default_factory=time.monotonic)
    target: Span | None = None  # in the snapshot; None until it was looked for
    task: asyncio.Task[contract.EditResult] | None = None
    cancel_reason: str = ""
    is_sent: bool = False  # to the client: it cannot be cancelled any more
    _latest: Progress | None = None
    _decode_began: tuple[float, int] | None = None  # when, and how many tokens there were

    @property
    def name(self) -> str:
        """What the user asked for, in a few words."""
        first_line = self.command.instruction.strip().partition("\n")[0]
        return self.command.title or first_line[:60]

    @property
    def label(self) -> str:
        """The edit's name in the editor's undo list."""
        return f"redraft: {self.name}"

    @property
    def place(self) -> Span | None:
        """Where the target lies now; None where that is unknown, or it was changed."""
        return self.target and self.document.locate(self.target, self.snapshot)

    def overlaps(self, other: "RunningEdit") -> bool:
        """Return True where both are about the same code of the same document."""
        if self.document is not other.document:
            return False
        place, other_place = self.place, other.place
        if place is None or other_place is None:
            return False
        start = max(place.start, other_place.start)
        stop = min(place.stop, other_place.stop)
        return start < stop or place in other_place or other_place in place

    @property
    def progress(self) -> contract.EditProgress:
        """The progress of the edit, in the names of the wire."""
        latest = self._latest
        return {
            "id": self.id,
            "uri": self.document.uri,
            "phase": latest.phase if latest else "waiting",
            "done": latest.done if latest else 0,
            "expected": latest.expected if latest else 0,
            "tokensPerSecond": self._measure_speed(),
        }

    def trace(self, task: asyncio.Task[contract.EditResult]) -> contract.TracedEdit:
        """Return how the edit ended and what it cost; `task` is its own, and done."""
        outcome: contract.Ending = "cancelled"
        details: Mapping[str, Any] = {}
        if not task.cancelled():
            error = task.exception()
            details = task.result() if error is None else getattr(error, "data", None) or {}
            outcome = "failed" if error else task.result()["outcome"]
        return {
            **self.progress,
            "outcome": outcome,
            "reason": details.get("reason"),
            "seconds": time.monotonic() - self.began,
            "stats": details.get("stats"),
        }

    def cancel(self, reason: str) -> bool:
        """End the edit, unless the client has it already; return True where it ends."""
        if self.task is None or self.is_sent:
            return False
        self.cancel_reason = self.cancel_reason or reason
        self.task.cancel()
        return True

    def update(self, progress: Progress) -> None:
        """Take in and display where the model is."""
        self._latest = progress
        share = min(1.0, progress.done / max(1, progress.expected))
        # Reading counts for a third: nobody knows beforehand how long the two phases take.
        if progress.phase == "prefill":
            message = f"reading, {progress.done} of {progress.expected} tokens"
            self.display.report(round(33 * share), message)
            return
        if self._decode_began is None:
            self._decode_began = (time.monotonic(), progress.done)
        message = f"writing, {progress.done} of about {progress.expected} tokens"
        if speed := self._measure_speed():
            message += f", {speed:.0f} tokens/s"
        self.display.report(round(33 + 66 * share), message)

    def _measure_speed(self) -> float:
        """Return the tokens a second since the first report of decoding; 0 before."""
        if self._latest is None or self._decode_began is None:
            return 0.0
        since, n_then = self._decode_began
        seconds = time.monotonic() - since
        return max(0, self._latest.done - n_then) / seconds if seconds else 0.0


class EditSessions:
    """Answers `redraft.edit`.

    `offer_model` may fetch a model that is missing and returns True where it did;
    `wait_for_settings` waits until the editor's settings are known; `on_change` is called when an
    edit began or ended.
    """

    def __init__(
        self,
        *,
        client: Client,
        documents: Documents,
        config: ServerConfig,
        worker: ModelWorker,
        offer_model: Callable[[Settings], Awaitable[bool]],
        wait_for_settings: Callable[[], Awaitable[None]],
        on_change: Callable[[], object],
    ) -> None:
        self._client = client
        self._documents = documents
        self._config = config
        self._worker = worker
        self._offer_model = offer_model
        self._wait_for_settings = wait_for_settings
        self._on_change = on_change
        self._running: dict[str, RunningEdit] = {}
        self._numbers = itertools.count(1)
        # Targets are found in the order of the requests: of two that overlap, the newer one asks.
        self._finding_target = asyncio.Lock()
        self._offers: set[asyncio.Task[None]] = set()  # of another version, while one is pending
        self.trace: deque[contract.TracedEdit] = deque(maxlen=_TRACED)  # the newest last
        self.last_completion: Completion | None = None  # the model's last reply, with its passes

    async def run(self, params: types.ExecuteCommandParams) -> contract.EditAnswer:
        """Begin the edit and, unless `wait` is false, see it through.

        Raises the JSON-RPC error to answer with where there is no edit.
        """
        command = parse_edit(params.arguments)
        edit, task = self._begin(command, params.work_done_token)
        if not command.wait:
            return {"id": edit.id, "uri": command.uri, "outcome": "started"}
        while True:
            # Shielded, because cancelling the request must not cut off an edit that was sent.
            try:
                return await asyncio.shield(task)
            except asyncio.CancelledError:  # noqa: PERF203 - a second round is rare
                if task.cancelled():
                    raise JsonRpcRequestCancelled(edit.cancel_reason or "cancelled") from None
                # The client cancelled its request. An edit that was sent to it goes on: wait for
                # its end, which is the answer.
                edit.cancel("cancelled by the client")

    def _begin(
        self, command: EditCommand, token: str | int | None
    ) -> tuple[RunningEdit, asyncio.Task[contract.EditResult]]:
        """Begin the edit, whose end is shown to the user where no request waits for it."""
        edit = self._register(command, token)

        # A callback and no `finally` in the task: a task may be cancelled before it does anything.
        def finish(task: asyncio.Task[contract.EditResult]) -> None:
            traced = edit.trace(task)
            del self._running[edit.id]
            edit.display.end(traced["outcome"])
            self.trace.append(traced)
            self._on_change()

        edit.task = task = asyncio.create_task(self._perform(edit))
        task.add_done_callback(finish)
        if not command.wait:
            task.add_done_callback(functools.partial(self._show_ending, command))
        return edit, task

    def cancel(
        self,
        reason: str,
        *,
        id: str | None = None,  # noqa: A002 - its name on the wire
        uri: str | None = None,
    ) -> int:
        """Cancel the edits that fit all that is given; return how many end by that."""
        edits = [
            edit
            for edit in self._running.values()
            if id in (None, edit.id) and uri in (None, edit.document.uri)
        ]
        return sum(edit.cancel(reason) for edit in edits)

    @property
    def running(self) -> list[contract.EditProgress]:
        """The progress of each edit, for `redraft.status`."""
        return [edit.progress for edit in self._running.values()]

    async def find_target(self, params: types.ExecuteCommandParams) -> contract.FoundTargets:
        """Say what an edit at a place would change, or what can be chosen instead."""
        place = parse_place(params.arguments)
        document = self._find_document(place)
        index, language, unit = document.index, document.language, self._client.unit

        def find() -> contract.FoundTargets:
            problem = None
            try:
                spans: tuple[Span, ...] = (find_target(place, index, language, unit),)
            except InputError as error:
                problem, spans = str(error), list_alternatives(place, index, unit)
            return {
                "problem": problem,
                "targets": [
                    {
                        "name": describe_target(span, index, language),
                        "range": to_range(span, index, unit),
                        # Lines that the user chose are meant, and not a function that they are in.
                        "scope": "selection" if problem else place.scope,
                    }
                    for span in spans
                ],
            }

        # The text is parsed: not on the loop.
        return await asyncio.to_thread(find)

    def _find_document(self, place: Place) -> OpenDocument:
        """Return the document of `place`; raise the error to answer with where it is another."""
        document = self._documents.get(place.uri)
        if document is None:
            raise JsonRpcInvalidParams(f"{place.uri} is not open")
        if not document.is_known:
            raise responses.failed_error(responses.describe_unknown(document))
        if place.version not in (None, document.version):
            raise responses.stale_error(
                f"version {place.version} was asked for, but the document is at version "
                f"{document.version}; ask again"
            )
        return document

    def _register(self, command: EditCommand, token: str | int | None) -> RunningEdit:
        document = self._find_document(command)
        if command.id in self._running:
            raise JsonRpcInvalidParams(f"an edit with the id {command.id!r} is running already")
        id_ = command.id or f"redraft-{next(self._numbers)}"
        edit = RunningEdit(
            id=id_,
            command=command,
            document=document,
            snapshot=document.snapshot(),
            display=self._client.begin_progress(
                command.title or "Editing", token=f"redraft/{id_}", client_token=token
            ),
        )
        edit.display.on_cancel = lambda: edit.cancel("cancelled")
        self._running[id_] = edit
        self._on_change()
        return edit

    async def _perform(self, edit: RunningEdit) -> contract.EditResult:
        await self._wait_for_settings()
        document = edit.document

        def build_request() -> tuple[EditRequest, Settings]:
            language = document.language
            index = edit.snapshot.index
            settings = self._config.load_settings(path_from_uri(document.uri))
            request = EditRequest(
                path=document.display_path,
                text=index.text,
                target=find_target(edit.command, index, language, self._client.unit),
                instruction=edit.command.instruction,
                language=language,
                adds_imports=settings.imports,
                wants_another_version=edit.command.another_version,
            )
            return request, settings

        try:
            # Files are read and the text is parsed: not on the loop.
            async with self._finding_target:
                request, settings = await asyncio.to_thread(build_request)
                edit.target = request.target
                overlapping = [
                    other
                    for other in self._running.values()
                    if other is not edit and edit.overlaps(other)
                ]
            if overlapping:
                await self._replace(overlapping, edit)
            try:
                outcome = await self._decode(edit, request, settings)
            except ModelError:
                # The model may not be on this machine yet: the user decides whether to fetch it.
                if not await self._offer_model(settings):
                    raise
                outcome = await self._decode(edit, request, settings)
        except RedraftError as error:
            raise responses.failed_error(str(error)) from error
        return await self._deliver(outcome, edit, request)

    async def _replace(self, others: list[RunningEdit], edit: RunningEdit) -> None:
        """Cancel `others`, or this task: the user decides which edit of the same code goes on."""
        message = f'"{others[0].name}" is changing the same code. Replace it?'
        if await self._client.choose(message, (_REPLACE, "Keep")) != _REPLACE:
            edit.cancel_reason = "an edit of the same code goes on"
            raise asyncio.CancelledError
        for other in others:
            other.cancel("replaced by a newer edit of the same code")

    async def _decode(self, edit: RunningEdit, request: EditRequest, settings: Settings) -> Outcome:
        """Have the model rewrite the target, on its thread; progress is reported on the loop's."""
        loop = asyncio.get_running_loop()

        def report(progress: Progress) -> None:
            if edit.id not in self._running:  # it ended while this report was on its way
                return
            edit.update(progress)
            if edit.command.partial:
                partial: contract.Partial = {**edit.progress, "text": progress.text}
                self._client.notify(contract.PARTIAL_NOTIFICATION, partial)

        def keep(completion: Completion) -> None:
            self.last_completion = completion

        def work(model: LanguageModel, cancelled: Callable[[], bool]) -> Outcome:
            return rewrite(
                request,
                model,
                settings.decode_options,
                on_progress=throttle(lambda p: loop.call_soon_threadsafe(report, p)),
                on_completion=keep,
                cancelled=cancelled,
            )

        job = self._worker.request(settings, work)
        try:
            return await asyncio.wrap_future(job.future)
        finally:
            job.cancel()  # cancelling this task has to stop the model, too

    async def _deliver(
        self, outcome: Outcome, edit: RunningEdit, request: EditRequest
    ) -> contract.EditResult:
        """Return the answer; an edit that was not asked for as a preview is applied first."""
        if isinstance(outcome, Refused):
            if outcome.reason == "cancelled":
                raise asyncio.CancelledError
            raise responses.refused_error(outcome, self._preview_withheld(outcome, edit, request))
        if isinstance(outcome, Unchanged):
            return {**_end(edit, outcome), "outcome": "unchanged"}
        if edit.command.preview:
            return self._build_preview(outcome, edit, request)
        return await self._apply(outcome, edit, request)

    def _build_preview(
        self, outcome: Rewritten, edit: RunningEdit, request: EditRequest
    ) -> contract.EditPreview:
        """Return the edit of the document as it is now. Raises -32801 if its places changed."""
        document, unit = edit.document, self._client.unit
        target = document.locate(request.target, edit.snapshot)
        replacements = document.place(outcome.replacements, request.target, edit.snapshot)
        if target is None or replacements is None:
            raise responses.stale_error(
                "the code being edited was changed meanwhile; nothing was applied. Ask again"
            )
        confirm = self._config.editor.confirm
        return {
            **_end(edit, outcome),
            "callers": responses.convert_callers(
                outcome, apply_replacements(document.text, replacements), unit
            ),
            "outcome": "preview",
            "edit": self._client.build_workspace_edit(
                document, replacements, edit.label, confirm=confirm
            ),
            "edits": to_text_edits(replacements, document.index, unit),
            "target": to_range(target, document.index, unit),
            "version": document.version,
        }

    def _preview_withheld(
        self, outcome: Refused, edit: RunningEdit, request: EditRequest
    ) -> contract.EditPreview | None:
        """Return the edit that was refused; None where there is none, or nobody waits to see it."""
        if outcome.withheld is None or not edit.command.wait:
            return None
        try:
            return self._build_preview(outcome.withheld, edit, request)
        except JsonRpcException:  # stale: the reason of the refusal is what the user wants to know
            return None

    async def _apply(
        self, outcome: Rewritten, edit: RunningEdit, request: EditRequest
    ) -> contract.EditDone:
        """Have the client apply the edit. Raises -32803 where it does not."""
        reason = ""
        for _ in range(_TRIES):
            preview = self._build_preview(outcome, edit, request)
            edit.is_sent = True
            is_applied, reason = await self._client.apply_edit(preview["edit"], edit.label)
            if is_applied:
                return {
                    **_end(edit, outcome),
                    "callers": preview["callers"],
                    "outcome": "applied",
                }
            edit.is_sent = False
            # The user may have typed before the edit reached the client, which refuses an edit of
            # a version that is not its own. Try again once that change has arrived here.
            version = preview["version"]
            deadline = time.monotonic() + _CHANGE_S
            while edit.document.version == version and time.monotonic() < deadline:  # noqa: ASYNC110
                await asyncio.sleep(_CHANGE_S / 20)
            if edit.document.version == version:
                break
        message = f"the editor did not apply the edit{': ' if reason else ''}{reason}"
        raise responses.failed_error(message)

    def _show_ending(self, command: EditCommand, task: asyncio.Task[contract.EditResult]) -> None:
        """Show the user how an edit ended that no request waits for."""
        if task.cancelled():
            return
        error = task.exception()
        if isinstance(error, JsonRpcException):
            self._client.show(types.MessageType.Warning, error.message)
        elif error:
            self._client.show(types.MessageType.Error, f"internal error: {error!r}")
        else:
            for note in task.result()["notes"]:
                self._client.show(types.MessageType.Info, note)
            if task.result()["outcome"] == "unchanged":
                self._show_unchanged(command)

    def _show_unchanged(self, command: EditCommand) -> None:
        """Say that there is no change, and offer another version unless this was one."""
        if command.another_version:
            self._client.show(types.MessageType.Info, "no changes")
            return

        async def offer() -> None:
            if await self._client.choose("no changes", (_ANOTHER,)) != _ANOTHER:
                return
            try:
                self._begin(replace(command, another_version=True, id=None), None)
            except JsonRpcException as error:  # such as for a place that has moved since
                self._client.show(types.MessageType.Warning, error.message)

        task = asyncio.create_task(offer())
        self._offers.add(task)
        task.add_done_callback(self._offers.discard)


def _end(edit: RunningEdit, outcome: Rewritten | Unchanged) -> contract.EndedEdit:
    """Return the part of the answer that every edit that has ended has."""
    return {
        "id": edit.id,
        "uri": edit.document.uri,
        "notes": list(outcome.notes),
        "callers": [],
        "stats": responses.convert_stats(outcome.stats),
    }


def throttle(report: Callable[[Progress], object]) -> Callable[[Progress], None]:
    """Return `report` called only now and then; the first step of each phase at once."""
    last = 0.0
    phase = ""

    def relay(progress: Progress) -> None:
        nonlocal last, phase
        now = time.monotonic()
        if progress.phase != phase or now - last >= _REPORT_S:
            last, phase = now, progress.phase
            report(progress)

    return relay
