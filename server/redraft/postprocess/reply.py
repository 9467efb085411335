"""From what the model wrote to the edit that it means, or to the reason why there is none.

The code is taken out of what models put around it (`dress`), cut down to the target (`narrow`) and
completed where it left code out (`elision`); an alignment with the lines that were shown then says
what was kept, and kept lines are the file's own (`whitespace`). What the target needs outside of
itself goes where it belongs (`needs`), and the whole is judged (`checks`). Pure; no model, no
tokens.
"""

import re
from collections.abc import Sequence
from pathlib import PurePath

from redraft import syntax
from redraft.interruption import check_interruption
from redraft.postprocess.alignment import align
from redraft.postprocess.checks import (
    EditedTarget,
    ProposedEdit,
    Violation,
    first_violation,
)
from redraft.postprocess.dress import strip_dress
from redraft.postprocess.echo import (
    strip_around_fragment,
    strip_around_insertion,
    strip_quoted_code,
)
from redraft.postprocess.elision import restore_elisions
from redraft.postprocess.intent import asks_to_lay_out
from redraft.postprocess.narrow import Narrowed, narrow
from redraft.postprocess.needs import merge_imports, place_outside
from redraft.postprocess.whitespace import Indentation, fit_lines, join_lines, repair_first_line
from redraft.prompting.target_view import TargetView, view_target
from redraft.records import Completion, EditRequest
from redraft.text.lines import (
    find_filled_line,
    find_line_numbers,
    line_ending,
    line_ending_at,
    read_indent,
    split_lines,
    to_lf,
)

__all__ = ["EditedTarget", "Violation", "interpret"]

_PROSE_SUFFIXES = frozenset({".md", ".markdown", ".mdx", ".rst", ".txt"})


def interpret(request: EditRequest, completion: Completion) -> EditedTarget | Violation:
    """Return what `completion` makes of the request's target, or why it makes no edit."""
    if violation := _check_finish(completion):
        return violation
    view = view_target(request)
    lines = strip_dress(completion.text, request)
    if not any(map(str.strip, lines)):
        return _accept_deletion(request)
    lines = _strip_blank_lines(lines)
    if view.is_fragment or view.is_insertion:
        piece = _narrow_piece(request, view, lines)
        # Nothing new stands between the lines around an insertion's place, if all they are.
        return _fit(request, view, Narrowed(lines=tuple(piece))) if piece else EditedTarget(text="")
    narrowed = narrow(request, view, lines)
    if isinstance(narrowed, str):
        return Violation(reason="no_code", message=narrowed)
    return _fit(request, view, narrowed)


def _narrow_piece(request: EditRequest, view: TargetView, lines: Sequence[str]) -> Sequence[str]:
    """Return what of `lines` goes into a line, or between two; none where nothing is new."""
    lines = strip_quoted_code(request, lines)
    if view.is_insertion and _takes_whole_lines(request, view):
        return _strip_blank_lines(strip_around_insertion(request, view, lines))
    return strip_around_fragment(request, view, lines) if view.is_fragment else lines


def _check_finish(completion: Completion) -> Violation | None:
    """Return why a reply that did not come to its own end is of no use."""
    match completion.finish:
        case "stop":
            return None
        case "length":
            n_tokens = completion.stats.output_tokens
            return Violation(
                reason="token_limit",
                message=f"the reply was cut at the limit of {n_tokens:,} tokens; raise max_tokens "
                "or edit a smaller part",
            )
        case "timeout":
            return Violation(
                reason="timeout",
                message="the time limit passed before the reply was complete; raise timeout or "
                "edit a smaller part",
            )
        case "cancelled":
            return Violation(
                reason="cancelled", message="the edit was cancelled; nothing was changed"
            )


def _accept_deletion(request: EditRequest) -> EditedTarget | Violation:
    """Return what a reply without code does: it deletes the target where the user allows that."""
    if "deletion" in request.allowed:
        return EditedTarget(text="")
    return Violation(
        reason="no_code",
        message="the reply holds no code; try again with a clearer instruction, or, to delete all "
        "of the target, allow it with --allow deletion",
    )


def _fit(request: EditRequest, view: TargetView, narrowed: Narrowed) -> EditedTarget | Violation:
    """Return the narrowed reply in the target's white space, completed and judged."""
    source = view.indentation + view.target
    head, core, tail = _split_blank_ends(source)
    shown = [] if view.is_insertion else to_lf(core).removesuffix("\n").split("\n")
    is_prose = (
        syntax.facts_of(request.language).is_prose
        or PurePath(request.path).suffix.lower() in _PROSE_SUFFIXES
    )
    lines, unsure = restore_elisions(
        shown,
        narrowed.lines,
        _find_content_lines(request, narrowed.lines),
        is_code=not is_prose and request.language is not None,
    )
    if unsure and "elision" not in request.allowed:
        return Violation(
            reason="elision",
            message=f"the reply left code out (“{unsure}”) and it is not certain which; try again, "
            "or edit a smaller part",
        )
    if not any(map(str.strip, lines)):
        return _accept_deletion(request)
    check_interruption()
    content = _find_content_lines(request, lines)
    lines = repair_first_line(lines, shown, content)
    alignment = align(shown, lines, keeps_trailing=is_prose)
    ending = line_ending_at(request.text, request.target.start)
    if _is_about_layout(request, shown, lines):
        new = join_lines(source, align(to_lf(source).split("\n"), lines), lines, ending=ending)
        new = new.removeprefix(view.indentation)
    else:
        style = Indentation.of(view.text, to_lf(request.text))
        fitted = fit_lines(
            alignment,
            target=style,
            content=content,
            base=_choose_base(request, view, lines) if view.is_insertion else None,
            keeps_trailing=is_prose,
        )
        new = head + join_lines(core, alignment, fitted, ending=ending) + tail
        new = _join_to_line(request, view, lines[0], new, ending)
    imports = merge_imports(request, narrowed.imports, new)
    notes = narrowed.notes
    if imports and not request.adds_imports:
        imports, notes = (), (*notes, "imports that the edit may need were left out, as you set")
    needs = (*imports, *place_outside(request, narrowed.outer))
    edited = EditedTarget(text=new, needs=needs, notes=notes)
    proposed = ProposedEdit(request=request, alignment=alignment, edit=edited)
    return (first_violation(proposed) if proposed.changes_text else None) or edited


