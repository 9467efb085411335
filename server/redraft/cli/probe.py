"""Decode once, in a process that may die: `redraft doctor` starts it and reads what it prints.

Prints JSON objects, one a line: first what the native library is, then, given a model file, how a
short decode went, and with `--costs` what passes of several tokens cost. A crash between the lines
is itself an answer, so nothing is caught here but the errors redraft knows.
"""

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from redraft import engine
from redraft.cli.doctor import COSTS_FLAG
from redraft.errors import RedraftError
from redraft.records import DecodeOptions, Piece, Prompt

__all__ = ["main"]

# Long enough for the matrix kernels: those, not the one-row ones, hold the rarer instructions.
_CODE: Final = "".join(f"def add_{n}(a, b):\n    return a + b + {n}\n\n\n" for n in range(12))

_PROMPT: Final = Prompt(
    file=(Piece(_CODE),), request=(Piece("def add_12(a, b):\n"),), source=_CODE, stop=()
)


def main(argv: Sequence[str]) -> int:
    """Describe the library, then decode a few tokens with the model file `argv` may name."""
    _print({"backend": engine.backend(), "versions": engine.versions()})
    paths = [word for word in argv if word != COSTS_FLAG]
    try:
        for path in paths:
            start = time.perf_counter()
            with engine.Engine.open(Path(path)) as model:
                load_s = time.perf_counter() - start
                stats = model.complete(_PROMPT, DecodeOptions(), max_tokens=16).stats
                curve = model.costs(stats.prompt_tokens, "fast") if COSTS_FLAG in argv else None
            facts: dict[str, Any] = {
                "load_s": load_s,
                "prompt_tokens": stats.prompt_tokens,
                "prefill_s": stats.prefill_s,
                "output_tokens": stats.output_tokens,
                "tokens_per_s": stats.tokens_per_s,
            }
            if curve:
                facts["pass_s"] = dict(zip(curve.rows, curve.measured, strict=True))
            _print(facts)
    except RedraftError as error:
        _print({"error": str(error)})
        return 2
    return 0


def _print(value: dict[str, Any]) -> None:
    print(json.dumps(value), flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
