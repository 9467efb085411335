"""Replies that are known already, by everything that decides them.

The key is a hash of the prompt as the model sees it, of the model file, of the program that runs it
and of how it is decoded: so content, instruction and parameters are all in it, and an entry can
never be out of date.
"""

import hashlib
import json
import os
import secrets
import time
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Final

from redraft.edit import PromptRequest
from redraft.records import Completion, DecodeOptions, Stats

__all__ = ["Cache"]

_KEPT_S: Final = 30 * 24 * 3600.0


class Cache:
    """Replies of the model `model` (its hash), one small file each in `folder`.

    `build` names the library that runs the model: another one may round differently.
    """

    def __init__(self, folder: Path, model: str, options: DecodeOptions, *, build: str) -> None:
        self._folder = folder
        decides = asdict(options) | {"timeout_s": None}
        self._base = json.dumps([2, model, build, decides], sort_keys=True)

    def get(self, asked: PromptRequest) -> Completion | None:
        """The reply, without its passes; None where it is not known."""
        try:
            entry = json.loads(self._path(asked).read_bytes())
            stats = Stats(**entry.pop("stats"))
            return Completion(**entry | {"stats": stats, "notes": tuple(entry["notes"])})
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None  # none yet, or a damaged one: asked anew

    def put(self, asked: PromptRequest, completion: Completion) -> None:
        """Keep a reply that would be the same next time; a full disk costs only time."""
        if completion.finish not in ("stop", "length"):
            return
        path = self._path(asked)
        entry = {
            "text": completion.text,
            "finish": completion.finish,
            "stats": asdict(completion.stats),
            "notes": completion.notes,
        }
        scratch = path.with_name(f"{path.name}-{secrets.token_hex(4)}.tmp")
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            scratch.write_text(json.dumps(entry), encoding="utf-8")
            scratch.replace(path)
        except OSError:
            with suppress(OSError):
                scratch.unlink(missing_ok=True)

    def prune(self) -> None:
        """Delete what was not put here within the last 30 days."""
        limit = time.time() - _KEPT_S
        for path in self._folder.glob("*/*"):
            with suppress(OSError):
                if os.stat(path).st_mtime < limit:  # noqa: PTH116 - half the cost of Path.stat
                    path.unlink()

    def _path(self, asked: PromptRequest) -> Path:
        prompt = asdict(asked.prompt) | {"notes": ()}
        told = json.dumps([prompt, asked.max_tokens], sort_keys=True)
        key = hashlib.sha256(f"{self._base}\n{told}".encode()).hexdigest()
        return self._folder / key[:2] / key[2:]
