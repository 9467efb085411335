"""The Hugging Face hub as a source, through huggingface_hub: its mirrors, tokens and xet storage.

The file's sha256 is the hub's etag for it; a file that is not the one the registry knows is
refused before it is downloaded.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
from huggingface_hub import get_hf_file_metadata, hf_hub_download, hf_hub_url
from huggingface_hub.errors import (
    EntryNotFoundError,
    GatedRepoError,
    HfHubHTTPError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
)
from huggingface_hub.utils.tqdm import tqdm

from redraft.models.registry import ModelFile
from redraft.models.source import (
    DownloadedFile,
    FetchProgress,
    ReportProgress,
    SourceError,
    folder_size,
    is_disk_error,
)

__all__ = ["Hub"]


class Hub:
    """The hub at `endpoint`; None means HF_ENDPOINT, or else the public hub."""

    label = "Hugging Face"

    def __init__(self, endpoint: str | None = None) -> None:
        self._endpoint = endpoint

    def offers(self, model: ModelFile) -> bool:
        return bool(model.repo)

    def download(
        self,
        model: ModelFile,
        folder: Path,
        report: ReportProgress,
        need: Callable[[int], None],
    ) -> DownloadedFile:
        try:
            # Asked for first because it fails at once where hf_hub_download would retry for 20 s.
            url = hf_hub_url(model.repo, model.file, endpoint=self._endpoint)
            metadata = get_hf_file_metadata(url, endpoint=self._endpoint)
            size, sha256 = metadata.size, metadata.etag or ""
            if size is None or not re.fullmatch(r"[0-9a-f]{64}", sha256):
                raise SourceError(f"it states no size and sha256 for {model.file}")
            if model.sha256 not in (None, sha256):
                raise SourceError(f"its {model.file} has sha256 {sha256}, not {model.sha256}")
            need(max(0, size - folder_size(folder)))
            bar = _progress_bar(report, f"downloading {model.name} from {self.label}", size)
            path = hf_hub_download(
                model.repo, model.file, local_dir=folder, endpoint=self._endpoint, tqdm_class=bar
            )
        except (httpx2.HTTPError, EntryNotFoundError, OSError, RuntimeError) as error:
            if is_disk_error(error):
                raise
            raise SourceError(_explain(error, model)) from error
        return DownloadedFile(path=Path(path), sha256=sha256)


def _explain(error: Exception, model: ModelFile) -> str:
    """Return why the hub did not deliver, as a clause with what the user can do."""
    page = f"the repository {model.repo}"
    match error:
        case OfflineModeIsEnabled():
            return "HF_HUB_OFFLINE is set"
        case GatedRepoError():
            return f"{page} is gated: accept its terms on its page, then run `hf auth login`"
        case RepositoryNotFoundError():
            return f"{page} does not exist, or your token (HF_TOKEN) is not allowed to see it"
        case EntryNotFoundError():
            return f"{page} has no file {model.file}"
        case HfHubHTTPError() if error.response.status_code in (401, 403):
            return f"it refused your token (HF_TOKEN, or `hf auth login`) for {page}"
        case HfHubHTTPError():
            return f"it answered {error.response.status_code} for {model.file}"
    return f"the download failed ({str(error) or type(error).__name__})"


def _progress_bar(report: ReportProgress, step: str, total: int) -> type[tqdm]:
    """Return a bar class, which is what hf_hub_download takes, that reports and draws nothing."""
    furthest = 0  # xet storage runs two bars at once: received, and written

    class ReportingBar(tqdm):
        def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - tqdm's own
            super().__init__(*args, **{**kwargs, "disable": True})  # type: ignore[no-untyped-call]  # it has no annotations
            self.n = kwargs.get("initial", 0)

        def update(self, n: float | None = 1) -> None:
            nonlocal furthest
            self.n += n or 0
            furthest = max(furthest, int(self.n))
            report(FetchProgress(step=step, done=furthest, total=total))

    return ReportingBar
