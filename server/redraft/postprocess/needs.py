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
from redraft.text.lines import (
    find_filled_line,
    line_ending_at,
    read_indent,
    split_lines,
    to_lf,
)

__all__ = ["merge_edits", "merge_imports", "place_outside"]

_NAME = re.compile(r"[^\W\d]\w*")
_WORDS_OF_IMPORTS = frozenset(
    "import from as use using require require_once include include_once const let var static type"
    " open module package namespace default export public pub crate self super function".split()
)
# `from typing import Any, Iterator`: the module, and its names.
_FROM = re.compile(r"from\s+(\S+)\s+import\s+([^()#\\\n]+?)\s*")
# `import { readFile } from "fs"`: `type`, the names, and the module in its quotes.
_BRACES = re.compile(r"import\s+(type\s+)?\{([^{}\n]*)\}\s*from\s*(['\"][^'\"]+['\"]);?")
_GO_GROUP = re.compile(r"import\s*\(\n(.*?)\n?\)", re.DOTALL)
_GO_SPEC = re.compile(r"(?:(?!import\b)[\w.]+\s+)?\"[^\"]+\"")
# Languages whose formatters sort imports.
# What stays in front of the imports of a file: `package shelf;`, `#pragma once`, `"use strict"`.
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
    text, language, target = request.text, request.language or "", request.target
    spans = [
        span
        for span in syntax.import_statements(text, language)
        if span.start >= target.stop or span.stop <= target.start
    ]
    existing = {_normalize(span.of(text)) for span in spans}
    go_group = next((span for span in spans if _GO_GROUP.fullmatch(to_lf(span.of(text)))), None)
    used_names = set(_NAME.findall(new_text))
    replacements: list[Replacement] = []
    new_lines: list[str] = []
    for statement in (to_lf(statement).strip() for statement in statements):
        if _normalize(statement) in existing or not _is_used(statement, used_names):
            continue
        if language == "go" and go_group is not None:
            replacements += _extend_go_group(text, go_group, statement)
        elif (extension := _extend_import(text, spans, statement)) is not None:
            replacements += extension
        elif statement not in new_lines:
            new_lines.append(statement)
    if new_lines:
        replacements += _insert_imports(text, spans, new_lines)
    return _merge_needs(replacements, language)


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
        for replacement in replacements:
            # An import may go right in front of the target, and touches it there.
            is_import = replacement.span == Span(target.start, target.start) and bool(
                _read_statements(replacement.new_text, language)
            )
            is_inside = replacement.span in target and not is_import
            (inside if is_inside else needs).append(replacement)
    # Two at one place: what is needed comes in front of the definition that needs it.
    merged = [*_merge_needs(needs, language or ""), *inside]
    return tuple(sorted(merged, key=lambda replacement: replacement.span))


def _merge_needs(needs: Sequence[Replacement], language: str) -> tuple[Replacement, ...]:
    """Return one replacement for each place, with all that is inserted there, each thing once."""
    texts_by_span: dict[Span, list[str]] = {}
    for replacement in needs:
        texts_by_span.setdefault(replacement.span, []).append(replacement.new_text)
    return tuple(
        Replacement(span=span, new_text=_merge_texts(list(dict.fromkeys(texts)), language))
        for span, texts in texts_by_span.items()
    )


def _merge_texts(texts: Sequence[str], language: str) -> str:
    """Return what several insertions at one place come to: their imports, then other code."""
    if len(texts) == 1:
        return texts[0]
    # Names that are added to one import: `, Any` and `, Iterator`.
    if all(text.startswith(", ") for text in texts):
        names = [name for text in texts for name in text.removeprefix(", ").split(", ")]
        return f", {', '.join(dict.fromkeys(names))}"
    statements = {text: _read_statements(text, language) for text in texts}
    others = [text for text in texts if not statements[text]]
    if others:
        imports = [text for text in texts if statements[text]]
        return (_merge_texts(imports, language) if imports else "") + "".join(others)
    by_meaning = {_normalize(line): line for lines in statements.values() for line in lines}
    lines = _join_names(list(by_meaning.values()))
    if syntax.facts_of(language).sorts_imports:
        lines.sort(key=_build_new_sort_key)
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
    between, end = "", len(head)
    for span in spans:
        between += code[end : span.start]
        end = span.stop
    is_all = not (between + code[end:]).strip(" \t\r\n;")
    return [span.of(code) for span in spans] if is_all else []


