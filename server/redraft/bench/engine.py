"""The engine as benchmarks drive it: with llama.cpp's drafting rules, and its internals readable.

Strategies have the product's names, those of llama.cpp's rules (`ngram-simple`, `ngram-map-k`,
`ngram-mod`), or either with a cap on the draft length: `copy@7`.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Final, TypeVar, cast, get_args

from redraft.engine import Engine
from redraft.engine.calibration import CalibrationStore
from redraft.engine.context_pool import PREFILL_ROWS, ContextPool, uses_flash_attention
from redraft.engine.draft_model import DraftModel
from redraft.engine.drafters import (
    DrafterFactory,
    DraftingRequest,
    build_cost_curve,
)
from redraft.engine.llama import Context, LlamaModel
from redraft.engine.request import tokenize_pieces
from redraft.engine.state_cache import DiskCache
from redraft.errors import InputError
from redraft.records import (
    Completion,
    DecodeOptions,
    Exactness,
    Prompt,
    Strategy,
)
from redraft_lookup import CostCurve, Draft, Drafter, Observation
from redraft_lookup.llama_cpp_rules import NgramMapK, NgramMod, NgramSimple

__all__ = [
    "LLAMA_CPP_RULES",
    "BenchEngine",
    "answer_tokens",
    "decode_in_turns",
    "first_difference",
    "parse_strategies",
    "rotate",
    "speedup_spread",
]

_T = TypeVar("_T")

LLAMA_CPP_RULES: Final[Mapping[str, Callable[[Sequence[int]], Drafter]]] = {
    "ngram-simple": NgramSimple,
    "ngram-map-k": NgramMapK,
    "ngram-mod": NgramMod,
}


def parse_strategies(text: str) -> tuple[str, ...]:
    """Return the strategies of a comma-separated list, each once, "plain" always first.

    Raises InputError for an unknown one.
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    bases = (*get_args(Strategy), *LLAMA_CPP_RULES)
    for name in names:
        base, at, cap = name.partition("@")
        if base not in bases or (at and not (cap.isdecimal() and int(cap) > 0)):
            raise InputError(
                f"no strategy {name!r}: it is one of {', '.join(bases)}, or one of them with the"
                " longest draft it may make, as in copy@7"
            )
    return tuple(dict.fromkeys(["plain", *names]))


class BenchEngine(Engine):
    """The product's engine, opened with `BenchEngine.load`."""

    def __init__(
        self, model: LlamaModel, pool: ContextPool, *, draft_model: DraftModel | None = None
    ) -> None:
        super().__init__(model, pool, draft_model=draft_model)
        self._drafters = _BenchDrafterFactory(model, draft_model)
        self._states: DiskCache | None = None

    @staticmethod
    def load(
        path: Path,
        *,
        n_ctx: int | None = None,
        n_threads: int | None = None,
        draft: Path | None = None,
    ) -> "BenchEngine":
        """Load the model file as `Engine.open` does."""
        engine = BenchEngine.open(path, n_ctx=n_ctx, n_threads=n_threads, draft=draft)
        return cast(BenchEngine, engine)

    @property
    def n_threads(self) -> int:
        return self._pool.n_threads

    @property
    def path(self) -> Path:
        return self._model.path

    @property
    def row_counts(self) -> tuple[int, ...]:
        """The row counts of passes in exactness invariant, where little is before them."""
        return self._calibrations.row_counts(0)

    def tokenize(self, text: str) -> list[int]:
        """Return the tokens of `text` on its own."""
        return self._model.tokenize(text)

    def prompt_tokens(self, prompt: Prompt) -> list[int]:
        """Return the tokens that the model reads for `prompt`."""
        pieces = (*prompt.file, *prompt.request)
        return tokenize_pieces(self._model, pieces)

    def cost_curve(self, n_tokens: int, exactness: Exactness) -> CostCurve:
        """Return the cost of passes behind `n_tokens` of context as drafters see it, in seconds."""
        flash_attention = uses_flash_attention(exactness)
        costs = self._calibrations.get(n_tokens, flash_attention=flash_attention) or self.measure(
            n_tokens, exactness
        )
        return build_cost_curve(costs, self._row_counts(exactness, n_tokens))

    def watch_cells(self) -> list[int]:
        """Return a list that gets the cells of all open contexts whenever another is opened."""
        counts: list[int] = []
        contexts: list[Context] = []
        make = self._pool.make_context

        def make_and_count(n_ctx: int, *, flash_attention: bool) -> Context:
            context = make(n_ctx, flash_attention=flash_attention)
            contexts.append(context)
            counts.append(sum(each.n_ctx for each in contexts if each.handle))
            return context

        self._pool.make_context = make_and_count  # type: ignore[method-assign]
        return counts

    def grow(self, n_tokens: int, exactness: Exactness) -> tuple[int, int]:
        """Make room for `n_tokens`; return the cells there are then, and the bytes of one."""
        before = self._pool.cache_for(1, exactness)
        n_bytes = before.context.saved_size(0) // max(1, len(before.tokens))
        return self._pool.cache_for(n_tokens, exactness).context.n_ctx, n_bytes

    def save_states(self, folder: Path) -> None:
        """Keep the cells of files in `folder`, for requests after `restart`."""
        self._states = DiskCache(folder, self.path, n_threads=self.n_threads, min_tokens=0)
        self._pool.disk_cache = self._states

    def forget(self) -> None:
        """Let the next request begin with an empty cache, whatever is saved."""
        self._pool.forget()
        self._pool.disk_cache = None

    def restart(self) -> None:
        """Let the next request begin as in a new process: with what is saved, and nothing else."""
        self._pool.forget()
        self._pool.disk_cache = self._states

    def calibrate_anew(self, folder: Path) -> None:
        """Know nothing of what passes cost and how they round; keep what is found in `folder`."""
        self._calibrations = CalibrationStore(folder, self.path, n_threads=self.n_threads)

    def calibrate(self, depths: Sequence[int], exactness: Exactness) -> None:
        """Measure the cost of passes behind so many tokens, where it is not known yet."""
        for depth in depths:
            is_known = self._calibrations.is_complete(
                depth, flash_attention=uses_flash_attention(exactness), max_rows=PREFILL_ROWS
            )
            if depth <= self.n_ctx and not is_known:
                self.measure(depth, exactness)

    def decode(
        self,
        prompt: Prompt,
        strategy: str,
        exactness: Exactness,
        *,
        max_tokens: int,
    ) -> Completion:
        """Decode greedily. Raises ModelError where the strategy needs a draft model."""
        name = cast(Strategy, strategy)
        options = DecodeOptions(strategy=name, exactness=exactness)
        return self.complete(prompt, options, max_tokens=max_tokens)

    def decode_together(
        self, prompts: Sequence[tuple[Prompt, int]], strategy: str, exactness: Exactness
    ) -> list[Completion]:
        """Decode several (prompt, max_tokens) greedily in shared passes."""
        options = DecodeOptions(strategy=cast(Strategy, strategy), exactness=exactness)
        completions = dict(self.complete_many(prompts, options, n_parallel=len(prompts)))
        return [completions[i] for i in range(len(prompts))]

    def warm_up(self, prompt: Prompt, exactness: Exactness) -> int:
        """Fill the cache with `prompt` and calibrate behind it. Returns its number of tokens."""
        return self.decode(prompt, "copy", exactness, max_tokens=2).stats.prompt_tokens


