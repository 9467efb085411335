"""Taking the code out of what models put around it: chat tags, fences, preambles, remarks.

What the target itself holds, such as a fence of Markdown or a tag in a string, is code and stays.
Knows the habits of models, no language.
"""

import re
from collections.abc import Sequence

from redraft.records import EditRequest
from redraft.text.lines import to_lf

__all__ = ["strip_fences"]

_TAG = re.compile(
    r"<\|(?:im_start|im_end|endoftext|eot_id|end|end_of_text|begin_of_text|start_header_id"
    r"|end_header_id|file_sep|fim_\w+|assistant|user|system)\|>"
    r"|</?s>|<(?:start|end)_of_turn>|\[/?INST\]|<eos>|<bos>"
)
_ROLE = re.compile(r"\s*(?:(?:assistant|user|system|model)\b)?[ \t]*\n?")
_FENCE = re.compile(r"(`{3,}|~{3,})[ \t]*([\w+#.-]*)[ \t]*")
_PREAMBLE = re.compile(
    r"(?:sure|certainly|of course|okay|ok|here(?:.s| is| are)|below is"
    r"|the (?:updated|edited|modified|rewritten|corrected|fixed|new|complete)\b).*[:.!]\s*",
    re.IGNORECASE,
)


def strip_fences(reply: str, request: EditRequest) -> str:
    """The code in `reply`, LF only; "" where there is none."""
    own = to_lf(request.target.of(request.text))
    text = _without_tags(to_lf(reply), own + request.instruction)
    lines = _without_fences(text.split("\n"), own.split("\n"))
    return "\n".join(lines if request.language is None else _without_preamble(lines, own))


def _without_tags(text: str, own: str) -> str:
    """`text` from its leading chat tags to the next one; tags that `own` holds are plain text."""
    start = 0
    for tag in _TAG.finditer(text):
        if tag.group() in own or tag.start() < start:
            continue
        if text[start : tag.start()].strip():
            return text[start : tag.start()].removesuffix("\n")
        role = _ROLE.match(text, tag.end())
        start = role.end() if role else tag.end()
    return text[start:]


def _without_fences(lines: list[str], own: Sequence[str]) -> list[str]:
    """What the fence around the code encloses; `lines` as they are where there is none.

    The first closing fence ends the code of a target without fences; in one that has its own, the
    last does.
    """
    opening = _opening(lines, own)
    code = lines if opening is None else lines[opening + 1 :]
    own_fences = sum(bool(_FENCE.fullmatch(line)) for line in own)
    fences = [i for i, line in enumerate(code) if _FENCE.fullmatch(line)]
    least = 3 if opening is None else _width(lines[opening])
    closing = [i for i in fences if code[i].rstrip() == code[i][0] * max(least, _width(code[i]))]
    if not closing or (len(fences) - own_fences) % 2 == 0:
        return code
    end = closing[-1] if own_fences else closing[0]
    return code[:end]


def _opening(lines: Sequence[str], own: Sequence[str]) -> int | None:
    """The line of the fence that opens the code: the first filled one, or one below prose alone.

    A bare one that nothing follows closes what stands above it. Once a line of `own` has come,
    whatever follows is code.
    """
    held = {line.strip() for line in own}
    for index, line in enumerate(lines):
        if line.strip() and line.strip() in held:
            return None
        if fence := _FENCE.fullmatch(line):
            is_opening = fence.group(2) or any(map(str.strip, lines[index + 1 :]))
            return index if is_opening else None
    return None


def _width(fence: str) -> int:
    return len(fence) - len(fence.lstrip(fence[0]))


def _without_preamble(lines: list[str], own: str) -> list[str]:
    first = next((line for line in lines if line.strip()), "")
    if _PREAMBLE.fullmatch(first.strip()) and first.strip() not in own:
        return lines[lines.index(first) + 1 :]
    return lines
