"""The product's records in the names of the wire, and the errors that requests end in."""

from collections.abc import Mapping
from itertools import groupby
from operator import itemgetter
from typing import Final

from pygls.exceptions import JsonRpcException

from redraft import records
from redraft.lsp import contract

__all__ = ["failed", "modified", "passes_of", "refused", "stats_of"]

# How the editor calls the setting that a refusal says to raise.
_LIMITS: Final[Mapping[str, tuple[str, str]]] = {
    "token_limit": ("max_tokens", "redraft.maxTokens"),
    "timeout": ("timeout", "redraft.timeout"),
}


def stats_of(stats: records.Stats) -> contract.EditStats:
    """What an edit cost."""
    return {
        "promptTokens": stats.prompt_tokens,
        "reusedTokens": stats.reused_tokens,
        "outputTokens": stats.output_tokens,
        "passes": stats.passes,
        "drafted": stats.drafted,
        "accepted": stats.accepted,
        "prefillSeconds": stats.prefill_s,
        "decodeSeconds": stats.decode_s,
        "tokensPerPass": stats.tokens_per_pass,
        "tokensPerSecond": stats.tokens_per_s,
    }


def passes_of(completion: records.Completion) -> list[contract.TracePass]:
    """How an answer came about: for each pass its text, cut where the origin changes."""
    return [
        {
            "drafted": each.drafted,
            "seconds": each.seconds,
            "text": [
                {
                    "origin": origin,
                    "text": b"".join(piece for _, piece in run).decode(errors="replace"),
                }
                for origin, run in groupby(
                    zip(each.origins, each.pieces, strict=True), key=itemgetter(0)
                )
            ],
        }
        for each in completion.passes
    ]


def failed(message: str, **data: object) -> JsonRpcException:
    """The answer to a request that was right but could not be done (-32803)."""
    return JsonRpcException(message, contract.ErrorCode.FAILED.value, data or None)


def modified(message: str) -> JsonRpcException:
    """The answer to a request whose document is not what it was (-32801)."""
    return JsonRpcException(message, contract.ErrorCode.STALE.value, {"reason": "stale"})


def refused(outcome: records.Refused) -> JsonRpcException:
    """The answer to an edit that the model was asked for in vain (-32803)."""
    key, name = _LIMITS.get(outcome.reason, ("", ""))
    message = outcome.message.replace(key, name) if key else outcome.message
    return failed(message, reason=outcome.reason, stats=stats_of(outcome.stats))