class _BenchDrafterFactory(DrafterFactory):
    def make(self, name: str, task: DraftingRequest) -> Drafter:
        base, _, cap = name.partition("@")  # copy@7: copying, drafts of 7 tokens at most
        if base in LLAMA_CPP_RULES:
            drafter = LLAMA_CPP_RULES[base](task.tokens)
        else:
            drafter = super().make(cast(Strategy, base), task)
        return _CappedDrafter(drafter, int(cap)) if cap else drafter


class _CappedDrafter:
    """A drafter whose drafts have `cap` tokens at most."""

    def __init__(self, drafter: Drafter, cap: int) -> None:
        self._drafter = drafter
        self._cap = cap
        self.wants_predictions = drafter.wants_predictions

    def propose(self, budget: int) -> Draft:
        return self._drafter.propose(min(budget, self._cap))

    def observe(self, observation: Observation) -> None:
        self._drafter.observe(observation)


def decode_in_turns(
    engine: BenchEngine,
    prompt: Prompt,
    strategies: Sequence[str],
    *,
    n_repeats: int,
    first: int,
    exactness: Exactness,
    max_tokens: int,
) -> dict[str, list[Completion]]:
    """Return `n_repeats` completions of the prompt for each strategy.

    The first round begins with the strategy of index `first` (modulo their number), each further
    one with the next. With the number of the prompt as `first`, a machine that slows down during a
    benchmark favours no strategy.
    """
    completions: dict[str, list[Completion]] = {name: [] for name in strategies}
    for repeat in range(n_repeats):
        for name in rotate(strategies, first + repeat):
            completion = engine.decode(prompt, name, exactness, max_tokens=max_tokens)
            completions[name].append(completion)
    return completions


def rotate(items: Sequence[_T], n: int) -> tuple[_T, ...]:
    """Return all items in order, beginning with number `n` (modulo their number)."""
    start = n % len(items)
    return (*items[start:], *items[:start])


def answer_tokens(completion: Completion) -> tuple[int, ...]:
    """Return the tokens of a completion, up to the one that completed a stop string."""
    tokens = [token for pass_ in completion.passes for token in pass_.tokens]
    return tuple(tokens[: completion.stats.output_tokens])


def first_difference(tokens: Sequence[int], others: Sequence[int]) -> int | None:
    """Return the index where two answers part; None where they are equal."""
    if tuple(tokens) == tuple(others):
        return None
    pairs = zip(tokens, others, strict=False)
    shorter = min(len(tokens), len(others))
    return next((i for i, (a, b) in enumerate(pairs) if a != b), shorter)


def speedup_spread(speedups: Sequence[float]) -> dict[str, float | None]:
    """Return median, least and most of the speed-ups of single tasks; None where there are none."""
    return {
        "median_speedup": median(speedups) if speedups else None,
        "least_speedup": min(speedups, default=None),
        "most_speedup": max(speedups, default=None),
    }
