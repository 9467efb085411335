"""Models that edit by rule, for tests of codemods.

Each reply depends on its prompt alone. Replies of a batch come back in another order than their
prompts, as they do from a real one.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from tests.redraft.scripted_model import ScriptedModel

from redraft.records import Completion, DecodeOptions, Prompt


def rename(source: str) -> str:
    """The rule of most tests: `old` is called `new` everywhere."""
    return source.replace("old", "new")


@dataclass
class RuleModel(ScriptedModel):
    """Answers with `rule` of the text to edit; `batch_sizes` grows with each batch."""

    rule: Callable[[str], str] = rename
    batch_sizes: list[int] = field(default_factory=list)

    def complete(self, prompt: Prompt, *args, **kwargs) -> Completion:
        self.before_reply(prompt)
        self.replies = [""] * len(self.prompts) + [self.rule(prompt.source) + "```\n"]
        return super().complete(prompt, *args, **kwargs)

    def before_reply(self, prompt: Prompt) -> None:
        """For tests to do something at the worst moment."""


class BatchRuleModel(RuleModel):
    def complete_many(
        self,
        requests: Sequence[tuple[Prompt, int]],
        options: DecodeOptions,
        *,
        n_parallel: int,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> Iterator[tuple[int, Completion]]:
        self.batch_sizes.append(len(requests))
        order = list(range(len(requests)))
        random.Random(len(requests)).shuffle(order)
        for i in order:
            prompt, max_tokens = requests[i]
            yield i, self.complete(prompt, options, max_tokens=max_tokens, cancelled=cancelled)
