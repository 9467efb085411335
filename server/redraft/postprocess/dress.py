"""Take the code out of what models put around it: chat tags, fences, preambles, closing remarks.

Only what stands before or behind the code is dress. Inside it a tag, a fence or a sentence is
text as any other: `<s>10</s>` in a page, three backquotes in a docstring. Knows the habits of
models, no language.
"""

import re
from collections.abc import Sequence
from pathlib import PurePath

from redraft.records import EditRequest
from redraft.text.lines import to_lf

__all__ = ["is_prose", "strip_dress"]

_TAG = (
    r"(?:<\|(?:im_start|im_end|endoftext|eot_id|end|end_of_text|begin_of_text|start_header_id"
    r"|end_header_id|file_sep|fim_\w+|assistant|user|system)\|>"
    r"|</?s>|<(?:start|end)_of_turn>|\[/?INST\]|<eos>|<bos>)"
)
_LEADING = re.compile(rf"\s*(?:{_TAG}[ \t]*(?:(?:assistant|user|system|model)\b)?[ \t]*\n?)+")
# A tag alone on its line ends the turn, as does one at the end of all; inside a line it is text.
_ENDING = re.compile(rf"^[ \t]*{_TAG}[ \t]*$|{_TAG}(?:\s|{_TAG})*\Z", re.MULTILINE)
_THINKING = re.compile(r"\s*<think(?:ing)?>.*?</think(?:ing)?>\s*", re.DOTALL)
_FENCE = re.compile(r"(`{3,}|~{3,})[ \t]*([\w+#.-]*)[ \t]*")
_PREAMBLE = re.compile(
    r"(?:sure|certainly|of course|okay|ok|here(?:.s| is| are)|below is|to \w+|this (?:is|function)"
    r"|the (?:updated|edited|modified|rewritten|corrected|fixed|new|complete)\b).*[:.!]\s*",
    re.IGNORECASE,
)
_REMARK = re.compile(
    r"(?:I|I've|I'll|This|These|Note|Let me|Hope|Now|The (?:code|file|function|method|changes?))\b"
)
_TEXT_SUFFIXES = frozenset({".md", ".markdown", ".mdx", ".rst", ".txt", ".adoc", ".tex", ""})
_CODE_CHARACTERS = re.compile(r"[=(){}\[\];<>$@#&|\\+*/^~%`]|->|::")
# Statements that are nothing but words: Python, Ruby, Lua, SQL and shells have them.
_STATEMENT = re.compile(
    r"(?:(?:return|yield|raise|assert|del|global|nonlocal|await|import|elif|except|while|unless)\b"
    r"|from \S+ import\b|for \w+(?:, \w+)* in\b|if \w+ (?:is|in|not|and|or|then)\b|if \w+:$"
    r"|with \w+ as\b|(?:SELECT|INSERT|UPDATE|DELETE|FROM|WHERE|CREATE|ALTER|DROP|ORDER|GROUP)\b)"
)
_SENTENCE = re.compile(r"[^\W\d_][\w'\u2019,-]*(?: [\w'\u2019\",-]+)*\s?[:.!…]?")


def strip_dress(reply: str, request: EditRequest) -> list[str]:
    """Return the lines of the code in `reply`; none where there is no code."""
    own = to_lf(request.target.of(request.text))
    text = _without_tags(to_lf(reply), to_lf(request.text) + request.instruction)
    lines = _without_fences(text.split("\n"), own.split("\n"))
    lines = _applied_diff(lines, own.split("\n"))
    if _is_list_of_changes(lines, own):
        return []
    is_text = PurePath(request.path).suffix.lower() in _TEXT_SUFFIXES
    return _without_remarks(lines, own) if not is_text else lines


def is_prose(line: str) -> bool:
    """Return True where a line reads like a sentence said about code, not like code.

    Three words and more with nothing between them but spaces and commas, or a phrase that ends like
    a sentence.
    """
    words = line.strip()
    if not words or _CODE_CHARACTERS.search(words) or not _SENTENCE.fullmatch(words):
        return False
    if _STATEMENT.match(words):
        return False
    n_words = len(words.split())
    return n_words >= 4 or (n_words >= 2 and words[-1] in ":.!…")


def _without_tags(text: str, own: str) -> str:
    """Return `text` without the chat tags around it; a tag that `own` holds is plain text."""
    thinking = _THINKING.match(text)
    if thinking and "<think" not in own:
        text = text[thinking.end() :]
    leading = _LEADING.match(text)
    if leading and not re.search(_TAG, own):
        text = text[leading.end() :]
    for tag in _ENDING.finditer(text):
        line = text[text.rfind("\n", 0, tag.start()) + 1 : tag.start()]
        is_closing = tag.group().strip() == "</s>" and "<s>" in line
        if tag.group().strip() in own or is_closing or not text[: tag.start()].strip():
            continue
        return text[: tag.start()].removesuffix("\n")
    return text