def _join_names(statements: Sequence[str]) -> list[str]:
    """Return `statements` with one for those that import names from one module."""
    joined: list[str] = []
    for statement in statements:
        for at, earlier in enumerate(joined):
            extension = _extend_import(earlier, [Span(0, len(earlier))], statement)
            if extension is not None:
                joined[at] = apply_replacements(earlier, extension)
                break
        else:
            joined.append(statement)
    return joined


def _build_new_sort_key(line: str) -> tuple[bool, bool, str]:
    """Return a key that sorts `__future__` first, and whole modules before names of modules."""
    return not line.startswith("from __future__"), line.startswith("from "), _build_sort_key(line)


def _normalize(statement: str) -> str:
    """Return `statement` as others of the same meaning are: in its quotes, end and blanks."""
    return " ".join(statement.replace("'", '"').rstrip("; \n").split())


def _is_used(statement: str, used_names: set[str]) -> bool:
    """Return True where a name that the statement brings is used, or it names a whole file."""
    if re.match(r"#|using|require|include|use\b|@?import\s+[\"'<]", statement):
        return True
    names = set(_NAME.findall(statement)) - _WORDS_OF_IMPORTS
    return "*" in statement or bool(names & used_names)


def _extend_import(text: str, spans: Sequence[Span], statement: str) -> list[Replacement] | None:
    """Return what adds a statement's names to an import of the same module; None without one."""
    for pattern, module, names in ((_FROM, 1, 2), (_BRACES, 3, 2)):
        new = pattern.fullmatch(statement)
        if not new:
            continue
        for span in spans:
            old = pattern.fullmatch(span.of(text).strip())
            if not old or old[module] != new[module] or (pattern is _BRACES and old[1] != new[1]):
                continue
            old_names, new_names = (
                [name.strip() for name in match[names].split(",") if name.strip()]
                for match in (old, new)
            )
            missing = [name for name in new_names if name not in old_names]
            if not missing:
                return []
            # Behind the last name, and in front of a comma that ends the list.
            place = span.start + old.start(names) + len(old[names].rstrip().rstrip(","))
            return [Replacement(span=Span(place, place), new_text=f", {', '.join(missing)}")]
    return None


def _extend_go_group(text: str, group: Span, statement: str) -> list[Replacement]:
    """Return what adds the packages of `statement` to `import (...)`, each in its sorted place."""
    ending = line_ending_at(text, group.start)
    lines = group.of(text).split(ending)
    replacements: list[Replacement] = []
    for spec in _GO_SPEC.findall(statement.removeprefix("import")):
        if spec in _GO_SPEC.findall(group.of(text)):
            continue
        offset = group.start
        place = group.stop - len(lines[-1])
        for line in lines[:-1]:
            if _GO_SPEC.search(line) and line.strip() > spec:
                place = offset
                break
            offset += len(line) + len(ending)
        replacements.append(Replacement(span=Span(place, place), new_text=f"\t{spec}{ending}"))
    return replacements


