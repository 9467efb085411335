"""Lines that stand for code a reply left out: "# rest unchanged", "// ... existing code ...".

The alignment decides: a remark stands for something only where shown lines are missing, and what it
stands for is exactly these lines, each once and in their order. Where nothing is missing the remark
is a comment as any other. Knows lines of text only, in any language.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from redraft.postprocess.alignment import align, is_significant
from redraft.postprocess.loss import tokens_of
from redraft.text.lines import read_indent

__all__ = ["find_remarks", "restore_elisions"]

_COMMENT = r"(?://+|\#+|--+|/\*+|\*+|<!--|\{/\*|;+|%+|\(\*|\{-)"
_CLOSE = r"\s*(?:\*+/\}?|-->|[\])>]|\*\)|-\})?\s*"
_DOTS = re.compile(r"\.\.\.|…")
_CODE = (
    r"(?:code|imports?|functions?|methods?|class(?:es)?|file|implementation|body|logic|content"
    r"|text|lines?|fields?|definitions?|statements?|cases?|properties)"
)
_SAME = (
    r"(?:unchanged|untouched|unmodified|the\ same|same|as\ (?:it\ )?(?:is|was|before)|omitted"
    r"|elided|skipped|here|above|below)"
)
_LEFT_OUT = re.compile(
    rf"""\W*(?:
    (?:the\ )?(?:rest|remainder)\ of\ (?:the\ |your\ |this\ |its\ )?(?:\w+\ )?{_CODE}\b.*
    | (?:the\ )?rest\ (?:(?:is|are|remains?|stays?)\ )?{_SAME}.*
    | (?:(?:the|your|all)\ )?(?:existing|previous|original|remaining|other|same)\ (?:\w+\ )?
      {_CODE}\ (?:(?:is|are|remains?|stays?|goes|go|continues?)\ )?{_SAME}.*
    | (?:(?:the|your)\ )?(?:existing|previous|original|unchanged|same)\ (?:\w+\ )?{_CODE}\W*
    | (?:the\ )?{_CODE}\ (?:(?:is|are|remains?|stays?)\ )?{_SAME}.*
    | (?:(?:the|everything)\ )?(?:same|identical)\ (?:as|to)\ (?:before|above|the\ original).*
    | (?:unchanged|omitted|snip(?:ped)?)(?:\ for\ \w+)?\W*
    | no\ changes?(?:\ here|\ needed|\ necessary|\ below)?\W*
    | (?:der\ )?rest\b.*\b(?:unverändert|gleich|bleibt)\b.* | (?:unverändert|bestehender\ code)\W*
    | (?:el\ )?resto\b.*\b(?:igual|sin\ cambios)\b.* | (?:le\ )?reste\b.*\binchangé\w*\b.*
    | .*(?:其余|其他代码|保持不变|省略|残り|変更なし|以下同|나머지|остальн).*
    )""",
    re.VERBOSE | re.IGNORECASE,
)
_COMMENT_LINE = re.compile(rf"\s*{_COMMENT}(?P<words>.*?){_CLOSE}", re.IGNORECASE)
_BRACKETED = re.compile(r"\s*[\[(<{]\s*(?P<words>.*?)\s*[\])>}]\s*")
_BARE = re.compile(r"\s*(?:\.\.\.+|…)(?P<words>[^=(){};,]*)")
_LONGEST = 200  # characters; a longer line is never a remark


def find_remarks(lines: Sequence[str], content: Collection[int] = ()) -> list[int]:
    """Return which lines may stand for code that was left out, going by their words alone.

    content: lines inside strings, which are none.
    """
    return [at for at, line in enumerate(lines) if at not in content and _may_be_remark(line)]


def _may_be_remark(line: str) -> bool:
    if len(line) > _LONGEST or not line.strip():
        return False
    if bare := _BARE.fullmatch(line):
        return not any(map(str.isalnum, bare["words"])) or bool(_LEFT_OUT.fullmatch(bare["words"]))
    remark = _COMMENT_LINE.fullmatch(line) or _BRACKETED.fullmatch(line)
    if not remark:
        return False
    words = remark["words"].strip()
    begins_with_dots = bool(_DOTS.match(words)) and not re.match(r"(?:\.\.\.|…)\w", words)
    return begins_with_dots or bool(_LEFT_OUT.fullmatch(words))


def restore_elisions(
    shown: Sequence[str],
    lines: Sequence[str],
    content: Collection[int] = (),
    *,
    is_code: bool = True,
) -> tuple[list[str], str]:
    """Return `lines` with what they left out put back, and the remark that is not certain, if any.

    A remark that the shown text has as well stays, and so does one that stands where nothing is
    missing, or nothing that says something, unless it is nothing but dots in code.
    A remark is certain where nothing else stands between the two kept lines around it, or where one
    side of it is an end of the text.
    """
    shown_counts = Counter(line.strip() for line in shown)
    remarks = {
        at
        for at in find_remarks(lines, content)
        if shown_counts[lines[at].strip()] < 1 and not _is_stub(lines, at, shown_counts)
    }
    if not remarks:
        return list(lines), ""
    # Aligned without the remarks, so that one that looks like a line of the source cannot pair up.
    code_lines = [at for at in range(len(lines)) if at not in remarks]
    alignment = align(shown, [lines[at] for at in code_lines])
    kept = dict(zip(code_lines, alignment.kept, strict=True))
    _settle_brackets(shown, lines, kept, remarks)
    new_counts = Counter(
        line.strip() for at, line in enumerate(lines) if kept.get(at) is None and at not in remarks
    )
    restored: list[str] = []
    gaps: set[tuple[int, int]] = set()
    for at, line in enumerate(lines):
        if at not in remarks:
            restored.append(line)
            continue
        start = _find_nearest_kept(lines, kept, range(at - 1, -1, -1))
        stop = _find_nearest_kept(lines, kept, range(at + 1, len(lines)))
        first = 0 if start is None else start + 1
        last = len(shown) if stop is None else stop
        first = _skip_rewritten(shown, lines, kept, remarks, at, range(first, last))
        missing = [
            text
            for text in shown[first:last]
            # What the reply has elsewhere was moved there: put back, it would stand twice.
            if not (
                is_significant(text)
                and shown_counts[text.strip()] == 1
                and new_counts[text.strip()]
            )
        ]
        stands_for_brackets = any(map(str.strip, missing)) and _is_between_kept(
            lines, kept, remarks, at
        )
        if not any(map(is_significant, missing)) and not stands_for_brackets:
            if is_code and _is_plain_remark(line):
                continue  # it stands for nothing, and says nothing of the code
            restored.append(line)
            continue
        filled = [text for text in missing if text.strip()]
        if len(filled) == 1 and _may_be_remark(filled[0]):
            restored.append(line)  # `# ... and so on`, in other words
            continue
        # What new lines in the same gap replace is not known, unless the gap reaches to an end:
        # then they were added before what stayed, or behind it.
        is_open = start is None or not any(map(is_significant, shown[last:]))
        new_lines = _find_new_lines(lines, kept, remarks, at)
        is_ambiguous = bool(new_lines) and not is_open
        if (first, last) in gaps or is_ambiguous or _are_alike(new_lines, missing):
            return list(lines), line.strip()
        gaps.add((first, last))
        following = lines[at + 1] if at + 1 < len(lines) else "."
        restored += _strip_blanks(missing, restored[-1] if restored else ".", following)
    return restored, ""


def _skip_rewritten(
    shown: Sequence[str],
    lines: Sequence[str],
    kept: dict[int, int | None],
    remarks: set[int],
    at: int,
    gap: range,
) -> int:
    """Return where in a gap the code begins that the remark `at` may stand for.

    A remark stands on the level of what it stands for. Shown lines at the start of the gap that are
    indented further were written anew, where new lines stand between the remark and what was kept:

        def take(self):                         kept
            return 2                            new, for `return 1`
        # ... rest of the class ...             stands for what follows `return 1`
    """
    filled = (place for place in range(at - 1, -1, -1) if lines[place].strip())
    above = next((place for place in filled if kept.get(place) is not None), None)
    source = kept.get(above) if above is not None else None
    if above is None or source is None:
        return gap.start
    new = [place for place in range(above + 1, at) if place not in remarks and lines[place].strip()]
    level = _measure(lines[at])
    if not new or _measure(lines[above]) < level or any(_measure(lines[n]) <= level for n in new):
        return gap.start
    shift = _measure(lines[above]) - _measure(shown[source])
    start = gap.start
    while start < gap.stop and shown[start].strip() and _measure(shown[start]) + shift > level:
        start += 1
    return start


def _measure(line: str) -> int:
    """Return the columns that a line is indented by."""
    return len(read_indent(line).expandtabs(4))


def _is_between_kept(
    lines: Sequence[str], kept: dict[int, int | None], remarks: set[int], at: int
) -> bool:
    """Return True where the lines on both sides of a remark were kept."""
    for places in (range(at - 1, -1, -1), range(at + 1, len(lines))):
        beside = next((place for place in places if lines[place].strip()), None)
        if beside is None or beside in remarks or kept.get(beside) is None:
            return False
    return True


def _is_plain_remark(line: str) -> bool:
    """Return True where a line is nothing but dots and such words."""
    words = re.sub(r"\W+", " ", line).strip()
    return bool(_DOTS.search(line)) and (not words or bool(_LEFT_OUT.fullmatch(words)))


def _is_stub(lines: Sequence[str], at: int, shown_counts: Counter[str]) -> bool:
    """Return True for a lone `...` that is the body of something new."""
    if lines[at].strip() != "...":
        return False
    above = [line.strip() for line in lines[:at] if line.strip()]
    return len(above) > 1 and above[-1].endswith(":") and above[-1] not in shown_counts


def _settle_brackets(
    shown: Sequence[str], lines: Sequence[str], kept: dict[int, int | None], remarks: set[int]
) -> None:
    """Pair brackets in front of a remark as early as they can be.

    A closing bracket is found at many places: the nearest to what stands beside it is meant.
    """
    for remark in remarks:
        at = remark - 1
        while at in kept and not is_significant(lines[at]):
            at -= 1
        before = kept.get(at)
        low = _find_last_kept(kept, at) + 1 if before is None else before + 1
        for bracket in range(at + 1, remark):
            words = lines[bracket].strip()
            if not words:
                continue
            places = (i for i in range(low, len(shown)) if shown[i].strip() == words)
            place = next(places, None)
            kept[bracket] = place
            low = low if place is None else place + 1


def _find_last_kept(kept: dict[int, int | None], at: int) -> int:
    """Return the shown line that the last kept line up to `at` stands for; -1 for none."""
    while at >= 0:
        place = kept.get(at)
        if place is not None:
            return place
        at -= 1
    return -1


def _find_nearest_kept(
    lines: Sequence[str], kept: dict[int, int | None], places: Iterable[int]
) -> int | None:
    """Return the shown line that the nearest kept line of `places` stands for, blanks aside."""
    shown_places = (kept.get(at) for at in places if lines[at].strip())
    return next((place for place in shown_places if place is not None), None)


def _find_new_lines(
    lines: Sequence[str], kept: dict[int, int | None], remarks: set[int], at: int
) -> list[str]:
    """Return the new lines in the same gap between kept lines as the remark `at`."""
    new_lines: list[str] = []
    for places in (range(at - 1, -1, -1), range(at + 1, len(lines))):
        for place in places:
            if kept.get(place) is not None and lines[place].strip():
                break
            if place not in remarks and is_significant(lines[place]):
                new_lines.append(lines[place])
    return new_lines


def _are_alike(new_lines: Sequence[str], missing: Sequence[str]) -> bool:
    """Return True where a new line is one of the missing ones, changed: its place is not known."""
    old = [tokens for line in missing if len(tokens := tokens_of(line)) > 1]
    new = [tokens for line in new_lines if (tokens := tokens_of(line))]
    return any(2 * len(a & b) >= min(len(a), len(b)) for a in new for b in old)


def _strip_blanks(missing: list[str], before: str, following: str) -> list[str]:
    """Return the `missing` lines without blanks at their ends that the reply has already."""
    start, stop = 0, len(missing)
    while not before.strip() and start < stop and not missing[start].strip():
        start += 1
    while not following.strip() and start < stop and not missing[stop - 1].strip():
        stop -= 1
    return missing[start:stop]
