"""Prefilling files in the background, so that an edit begins at once.

A file is due some time after its last change; only the newest text of each is ever prefilled, and
only while the model is loaded anyway: opening a file must not load a model nobody asked for.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from redraft.config.settings import Settings
from redraft.errors import RedraftError
from redraft.lsp.documents import OpenDocument
from redraft.lsp.model_worker import LanguageModel, ModelWorker
from redraft.prompting.build import build_prompt
from redraft.records import EditRequest, Prompt, Span

__all__ = ["Prefiller"]

log = logging.getLogger("redraft.lsp")

DELAY_S: Final = 0.6  # after a change: longer than between two key presses

# What a usual edit needs beside the file, in tokens. An abridged file is not prefilled, since what
# is left out of it depends on the target.
_REPLY: Final = 1024


class Prefiller:
    """Keeps at most one prefill a document waiting or running.

    `settled` waits until the settings are known.
    """

    def __init__(
        self,
        worker: ModelWorker,
        settings_of: Callable[[OpenDocument], Settings],
        settled: Callable[[], Awaitable[None]],
    ) -> None:
        self.is_on = True
        self._prefilled: dict[str, tuple[int, int]] = {}  # URI to version and the model's load
        self._worker = worker
        self._settings_of = settings_of
        self._settled = settled
        self._due: dict[str, asyncio.Task[None]] = {}

    @property
    def warm(self) -> dict[str, int]:
        """The version of each document that is prefilled in the model as it is loaded now."""
        if self._worker.state != "loaded":
            return {}
        now = self._worker.n_loads
        return {uri: version for uri, (version, load) in self._prefilled.items() if load == now}

    def touch(self, document: OpenDocument) -> None:
        """The document was opened or changed: prefill it soon, if the model is loaded."""
        self.forget(document.uri)
        if self.is_on and self._worker.state == "loaded":
            self._start(document, DELAY_S)

    def now(self, document: OpenDocument) -> None:
        """Load the model if need be and prefill the document."""
        self.forget(document.uri)
        self._start(document, 0)

    def forget(self, uri: str) -> None:
        """Abandon what waits or runs for a document."""
        self._prefilled.pop(uri, None)
        if task := self._due.pop(uri, None):
            task.cancel()

    def _start(self, document: OpenDocument, delay_s: float) -> None:
        task = asyncio.create_task(self._warmed(document, delay_s))
        self._due[document.uri] = task
        task.add_done_callback(lambda _: self._done(document.uri, task))

    def _done(self, uri: str, task: asyncio.Task[None]) -> None:
        if self._due.get(uri) is task:
            del self._due[uri]

    async def _warmed(self, document: OpenDocument, delay_s: float) -> None:
        await asyncio.sleep(delay_s)
        await self._settled()
        request = EditRequest(
            path=document.shown_path,
            text=document.text,
            target=Span(0, 0),
            instruction="-",
            language=document.language,
        )
        try:
            settings = self._settings_of(document)
            while not await self._once(request, settings):
                pass  # a request interrupted it; what is prefilled so far stays
        except RedraftError as error:
            # The edit that follows will tell the user.
            log.warning("a document was not prefilled: %s", error)
            return
        self._prefilled[document.uri] = (document.version, self._worker.n_loads)

    async def _once(self, request: EditRequest, settings: Settings) -> bool:
        def work(model: LanguageModel, cancelled: Callable[[], bool]) -> bool:
            asked = build_prompt(request, model, max_tokens=_REPLY)
            if isinstance(asked, Prompt) and not asked.notes:
                exactness = settings.decode_options.exactness
                model.prefill(asked.file, exactness=exactness, cancelled=cancelled)
            return not cancelled()

        job = self._worker.background(settings, work)
        try:
            return await asyncio.wrap_future(job.future)
        finally:
            job.cancel()
