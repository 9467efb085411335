"""Short prompts and requests, spelled once."""

from redraft.records import Completion, DecodeOptions, Model, Piece, Prompt

__all__ = ["decode", "make_prompt"]


def make_prompt(file: str, request: str = "Again: ", *, source: str = "", stop=()) -> Prompt:
    return Prompt(file=(Piece(file),), request=(Piece(request),), source=source, stop=tuple(stop))


def decode(
    engine: Model, prompt: Prompt, *, max_tokens: int = 40, cancelled=lambda: False, **options
) -> Completion:
    return engine.complete(
        prompt, DecodeOptions(**options), max_tokens=max_tokens, cancelled=cancelled
    )