def _insert_imports(
    text: str, spans: Sequence[Span], new_lines: Sequence[str]
) -> list[Replacement]:
    """Return what inserts whole imports: sorted in where those at `spans` are, else behind them."""
    if not spans:
        ending = line_ending_at(text, 0)
        place, before, after = _find_top(text, ending)
        joined = "".join(f"{line}{ending}" for line in new_lines)
        return [Replacement(span=Span(place, place), new_text=f"{before}{joined}{after}")]
    ending = line_ending_at(text, spans[-1].start)
    inserted: dict[int, str] = {}
    for line in new_lines:
        place = _find_sorted_place(text, spans, line)
        inserted[place] = inserted.get(place, "") + line.replace("\n", ending) + ending
    for place, lines in inserted.items():
        # The last line of the file may have no ending: the import begins a line of its own.
        if place and text[place - 1] not in "\r\n":
            inserted[place] = ending + lines.removesuffix(ending)
    return [
        Replacement(span=Span(place, place), new_text=lines)
        for place, lines in sorted(inserted.items())
    ]


def _find_sorted_place(text: str, spans: Sequence[Span], line: str) -> int:
    """Return the offset of the line in front of which an import goes."""
    if line.startswith("from __future__"):
        return _find_line_start(text, spans[0].start)
    # Python's relative imports come last.
    is_relative = line.startswith("from .")
    section = [span for span in spans if span.of(text).startswith("from .") == is_relative]
    if not section and not is_relative:
        return _find_line_start(text, spans[0].start)
    section = section or list(spans)
    # `import os` goes among the lines that begin with `import`, not among those with `from`.
    keyword = line.split(None, 1)[0]
    alike = [span for span in section if span.of(text).split(None, 1)[0] == keyword] or section
    keys = [_build_sort_key(span.of(text)) for span in alike]
    if len(keys) > 1 and all(key <= following for key, following in pairwise(keys)):
        for span, key in zip(alike, keys, strict=True):
            if key > _build_sort_key(line):
                return _find_line_start(text, span.start)
    stop = alike[-1].stop
    lines_behind = split_lines(text[stop:])
    return stop + len(lines_behind[0]) if lines_behind else stop


def _build_sort_key(statement: str) -> str:
    return statement.rstrip("; \t").casefold()


def _find_line_start(text: str, offset: int) -> int:
    return max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset)) + 1


def _find_top(text: str, ending: str) -> tuple[int, str, str]:
    """Return where the first import of a file goes, and the blank lines before and behind it.

    Behind a shebang, an opening tag, a package line, a licence and a docstring.
    """
    offset = end = 0
    quote = ""
    for line in split_lines(text):
        words = line.strip()
        offset += len(line)
        if quote:
            if quote in words:
                quote, end = "", offset
            continue
        if opening := re.match(r"[rbuRBU]*(\"\"\"|'''|/\*)", words):
            # Behind the package line, a comment belongs to the code below it.
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
    following = split_lines(text[end:])[:1]
    is_before_code = bool(following and following[0].strip())
    return end, ending if end else "", ending if is_before_code else ""


def place_outside(request: EditRequest, pieces: Sequence[Sequence[str]]) -> tuple[Replacement, ...]:
    """Return the replacement that puts `pieces` in front of the outermost definition around it."""
    if not pieces:
        return ()
    text, target = request.text, request.target
    around = [
        definition.span
        for definition in syntax.targets(text, request.language or "")
        if definition.span.start < target.start
        and target.stop <= definition.span.stop
        and definition.kind not in ("module", "namespace")
    ]
    if not around:
        return ()
    outermost = min(around, key=lambda span: span.start)
    ending = line_ending_at(text, outermost.start)
    place = _find_line_start(text, outermost.start)
    indent = text[place : outermost.start]
    style = Indentation.of(text)
    # PEP 8: two blank lines between the definitions of a module.
    n_blanks = 2 if request.language == "python" and not indent else 1
    new_text = ""
    for piece in pieces:
        piece_indent = read_indent(find_filled_line(piece))
        shift = style.width(indent) - style.width(piece_indent)
        new_text += ending.join(move_lines(piece, shift, style)) + ending * (1 + n_blanks)
    return (Replacement(span=Span(place, place), new_text=new_text),)
