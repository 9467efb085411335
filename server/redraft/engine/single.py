"""One request with a context of its own: prefill, then decode pass by pass.

Cancellation and deadline are checked between passes; whatever ends a request, the text in the cache
stays true.
"""

import time
from collections.abc import Callable

from redraft.engine.kv_cache import KVCache
from redraft.engine.request import Deadline, Output, Report, Request
from redraft.errors import EngineError
from redraft.records import Finish, Progress
from redraft_lookup import BadLogitsError, Decoding, decode

__all__ = ["decode_single", "prefill"]

OnProgress = Callable[[Progress], None]


def prefill(
    text: KVCache, request: Request, watch: Deadline, report: Report, on_progress: OnProgress
) -> Finish | None:
    """Bring the prompt into the cache; what ended the request early, if anything did."""
    total = len(request.tokens) - 1
    start = time.perf_counter()
    for done in text.prefill(request.parts):
        report.prefilled(done, time.perf_counter() - start)
        on_progress(Progress(phase="prefill", done=done, expected=total))
        finish = watch.ended()
        if finish:
            return finish
    return None


def decode_single(
    text: KVCache,
    decoding: Decoding,
    output: Output,
    watch: Deadline,
    report: Report,
    on_progress: OnProgress,
) -> Finish:
    """Write the reply. Raises EngineError when the model's logits are no numbers."""
    finish: Finish | None = None
    report.start()
    try:
        for step in decode(text, decoding):
            output.extend(step.tokens)
            report.decoded(step, text.context.model)
            on_progress(report.progress(output))
            finish = "stop" if output.stopped else step.finish or watch.ended()
            if finish:
                break
    except BadLogitsError as error:
        raise EngineError(f"the model gave no usable answer: {error}") from error
    output.finish()
    return finish or "stop"
