"""The engine under test: it also knows the rules of others, and shows what a benchmark needs.

Strategies have the product's names, the peers' (`ngram-simple`, `ngram-map-k`, `ngram-mod`), or
either with a cap on the draft length: `copy@7`.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, cast, get_args

from redraft.engine import Engine
from redraft.engine.context_pool import ContextPool, uses_flash_attention
from redraft.engine.draft_model import DraftModel
from redraft.engine.drafters import (
    DrafterFactory,
    DraftingRequest,
    build_cost_curve,
    choose_row_counts,
)
from redraft.engine.llama import LlamaModel
from redraft.engine.request import tokenize_pieces
from redraft.errors import InputError
from redraft.records import (
    Completion,
    DecodeOptions,
    Exactness,
    Prompt,
    Route,
    Strategy,
)
from redraft_lookup import CostCurve, Draft, Drafter, Observation
from redraft_lookup.llama_cpp_rules import NgramMapK, NgramMod, NgramSimple

__all__ = ["PEERS", "Subject", "answer", "first_difference", "strategies"]

PEERS: Final[Mapping[str, Callable[[Sequence[int]], Drafter]]] = {
    "ngram-simple": NgramSimple,
    "ngram-map-k": NgramMapK,
    "ngram-mod": NgramMod,
}


def strategies(names: str) -> tuple[str, ...]:
    """The names in a list with commas, plain among them. Raises InputError for an unknown one."""
    found = [name.strip() for name in names.split(",") if name.strip()]
    known = (*get_args(Strategy), *PEERS)
    for name in found:
        base, at, cap = name.partition("@")
        if base not in known or (at and not (cap.isdecimal() and int(cap) > 0)):
            raise InputError(
                f"no strategy {name!r}: it is one of {', '.join(known)}, or one of them with the"
                " longest draft it may make, as in copy@7"
            )
    return tuple(dict.fromkeys(["plain", *found]))


class Subject(Engine):
    """The product's engine, opened with `Subject.load`."""

    def __init__(
        self, model: LlamaModel, pool: ContextPool, *, draft_model: DraftModel | None = None
    ) -> None:
        super().__init__(model, pool, draft_model=draft_model)
        self._drafters = _WithPeers(model, draft_model)

    @staticmethod
    def load(
        path: Path,
        *,
        n_ctx: int | None = None,
        n_threads: int | None = None,
        draft: Path | None = None,
    ) -> "Subject":
        """As `Engine.open`."""
        opened = Subject.open(path, n_ctx=n_ctx, n_threads=n_threads, draft=draft)
        return cast(Subject, opened)

    @property
    def n_threads(self) -> int:
        return self._pool.n_threads

    @property
    def path(self) -> Path:
        return self._model.path

    def ids(self, text: str) -> list[int]:
        """The tokens of `text` on its own."""
        return self._model.tokenize(text)

    def prompt_ids(self, prompt: Prompt) -> list[int]:
        """The tokens that the model reads for `prompt`."""
        pieces = (*prompt.file, *prompt.request)
        return self._model.bos + tokenize_pieces(self._model, pieces)

    def curve(self, n_tokens: int, exactness: Exactness) -> CostCurve:
        """What a pass costs behind `n_tokens` of context at this exactness, as drafters see it."""
        flash_attention = uses_flash_attention(exactness)
        known = self._calibrations.get(n_tokens, flash_attention=flash_attention) or self.measure(
            n_tokens, exactness
        )
        return build_cost_curve(known, choose_row_counts(known) if exactness == "invariant" else ())

    def forget(self) -> None:
        """Let the next request begin with an empty cache."""
        self._pool.forget()

    def calibrate(self, depths: Sequence[int], exactness: Exactness) -> None:
        """Measure what passes cost behind so many tokens, where that is not known yet."""
        for depth in depths:
            known = self._calibrations.get(depth, flash_attention=uses_flash_attention(exactness))
            if depth <= self.n_ctx and (known is None or known.depth < depth):
                self.measure(depth, exactness)

    def decode(
        self,
        prompt: Prompt,
        strategy: str,
        exactness: Exactness,
        *,
        max_tokens: int,
        route: Route = "edit",
    ) -> Completion:
        """Decode greedily. Raises ModelError where the strategy needs a draft model."""
        name = cast(Strategy, strategy)
        options = DecodeOptions(strategy=name, exactness=exactness, route=route)
        return self.complete(prompt, options, max_tokens=max_tokens)

    def warm_up(self, prompt: Prompt, exactness: Exactness) -> int:
        """Fill the cache with `prompt` and calibrate behind it; how many tokens it has."""
        return self.decode(prompt, "copy", exactness, max_tokens=2).stats.prompt_tokens


def answer(completion: Completion) -> tuple[int, ...]:
    """The tokens of a completion, up to the one that completed a stop string."""
    tokens = [token for one in completion.passes for token in one.tokens]
    return tuple(tokens[: completion.stats.output_tokens])


class _WithPeers(DrafterFactory):
    def make(self, name: str, task: DraftingRequest) -> Drafter:
        base, _, cap = name.partition("@")
        peer = PEERS.get(base)
        made = peer(task.tokens) if peer else super().make(cast(Strategy, base), task)
        return _Capped(made, int(cap)) if cap else made


class _Capped:
    """A drafter whose drafts have `cap` tokens at most."""

    def __init__(self, drafter: Drafter, cap: int) -> None:
        self._drafter = drafter
        self._cap = cap
        self.wants_predictions = drafter.wants_predictions

    def propose(self, budget: int) -> Draft:
        return self._drafter.propose(min(budget, self._cap))

    def observe(self, observation: Observation) -> None:
        self._drafter.observe(observation)


def first_difference(one: Sequence[int], other: Sequence[int]) -> int | None:
    """Where two answers part; None where they are equal."""
    if tuple(one) == tuple(other):
        return None
    pairs = zip(one, other, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
