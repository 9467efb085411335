"""Models and vocabularies small enough to think about."""

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from redraft_lookup.auto import Auto, Candidate, GainTracker, LookupThenModel, Prior
from redraft_lookup.copying import CopyDrafter
from redraft_lookup.cost import CostCurve
from redraft_lookup.decoding import Decoding, Limits, Step, TargetModel, decode
from redraft_lookup.draft import EMPTY, ROOT, Draft, Drafter, Observation, PlainDrafter
from redraft_lookup.llama_cpp_rules import NgramMapK, NgramMod, NgramSimple
from redraft_lookup.lookahead import JacobiDrafter, LookaheadDrafter
from redraft_lookup.model_draft import ModelCosts, ModelDrafter
from redraft_lookup.prompt_lookup import NgramDrafter
from redraft_lookup.sampling import Chooser, Greedy

END = 0

EDIT = Prior(kind="edit", gain=3.0, head_start=32.0)
NEW_TEXT = Prior(kind="new text", gain=1.5)

# T(rows)/T(1) as recorded in the idle runs of the 2-core test machine, T(1) = 97 ms.
SLOPE = {
    1: 1.0, 2: 1.5, 3: 2.0, 4: 1.6, 6: 2.2, 8: 2.6, 12: 3.9, 16: 3.6, 24: 5.5, 32: 6.1, 48: 8.6, 64: 9.9, 128: 19.9,
}  # fmt: skip
# Matrix-vector kernels up to 8 rows, then 32-row tiles that cost the same filled or not.
STAIRCASE = {
    1: 1.0, 2: 1.81, 5: 5.65, 8: 7.44, 9: 3.0, 32: 3.0, 33: 6.0, 64: 6.0, 65: 9.0, 96: 9.0,
}  # fmt: skip


class Markov:
    """A target whose logits are random numbers, fixed by its seed and the last two tokens.

    Unlike a scripted one it has an opinion after every text. `twist` changes it for one context in
    `twist`: a small model that mostly agrees with the large one.
    """

    def __init__(
        self, prompt: Sequence[int], *, n_vocab: int = 12, seed: int = 0, twist: int = 0,
        max_rows: int = 64,
    ) -> None:  # fmt: skip
        self.cache = list(prompt[:-1])
        self.max_rows = max_rows
        self.passes: list[int] = []
        self._n_vocab, self._seed, self._twist = n_vocab, seed, twist
        self._rows: tuple[int, ...] = ()
        self._aside: tuple[int, ...] = ()
        self._known: dict[tuple[int, ...], np.ndarray] = {}

    def logits(self, text: Sequence[int]) -> np.ndarray:
        context = tuple(text[-2:])
        if context not in self._known:
            twisted = self._twist and sum(context) % self._twist == 0
            generator = np.random.default_rng((self._seed + bool(twisted), *context))
            logits = generator.normal(0, 2, self._n_vocab).astype(np.float32)
            logits[END] -= 4  # texts shall last
            self._known[context] = logits
        return self._known[context]

    def forward(self, token: int, draft: Draft) -> np.ndarray:
        assert 1 + len(draft) <= self.max_rows
        self.passes.append(1 + len(draft))
        self._rows = (token, *draft.tokens)
        texts = {ROOT: [*self.cache, token]}
        for node, (guess, parent) in enumerate(zip(draft.tokens, draft.parents, strict=True)):
            texts[node] = [*texts[parent], guess]
        return np.stack([self.logits(texts[node]) for node in range(ROOT, len(draft))])

    def commit(self, rows: Sequence[int], aside: Sequence[int] = ()) -> None:
        assert not self._aside or len(self._rows) == 1, "the pass would see what was set aside"
        known = (*self._rows, *self._aside)
        self.cache += (known[row] for row in rows)
        self._aside = tuple(known[row] for row in aside)

    def rewind(self, n_tokens: int) -> None:
        assert 0 <= n_tokens <= len(self.cache)
        del self.cache[len(self.cache) - n_tokens :]


class Bytes:
    """A vocabulary of bytes: the id of a token is its byte."""

    def piece(self, token: int) -> bytes:
        return bytes((token,))

    def tokenize(self, data: bytes) -> Sequence[int]:
        return list(data)


@dataclass(frozen=True)
class Small:
    """What a guess of a small model costs."""

    guess_s: float


class FixedDrafter:
    """Proposes the same trees again and again, in order; keeps what it is told."""

    def __init__(self, *drafts: Draft, wants_predictions: bool = False) -> None:
        self.wants_predictions = wants_predictions
        self.drafts = drafts
        self.budgets: list[int] = []
        self.observed: list[Observation] = []

    def propose(self, budget: int) -> Draft:
        draft = self.drafts[len(self.budgets) % len(self.drafts)] if self.drafts else EMPTY
        self.budgets.append(budget)
        return draft

    def observe(self, observation: Observation) -> None:
        self.observed.append(observation)


