"""A model that is not on this machine: offering the download, and doing it.

The only place of the server that leads to the network, and only when the user said so.
"""

import asyncio
import threading
from pathlib import Path
from typing import Any, Final, Protocol

from lsprotocol import types

from redraft import models
from redraft.config.settings import Settings
from redraft.errors import ModelError
from redraft.lsp.client import Client, WorkDoneProgress
from redraft.models import FetchProgress, ModelFile, ModelFolders, ReportProgress

__all__ = ["Fetch", "ModelDownload", "missing"]

_DOWNLOAD: Final = "Download"
_LATER: Final = "Not now"


class Fetch(Protocol):
    """`redraft.models.fetch`, as far as it is used here."""

    def __call__(self, model: ModelFile, *, on_progress: ReportProgress) -> Path: ...


def missing(settings: Settings) -> ModelFile | None:
    """The known model that the settings name, if no file of it is on this machine."""
    name = settings.model or models.DEFAULT.name
    for model in models.MODELS:
        if model.name == name and models.locate(model, ModelFolders.of_user()) is None:
            return model
    return None


class ModelDownload:
    """Asks at most once at a time, whoever needs the model."""

    def __init__(self, client: Client, fetch: Fetch) -> None:
        self._client = client
        self._fetch = fetch
        self._asking: asyncio.Task[bool] | None = None
        self._is_stopped = threading.Event()

    async def offer(self, settings: Settings) -> bool:
        """Whether the model that could not be loaded was missing, and is here now.

        Raises ModelError where the download fails.
        """
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._offered(settings))
        return await asyncio.shield(self._asking)

    def stop(self) -> None:
        """Interrupt a download; the next one goes on where it stopped."""
        self._is_stopped.set()

    async def _offered(self, settings: Settings) -> bool:
        model = await asyncio.to_thread(missing, settings)
        if model is None:
            return False
        size = f"{model.size / 1e9:.1f} GB"
        question = f"the model {model.name} ({size}) is not on this machine. Download it?"
        if await self._client.choose(question, (_DOWNLOAD, _LATER)) != _DOWNLOAD:
            return False
        bar = self._client.bar(f"Downloading {model.name}", token=f"redraft/fetch/{model.name}")
        try:
            await self._fetched(model, bar)
        finally:
            bar.end()
        self._client.show(types.MessageType.Info, f"{model.name} is here")
        return True

    async def _fetched(self, model: ModelFile, bar: WorkDoneProgress) -> None:
        loop = asyncio.get_running_loop()
        arrived: asyncio.Future[Any] = loop.create_future()

        def report(progress: FetchProgress) -> None:
            if self._is_stopped.is_set() or bar.is_cancelled:
                raise KeyboardInterrupt  # what `fetch` takes as a reason to stop and keep its part
            share = 100 * progress.done // progress.total if progress.total else 0
            loop.call_soon_threadsafe(bar.report, share, progress.step)

        def work() -> None:
            error: ModelError | None = None
            try:
                self._fetch(model, on_progress=report)
            except ModelError as failure:
                error = failure
            except KeyboardInterrupt:
                error = ModelError("the download was interrupted; the next one goes on from there")
            if not loop.is_closed():
                loop.call_soon_threadsafe(_settle, arrived, error)

        # Not in the loop's pool, whose threads the end of the process would wait for.
        threading.Thread(target=work, name="redraft-fetch", daemon=True).start()
        await arrived


def _settle(future: asyncio.Future[Any], error: ModelError | None) -> None:
    if future.done():
        return
    if error:
        future.set_exception(error)
    else:
        future.set_result(None)
