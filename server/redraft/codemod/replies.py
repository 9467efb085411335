"""Replies to many prompts: from the cache where it knows them, the others several at a time.

The seam between codemods and models: the only module here that asks a model to write.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from redraft.codemod.cache import Cache
from redraft.edit import PromptRequest
from redraft.errors import EngineError
from redraft.records import Completion, DecodeOptions, Model, Prompt, Stats

__all__ = ["Reply", "SupportsBatch", "replies"]


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
