"""Find what an edit leaves out: shown lines that have no counterpart in the new text.

A line has a counterpart where it was kept, moved, changed into another one, or absorbed by one
(`for x in xs: out.append(x)` by a comprehension). What was never asked for is named, so that the
model can be asked again and the user can decide. Pure; the alignment is the witness.
"""

import re
from collections import Counter, defaultdict, deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from redraft.interruption import check_interruption
from redraft.postprocess.alignment import Alignment, Hunk, is_significant

__all__ = ["Loss", "find_loss", "tokens_of"]

_TOKEN = re.compile(r"[^\W\d]\w*|\d+(?:\.\d+)?")
_CHAIN = re.compile(r"[^\W\d]\w*(?:\s*(?:\.|->|::)\s*[^\W\d]\w*)*")
_ASSIGNED = re.compile(
    r"^\s*(?:(?:let|const|var|auto|int|final|val|local|my)\s+)?([^\W\d]\w*)\s*(?::=|=(?!=))"
)
_BRANCH = re.compile(
    r"^\s*[})]?\s*(?:if|elif|else if|elsif|elseif|unless|for|foreach|while|until|switch|case|when"
    r"|match|except|catch|rescue|guard)\b"
)
_LOOP = re.compile(r"\b(?:for|foreach|forEach|while|each|map|times)\b")
_KEYWORDS = frozenset(
    "if elif else elsif unless for foreach while until do done then fi in of not and or is return"
    " yield def function func fn fun class struct let const var val int void public private"
    " protected static async await new this self end begin case when switch match break continue"
    " pass true false null None True False nil try except catch finally raise throw throws with as"
    " import from".split()
)
_DOTS_IN_QUOTES = re.compile(r"(['\"]+)\s*(?:\.\.\.|…)\s*\1")
_PUNCTUATION = "(){}[]<>;,:. \t…"
_OPENERS = frozenset({"} else {", "} else", "else {", "try:", "try {", "} finally {", "finally:"})
_CLOSERS = frozenset({"end", "done", "fi", "esac", "else", "else:", "then", "do", "begin", "pass"})
_ALIKE = 0.4  # of the tokens of the shorter line: two lines that are one and the same, changed
_MOST_AHEAD = 40  # new lines that are looked at for an old one: the work stays linear


# A statement that is a call, and any call.
_EFFECT = re.compile(r"\s*(?:await\s+|go\s+|defer\s+|yield\s+)?[\w.$:>!?-]+\s*\(.*\)\s*;?\s*$")
_CALL = re.compile(r"[\w\])]\s*\(")


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """Lines that an edit would leave out.

    lines: as they were shown. n_shown: lines that say something in what was shown. n_branches and
    n_branches_lost count conditions, loops, cases and handlers. is_sole: nothing else was changed.
    n_cut: of `lines`, those in whose place nothing new stands.
    """

    lines: tuple[str, ...]
    n_shown: int
    n_branches: int
    n_branches_lost: int
    n_cut: int
    is_sole: bool

    @property
    def share(self) -> float:
        return len(self.lines) / max(1, self.n_shown)

    def __bool__(self) -> bool:
        return bool(self.lines)

    def describe(self) -> str:
        """Return the first of the lines as a phrase: what a refusal and a second try name."""
        shown = [f"`{line.strip()[:60]}`" for line in self.lines[:3]]
        more = len(self.lines) - len(shown)
        return ", ".join(shown) + (
            f" and {more} more line{'s' if more > 1 else ''}" if more else ""
        )


def find_loss(alignment: Alignment, *, ignored: Collection[int] = ()) -> Loss:
    """Return what of the shown lines is missing from the reply, restored and narrowed.

    ignored: shown lines that may go, such as comments inside of the code.
    """
    left_out = set(alignment.left_out)
    kept = {at for at in alignment.kept if at is not None}
    not_kept = {line.strip() for at, line in enumerate(alignment.shown) if at not in kept}
    reply_tokens = {token for line in alignment.reply for token in tokens_of(line)}
    lost: list[int] = []
    unclaimed: list[str] = []  # new lines that replace nothing in their place
    cut: set[int] = set()
    n_new = 0
    for hunk in alignment.hunks:
        missing = [
            at
            for at in range(hunk.shown, hunk.shown_stop)
            if at in left_out and at not in ignored and _can_be_lost(alignment.shown[at])
        ]
        new_lines = _find_new_lines(alignment, hunk, moved=not_kept)
        n_new += len(new_lines)
        unmatched = _find_unmatched(alignment, missing, new_lines, reply_tokens)
        lost += unmatched
        if not new_lines:
            cut.update(unmatched)
        elif not missing:
            unclaimed += new_lines
    lost = _drop_swapped(alignment, lost, unclaimed)
    telling = [line for line in alignment.shown if is_significant(line)]
    return Loss(
        lines=tuple(alignment.shown[at] for at in lost),
        n_shown=len(telling),
        n_branches=sum(bool(_BRANCH.match(line)) for line in telling),
        n_branches_lost=sum(bool(_BRANCH.match(alignment.shown[at])) for at in lost),
        n_cut=len(cut.intersection(lost)),
        is_sole=n_new == 0,
    )


def _can_be_lost(line: str) -> bool:
    """Return True where a line says something; `end` and its kind go with what they close."""
    return any(map(str.isalnum, line)) and line.strip() not in _CLOSERS


def _find_new_lines(alignment: Alignment, hunk: Hunk, *, moved: Collection[str]) -> list[str]:
    """Return the lines of a hunk that are really new: those that were `moved` there are not."""
    lines = alignment.reply[hunk.reply : hunk.reply_stop]
    return [line for line in lines if line.strip() not in moved and _stands_for_code(line)]


