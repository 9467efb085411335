"""Replies to many prompts: from the cache where it knows them, the others several at a time.

The seam between codemods and models: the only module here that asks a model to write.
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

__all__ = ["Cache", "Reply", "SupportsBatch", "replies"]

_KEPT_S: Final = 30 * 24 * 3600.0


class Cache:
    """Replies of the model `model` (its hash), one small file each in `folder`.

    `build` names the library that runs the model: another one may round differently.
    """

    def __init__(self, folder: Path, model: str, options: DecodeOptions, *, build: str) -> None:
        self._folder = folder
        decides = asdict(options) | {"timeout_s": None}
        self._base = json.dumps([2, model, build, decides], sort_keys=True)

    def get(self, asked: PromptRequest) -> Completion | None:
        """The reply, without its passes; None where it is not known."""
        try:
            entry = json.loads(self._path(asked).read_bytes())
            stats = Stats(**entry.pop("stats"))
            return Completion(**entry | {"stats": stats, "notes": tuple(entry["notes"])})
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None  # none yet, or a damaged one: asked anew

    def put(self, asked: PromptRequest, completion: Completion) -> None:
        """Keep a reply that would be the same next time; a full disk costs only time."""
        if completion.finish not in ("stop", "length"):
            return
        path = self._path(asked)
        entry = {
            "text": completion.text,
            "finish": completion.finish,
            "stats": asdict(completion.stats),
            "notes": completion.notes,
        }
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
        limit = time.time() - _KEPT_S
        for path in self._folder.glob("*/*"):
            with suppress(OSError):
                if os.stat(path).st_mtime < limit:  # noqa: PTH116 - half the cost of Path.stat
                    path.unlink()

    def _path(self, asked: PromptRequest) -> Path:
        prompt = asdict(asked.prompt) | {"notes": ()}
        told = json.dumps([prompt, asked.max_tokens], sort_keys=True)
        key = hashlib.sha256(f"{self._base}\n{told}".encode()).hexdigest()
        return self._folder / key[:2] / key[2:]


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
        """(index, completion) of each (prompt, max_tokens), in the order in which they end.

        With exactness "invariant" each is what `complete` gives for that prompt alone.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What the model wrote, or why its library could not."""

    completion: Completion | EngineError
    cached: bool = False


def replies(
    asked: Sequence[PromptRequest],
    model: Model,
    options: DecodeOptions,
    *,
    cache: Cache | None,
    n_parallel: int,
    on_reply: Callable[[Reply], None],
    cancelled: Callable[[], bool],
) -> list[Reply]:
    """One reply for each of `asked`; those cut short by `cancelled` say so.

    `on_reply` sees each as soon as it is there.
    """
    known = [cache.get(one) if cache else None for one in asked]
    found = {i: Reply(completion=one, cached=True) for i, one in enumerate(known) if one}
    missing = [i for i in range(len(asked)) if i not in found]
    for reply in found.values():
        on_reply(reply)
    for i, completion in _written(asked, missing, model, options, n_parallel, cancelled):
        found[i] = Reply(completion=completion)
        on_reply(found[i])
        if cache and isinstance(completion, Completion):
            cache.put(asked[i], completion)
    return [found[i] for i in range(len(asked))]


def _written(
    asked: Sequence[PromptRequest],
    missing: Sequence[int],
    model: Model,
    options: DecodeOptions,
    n_parallel: int,
    cancelled: Callable[[], bool],
) -> Iterator[tuple[int, Completion | EngineError]]:
    left = list(missing)
    if n_parallel > 1 and len(left) > 1 and isinstance(model, SupportsBatch):
        batch = [(asked[i].prompt, asked[i].max_tokens) for i in missing]
        try:
            for n, completion in model.complete_many(
                batch, options, n_parallel=n_parallel, cancelled=cancelled
            ):
                left.remove(missing[n])
                yield missing[n], completion
        except EngineError:
            pass  # one of them is to blame: alone, each of those left shows whether it is
    for i in left:
        yield i, _alone(asked[i], model, options, cancelled)


def _alone(
    asked: PromptRequest, model: Model, options: DecodeOptions, cancelled: Callable[[], bool]
) -> Completion | EngineError:
    if cancelled():  # a model would first read the next stretch of the prompt
        return Completion(text="", finish="cancelled", stats=Stats())
    try:
        return model.complete(
            asked.prompt, options, max_tokens=asked.max_tokens, cancelled=cancelled
        )
    except EngineError as error:
        return error