def _is_about_layout(request: EditRequest, shown: Sequence[str], lines: Sequence[str]) -> bool:
    """Return True where white space is all that differs, and what the instruction speaks of."""
    if not asks_to_lay_out(request.instruction):
        return False
    alignment = align(shown, lines)
    return all(
        not any(map(str.strip, alignment.shown[h.shown : h.shown_stop]))
        and not any(map(str.strip, alignment.reply[h.reply : h.reply_stop]))
        for h in alignment.hunks
    )


def _find_content_lines(request: EditRequest, lines: Sequence[str]) -> frozenset[int]:
    """Return the lines of a reply that lie in strings, heredocs and their kind.

    A docstring moves with its code, as long as none of its lines stands further left.
    """
    if request.language is None:
        return frozenset()
    code = "\n".join(lines)
    inside = set(syntax.verbatim_lines(code, request.language))
    for span in syntax.prose(code, request.language):
        places = find_line_numbers(code, span)
        first, *inner = (lines[at] for at in places if at < len(lines))
        margin = min((len(read_indent(line)) for line in inner if line.strip()), default=0)
        if margin >= len(read_indent(first)):
            inside -= set(places)
    return frozenset(inside)


def _strip_blank_lines(lines: Sequence[str]) -> list[str]:
    filled = [at for at, line in enumerate(lines) if line.strip()]
    return list(lines[filled[0] : filled[-1] + 1]) if filled else []


def _split_blank_ends(source: str) -> tuple[str, str, str]:
    """Return the blank lines at the start of `source`, what is between, and those at its end."""
    lines = split_lines(source)
    filled = [at for at, line in enumerate(lines) if line.strip()]
    if not filled:
        return "", source, ""
    first, last = filled[0], filled[-1] + 1
    return "".join(lines[:first]), "".join(lines[first:last]), "".join(lines[last:])


def _choose_base(request: EditRequest, view: TargetView, lines: Sequence[str]) -> str:
    """Return the white space that the first line of an insertion gets.

    What the place has already; on a line of its own, what the reply has, where that fits between
    the lines above and below; else that of the one that stands further right.
    """
    if view.before or request.language is None or syntax.facts_of(request.language).is_prose:
        return view.indentation
    above = find_filled_line(to_lf(request.text[: request.target.start]).split("\n")[::-1])
    below = find_filled_line(to_lf(request.text[request.target.stop :]).split("\n"))
    style = Indentation.of(to_lf(request.text))
    first, *indents = map(read_indent, (find_filled_line(lines), above, below))
    # Where tabs and spaces are mixed, a tab goes to the next eighth column.
    is_mixed = {" ", "\t"} <= set("".join(indents))
    high, low = (len(each.expandtabs()) if is_mixed else style.width(each) for each in indents)
    columns = style.width(first)
    if low > high:  # in the block that the line above opens
        return indents[1]
    furthest = indents[0]
    openers = (*syntax.comment_openers(request.language), "*")
    is_comment = above.lstrip().startswith(openers)
    if _OPENING.search(above) and not is_comment:
        # In its empty block, or on a level with what it opens: `case 1:` below `switch (n) {`.
        is_empty = low < high or bool(_CLOSING.match(below))
        low, high = high, high + style.columns
        furthest = style.render(high) if is_empty else indents[1]
    elif low == high:
        furthest = indents[1]
    if first in indents:
        return first
    return style.render(columns) if low <= columns <= high else furthest


_CLOSING = re.compile(r"\s*(?:[})\]]|end\b|fi\b|done\b|$)")
# What a line ends in behind which code may stand further right: `if x:`, `foo(`, `do |x|`.
_OPENING = re.compile(r"(?:[{(\[=>|]|(?<![:\s]):|\b(?:do|then|else|begin|try|of|where|in))\s*$")


def _join_to_line(request: EditRequest, view: TargetView, first: str, new: str, ending: str) -> str:
    """Return `new` as it fits to what stands before and behind the target on its lines.

    first: the reply's first line; a blank at its start parts it from what stands before it.
    """
    if view.is_insertion and not _takes_whole_lines(request, view):
        new = new.removesuffix(ending)
    if (
        view.is_insertion
        and first[:1].isspace()
        and view.before.strip()
        and not view.before[-1].isspace()
    ):
        new = f" {new.lstrip(' ')}"
    # `a, b` in a list, written as `a, b,` where the comma stands behind the target already.
    mark = request.text[request.target.stop :].lstrip(" \t")[:1]
    has_mark = view.text.rstrip().endswith(mark)
    if mark in (",", ";") and mark and not has_mark and new.rstrip().endswith(mark):
        new = new.rstrip().removesuffix(mark)
    if view.after and not view.is_insertion:
        kept = view.target[len(view.target.rstrip(" \t")) :]
        new = new[: len(new) - len(line_ending(new))].rstrip(" \t") + kept
    return new.removeprefix(view.indentation)


def _takes_whole_lines(request: EditRequest, view: TargetView) -> bool:
    """Return True where inserted text gets lines of its own, above what is on this line now."""
    is_at_end = request.target.stop == len(request.text)
    return not view.before and bool(view.after or is_at_end)
