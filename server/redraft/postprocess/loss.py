"""What an edit leaves out: shown lines that have no counterpart in the new text.

A line has a counterpart where it was kept, moved, changed into another one, or absorbed by one
(`for x in xs: out.append(x)` by a comprehension). What was never asked for is named, so that the
model can be asked again and the user can decide. Pure; the alignment is the witness.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

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
_ALIKE = 0.4  # of the tokens of the shorter line: two lines that are one and the same, changed


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
    lost: list[int] = []
    unclaimed: list[str] = []
    cut: set[int] = set()
    n_new = 0
    for hunk in alignment.hunks:
        mine = [at for at in range(hunk.shown, hunk.shown_stop) if at in left_out]
        mine = [at for at in mine if at not in ignored and _says_something(alignment.shown[at])]
        new = _new_lines(alignment, hunk)
        n_new += len(new)
        found = _unmatched(alignment, mine, new)
        lost += found
        if not new:
            cut.update(found)
        elif not mine:
            unclaimed += new
    lost = _without_swapped(alignment, lost, unclaimed)
    telling = [line for line in alignment.shown if is_significant(line)]
    return Loss(
        lines=tuple(alignment.shown[at] for at in lost),
        n_shown=len(telling),
        n_branches=sum(bool(_BRANCH.match(line)) for line in telling),
        n_branches_lost=sum(bool(_BRANCH.match(alignment.shown[at])) for at in lost),
        n_cut=len(cut.intersection(lost)),
        is_sole=n_new == 0,
    )


def _says_something(line: str) -> bool:
    return any(map(str.isalnum, line)) and (is_significant(line) or line.strip() not in _CLOSERS)


_DOTS_IN_QUOTES = re.compile(r"(['\"]+)\s*(?:\.\.\.|…)\s*\1")
_PUNCTUATION = "(){}[]<>;,:. \t…"
_OPENERS = frozenset({"} else {", "} else", "else {", "try:", "try {", "} finally {", "finally:"})
_CLOSERS = frozenset({"end", "done", "fi", "esac", "else", "else:", "then", "do", "begin", "pass"})


def _new_lines(alignment: Alignment, hunk: Hunk) -> list[str]:
    """The lines of a hunk that are really new: those that were moved there are not."""
    held = {line.strip() for line in alignment.shown}
    lines = alignment.reply[hunk.reply : hunk.reply_stop]
    return [line for line in lines if line.strip() not in held and _stands_for_code(line)]


def _stands_for_code(line: str) -> bool:
    """Return True where a new line can be the new form of another: not a bracket, dots or `pass`.

    What it says may be no name: `return None`, a string of blanks, an emoji.
    """
    words = line.strip()
    is_placeholder = words in _CLOSERS or words in _OPENERS or _DOTS_IN_QUOTES.fullmatch(words)
    return bool(words.strip(_PUNCTUATION)) and not is_placeholder


def _unmatched(alignment: Alignment, mine: Sequence[int], new: Sequence[str]) -> list[int]:
    """Of the left-out lines of one hunk, those that no new line stands for."""
    if not mine or not new:
        return list(mine)
    old = [alignment.shown[at] for at in mine]
    pairs = _pairs(old, new)
    rest = [i for i in range(len(old)) if i not in pairs]
    free = [j for j in range(len(new)) if j not in pairs.values()]
    # As many lines as there were: each was written anew, however little they have in common. A
    # `return` stands for a `return` before it stands for a call.
    for j in list(free):
        keyword = _keyword(new[j])
        alike = next((i for i in rest if keyword and _keyword(old[i]) == keyword), None)
        if alike is not None:
            pairs[alike] = j
            rest.remove(alike)
            free.remove(j)
    while rest and free:
        pairs[rest.pop(0)] = free.pop(0)
    everything = {token for line in alignment.reply for token in tokens_of(line)}
    temporaries = {
        match[1] for line in old if (match := _ASSIGNED.match(line)) and match[1] not in everything
    }
    have = Counter(token for line in new for token in tokens_in(line))
    surplus = have - Counter(token for i in pairs for token in tokens_in(old[i]))
    is_loop = any(_LOOP.search(line) for line in new)
    lost: list[int] = []
    for i in rest:
        tokens = tokens_of(old[i], temporaries)
        if not tokens or (tokens <= set(have) and tokens & set(surplus)):
            continue
        # `step(0)`, `step(1)`, ... in one loop: nothing but the numbers is gone.
        names = {token for token in tokens if not token.isdigit()}
        is_like_a_changed_one = any(names <= tokens_of(old[changed]) for changed in pairs)
        if is_loop and names and names <= set(have) and is_like_a_changed_one:
            continue
        lost.append(mine[i])
    return lost


def _without_swapped(
    alignment: Alignment, lost: Sequence[int], unclaimed: Sequence[str]
) -> list[int]:
    """Return the `lost` lines but those of which an unclaimed new line elsewhere says the same.

    Where `even -= 1` and `odd += 1` of two loops become `odd += 1` and `even += 1`, the second has
    moved to the place of the first, and what is new stands in its old place.
    """
    free = [set(tokens_in(line)) for line in unclaimed]
    rest: list[int] = []
    for at in lost:
        tokens = tokens_of(alignment.shown[at])
        same = next((other for other in free if tokens and tokens == other), None)
        if same is None:
            rest.append(at)
        else:
            free.remove(same)
    return rest


def _keyword(line: str) -> str:
    """Return the keyword that `line` begins with, or ""."""
    word = _TOKEN.match(line.strip())
    return word[0] if word and word[0] in _KEYWORDS else ""


def _pairs(old: Sequence[str], new: Sequence[str]) -> dict[int, int]:
    """Old lines and the new lines they were changed into, both in order and each once."""
    pairs: dict[int, int] = {}
    start = 0
    a, b = ([tokens_of(line) for line in lines] for lines in (old, new))
    for i, tokens in enumerate(a):
        best, best_j = 0.0, -1
        for j in range(start, min(len(b), start + 40)):
            n_least = min(len(tokens), len(b[j]))
            likeness = len(tokens & b[j]) / n_least if n_least else 0.0
            if likeness > best:
                best, best_j = likeness, j
        if best >= _ALIKE and best_j >= 0 and not _fits_better(a, i, b[best_j], best):
            pairs[i] = best_j
            start = best_j + 1
    return pairs


def _fits_better(old: Sequence[set[str]], i: int, new: set[str], best: float) -> bool:
    """Whether one of the next old lines is more like the new one."""
    for other in old[i + 1 : i + 6]:
        n_least = min(len(other), len(new))
        if n_least and len(other & new) / n_least > best:
            return True
    return False


def tokens_of(line: str, temporaries: Collection[str] = ()) -> set[str]:
    """Return the names and numbers of a line; without chains that begin with a temporary."""
    return set(tokens_in(line, temporaries))


def tokens_in(line: str, temporaries: Collection[str] = ()) -> list[str]:
    """Return the names and numbers of a line in their order, as often as they stand there."""
    found = [token for part in _parts(line, temporaries) for token in _TOKEN.findall(part)]
    return [token for token in found if token not in _KEYWORDS]


def _parts(line: str, temporaries: Collection[str]) -> Iterator[str]:
    if not temporaries:
        yield line
        return
    end = 0
    for chain in _CHAIN.finditer(line):
        yield line[end : chain.start()]
        if (
            _TOKEN.findall(chain.group())[:1]
            and _TOKEN.findall(chain.group())[0] not in temporaries
        ):
            yield chain.group()
        end = chain.end()
    yield line[end:]
