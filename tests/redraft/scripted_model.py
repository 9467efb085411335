"""A model that answers from a script, and otherwise behaves as a real one must.

Tokens are words, runs of white space and single other characters; a reply is given out token by
token, ends before the first stop string, and honours the token limit, the deadline and `cancelled`.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from redraft.records import (
    Completion,
    DecodeOptions,
    Finish,
    Pass,
    Progress,
    Prompt,
    RunnerUp,
    Stats,
)

_TOKEN = re.compile(r"\w+|[^\S\n]+|\n|.", re.DOTALL)


@dataclass
class ScriptedModel:
    """Gives `replies` in order, then repeats the last; records its prompts and token limits.

    `runners_up` maps a token to the one it nearly wrote instead, and how many logits behind.
    """

    replies: Sequence[str] = ()
    n_ctx: int = 32_768
    chat_template: str | None = None
    token_s: float = 0.0  # what one token costs on the model's own clock, in seconds
    runners_up: Mapping[str, tuple[str, float]] = field(default_factory=dict)
    prompts: list[Prompt] = field(default_factory=list)
    token_limits: list[int] = field(default_factory=list)

    def count_tokens(self, text: str) -> int:
        return len(_TOKEN.findall(text))

    def complete(
        self,
        prompt: Prompt,
        options: DecodeOptions,
        *,
        max_tokens: int,
        on_progress: Callable[[Progress], None] = lambda progress: None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> Completion:
        n_prompt = sum(self.count_tokens(piece.text) for piece in (*prompt.file, *prompt.request))
        assert n_prompt + max_tokens <= self.n_ctx, "the prompt leaves no room for the reply"
        reply = self.replies[min(len(self.prompts), len(self.replies) - 1)]
        self.prompts.append(prompt)
        self.token_limits.append(max_tokens)
        text, n_tokens, finish = "", 0, "stop"
        passes = []
        for token in _TOKEN.findall(reply):
            if early := self._ends(options, n_tokens, max_tokens, cancelled):
                finish = early
                break
            text, n_tokens = text + token, n_tokens + 1
            passes.append(self._pass(token))
            on_progress(Progress(phase="decode", done=n_tokens, expected=max_tokens, text=text))
            if any(stop in text for stop in prompt.stop):
                break
        for stop in prompt.stop:
            text = text.partition(stop)[0]
        stats = Stats(prompt_tokens=n_prompt, output_tokens=n_tokens, passes=n_tokens)
        return Completion(text=text, finish=finish, stats=stats, passes=tuple(passes))

    def _pass(self, token: str) -> Pass:
        other, behind = self.runners_up.get(token, ("?", 99.0))
        return Pass(
            tokens=(0,),
            pieces=(token.encode(),),
            origins=(None,),
            runners_up=(RunnerUp(token=1, piece=other.encode(), behind=behind),),
            drafted=0,
            seconds=0.0,
        )

    def _ends(
        self,
        options: DecodeOptions,
        n_tokens: int,
        max_tokens: int,
        cancelled: Callable[[], bool],
    ) -> Finish | None:
        if cancelled():
            return "cancelled"
        if options.timeout_s is not None and n_tokens * self.token_s >= options.timeout_s:
            return "timeout"
        return "length" if n_tokens == max_tokens else None