def _stands_for_code(line: str) -> bool:
    """Return True where a new line can be the new form of another: not a bracket, dots or `pass`.

    What it says may be no name: `return None`, a string of blanks, an emoji.
    """
    words = line.strip()
    is_placeholder = words in _CLOSERS or words in _OPENERS or _DOTS_IN_QUOTES.fullmatch(words)
    return bool(words.strip(_PUNCTUATION)) and not is_placeholder


def _find_unmatched(
    alignment: Alignment,
    missing: Sequence[int],
    new_lines: Sequence[str],
    reply_tokens: Collection[str],
) -> list[int]:
    """Return those of a hunk's `missing` lines that no new line stands for.

    reply_tokens: the names and numbers of all of the reply.
    """
    if not missing or not new_lines:
        return list(missing)
    old_lines = [alignment.shown[at] for at in missing]
    pairs = _pair_changed_lines(old_lines, new_lines)
    unpaired = [i for i in range(len(old_lines)) if i not in pairs]
    paired_new = set(pairs.values())
    free = [j for j in range(len(new_lines)) if j not in paired_new]
    # As many lines as there were: each was written anew, however little they have in common. A
    # `return` stands for a `return` before it stands for a call.
    by_keyword: defaultdict[str, deque[int]] = defaultdict(deque)
    for i in unpaired:
        by_keyword[_leading_keyword(old_lines[i])].append(i)
    for j in free:
        if (keyword := _leading_keyword(new_lines[j])) and by_keyword[keyword]:
            pairs[by_keyword[keyword].popleft()] = j
    unpaired = [i for i in unpaired if i not in pairs]
    paired_new = set(pairs.values())
    free = [j for j in free if j not in paired_new]
    n_both = min(len(unpaired), len(free))
    by_count = dict(zip(unpaired[:n_both], free[:n_both], strict=True))
    # But a call made for what it does, `check(radius)`, is not written anew as `x = 1`.
    pairs |= {
        i: j
        for i, j in by_count.items()
        if not _EFFECT.match(old_lines[i]) or _CALL.search(new_lines[j])
    }
    unpaired = [i for i in unpaired if i not in pairs]
    # `total = price * n` before `return total` may become `return price * n`.
    temporaries = {
        assigned[1]
        for line in old_lines
        if (assigned := _ASSIGNED.match(line)) and assigned[1] not in reply_tokens
    }
    counts = Counter(token for line in new_lines for token in tokens_in(line))
    surplus = counts - Counter(token for i in pairs for token in tokens_in(old_lines[i]))
    has_loop = any(_LOOP.search(line) for line in new_lines)
    lost: list[int] = []
    for i in unpaired:
        tokens = tokens_of(old_lines[i], temporaries)
        if not tokens or (tokens <= set(counts) and tokens & set(surplus)):
            continue
        # `step(0)`, `step(1)`, ... in one loop: nothing but the numbers is gone.
        names = {token for token in tokens if not token.isdigit()}
        is_like_a_changed_line = any(names <= tokens_of(old_lines[changed]) for changed in pairs)
        if not (has_loop and names and names <= set(counts) and is_like_a_changed_line):
            lost.append(missing[i])
    return lost


def _drop_swapped(alignment: Alignment, lost: Sequence[int], unclaimed: Sequence[str]) -> list[int]:
    """Return the `lost` lines but those of which an unclaimed new line elsewhere says the same.

    Where `even -= 1` and `odd += 1` of two loops become `odd += 1` and `even += 1`, the second has
    moved to the place of the first, and what is new stands in its old place.
    """
    free = [tokens_of(line) for line in unclaimed]
    remaining: list[int] = []
    for at in lost:
        tokens = tokens_of(alignment.shown[at])
        if tokens and tokens in free:
            free.remove(tokens)
        else:
            remaining.append(at)
    return remaining


def _leading_keyword(line: str) -> str:
    """Return the keyword that `line` begins with, or ""."""
    word = _TOKEN.match(line.strip())
    return word[0] if word and word[0] in _KEYWORDS else ""


def _pair_changed_lines(old_lines: Sequence[str], new_lines: Sequence[str]) -> dict[int, int]:
    """Return old lines by the new lines they were changed into, both in order and each once."""
    pairs: dict[int, int] = {}
    start = 0
    old, new = ([tokens_of(line) for line in lines] for lines in (old_lines, new_lines))
    for i, tokens in enumerate(old):
        check_interruption()
        best, best_j = 0.0, -1
        for j in range(start, min(len(new), start + _MOST_AHEAD)):
            likeness = _likeness(tokens, new[j])
            if likeness > best:
                best, best_j = likeness, j
        # The new line is left to one of the next old lines that it is more like.
        if best >= _ALIKE and all(
            _likeness(tokens, new[best_j]) <= best for tokens in old[i + 1 : i + 6]
        ):
            pairs[i] = best_j
            start = best_j + 1
    return pairs


def _likeness(old: set[str], new: set[str]) -> float:
    """Return the share of the smaller set that is in both, 0 to 1."""
    n_least = min(len(old), len(new))
    return len(old & new) / n_least if n_least else 0.0


def tokens_of(line: str, temporaries: Collection[str] = ()) -> set[str]:
    """Return the names and numbers of a line; without chains that begin with a temporary."""
    return set(tokens_in(line, temporaries))


def tokens_in(line: str, temporaries: Collection[str] = ()) -> list[str]:
    """Return the names and numbers of a line in their order, as often as they stand there."""
    check_interruption()
    if temporaries:
        # `order.total()` says nothing where `order` is a name that has gone.
        line = _CHAIN.sub(
            lambda chain: "" if _TOKEN.findall(chain[0])[0] in temporaries else chain[0], line
        )
    return [token for token in _TOKEN.findall(line) if token not in _KEYWORDS]
