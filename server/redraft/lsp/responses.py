"""The product's records in the names of the wire, and the errors that requests end in.

Knows the shapes of `redraft.lsp.contract`; nothing of the server or of when it answers.
"""

import re
from collections.abc import Mapping
from itertools import groupby
from operator import itemgetter
from typing import Final

from pygls.exceptions import JsonRpcException

from redraft import records
from redraft.lsp import contract
from redraft.lsp.documents import OpenDocument, locate_in, to_range
from redraft.records import Span
from redraft.text.lines import LineIndex, Unit

__all__ = [
    "convert_callers",
    "convert_passes",
    "convert_stats",
    "describe_unknown",
    "failed_error",
    "refused_error",
    "stale_error",
]

# A refusal says which setting to raise, by its name on the command line. By reason: that name, and
# the editor's.
_LIMITS: Final[Mapping[str, tuple[str, str]]] = {
    "token_limit": ("max_tokens", "redraft.maxTokens"),
    "timeout": ("timeout", "redraft.timeout"),
}

# The command line's flag that overrides a refusal, and what leads to it in the sentence. An editor
# has a button for that, or nothing.
_FLAG: Final = re.compile(r"(, or(?:, to [^,]+,)?|; if that is meant,) allow it with --allow \w+")


def describe_unknown(document: OpenDocument) -> str:
    """Return what to do about a document whose text is not known."""
    return (
        f"{document.display_path}: the editor sent a change that makes no sense, so that its text "
        "is not known any more; close the file and open it again"
    )


def convert_stats(stats: records.Stats) -> contract.EditStats:
    """Return what an edit cost, in the names of the wire."""
    return {
        "promptTokens": stats.prompt_tokens,
        "reusedTokens": stats.reused_tokens,
        "outputTokens": stats.output_tokens,
        "passes": stats.passes,
        "drafted": stats.drafted,
        "accepted": stats.accepted,
        "prefillSeconds": stats.prefill_s,
        "decodeSeconds": stats.decode_s,
        "calibrationSeconds": stats.calibration_s,
        "draftSeconds": stats.draft_s,
        "tokensPerPass": stats.tokens_per_pass,
        "tokensPerSecond": stats.tokens_per_s,
    }


def convert_callers(
    outcome: records.Rewritten, text: str, unit: Unit
) -> list[contract.OutdatedUse]:
    """Return the lines that an edit leaves behind, in `text`, the document with the edit made.

    Lines that the user has changed since the edit began are left out.
    """
    old, new = LineIndex(outcome.new_text), LineIndex(text)
    uses: list[contract.OutdatedUse] = []
    for caller in outcome.callers:
        line = old.line_span(caller.line - 1)
        start = line.start + line.of(old.text).index(caller.text)
        span = Span(start, start + len(caller.text))
        place = span if text == old.text else locate_in(text, span, old.text)
        if place is not None:
            range_ = to_range(place, new, unit)
            uses.append({"range": range_, "text": caller.text, "definition": caller.definition})
    return uses


def convert_passes(completion: records.Completion) -> list[contract.TracePass]:
    """Return the passes of a reply, the text of each cut where the origin changes."""
    return [
        {
            "drafted": pass_.drafted,
            "seconds": pass_.seconds,
            "text": [
                {
                    "origin": origin,
                    # A token may end inside a character: bytes are joined before they are decoded.
                    "text": b"".join(piece for _, piece in run).decode(errors="replace"),
                }
                for origin, run in groupby(
                    zip(pass_.origins, pass_.pieces, strict=True), key=itemgetter(0)
                )
            ],
        }
        for pass_ in completion.passes
    ]


def failed_error(message: str, **data: object) -> JsonRpcException:
    """Return the error for a request that was valid but could not be done (-32803)."""
    return JsonRpcException(message, contract.ErrorCode.FAILED.value, data or None)


def stale_error(message: str) -> JsonRpcException:
    """Return the error for a request whose document has changed (-32801)."""
    return JsonRpcException(message, contract.ErrorCode.STALE.value, {"reason": "stale"})


def refused_error(
    outcome: records.Refused, withheld: contract.EditPreview | None = None
) -> JsonRpcException:
    """Return the error for an edit whose reply from the model was refused (-32803).

    withheld: the edit all the same, for a client whose user may apply it anyway.
    """
    key, name = _LIMITS.get(outcome.reason, ("", ""))
    message = outcome.message.replace(key, name) if key else outcome.message
    message = _FLAG.sub(r"\1 apply it anyway" if withheld else "", message)
    refusal: contract.Refusal = {
        "reason": outcome.reason,  # type: ignore[typeddict-item]  # neither stale nor cancelled
        "stats": convert_stats(outcome.stats),
        "lost": list(outcome.lost),
        "withheld": withheld,
    }
    return failed_error(message, **refusal)
