"""Put what a reply needs outside of its target where it belongs: imports, outer definitions.

New import statements are merged into the file's import block, once, in the order that the block
has; other new code goes in front of the outermost definition around the target. Each is a
replacement of its own, so that the edit stays small. Pure.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

from redraft import syntax
from redraft.postprocess.whitespace import Indentation, move_lines
from redraft.records import EditRequest, Replacement, Span
from redraft.text.diff import apply_replacements
from redraft.text.lines import line_ending_at, to_lf

__all__ = ["merge_edits", "merge_imports", "place_outside"]

_NAME = re.compile(r"[^\W\d]\w*")
_WORDS_OF_IMPORTS = frozenset(
    "import from as use using require require_once include include_once const let var static type"
    " open module package namespace default export public pub crate self super function".split()
)
_FROM = re.compile(r"from\s+(\S+)\s+import\s+([^()#\\\n]+?)\s*")
_BRACES = re.compile(r"import\s+(type\s+)?\{([^{}\n]*)\}\s*from\s*(['\"][^'\"]+['\"]);?")
_GO_GROUP = re.compile(r"import\s*\(\n(.*?)\n?\)", re.DOTALL)
_GO_SPEC = re.compile(r"(?:(?!import\b)[\w.]+\s+)?\"[^\"]+\"")
_SORTED = frozenset({"python", "java", "kotlin", "go", "rust", "csharp"})
_HEAD = re.compile(
    r"(?:#!.*|<\?php.*|\s*declare\s*\(.*\)\s*;|\s*(?:package|namespace)\s+[\w.\\]+\s*;?\s*"
    r"|\s*[\"']use strict[\"'];?\s*|\s*#pragma\s.*|\s*#\s*(?:frozen_string_literal|-\*-|coding).*"
    r"|\s*library\s+[\w.]+;)"
)


def merge_imports(
    request: EditRequest, statements: Sequence[str], new_text: str
) -> tuple[Replacement, ...]:
    """Return the replacements that add `statements` to the file's imports, each once.

    new_text: the edited target. A statement that the file has, or none of whose names it uses, adds
    nothing.
    """
    if not statements:
        return ()
    text, language = request.text, request.language or ""
    spans = [one for one in syntax.import_statements(text, language) if not _overlaps(one, request)]
    existing = {_normal(one.of(text)) for one in spans}
    used = set(_NAME.findall(new_text))
    result: list[Replacement] = []
    lines: list[str] = []
    for statement in statements:
        words = to_lf(statement).strip()
        if _normal(words) in existing or not _is_used(words, used):
            continue
        if language == "go" and (group := _go_group(text, spans)):
            result += _add_to_go_group(text, group, words)
        elif (extended := _extended(text, spans, words)) is not None:
            result += extended
        elif words not in lines:
            lines.append(words)
    return _merge_needs([*result, *_insert(request, spans, lines)], language)


def merge_edits(
    language: str | None, edits: Sequence[tuple[Span, Sequence[Replacement]]]
) -> tuple[Replacement, ...]:
    """Return the replacements of several edits of one text as one edit, ascending and apart.

    edits: a target each, no two of which overlap, and its replacements. What lies outside of the
    targets is in the result once, however many of them bring it.
    """
    needs: list[Replacement] = []
    inside: list[Replacement] = []
    for target, replacements in edits:
        for each in replacements:
            is_import = each.span == Span(target.start, target.start) and bool(
                _read_statements(each.new_text, language)
            )
            (inside if each.span in target and not is_import else needs).append(each)
    # Two at one place: what is needed comes in front of the definition that needs it.
    both = [*_merge_needs(needs, language or ""), *inside]
    return tuple(sorted(both, key=lambda each: each.span))


def _merge_needs(needs: Sequence[Replacement], language: str) -> tuple[Replacement, ...]:
    """Put together what is inserted at one place, each thing once."""
    texts: dict[Span, list[str]] = {}
    for each in needs:
        texts.setdefault(each.span, []).append(each.new_text)
    return tuple(
        Replacement(span=span, new_text=_merge_texts(list(dict.fromkeys(own)), language))
        for span, own in texts.items()
    )


def _merge_texts(texts: Sequence[str], language: str) -> str:
    if len(texts) == 1:
        return texts[0]
    if all(text.startswith(", ") for text in texts):  # names for one import
        names = [name for text in texts for name in text.removeprefix(", ").split(", ")]
        return f", {', '.join(dict.fromkeys(names))}"
    statements: dict[str, str] = {}
    others: list[str] = []
    for text in texts:
        read = _read_statements(text, language)
        statements |= {_normal(words): words for words in read}
        if not read:
            others.append(text)
    if others:
        imports = [text for text in texts if text not in others]
        return (_merge_texts(imports, language) if imports else "") + "".join(others)
    lines = _join_names(list(statements.values()))
    if language in _SORTED:
        lines.sort(key=_key_among_new)
    ending = line_ending_at(texts[0], 0)
    # All have the blank lines of the place around them.
    start = max((text[: len(text) - len(text.lstrip("\r\n"))] for text in texts), key=len)
    end = max((text[len(text.rstrip("\r\n")) :] for text in texts), key=len)
    return start + ending.join(lines) + end


def _read_statements(text: str, language: str | None) -> list[str]:
    """Return the import statements that `text` is made of; none where it is more than that."""
    if not language:
        return []
    if language == "go" and all(
        _GO_SPEC.fullmatch(line.strip()) for line in text.strip().splitlines()
    ):
        return [line for line in text.splitlines() if line.strip()]
    head = "<?php\n" if language == "php" else ""
    code = head + text
    spans = syntax.import_statements(code, language)
    rest, end = "", len(head)
    for span in spans:
        rest += code[end : span.start]
        end = span.stop
    is_all = not (rest + code[end:]).strip(" \t\r\n;")
    return [span.of(code) for span in spans] if is_all else []


def _join_names(lines: Sequence[str]) -> list[str]:
    """Make one statement of those that import names from one module."""
    joined: list[str] = []
    for line in lines:
        spans = [Span(0, len(each)) for each in joined]
        for i, (each, span) in enumerate(zip(joined, spans, strict=True)):
            extended = _extended(each, [span], line)
            if extended is not None:
                joined[i] = apply_replacements(each, extended)
                break
        else:
            joined.append(line)
    return joined


def _key_among_new(line: str) -> tuple[bool, bool, str]:
    """Sort what comes from the future first, and whole modules before names of modules."""
    return not line.startswith("from __future__"), line.startswith("from "), _sort_key(line)


def _overlaps(span: Span, request: EditRequest) -> bool:
    return span.start < request.target.stop and request.target.start < span.stop


def _normal(statement: str) -> str:
    return " ".join(statement.replace("'", '"').rstrip("; \n").split())


def _is_used(statement: str, used: set[str]) -> bool:
    """Return True where a name that the statement brings is used, or it names a whole file."""
    if re.match(r"#|using|require|include|use\b|@?import\s+[\"'<]", statement):
        return True
    names = set(_NAME.findall(statement)) - _WORDS_OF_IMPORTS
    return "*" in statement or bool(names & used)


def _extended(text: str, spans: Sequence[Span], words: str) -> list[Replacement] | None:
    """The names that an import of the same module lacks, added to it; None where there is none."""
    for pattern, module, names in ((_FROM, 1, 2), (_BRACES, 3, 2)):
        new = pattern.fullmatch(words)
        if not new:
            continue
        for span in spans:
            old = pattern.fullmatch(span.of(text).strip())
            if not old or old[module] != new[module] or (pattern is _BRACES and old[1] != new[1]):
                continue
            have = [name.strip() for name in old[names].split(",") if name.strip()]
            more = [name.strip() for name in new[names].split(",") if name.strip()]
            more = [name for name in more if name not in have]
            if not more:
                return []
            at = span.start + old.start(names) + len(old[names].rstrip().rstrip(","))
            return [Replacement(span=Span(at, at), new_text=f", {', '.join(more)}")]
    return None


def _go_group(text: str, spans: Sequence[Span]) -> Span | None:
    return next((one for one in spans if _GO_GROUP.fullmatch(to_lf(one.of(text)))), None)


def _add_to_go_group(text: str, group: Span, words: str) -> list[Replacement]:
    have = set(_GO_SPEC.findall(group.of(text)))
    ending = line_ending_at(text, group.start)
    found: list[Replacement] = []
    for spec in _GO_SPEC.findall(words.removeprefix("import")):
        if spec in have:
            continue
        lines = group.of(text).split(ending)
        offset = group.start
        place = group.stop - len(lines[-1])
        for line in lines[:-1]:
            if _GO_SPEC.search(line) and line.strip() > spec:
                place = offset
                break
            offset += len(line) + len(ending)
        found.append(Replacement(span=Span(place, place), new_text=f"\t{spec}{ending}"))
    return found


def _insert(request: EditRequest, spans: Sequence[Span], lines: Sequence[str]) -> list[Replacement]:
    """Whole new import lines, sorted in where the imports are sorted, else behind the last one."""
    text = request.text
    if not lines:
        return []
    ending = line_ending_at(text, spans[-1].start if spans else 0)
    if not spans:
        place, before, after = _top(text, ending)
        joined = "".join(f"{line}{ending}" for line in lines)
        return [Replacement(span=Span(place, place), new_text=f"{before}{joined}{after}")]
    result: dict[int, str] = {}
    for line in lines:
        place = _sorted_place(text, spans, line)
        result[place] = result.get(place, "") + line.replace("\n", ending) + ending
    return [
        Replacement(span=Span(place, place), new_text=_opened(text, place, new, ending))
        for place, new in sorted(result.items())
    ]


def _opened(text: str, place: int, new: str, ending: str) -> str:
    """`new`, which goes to `place`, begun on a line of its own."""
    return new if not place or text[place - 1] in "\r\n" else f"{ending}{new.removesuffix(ending)}"


def _sorted_place(text: str, spans: Sequence[Span], line: str) -> int:
    """The offset of the line in front of which an import goes."""
    if line.startswith("from __future__"):
        return _line_start(text, spans[0].start)
    kind = line.split(None, 1)[0]
    alike = [one for one in spans if one.of(text).split(None, 1)[0] == kind] or list(spans)
    keys = [_sort_key(one.of(text)) for one in alike]
    if len(keys) > 1 and all(a <= b for a, b in pairwise(keys)):
        for one, key in zip(alike, keys, strict=True):
            if key > _sort_key(line):
                return _line_start(text, one.start)
    return _next_line(text, alike[-1].stop)


def _sort_key(statement: str) -> str:
    return statement.rstrip("; \t").casefold()


def _line_start(text: str, offset: int) -> int:
    return max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset)) + 1


def _next_line(text: str, offset: int) -> int:
    ends = [at for at in (text.find("\n", offset), text.find("\r", offset)) if at >= 0]
    if not ends:
        return len(text)
    at = min(ends)
    return at + (2 if text[at : at + 2] == "\r\n" else 1)


def _top(text: str, ending: str) -> tuple[int, str, str]:
    """Where the first import of a file goes, and the blank lines before and behind it.

    Behind a shebang, an opening tag, a package line, a licence and a docstring.
    """
    offset = end = 0
    quote = ""
    for line in text.splitlines(keepends=True):
        words = line.strip()
        offset += len(line)
        if quote:
            if quote in words:
                quote, end = "", offset
            continue
        if opening := re.match(r"[rbuRBU]*(\"\"\"|'''|/\*)", words):
            if offset - len(line) > 0 and opening[1] == "/*" and end:
                break
            closing = "*/" if opening[1] == "/*" else opening[1]
            if closing in words[opening.end() :]:
                end = offset
            else:
                quote = closing
        elif _HEAD.fullmatch(line.rstrip("\r\n")):
            end = offset
        elif words and not words.startswith(("#!", "// @", "//!")):
            break
    before = ending if end else ""
    after = ending if _next_is_code(text, end) else ""
    return end, before, after


def _next_is_code(text: str, offset: int) -> bool:
    following = text[offset:].splitlines()[:1]
    return bool(following and following[0].strip())


def place_outside(request: EditRequest, pieces: Sequence[Sequence[str]]) -> tuple[Replacement, ...]:
    """Return the replacement that puts `pieces` in front of the outermost definition around it."""
    if not pieces:
        return ()
    text, target = request.text, request.target
    around = [
        one.span
        for one in syntax.targets(text, request.language or "")
        if one.span.start < target.start
        and target.stop <= one.span.stop
        and one.kind not in ("module", "namespace")
    ]
    if not around:
        return ()
    outermost = min(around, key=lambda span: span.start)
    ending = line_ending_at(text, outermost.start)
    place = _line_start(text, outermost.start)
    white = text[place : outermost.start]
    style = Indentation.of(text)
    blanks = 2 if request.language == "python" and not white else 1
    parts: list[str] = []
    for piece in pieces:
        own = next((line for line in piece if line.strip()), "")
        shift = style.width(white) - style.width(own[: len(own) - len(own.lstrip(" \t"))])
        parts.append(ending.join(move_lines(piece, shift, style)))
        parts.append(ending * (1 + blanks))
    return (Replacement(span=Span(place, place), new_text="".join(parts)),)
