"""A model that is not on this machine: offering the download, and doing it.

The only place of the server that leads to the network, and only when the user said so.
"""

import asyncio
import threading
import time
from pathlib import Path
from typing import Final, Protocol

from lsprotocol import types

from redraft import models
from redraft.config.settings import Settings
from redraft.errors import ModelError
from redraft.lsp.client import Client, WorkDoneProgress
from redraft.models import FetchProgress, ModelFile, ModelFolders, ReportProgress

__all__ = ["DownloadText", "Fetch", "ModelDownload", "find_missing_model"]

_DOWNLOAD: Final = "Download"
_LATER: Final = "Not now"
_PACE_S: Final = 3.0  # of a download, before the time left is guessed from it


class Fetch(Protocol):
    """`redraft.models.fetch`, as far as it is used here."""

    def __call__(self, model: ModelFile, *, on_progress: ReportProgress) -> Path: ...


def find_missing_model(settings: Settings) -> ModelFile | None:
    """Return the known model that the settings name, if no file of it is on this machine."""
    name = settings.model or models.DEFAULT.name
    for model in models.MODELS:
        if model.name == name and models.locate(model, ModelFolders.of_user()) is None:
            return model
    return None


class DownloadText:
    """The words beside a download's percentage: what is done, how much of it, and the time left."""

    def __init__(self) -> None:
        self._step = ""
        self._began = (0.0, 0)  # of the step: when, and the bytes that were here already

    def describe(self, progress: FetchProgress, now: float) -> str:
        """Return the words for `progress`; `now` is in seconds of any one clock.

        The time left follows from the pace of this step: what was here before it says nothing.
        """
        if progress.step != self._step:
            self._step, self._began = progress.step, (now, progress.done)
        if progress.done >= progress.total:  # a check, or a size that is not known
            return progress.step
        text = f"{progress.step}, {progress.done / 1e6:.0f} of {progress.total / 1e6:.0f} MB"
        began, n_before = self._began
        seconds, n_bytes = now - began, progress.done - n_before
        if seconds < _PACE_S or n_bytes <= 0:
            return text
        left = (progress.total - progress.done) * seconds / n_bytes
        return f"{text}, {left:.0f} s left" if left < 90 else f"{text}, {left / 60:.0f} min left"


class ModelDownload:
    """Offers a download to the user, one at a time however many edits need the model."""

    def __init__(self, client: Client, fetch: Fetch) -> None:
        self._client = client
        self._fetch = fetch
        self._task: asyncio.Task[bool] | None = None
        self._is_stopped = threading.Event()

    async def offer(self, settings: Settings) -> bool:
        """Return True where the model that could not be loaded was missing and is here now.

        Raises ModelError where the download fails.
        """
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._offer(settings))
        return await asyncio.shield(self._task)

    def stop(self) -> None:
        """Interrupt a download; the next one continues where it stopped."""
        self._is_stopped.set()

    async def _offer(self, settings: Settings) -> bool:
        model = await asyncio.to_thread(find_missing_model, settings)
        if model is None:
            return False
        size = f"{model.size / 1e9:.1f} GB"
        question = f"the model {model.name} ({size}) is not on this machine. Download it?"
        if await self._client.choose(question, (_DOWNLOAD, _LATER)) != _DOWNLOAD:
            return False
        progress = self._client.begin_progress(
            f"Downloading {model.name}", token=f"redraft/fetch/{model.name}"
        )
        try:
            await self._download(model, progress)
        finally:
            progress.end()
        self._client.show(types.MessageType.Info, f"{model.name} is here")
        return True

    async def _download(self, model: ModelFile, progress: WorkDoneProgress) -> None:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        text = DownloadText()

        def report(step: FetchProgress) -> None:
            if self._is_stopped.is_set() or progress.is_cancelled:
                raise KeyboardInterrupt  # `fetch` stops at it and keeps what it has
            percentage = 100 * step.done // step.total if step.total else 0
            message = text.describe(step, time.monotonic())
            loop.call_soon_threadsafe(progress.report, percentage, message)

        def finish(error: ModelError | None) -> None:
            if done.done():  # the server is shutting down
                return
            if error:
                done.set_exception(error)
            else:
                done.set_result(None)

        def work() -> None:
            error: ModelError | None = None
            try:
                self._fetch(model, on_progress=report)
            except ModelError as failure:
                error = failure
            except KeyboardInterrupt:
                error = ModelError(
                    "the download was interrupted; the next one continues from there"
                )
            if not loop.is_closed():
                loop.call_soon_threadsafe(finish, error)

        # A daemon thread, not one of the loop's pool: the end of the process would wait for that.
        threading.Thread(target=work, name="redraft-fetch", daemon=True).start()
        await done
