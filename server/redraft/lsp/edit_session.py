"""One edit from the command to its ending, and which edits are under way.

The newest edit of a document replaces the one before it. An edit is computed on a snapshot; what
is sent refers to the document as it is by then, or nothing is sent.
"""

import asyncio
import itertools
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams, JsonRpcRequestCancelled

from redraft.config.settings import Settings
from redraft.edit import rewrite
from redraft.errors import ModelError, RedraftError
from redraft.lsp import contract, responses
from redraft.lsp.client import Client, WorkDoneProgress
from redraft.lsp.contract import EditProgress, EditResult, Ending, TracedEdit
from redraft.lsp.documents import Documents, OpenDocument, Snapshot, path_of, shift, text_edits
from redraft.lsp.model_worker import LanguageModel, ModelWorker
from redraft.lsp.params import EditCommand, edit_params, target_of
from redraft.lsp.server_config import ServerConfig
from redraft.records import (
    Completion,
    EditRequest,
    Outcome,
    Progress,
    Refused,
    Rewritten,
    Unchanged,
)

__all__ = ["EditSessions", "RunningEdit", "throttled"]

_TRIES: Final = 3  # of an edit that the client refuses because it is a change ahead
_SETTLE_S: Final = 0.5  # for that change to arrive


_REPORT_S: Final = 0.1  # between two progress reports


@dataclass(kw_only=True, eq=False)
class RunningEdit:
    """An edit under way. `reason` says why it was cancelled, if it was."""

    id: str
    asked: EditCommand
    document: OpenDocument
    snapshot: Snapshot
    bar: WorkDoneProgress
    began: float = field(default_factory=time.monotonic)
    task: asyncio.Task[EditResult] | None = None
    reason: str = ""
    is_sent: bool = False  # what was sent cannot be called back
    _progress: Progress | None = None
    _decode_began: tuple[float, int] | None = None  # when, and how many tokens there were

    @property
    def label(self) -> str:
        """What the editor's undo list calls the edit."""
        first_line = self.asked.instruction.strip().partition("\n")[0]
        return f"redraft: {self.asked.title or first_line[:60]}"

    @property
    def standing(self) -> EditProgress:
        """How far it is, in the names of the wire."""
        progress = self._progress
        return {
            "id": self.id,
            "uri": self.document.uri,
            "phase": progress.phase if progress else "waiting",
            "done": progress.done if progress else 0,
            "expected": progress.expected if progress else 0,
            "tokensPerSecond": self._speed(),
        }

    def ended(self, task: asyncio.Task[EditResult]) -> TracedEdit:
        """How it ended and what it cost; `task` is its own, and done."""
        outcome: Ending = "cancelled"
        how: Mapping[str, Any] = {}
        if not task.cancelled():
            error = task.exception()
            how = task.result() if error is None else getattr(error, "data", None) or {}
            outcome = "failed" if error else task.result()["outcome"]
        return {
            **self.standing,
            "outcome": outcome,
            "reason": how.get("reason"),
            "seconds": time.monotonic() - self.began,
            "stats": how.get("stats"),
        }

    def cancel(self, reason: str) -> None:
        """End it, unless the client has the edit already."""
        if self.task and not self.is_sent:
            self.reason = self.reason or reason
            self.task.cancel()

    def note(self, progress: Progress) -> None:
        """Take in and display where the model is."""
        if progress.phase == "decode" and self._decode_began is None:
            self._decode_began = (time.monotonic(), progress.done)
        self._progress = progress
        self.bar.report(_percentage(progress), self._told(progress))

    def _speed(self) -> float:
        """Tokens a second since the first report of decoding."""
        if self._progress is None or self._decode_began is None:
            return 0.0
        since, n_then = self._decode_began
        spent = time.monotonic() - since
        return max(0, self._progress.done - n_then) / spent if spent else 0.0

    def _told(self, progress: Progress) -> str:
        if progress.phase == "prefill":
            return f"reading, {progress.done} of {progress.expected} tokens"
        speed = self._speed()
        more = f", {speed:.0f} tokens/s" if speed else ""
        return f"writing, {progress.done} of about {progress.expected} tokens{more}"


def throttled(report: Callable[[Progress], object]) -> Callable[[Progress], None]:
    """`report`, but only now and then; the first step of each phase at once."""
    last = 0.0
    phase = ""

    def relay(progress: Progress) -> None:
        nonlocal last, phase
        now = time.monotonic()
        if progress.phase != phase or now - last >= _REPORT_S:
            last, phase = now, progress.phase
            report(progress)

    return relay


def _percentage(progress: Progress) -> int:
    """Reading counts for a third: nobody knows beforehand how long the two phases take."""
    share = min(1.0, progress.done / max(1, progress.expected))
    return round(33 * share if progress.phase == "prefill" else 33 + 66 * share)


