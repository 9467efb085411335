"""Take the code out of what models put around it: chat tags, fences, preambles, closing remarks.

Only what stands before or behind the code is dress. Inside it a tag, a fence or a sentence is
text as any other: `<s>10</s>` in a page, three backquotes in a docstring. Knows the habits of
models, no language.
"""

import re
from collections.abc import Sequence
from itertools import pairwise
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
    target_code = to_lf(request.target.of(request.text))
    text = _strip_tags(to_lf(reply), to_lf(request.text) + request.instruction)
    lines = _strip_fences(text.split("\n"), target_code.split("\n"), to_lf(request.text))
    lines = _apply_diff(lines, target_code.split("\n"))
    if _is_list_of_changes(lines, target_code):
        return []
    is_text = PurePath(request.path).suffix.lower() in _TEXT_SUFFIXES
    return _strip_remarks(lines, target_code) if not is_text else lines


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


def _strip_tags(text: str, document: str) -> str:
    """Return `text` without the chat tags around it; a tag that `document` holds is text."""
    thinking = _THINKING.match(text)
    if thinking and "<think" not in document:
        text = text[thinking.end() :]
    leading = _LEADING.match(text)
    if leading and not any(tag in document for tag in re.findall(_TAG, leading[0])):
        text = text[leading.end() :]
    for tag in _ENDING.finditer(text):
        line = text[text.rfind("\n", 0, tag.start()) + 1 : tag.start()]
        is_closing = tag.group().strip() == "</s>" and "<s>" in line
        if tag.group().strip() in document or is_closing or not text[: tag.start()].strip():
            continue
        return text[: tag.start()].removesuffix("\n")
    return text


def _strip_fences(lines: list[str], target_code: Sequence[str], document: str) -> list[str]:
    """Return what the fence around the code encloses; `lines` where there is none.

    A fence that stands below the same line in `document` is text, as is the rule below a heading.

    A fence is around the code where nothing but prose stands before it and no line of the target.
    The first closing fence ends the code of a target without fences; of one that has fences, the
    last does. A closing fence that nothing opened, behind the code, goes with all that follows.
    """
    document_pairs = set(pairwise(line.strip() for line in document.split("\n")))
    pairs = enumerate(pairwise(line.strip() for line in lines), 1)
    text_fences = {at for at, pair in pairs if pair in document_pairs and _FENCE.fullmatch(pair[1])}
    fences = [
        at for at, line in enumerate(lines) if _FENCE.fullmatch(line) and at not in text_fences
    ]
    n_target_fences = sum(bool(_FENCE.fullmatch(line.strip())) for line in target_code)
    n_target_fences = max(0, n_target_fences - len(text_fences))
    opening = _find_opening_fence(lines, target_code)
    if opening is None:
        # What follows a stray closing fence is not code, unless fences open and close in pairs.
        stray = [at for at in fences if _is_closing(lines[at], 3)]
        if len(fences) % 2 == n_target_fences % 2 or not stray:
            return lines
        return lines[: stray[-1] if n_target_fences else stray[0]]
    width = len(lines[opening]) - len(lines[opening].lstrip(lines[opening][0]))
    code = lines[opening + 1 :]
    inner_fences = [at - opening - 1 for at in fences if at > opening]
    closing = [at for at in inner_fences if _is_closing(code[at], width)]
    if not closing:
        return code
    inner = len(inner_fences)
    if n_target_fences and (inner - n_target_fences) % 2 == 0:
        return code
    end = closing[-1] if n_target_fences else closing[0]
    following = code[end + 1 :]
    # Two blocks one after the other, and nothing said around them: the answer is both of them.
    if (
        opening == 0
        and any(_FENCE.fullmatch(line) and not _is_closing(line, 3) for line in following)
        and not any(map(is_prose, following))
        and n_target_fences == 0
        and not any(map(str.strip, target_code[1:]))
    ):
        return lines
    return code[:end]


def _is_closing(fence: str, width: int) -> bool:
    bare = fence.rstrip()
    return set(bare) in ({"`"}, {"~"}) and len(bare) >= width


def _find_opening_fence(lines: Sequence[str], target_code: Sequence[str]) -> int | None:
    """Return the line of the fence that opens the code: the first filled one, or one below prose.

    A bare one that nothing follows closes what stands above it. Once a line of the target has come,
    whatever follows is code.
    """
    target_lines = {line.strip() for line in target_code}
    for at, line in enumerate(lines):
        # In a docstring the target's own fences are indented, the one around it is not.
        is_own = line in target_code if _FENCE.fullmatch(line) else line.strip() in target_lines
        if line.strip() and is_own:
            return None
        if fence := _FENCE.fullmatch(line):
            is_opening = fence.group(2) or any(map(str.strip, lines[at + 1 :]))
            return at if is_opening else None
        if line.strip() and not is_prose(line) and not _PREAMBLE.fullmatch(line.strip()):
            return None
    return None


def _strip_remarks(lines: list[str], target_code: str) -> list[str]:
    """Return `lines` without sentences in front of the code and behind it."""
    filled = [at for at, line in enumerate(lines) if line.strip()]
    start, stop = 0, len(lines)
    for at in filled:
        words = lines[at].strip()
        if words in target_code or not (_PREAMBLE.fullmatch(words) and is_prose(words)):
            break
        start = at + 1
    for at in reversed(filled):
        words = lines[at].strip()
        if at < start or words in target_code or not (_REMARK.match(words) and is_prose(words)):
            break
        if _is_changed_line(words, target_code):
            break
        stop = at
    return lines[start:stop] if any(line.strip() for line in lines[start:stop]) else lines


def _is_changed_line(words: str, target_code: str) -> bool:
    """Return True where most words of a line are those of one of the target, as in a docstring."""
    new = set(words.split())
    return any(2 * len(new & set(line.split())) > len(new) for line in target_code.split("\n"))


def _apply_diff(lines: list[str], target_code: Sequence[str]) -> list[str]:
    """Return the new side of a reply that is a diff; `lines` where it is none.

    It is one where every line begins with a blank, a plus or a minus, and those with a minus are
    lines of the code.
    """
    filled = [line for line in lines if line.strip()]
    removed = [line[1:].strip() for line in filled if line.startswith("-")]
    added = [line for line in filled if line.startswith("+")]
    target_lines = {line.strip() for line in target_code}
    is_diff = removed and added and all(line[0] in " +-@" for line in filled)
    if not is_diff or not all(line in target_lines for line in removed if line):
        return lines
    return [line[1:] for line in lines if not line.startswith(("-", "@@"))]


def _is_list_of_changes(lines: Sequence[str], target_code: str) -> bool:
    """Return True for search and replace blocks, which say what to change and not the outcome."""
    marks = ("<<<<<<< ", ">>>>>>> ")
    return all(
        any(line.startswith(mark) for line in lines) and mark not in target_code for mark in marks
    )
