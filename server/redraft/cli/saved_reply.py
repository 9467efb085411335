"""Keep what a model wrote in a file, and read it again: for bug reports and tests.

A saved reply is one JSON object, described in docs/replies.md; any other file is a reply as
it was written. Knows files and formats; what a reply means is decided in
`redraft.edit`.
"""

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from redraft import __version__
from redraft.cli.output import build_record
from redraft.edit import prompt_without_model
from redraft.errors import InputError
from redraft.records import Completion, DecodeOptions, EditRequest, Outcome, Stats

__all__ = ["SavedReply", "read_reply", "write_reply"]

FORMAT: Final = "redraft reply 1"


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedReply:
    """The replies of a file, in the order they were written; `request` where it holds one."""

    completions: tuple[Completion, ...]
    request: Mapping[str, Any] | None = None

    @property
    def instruction(self) -> str:
        return self.request["instruction"] if self.request else ""

    def check(self, request: EditRequest, path: Path) -> None:
        """Raise InputError where the replies were made for another text or target."""
        if self.request is None:
            return
        if self.request["text"] != request.text:
            raise InputError(
                f"{path} was made for another text of {self.request['path']} than {request.path} "
                "holds now: put that text back, or edit a file that has it"
            )
        if list(self.request["target"]) != [request.target.start, request.target.stop]:
            first, last = (self.request["text"].count("\n", 0, at) + 1 for at in self._target)
            raise InputError(
                f"{path} was made for another target: lines {first} to {last} of {request.path}"
            )

    @property
    def _target(self) -> tuple[int, int]:
        start, stop = self.request["target"] if self.request else (0, 0)
        return start, max(start, stop - 1)


def write_reply(
    path: Path,
    request: EditRequest,
    options: DecodeOptions,
    completions: Sequence[Completion],
    outcome: Outcome,
    *,
    model: str | None,
) -> None:
    """Write the request, each reply to it and the outcome. Raises OSError."""
    record = {
        "format": FORMAT,
        "request": {
            "path": request.path,
            "text": request.text,
            "target": [request.target.start, request.target.stop],
            "instruction": request.instruction,
            "language": request.language,
            "allowed": list(request.allowed),
            "adds_imports": request.adds_imports,
        },
        "prompt": {
            "kind": options.route,
            "stop": list(prompt_without_model(request, options).stop),
        },
        "replies": [{"text": reply.text, "finish": reply.finish} for reply in completions],
        "versions": {
            "redraft": __version__,
            "python": platform.python_version(),
            "platform": platform.platform(),
            "model": model,
        },
        "outcome": build_record(outcome, request),
    }
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def read_reply(path: Path) -> SavedReply:
    """Read a saved reply, or plain text as the reply. Raises InputError where it is neither."""
    try:
        text = path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the reply {path}: {error}") from error
    record = _parse_record(text)
    if record is None:
        plain = Completion(text=text, finish="stop", stats=Stats())
        return SavedReply(completions=(plain,))
    try:
        request = record["request"]
        completions = tuple(
            Completion(text=reply["text"], finish=reply["finish"], stats=Stats())
            for reply in record["replies"]
        )
        saved = SavedReply(completions=completions, request=request)
        int(request["target"][0]), int(request["target"][1]), request["text"] + saved.instruction
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise InputError(f"{path} is no complete saved reply: {error!r} is wrong in it") from error
    if not completions:
        raise InputError(f"{path} holds no reply: the model was not asked")
    return saved


def _parse_record(text: str) -> dict[str, Any] | None:
    """Return the object of a saved reply; None for other text, JSON or not."""
    if FORMAT not in text:
        return None
    try:
        record = json.loads(text)
    except ValueError:
        return None
    is_saved = isinstance(record, dict) and record.get("format") == FORMAT
    return record if is_saved else None
