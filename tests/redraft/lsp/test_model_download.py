"""The words beside a download: what is said while the bytes come in."""

import pytest

from redraft.lsp.model_download import DownloadText
from redraft.models import FetchProgress

MB = 10**6


@pytest.mark.parametrize(
    ("steps", "text"),
    [
        ([(0, "downloading", 0, 1100)], "downloading, 0 of 1100 MB"),
        ([(0, "downloading", 0, 1100), (1, "downloading", 11, 1100)], "downloading, 11 of 1100 MB"),
        (
            [(0, "downloading", 0, 1100), (10, "downloading", 100, 1100)],
            "downloading, 100 of 1100 MB, 2 min left",
        ),
        (
            # What an earlier download left here came in no time, and is no pace.
            [(5, "downloading", 500, 1100), (15, "downloading", 600, 1100)],
            "downloading, 600 of 1100 MB, 50 s left",
        ),
        (
            # The second source begins anew.
            [(0, "from a", 0, 1100), (50, "from a", 500, 1100), (60, "from b", 0, 1100)],
            "from b, 0 of 1100 MB",
        ),
        (
            # It stands still: there is no end to tell.
            [(0, "downloading", 20, 1100), (60, "downloading", 20, 1100)],
            "downloading, 20 of 1100 MB",
        ),
        ([(0, "downloading", 0, 1100), (9, "checking", 1100, 1100)], "checking"),
        ([(0, "waiting for another", 0, 0)], "waiting for another"),
    ],
)
def test_how_far_a_download_is(steps: list[tuple[float, str, int, int]], text: str) -> None:
    words = DownloadText()
    for now, step, done, total in steps:
        progress = FetchProgress(step=step, done=done * MB, total=total * MB)
        described = words.describe(progress, now)
    assert described == text
