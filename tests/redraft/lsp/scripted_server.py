"""The product's server around a model that does what the instruction says: `redraft serve`, but
with a script for a model. Started by tests as a process of its own.

An instruction is a JSON object: {"sub": [old, new]} replies with the target so changed, {"reply":
text} with exactly that text, {"nearly": [token, other]} with the target as it is, where `other` was
its second choice for `token`, {"fail": message} as a failing library, {"bug": true} as a bug.
"token_s" and "prefill_s" are what a token and the prefill of the file cost, in seconds.
"""

import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from redraft.config.settings import Settings
from redraft.errors import EngineError, ModelError
from redraft.lsp import handlers
from redraft.lsp.server import Server, serve
from redraft.records import (
    Completion,
    DecodeOptions,
    Exactness,
    Pass,
    Piece,
    Progress,
    Prompt,
    RunnerUp,
    Stats,
)

CHUNKS = 10  # of a prefill
_TOKEN = re.compile(r"\w+|[^\S\n]+|\n|.", re.DOTALL)

loaded: list[str] = []  # every load of the model
warmed: list[str] = []


class Model:
    n_ctx = 1_000_000
    chat_template = None

    def count_tokens(self, text: str) -> int:
        return len(text) // 4

    def prefill(
        self,
        file: tuple[Piece, ...],
        *,
        exactness: Exactness = "fast",
        cancelled: Callable[[], bool] = lambda: False,
    ) -> None:
        for _ in range(CHUNKS):
            time.sleep(0.01)
            if cancelled():
                return
        warmed.append(file[1].text)

    def complete(
        self,
        prompt: Prompt,
        options: DecodeOptions,
        *,
        max_tokens: int,
        on_progress: Callable[[Progress], None] = lambda _: None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> Completion:
        script = _script(prompt)
        if "fail" in script:
            raise EngineError(script["fail"])
        if "bug" in script:
            raise RuntimeError("a bug")
        for chunk in range(CHUNKS):
            on_progress(Progress(phase="prefill", done=chunk, expected=CHUNKS))
            if cancelled():
                return Completion(text="", finish="cancelled", stats=Stats())
            time.sleep(script.get("prefill_s", 0) / CHUNKS)
        return _decode(script, prompt, max_tokens, on_progress, cancelled)


def _decode(
    script: dict[str, Any],
    prompt: Prompt,
    max_tokens: int,
    on_progress: Callable[[Progress], None],
    cancelled: Callable[[], bool],
) -> Completion:
    tokens = _TOKEN.findall(_reply(script, prompt))
    text, done = "", 0
    for done, token in enumerate(tokens, 1):
        stats = Stats(output_tokens=done - 1, passes=done - 1, decode_s=0.001 * done)
        if cancelled():
            return Completion(text=text, finish="cancelled", stats=stats)
        if done > max_tokens:
            return Completion(text=text, finish="length", stats=stats)
        time.sleep(script.get("token_s", 0))
        text += token
        on_progress(Progress(phase="decode", done=done, expected=len(tokens), text=text))
        if any(stop in text for stop in prompt.stop):
            break
    for stop in prompt.stop:
        text = text.partition(stop)[0]
    return Completion(
        text=text,
        finish="stop",
        stats=Stats(output_tokens=done, passes=done),
        passes=tuple(_pass(script, token) for token in tokens[:done]),
    )


def _pass(script: dict[str, Any], token: str) -> Pass:
    nearly, other = script.get("nearly", ("", ""))
    runner_up = RunnerUp(token=1, piece=other.encode(), behind=0.5 if token == nearly else 99.0)
    return Pass(
        tokens=(0,),
        pieces=(token.encode(),),
        origins=(None,),
        runners_up=(runner_up,),
        drafted=0,
        seconds=0.0,
    )


def _script(prompt: Prompt) -> dict[str, Any]:
    request = "".join(piece.text for piece in prompt.request)
    begin = re.search(r'^\{"', request, re.MULTILINE)
    assert begin, "the instruction is no script"
    script, _ = json.JSONDecoder().raw_decode(request, begin.start())  # of one line or several
    return script


def _reply(script: dict[str, Any], prompt: Prompt) -> str:
    if "reply" in script:
        return script["reply"]
    if prompt.stop == ("\n",):  # the first step of a second try asks for a sentence
        return "The code was not complete.\n"
    fence = prompt.stop[0].strip()
    if "nearly" in script:
        token, other = script["nearly"]
        before, _, behind = prompt.source.partition(token)
        request = "".join(piece.text for piece in prompt.request)
        is_begun = request.endswith(before + other)
        return f"{behind if is_begun else prompt.source}{fence}\n"
    old, new = script["sub"]
    assert not old or old in prompt.source, "the script replaces what is not there"
    return f"{prompt.source.replace(old, new) if old else prompt.source}{fence}\n"


@contextmanager
def open_model(settings: Settings) -> Iterator[Model]:
    needed = os.environ.get("SCRIPTED_NEEDS")
    if needed and not Path(needed).exists():
        raise ModelError("the model is not on this machine")
    if settings.model == "broken":
        raise ModelError("broken is damaged")
    loaded.append(settings.model or "")
    yield Model()
    loaded.append("freed")


def fetch(model: Any, *, on_progress: Callable[[Any], None]) -> Path:
    from redraft.models import FetchProgress

    for done in range(0, 101, 20):
        on_progress(FetchProgress(step="downloading", done=done * 10**6, total=10**8))
        time.sleep(0.02)
    path = Path(os.environ["SCRIPTED_NEEDS"])
    path.write_text("here")
    return path


def _register(server: Server, register: Callable[[Server], None] = handlers.register) -> None:
    register(server)

    @server.feature("test/document")
    def document(ls: Server, params: Any) -> dict[str, Any]:
        copy = ls.documents.get(params["uri"])
        return {"text": copy and copy.text, "version": copy and copy.version}

    @server.feature("test/model")
    def model(ls: Server, params: Any) -> dict[str, Any]:
        return {"loaded": loaded, "warmed": warmed}


if __name__ == "__main__":
    handlers.register = _register
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.exit(serve(sys.stdin.buffer, out, open_model=open_model, fetch=fetch))