class EditSessions:
    """Answers `redraft.edit`.

    `offer_model` may fetch a model that is missing; `settled` waits until the settings are known;
    `on_change` is called when an edit began or ended.
    """

    def __init__(
        self,
        *,
        client: Client,
        documents: Documents,
        config: ServerConfig,
        worker: ModelWorker,
        offer_model: Callable[[Settings], Awaitable[bool]],
        settled: Callable[[], Awaitable[None]],
        on_change: Callable[[], object],
    ) -> None:
        self._client = client
        self._documents = documents
        self._config = config
        self._worker = worker
        self._offer_model = offer_model
        self._settled = settled
        self._on_change = on_change
        self._running: dict[str, RunningEdit] = {}
        self._numbers = itertools.count(1)
        self.trace: deque[contract.TracedEdit] = deque(maxlen=20)  # how the last edits ended
        self.last: Completion | None = None  # what the model wrote last, and in which passes

    async def answer(self, params: types.ExecuteCommandParams) -> contract.EditAnswer:
        """Begin the edit and, unless told not to wait, see it through."""
        asked = edit_params(params.arguments)
        edit = self._begin(asked, params.work_done_token)
        edit.task = asyncio.create_task(self._performed(edit))
        edit.task.add_done_callback(lambda task: self._over(edit, task))
        if asked.wait:
            return await self._ended(edit)
        edit.task.add_done_callback(self._tell)
        return {"id": edit.id, "uri": asked.uri, "outcome": "started"}

    def cancel(
        self,
        reason: str,
        *,
        id: str | None = None,  # noqa: A002 - its name on the wire
        uri: str | None = None,
    ) -> int:
        """Cancel the edits that fit all that is given; says how many that were."""
        fitting = [
            edit
            for edit in self._running.values()
            if id in (None, edit.id) and uri in (None, edit.document.uri)
        ]
        for edit in fitting:
            edit.cancel(reason)
        return len(fitting)

    @property
    def running(self) -> list[contract.EditProgress]:
        """Where each edit stands, for `redraft.status`."""
        return [edit.standing for edit in self._running.values()]

    def _begin(self, asked: EditCommand, token: str | int | None) -> RunningEdit:
        document = self._documents.get(asked.uri)
        if document is None:
            raise JsonRpcInvalidParams(f"{asked.uri} is not open")
        if asked.version not in (None, document.version):
            raise responses.modified(
                f"version {asked.version} was asked for, but the document is at version "
                f"{document.version}; ask again"
            )
        if asked.id in self._running:
            raise JsonRpcInvalidParams(f"an edit with the id {asked.id!r} is under way")
        self.cancel("replaced by a newer edit of this document", uri=asked.uri)
        own = asked.id or f"redraft-{next(self._numbers)}"
        edit = RunningEdit(
            id=own,
            asked=asked,
            document=document,
            snapshot=document.snapshot(),
            bar=self._client.bar(asked.title or "Editing", token=f"redraft/{own}", given=token),
        )
        edit.bar.on_cancel = lambda: edit.cancel("cancelled")
        self._running[own] = edit
        self._on_change()
        return edit

    async def _ended(self, edit: RunningEdit) -> contract.EditResult:
        """The ending, whoever cancels what. Raises the error to answer with."""
        assert edit.task  # noqa: S101 - for mypy: set right after the edit began
        while True:
            try:
                return await asyncio.shield(edit.task)
            except asyncio.CancelledError:  # noqa: PERF203 - a second round is rare
                if edit.task.cancelled():
                    raise JsonRpcRequestCancelled(edit.reason or "cancelled") from None
                # The client cancelled its request; an edit that was sent still has its ending.
                edit.cancel("cancelled by the client")

    def _over(self, edit: RunningEdit, task: asyncio.Task[contract.EditResult]) -> None:
        """Account for an edit that has ended; one may be cancelled before it did anything."""
        traced = edit.ended(task)
        del self._running[edit.id]
        edit.bar.end(traced["outcome"])
        self.trace.append(traced)
        self._on_change()

    async def _performed(self, edit: RunningEdit) -> contract.EditResult:
        await self._settled()
        try:
            # Files are read and the text is parsed: not on the loop.
            request, settings = await asyncio.to_thread(self._prepared, edit)
            try:
                outcome = await self._decoded(edit, request, settings)
            except ModelError:
                if not await self._offer_model(settings):
                    raise
                outcome = await self._decoded(edit, request, settings)
        except RedraftError as error:
            raise responses.failed(str(error)) from error
        return await self._answer_to(outcome, edit, request)

    def _prepared(self, edit: RunningEdit) -> tuple[EditRequest, Settings]:
        document, snapshot = edit.document, edit.snapshot
        language = document.language
        target = target_of(edit.asked, snapshot.index, language, self._client.unit)
        request = EditRequest(
            path=document.shown_path,
            text=snapshot.text,
            target=target,
            instruction=edit.asked.instruction,
            language=language,
        )
        return request, self._config.settings(path_of(document.uri))

    async def _decoded(
        self, edit: RunningEdit, request: EditRequest, settings: Settings
    ) -> Outcome:
        loop = asyncio.get_running_loop()
        relay = throttled(lambda progress: loop.call_soon_threadsafe(self._report, edit, progress))

        def work(model: LanguageModel, cancelled: Callable[[], bool]) -> Outcome:
            options = settings.decode_options
            return rewrite(
                request,
                model,
                options,
                on_progress=relay,
                on_completion=self._keep,
                cancelled=cancelled,
            )

        job = self._worker.request(settings, work)
        try:
            return await asyncio.wrap_future(job.future)
        finally:
            job.cancel()

    async def _answer_to(
        self, outcome: Outcome, edit: RunningEdit, request: EditRequest
    ) -> contract.EditResult:
        if isinstance(outcome, Refused):
            if outcome.reason == "cancelled":
                raise asyncio.CancelledError
            raise responses.refused(outcome)
        ended: contract.EndedEdit = {
            "id": edit.id,
            "uri": edit.document.uri,
            "notes": list(outcome.notes),
            "stats": responses.stats_of(outcome.stats),
        }
        if isinstance(outcome, Unchanged):
            unchanged: contract.EditDone = {**ended, "outcome": "unchanged"}
            return unchanged
        if edit.asked.preview:
            replacements, proposed = self._proposal(edit, request, outcome)
            preview: contract.EditPreview = {
                **ended,
                "outcome": "preview",
                "edit": proposed,
                "edits": text_edits(replacements, edit.document.index, self._client.unit),
                "version": edit.document.version,
            }
            return preview
        await self._apply(edit, request, outcome)
        applied: contract.EditDone = {**ended, "outcome": "applied"}
        return applied

    async def _apply(self, edit: RunningEdit, request: EditRequest, outcome: Rewritten) -> None:
        if not self._client.can("workspace.apply_edit"):
            raise responses.failed("this editor takes no edits from a server; ask for a preview")
        reason = ""
        for _ in range(_TRIES):
            _, proposed = self._proposal(edit, request, outcome)
            version = edit.document.version
            edit.is_sent = True
            is_applied, reason = await self._client.apply(proposed, edit.label)
            if is_applied:
                return
            edit.is_sent = False
            if not await _changes(edit.document, version):
                break
        raise responses.failed(f"the editor did not apply the edit{': ' if reason else ''}{reason}")

    def _proposal(
        self, edit: RunningEdit, request: EditRequest, outcome: Rewritten
    ) -> tuple[tuple[Any, ...], types.WorkspaceEdit]:
        """The edit of the document as it is now. Raises -32801 where its target was changed."""
        place = edit.document.place(request.target, edit.snapshot)
        if place is None:
            raise responses.modified(
                "the code being edited was changed meanwhile; nothing was applied. Ask again"
            )
        moved = shift(outcome.replacements, place.start - request.target.start)
        confirm = self._config.editor.confirm
        proposed = self._client.workspace_edit(edit.document, moved, edit.label, confirm=confirm)
        return moved, proposed

    def _keep(self, completion: Completion) -> None:
        self.last = completion

    def _report(self, edit: RunningEdit, progress: Progress) -> None:
        if edit.id not in self._running:
            return
        edit.note(progress)
        if edit.asked.partial:
            partial: contract.Partial = {**edit.standing, "text": progress.text}
            self._client.notify(contract.PARTIAL_NOTIFICATION, partial)

    def _tell(self, task: asyncio.Task[contract.EditResult]) -> None:
        """Tell the user how an edit ended that nobody waits for."""
        if task.cancelled():
            return
        error = task.exception()
        if isinstance(error, JsonRpcException):
            self._client.show(types.MessageType.Warning, error.message)
        elif error:
            self._client.show(types.MessageType.Error, f"internal error: {error!r}")
        else:
            said = task.result()["notes"]
            if task.result()["outcome"] == "unchanged":
                said = [*said, "no changes"]
            for note in said:
                self._client.show(types.MessageType.Info, note)


async def _changes(document: OpenDocument, version: int) -> bool:
    """Whether a change that the client had already made arrives."""
    deadline = time.monotonic() + _SETTLE_S

    while document.version == version and time.monotonic() < deadline:  # noqa: ASYNC110
        await asyncio.sleep(_SETTLE_S / 20)
    return document.version != version
