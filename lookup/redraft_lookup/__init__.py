"""Speculative decoding without a second model: drafts are copied, the target model verifies them.

Knows token ids and numpy only: no tokenizer, no model, no clock, no I/O. A caller brings a
`TargetModel` (something that runs a verification pass) and gets back exactly the tokens that plain
decoding would have given, in fewer passes:

    drafter = CopyDrafter(prompt, source, curve=curve, vocabulary=vocabulary)
    for step in decode(target, Decoding(prompt, drafter, Limits(max_tokens=500))):
        print(step.tokens)

A `Drafter` proposes a `Draft`, a token tree; `Decoding` verifies it against the model's logits and
tells the drafter what was committed in an `Observation`. `CopyDrafter` guesses from the text that
is being edited, `NgramDrafter` from earlier text, `JacobiDrafter` and `LookaheadDrafter` from the
model's own predictions, `ModelDrafter` from a second model, and `Auto` picks among them.
`redraft_lookup.testing` has a scripted target to try them on without a model.
"""

from redraft_lookup.auto import Auto, Candidate, GainTracker, LookupThenModel, PaidDrafter, Prior
from redraft_lookup.copying import CopyDrafter
from redraft_lookup.cost import CostCurve
from redraft_lookup.decoding import (
    BatchTargetModel,
    Decoding,
    Limits,
    Step,
    TargetModel,
    decode,
    decode_many,
)
from redraft_lookup.draft import Draft, Drafter, Observation, PlainDrafter
from redraft_lookup.lookahead import JacobiDrafter, LookaheadDrafter
from redraft_lookup.model_draft import ModelCosts, ModelDrafter
from redraft_lookup.prompt_lookup import NgramDrafter, SuffixIndex
from redraft_lookup.rows import RowAllocator
from redraft_lookup.sampling import BadLogitsError, Chooser, Greedy, Sampler
from redraft_lookup.substitute import Vocabulary

__all__ = [
    "Auto",
    "BadLogitsError",
    "BatchTargetModel",
    "Candidate",
    "Chooser",
    "CopyDrafter",
    "CostCurve",
    "Decoding",
    "Draft",
    "Drafter",
    "GainTracker",
    "Greedy",
    "JacobiDrafter",
    "Limits",
    "LookaheadDrafter",
    "LookupThenModel",
    "ModelCosts",
    "ModelDrafter",
    "NgramDrafter",
    "Observation",
    "PaidDrafter",
    "PlainDrafter",
    "Prior",
    "RowAllocator",
    "Sampler",
    "Step",
    "SuffixIndex",
    "TargetModel",
    "Vocabulary",
    "decode",
    "decode_many",
]
