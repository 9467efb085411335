"""Collect replies to many prompts: from the cache where it has them, else several at a time.

The seam between codemods and models: the only module here that has a model write. The key of a
cached reply is a hash of the prompt as the model sees it, of the model file, of the program that
runs it and of how it is decoded: so content, instruction and parameters are all in it, and an entry
can never be out of date.
"""

import hashlib
import json
import os
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Protocol, runtime_checkable

from redraft.edit import PromptRequest
from redraft.errors import EngineError
from redraft.records import Completion, DecodeOptions, Model, Prompt, Stats

__all__ = ["Reply", "ReplyCache", "SupportsBatch", "collect_replies"]

_CACHED_FOR_S: Final = 30 * 24 * 3600.0
_CACHE_VERSION: Final = 2


@runtime_checkable
class SupportsBatch(Protocol):
    """A model that can write several replies in shared passes."""

    def complete_many(
        self,
        requests: Sequence[tuple[Prompt, int]],
        options: DecodeOptions,
        *,
        n_parallel: int,
        cancelled: Callable[[], bool] = ...,
    ) -> Iterator[tuple[int, Completion]]:
        """Yield (index, completion) of each (prompt, max_tokens), in the order in which they end.

        With exactness "invariant" each is what `complete` gives for that prompt alone.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The model's reply, or the error of its library."""

    completion: Completion | EngineError
    is_cached: bool = False


class ReplyCache:
    """Replies of the model `model` (its hash), one small file each in `folder`.

    `build` names the library that runs the model: another one may round differently.
    """

    def __init__(self, folder: Path, model: str, options: DecodeOptions, *, build: str) -> None:
        self._folder = folder
        # A reply that was cut short by its deadline is not kept: so none depends on the deadline.
        decoding = asdict(options) | {"timeout_s": None}
        self._base = json.dumps([_CACHE_VERSION, model, build, decoding], sort_keys=True)

    def get(self, request: PromptRequest) -> Completion | None:
        """Return the reply, without its passes; None where it is not known."""
        try:
            entry = json.loads(self._path(request).read_bytes())
            stats = Stats(**entry.pop("stats"))
            return Completion(**entry | {"stats": stats, "notes": tuple(entry["notes"])})
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None  # none yet, or a damaged one, which the next reply replaces

    def put(self, request: PromptRequest, completion: Completion) -> None:
        """Keep a reply that would be the same next time; a full disk costs only time."""
        if completion.finish not in ("stop", "length"):
            return
        path = self._path(request)
        entry = {
            "text": completion.text,
            "finish": completion.finish,
            "stats": asdict(completion.stats),
            "notes": completion.notes,
        }
        # Written beside and renamed: another process never reads half an entry.
        scratch = path.with_name(f"{path.name}-{secrets.token_hex(4)}.tmp")
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            scratch.write_text(json.dumps(entry), encoding="utf-8")
            scratch.replace(path)
        except OSError:
            with suppress(OSError):
                scratch.unlink(missing_ok=True)

    def prune(self) -> None:
        """Delete what was not put here within the last 30 days."""
        oldest = time.time() - _CACHED_FOR_S
        for path in self._folder.glob("*/*"):
            with suppress(OSError):
                if os.stat(path).st_mtime < oldest:  # noqa: PTH116 - half the cost of Path.stat
                    path.unlink()

    def _path(self, request: PromptRequest) -> Path:
        # Notes are for the user: the model does not see them.
        prompt = asdict(request.prompt) | {"notes": ()}
        content = json.dumps([prompt, request.max_tokens], sort_keys=True)
        key = hashlib.sha256(f"{self._base}\n{content}".encode()).hexdigest()
        return self._folder / key[:2] / key[2:]


def collect_replies(
    requests: Sequence[PromptRequest],
    model: Model,
    options: DecodeOptions,
    *,
    cache: ReplyCache | None = None,
    n_parallel: int = 1,
    on_reply: Callable[[Reply], None] = lambda _: None,
    cancelled: Callable[[], bool] = lambda: False,
) -> list[Reply]:
    """Return one reply for each of `requests`; those cut short by `cancelled` say so.

    `on_reply` sees each as soon as it is there.
    """
    replies: dict[int, Reply] = {}
    for i, request in enumerate(requests):
        if cache and (completion := cache.get(request)):
            replies[i] = Reply(completion=completion, is_cached=True)
            on_reply(replies[i])
    missing = [i for i in range(len(requests)) if i not in replies]
    to_write = [requests[i] for i in missing]
    for n, ending in _write_replies(to_write, model, options, n_parallel, cancelled):
        i = missing[n]
        replies[i] = Reply(completion=ending)
        on_reply(replies[i])
        if cache and isinstance(ending, Completion):
            cache.put(requests[i], ending)
    return [replies[i] for i in range(len(requests))]


def _write_replies(
    requests: Sequence[PromptRequest],
    model: Model,
    options: DecodeOptions,
    n_parallel: int,
    cancelled: Callable[[], bool],
) -> Iterator[tuple[int, Completion | EngineError]]:
    """Yield (index, how it ended) of each of `requests`, in the order in which they end."""
    waiting = list(range(len(requests)))
    if n_parallel > 1 and len(requests) > 1 and isinstance(model, SupportsBatch):
        batch = [(request.prompt, request.max_tokens) for request in requests]
        try:
            for i, completion in model.complete_many(
                batch, options, n_parallel=n_parallel, cancelled=cancelled
            ):
                waiting.remove(i)
                yield i, completion
        except EngineError:
            pass  # one of them is to blame: alone, each of those that wait shows whether it is
    for i in waiting:
        prompt, max_tokens = requests[i].prompt, requests[i].max_tokens
        if cancelled():  # a model would first read the next stretch of the prompt
            yield i, Completion(text="", finish="cancelled", stats=Stats())
            continue
        try:
            completion = model.complete(prompt, options, max_tokens=max_tokens, cancelled=cancelled)
        except EngineError as error:
            yield i, error
            continue
        yield i, completion
