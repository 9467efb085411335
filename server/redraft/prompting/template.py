"""The control text around one user turn, from a model's own chat template.

Knows Jinja and the shapes of chat templates; nothing of files, edits or tokens. The user's text
never passes through the template: the template is rendered once around a marker, and the text is
put in the marker's place, so that nothing in a source file can reach it or its special tokens.
"""

from dataclasses import dataclass
from datetime import datetime, timezone
from typing import NoReturn

from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from redraft.records import Piece

__all__ = ["CHATML", "Frame", "render_frame"]

_MARKER = "redraft-user-text"

# A template may print the date. A fixed one keeps the prompt, and with it the KV prefix and the
# reply, the same from day to day.
_DATE = datetime(2026, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True, slots=True)
class Frame:
    """The control text before and after the user's words; the assistant's turn follows `tail`."""

    head: str
    tail: str

    @property
    def opening(self) -> Piece:
        return Piece(self.head, control=True)

    @property
    def closing(self) -> Piece:
        return Piece(self.tail, control=True)


CHATML = Frame("<|im_start|>user\n", "<|im_end|>\n<|im_start|>assistant\n")


def render_frame(template: str | None) -> Frame:
    """Return the frame that `template` puts around one user turn.

    There is no system turn: several families have none, and the others then print the default
    system text they were trained with, which gave better edits than one of ours. ChatML where there
    is no template, where it fails, or where it does not print the user's text exactly once and
    unchanged.
    """
    if template is None:
        return CHATML
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.globals.update(raise_exception=_raise_exception, strftime_now=_DATE.strftime)
    try:
        rendered = environment.from_string(template).render(
            messages=[{"role": "user", "content": _MARKER}],
            add_generation_prompt=True,
            enable_thinking=False,  # an edit is wanted at once; models without the switch ignore it
            bos_token="",  # the engine adds the model's own
            eos_token="",
        )
    except (TemplateError, TypeError, ValueError, ArithmeticError, LookupError):
        return CHATML  # a template may fail in any way that Jinja's expressions can
    head, *rest = rendered.split(_MARKER)
    return Frame(head, rest[0]) if len(rest) == 1 else CHATML


def _raise_exception(message: str) -> NoReturn:
    raise TemplateError(message)
