"""One request with a context of its own: prefill, then decode pass by pass.

Cancellation and deadline are checked between passes. Whatever ends a request, the cache still holds
what it says it holds. Knows nothing of how drafts are made or what passes cost.
"""

import time
from collections.abc import Callable

from redraft.engine.kv_cache import KVCache
from redraft.engine.request import CostReport, Deadline, ReplyText, Request, translate_bad_logits
from redraft.records import Finish, Progress
from redraft_lookup import Decoding, decode

__all__ = ["decode_single", "prefill_prompt"]

OnProgress = Callable[[Progress], None]


def prefill_prompt(
    cache: KVCache,
    request: Request,
    deadline: Deadline,
    report: CostReport,
    on_progress: OnProgress,
) -> Finish | None:
    """Bring the prompt into the cache; return the reason if the request ended early."""
    n_prompt = len(request.tokens) - 1
    start = time.perf_counter()
    for n_done in cache.prefill(request.parts):
        report.record_prefill(n_done, time.perf_counter() - start)
        on_progress(Progress(phase="prefill", done=n_done, expected=n_prompt))
        finish = deadline.finish_reason()
        if finish:
            return finish
    return None


def decode_single(
    cache: KVCache,
    decoding: Decoding,
    reply: ReplyText,
    deadline: Deadline,
    report: CostReport,
    on_progress: OnProgress,
) -> Finish:
    """Write the reply into `reply`; return why it ended.

    Raises EngineError if the model's logits are not numbers.
    """
    finish: Finish | None = None
    report.start_clock()
    with translate_bad_logits():
        for step in decode(cache, decoding):
            reply.extend(step.tokens)
            report.record_pass(step, cache.context.model)
            on_progress(report.progress(reply))
            # A stop string wins over the reasons that came with the same pass.
            finish = "stop" if reply.is_stopped else step.finish or deadline.finish_reason()
            if finish:
                break
    reply.finish()
    return finish or "stop"