def run(
    target: TargetModel, prompt: Sequence[int], drafter: Drafter | None = None, **options
) -> list[Step]:
    """All steps of a decoding; see `run_steps` for the options."""
    return list(run_steps(target, prompt, drafter, **options))


def run_steps(
    target: TargetModel, prompt: Sequence[int], drafter: Drafter | None = None, *,
    max_tokens: int = 200, chooser: Chooser | None = None, control_ids: Iterable[int] = (),
    min_margin: float = 0.0, end_ids: Iterable[int] = (END,),
) -> Iterator[Step]:  # fmt: skip
    """The steps of a decoding. After each, a fake target's cache must hold what is committed."""
    limits = Limits(
        max_tokens=max_tokens, end_ids=frozenset(end_ids), control_ids=frozenset(control_ids),
        min_margin=min_margin,
    )  # fmt: skip
    decoding = Decoding(prompt, drafter or PlainDrafter(), limits, chooser or Greedy())
    text = list(prompt)
    for step in decode(target, decoding):
        text += step.tokens
        cache = target.cache  # type: ignore[attr-defined]  # all targets here are fakes
        assert cache == text[: len(cache)]
        assert len(text) - len(cache) == (step.finish != "stop")
        yield step


def written(steps: Iterable[Step]) -> list[int]:
    return [token for step in steps for token in step.tokens]


def edited(source: Sequence[int], random: random.Random, n_vocab: int) -> list[int]:
    """`source` with some tokens deleted, inserted and replaced; never the end token."""
    answer: list[int] = []
    for token in source:
        kind = random.random()
        if kind < 0.04:
            continue
        answer.append(random.randrange(1, n_vocab) if kind < 0.08 else token)
        if kind > 0.96:
            answer += (random.randrange(1, n_vocab) for _ in range(random.randrange(1, 4)))
    return answer


def copying(curve: CostCurve) -> Callable[[Sequence[int], Sequence[int]], Drafter]:
    return lambda prompt, source: CopyDrafter(prompt, source, curve=curve, vocabulary=Bytes())


def model(prompt: Sequence[int], source: Sequence[int] = (), **options) -> ModelDrafter:
    """A draft model that knows `Markov` targets of seed 0 well, and of a scripted text nothing."""
    return ModelDrafter(Markov(prompt, twist=3, max_rows=8), prompt, **options)


def auto(prior: Prior) -> Callable[[Sequence[int], Sequence[int]], Drafter]:
    def make(prompt: Sequence[int], source: Sequence[int]) -> Drafter:
        candidates = [
            Candidate(name="copy", drafter=copying(SLOPE_CURVE)(prompt, source)),
            Candidate(name="lookahead", drafter=LookaheadDrafter(prompt)),
        ]
        return Auto(
            candidates,
            prior=prior,
            curve=SLOPE_CURVE,
            gains=GainTracker(),
            model=model(prompt, costs=COSTS),
        )

    return make


SLOPE_CURVE, STAIRCASE_CURVE = CostCurve.of(SLOPE), CostCurve.of(STAIRCASE)
COSTS = ModelCosts(curve=SLOPE_CURVE, small=Small(0.1))

# Every drafter of the library, made from a prompt and the source in it.
DRAFTERS: dict[str, Callable[[Sequence[int], Sequence[int]], Drafter]] = {
    "plain": lambda prompt, source: PlainDrafter(),
    "lookup": lambda prompt, source: NgramDrafter(prompt),
    "lookup of single tokens": lambda prompt, source: NgramDrafter(
        prompt, min_ngram=1, max_ngram=2, n_draft=30
    ),
    "copy on a slope": copying(SLOPE_CURVE),
    "copy on a staircase": copying(STAIRCASE_CURVE),
    "jacobi": lambda prompt, source: JacobiDrafter(prompt),
    "lookahead": lambda prompt, source: LookaheadDrafter(prompt),
    "lookahead with bigrams": lambda prompt, source: LookaheadDrafter(prompt, window=3, n_gram=2),
    "draft model": model,
    "draft model as long as it pays": lambda prompt, source: model(prompt, costs=COSTS),
    "lookup, then draft model": lambda prompt, source: LookupThenModel(
        NgramDrafter(prompt), model(prompt)
    ),
    "auto for edits": auto(EDIT),
    "auto for new text": auto(NEW_TEXT),
    "ngram-simple": lambda prompt, source: NgramSimple(prompt),
    "ngram-map-k": lambda prompt, source: NgramMapK(prompt),
    "ngram-mod": lambda prompt, source: NgramMod(prompt),
}
