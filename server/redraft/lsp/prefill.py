"""Prefilling files in the background, so that an edit begins at once.

A file is due some time after its last change; only the newest text of each is ever prefilled, and
only while the model is loaded anyway: opening a file must not load a model nobody asked for.
Knows documents and the prompt's file part; nothing of edits.
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

# What a usual edit needs beside the file, in tokens. A truncated file is not prefilled, since what
# is left out of it depends on the target.
_REPLY: Final = 1024


class Prefiller:
    """Keeps at most one prefill a document waiting or running.

    `wait_for_settings` waits until the editor's settings are known.
    """

    def __init__(
        self,
        worker: ModelWorker,
        load_settings: Callable[[OpenDocument], Settings],
        wait_for_settings: Callable[[], Awaitable[None]],
    ) -> None:
        self.is_on = True
        self._versions: dict[str, tuple[int, int]] = {}  # by URI: version, and the model's load
        self._worker = worker
        self._load_settings = load_settings
        self._wait_for_settings = wait_for_settings
        self._tasks: dict[str, asyncio.Task[None]] = {}

    @property
    def prefilled_versions(self) -> dict[str, int]:
        """The version of each document that is prefilled in the model as it is loaded now."""
        if self._worker.state != "loaded":
            return {}
        current = self._worker.n_loads
        return {uri: version for uri, (version, load) in self._versions.items() if load == current}

    def schedule(self, document: OpenDocument) -> None:
        """Prefill a document that was opened or changed soon, if the model is loaded."""
        self.forget(document.uri)
        if self.is_on and self._worker.state == "loaded":
            self._start(document, DELAY_S)

    def prefill(self, document: OpenDocument) -> None:
        """Load the model if need be, and prefill the document now."""
        self.forget(document.uri)
        self._start(document, 0)

    def forget(self, uri: str) -> None:
        """Abandon what waits or runs for a document."""
        self._versions.pop(uri, None)
        if task := self._tasks.pop(uri, None):
            task.cancel()

    def _start(self, document: OpenDocument, delay_s: float) -> None:
        def discard(task: asyncio.Task[None]) -> None:
            if self._tasks.get(document.uri) is task:  # else a newer one has its place
                del self._tasks[document.uri]

        task = self._tasks[document.uri] = asyncio.create_task(self._run(document, delay_s))
        task.add_done_callback(discard)

    async def _run(self, document: OpenDocument, delay_s: float) -> None:
        await asyncio.sleep(delay_s)
        await self._wait_for_settings()
        request = EditRequest(
            path=document.display_path,
            text=document.text,
            target=Span(0, 0),
            instruction="-",  # no part of what is prefilled
            language=document.language,
        )

        def work(model: LanguageModel, cancelled: Callable[[], bool]) -> bool:
            prompt = build_prompt(request, model, max_tokens=_REPLY)
            if isinstance(prompt, Prompt) and not prompt.notes:
                exactness = settings.decode_options.exactness
                model.prefill(prompt.file, exactness=exactness, cancelled=cancelled)
            return not cancelled()

        try:
            settings = self._load_settings(document)
            is_done = False
            # A request interrupts it. What is prefilled by then stays, and it goes on from there.
            while not is_done:
                job = self._worker.background(settings, work)
                try:
                    is_done = await asyncio.wrap_future(job.future)
                finally:
                    job.cancel()
        except RedraftError as error:
            # Only logged: the user did not ask for it, and the next edit shows the same error.
            log.warning("a document was not prefilled: %s", error)
            return
        self._versions[document.uri] = (document.version, self._worker.n_loads)