def _without_fences(lines: list[str], own: Sequence[str]) -> list[str]:
    """Return what the fence around the code encloses; `lines` where there is none.

    A fence is around the code where nothing but prose stands before it and no line of `own`. The
    first closing fence ends the code of a target without fences; in one that has its own, the last
    does. A closing fence that nothing opened, behind the code, goes with all that follows.
    """
    fences = [at for at, line in enumerate(lines) if _FENCE.fullmatch(line)]
    own_fences = sum(bool(_FENCE.fullmatch(line.strip())) for line in own)
    opening = _opening_fence(lines, own)
    if opening is None:
        # What follows a stray closing fence is not code, unless fences open and close in pairs.
        stray = [at for at in fences if _closes(lines[at], 3)]
        if len(fences) % 2 == own_fences % 2 or not stray:
            return lines
        return lines[: stray[-1] if own_fences else stray[0]]
    width = len(lines[opening]) - len(lines[opening].lstrip(lines[opening][0]))
    code = lines[opening + 1 :]
    closing = [
        at for at, line in enumerate(code) if _FENCE.fullmatch(line) and _closes(line, width)
    ]
    if not closing:
        return code
    inner = sum(bool(_FENCE.fullmatch(line)) for line in code)
    if own_fences and (inner - own_fences) % 2 == 0:
        return code
    end = closing[-1] if own_fences else closing[0]
    rest = code[end + 1 :]
    # Two blocks one after the other, and nothing said around them: the answer is both of them.
    if (
        opening == 0
        and any(_FENCE.fullmatch(line) and not _closes(line, 3) for line in rest)
        and not (any(is_prose(line) for line in rest))
        and own_fences == 0
        and not any(map(str.strip, own[1:]))
    ):
        return lines
    return code[:end]


def _closes(fence: str, width: int) -> bool:
    bare = fence.rstrip()
    return set(bare) in ({"`"}, {"~"}) and len(bare) >= width


def _opening_fence(lines: Sequence[str], own: Sequence[str]) -> int | None:
    """Return the line of the fence that opens the code: the first filled one, or one below prose.

    A bare one that nothing follows closes what stands above it. Once a line of `own` has come,
    whatever follows is code.
    """
    held = {line.strip() for line in own}
    for at, line in enumerate(lines):
        if line.strip() and line.strip() in held:
            return None
        if fence := _FENCE.fullmatch(line):
            is_opening = fence.group(2) or any(map(str.strip, lines[at + 1 :]))
            return at if is_opening else None
        if line.strip() and not is_prose(line) and not _PREAMBLE.fullmatch(line.strip()):
            return None
    return None


def _without_remarks(lines: list[str], own: str) -> list[str]:
    """Return `lines` without sentences in front of the code and behind it."""
    filled = [at for at, line in enumerate(lines) if line.strip()]
    start, stop = 0, len(lines)
    for at in filled:
        words = lines[at].strip()
        if words in own or not (_PREAMBLE.fullmatch(words) and is_prose(words)):
            break
        start = at + 1
    for at in reversed(filled):
        words = lines[at].strip()
        if at < start or words in own or not (_REMARK.match(words) and is_prose(words)):
            break
        stop = at
    return lines[start:stop] if any(line.strip() for line in lines[start:stop]) else lines


def _applied_diff(lines: list[str], own: Sequence[str]) -> list[str]:
    """Return the new side of a reply that is a diff; `lines` where it is none.

    It is one where every line begins with a blank, a plus or a minus, and those with a minus are
    lines of the code.
    """
    filled = [line for line in lines if line.strip()]
    removed = [line[1:].strip() for line in filled if line.startswith("-")]
    added = [line for line in filled if line.startswith("+")]
    held = {line.strip() for line in own}
    is_diff = removed and added and all(line[0] in " +-@" for line in filled)
    if not is_diff or not all(line in held for line in removed if line):
        return lines
    return [line[1:] for line in lines if not line.startswith(("-", "@@"))]


def _is_list_of_changes(lines: Sequence[str], own: str) -> bool:
    """Return True for search and replace blocks, which say what to change and not the outcome."""
    marks = ("<<<<<<< ", ">>>>>>> ")
    return all(any(line.startswith(mark) for line in lines) and mark not in own for mark in marks)
