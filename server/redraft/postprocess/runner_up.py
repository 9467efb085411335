"""Begin a reply again where another token was nearly chosen.

A mistake in code mostly is a few tokens, and a model that copies it instead of mending it hesitates
there: the token that belongs there came second, and close. docs/notes has how often.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from redraft import syntax
from redraft.records import Completion, Pass, RunnerUp

__all__ = ["NO_PREFIX", "ReplyPrefix", "branch_at_runner_up"]

_CLOSE: Final = 3.0  # logits: the other token was a twentieth as likely


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyPrefix:
    """The beginning of a reply. `passes` tell how it came about."""

    text: str = ""
    passes: tuple[Pass, ...] = ()

    @property
    def n_tokens(self) -> int:
        return sum(len(step.tokens) for step in self.passes)


NO_PREFIX: Final = ReplyPrefix()  # nothing is given


@dataclass(frozen=True, slots=True, kw_only=True)
class _TokenPlace:
    """The token `index` of the pass `at`. `start`: characters of the reply before it."""

    at: int
    index: int
    start: int
    token: str
    other: str
    behind: float


def branch_at_runner_up(
    completion: Completion, shown: str, language: str | None
) -> ReplyPrefix | None:
    """Return the reply up to its least certain token, and then that token's runner-up.

    `shown`: the code that `completion` wrote anew; what stands behind it in the reply does not
    count. Nor do comments, or a runner-up that begins one or differs in white space alone. None
    where no runner-up was close.
    """
    text = completion.text
    start = text.find(shown.strip())
    stop = start + len(shown.strip()) if start >= 0 else len(text)
    spans = syntax.prose(text, language) if language else ()
    comment_openers = syntax.comment_openers(language)
    places = [
        place
        for place in _list_places(completion.passes)
        if 0 < place.start < stop
        and place.behind < _CLOSE
        and place.other.strip() != place.token.strip()
        and not place.other.strip().startswith(comment_openers)
        and not any(
            span.start < place.start + len(place.token) and place.start < span.stop
            for span in spans
        )
    ]
    if not places:
        return None
    place = min(places, key=lambda place: place.behind)
    return ReplyPrefix(
        text=text[: place.start] + place.other,
        passes=(
            *completion.passes[: place.at],
            _take_runner_up(completion.passes[place.at], place.index),
        ),
    )


def _list_places(passes: tuple[Pass, ...]) -> Iterator[_TokenPlace]:
    """Yield every token that is whole characters, as its runner-up is."""
    start, cut = 0, b""
    for at, step in enumerate(passes):
        for index, (piece, runner_up) in enumerate(zip(step.pieces, step.runners_up, strict=True)):
            token, other = _decode(piece), _decode(runner_up.piece)
            if not cut and token is not None and other is not None:
                behind = runner_up.behind
                yield _TokenPlace(
                    at=at, index=index, start=start, token=token, other=other, behind=behind
                )
            cut += piece
            whole = _decode(cut)
            if whole is not None:
                start, cut = start + len(whole), b""


def _decode(piece: bytes) -> str | None:
    try:
        return piece.decode()
    except UnicodeDecodeError:
        return None


def _take_runner_up(step: Pass, index: int) -> Pass:
    """Return `step` up to its token `index`, with the runner-up in the place of that."""
    other: RunnerUp = step.runners_up[index]
    return replace(
        step,
        tokens=(*step.tokens[:index], other.token),
        pieces=(*step.pieces[:index], other.piece),
        origins=(*step.origins[:index], None),
        runners_up=step.runners_up[: index + 1],
    )
