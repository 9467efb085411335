"""How an answer came about, to look at: each token coloured by where it came from, pass by pass.

Pure: a `Completion` in, a page of HTML or a text for the terminal out. The page is one file that
asks for nothing else.
"""

import codecs
import html
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from rich.text import Text

from redraft.records import Completion, Pass

__all__ = ["PassTrace", "Stretch", "page", "terminal", "totals", "traced"]

Kind: TypeAlias = Literal["copied", "learned", "elsewhere", "fresh"]

KINDS: Final[dict[str | None, Kind]] = {"copied": "copied", "learned": "learned", None: "fresh"}

LEGEND: Final[dict[Kind, str]] = {
    "copied": "copied from the text being edited",
    "learned": "copied with an edit learned further up",
    "elsewhere": "drafted from elsewhere: a lookup, a guess or a second model",
    "fresh": "decoded afresh",
}

_STYLES: Final[dict[Kind, str]] = {
    "copied": "green",
    "learned": "bold cyan",
    "elsewhere": "yellow",
    "fresh": "bold red",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Text of neighbouring tokens of one kind; `tokens` counts them."""

    kind: Kind
    text: str
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PassTrace:
    """What one pass added to the answer; nothing where it only decided a near-tie's row anew."""

    stretches: tuple[Stretch, ...]
    drafted: int
    accepted: int
    seconds: float


def traced(completion: Completion) -> tuple[PassTrace, ...]:
    """The passes of `completion`, cut where its text ends: before the stop string.

    A character that two tokens share goes to the one that completes it.
    """
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    left = len(completion.text)
    found: list[PassTrace] = []
    for one in completion.passes:
        stretches: list[Stretch] = []
        for piece, origin in zip(one.pieces, one.origins, strict=True):
            text = decoder.decode(piece)[:left]
            if left:
                _add(stretches, KINDS.get(origin, "elsewhere"), text)
            left -= len(text)
        found.append(_traced(one, stretches))
    if left and found:  # the answer ends inside a character
        found[-1] = _ended(found[-1], decoder.decode(b"", final=True)[:left])
    return tuple(found)


def _add(stretches: list[Stretch], kind: Kind, text: str) -> None:
    before = stretches.pop() if stretches and stretches[-1].kind == kind else None
    text, tokens = (before.text + text, before.tokens + 1) if before else (text, 1)
    stretches.append(Stretch(kind=kind, text=text, tokens=tokens))


def _traced(one: Pass, stretches: Sequence[Stretch]) -> PassTrace:
    accepted = sum(origin is not None for origin in one.origins)
    return PassTrace(
        stretches=tuple(stretches), drafted=one.drafted, accepted=accepted, seconds=one.seconds
    )


def _ended(last: PassTrace, text: str) -> PassTrace:
    end = Stretch(kind="fresh", text=text, tokens=0)
    return PassTrace(
        stretches=(*last.stretches, end),
        drafted=last.drafted,
        accepted=last.accepted,
        seconds=last.seconds,
    )


def _counts(passes: Sequence[PassTrace]) -> Counter[Kind]:
    counts: Counter[Kind] = Counter()
    for stretch in (stretch for one in passes for stretch in one.stretches):
        counts[stretch.kind] += stretch.tokens
    return counts


def totals(completion: Completion) -> str:
    """One line: tokens, passes, tokens per pass, the share that was copied, time."""
    stats = completion.stats
    counts = _counts(traced(completion))
    n_copied, n_tokens = counts["copied"] + counts["learned"], counts.total()
    return (
        f"{stats.output_tokens} tokens in {stats.passes} passes,"
        f" {stats.tokens_per_pass:.1f} tokens/pass,"
        f" {n_copied / n_tokens if n_tokens else 0:.0%} copied,"
        f" {stats.decode_s:.1f} s, {stats.tokens_per_s:.1f} tokens/s"
    )


def terminal(completion: Completion) -> Text:
    """The answer in colours; a bar begins each pass. Below it the legend and the totals."""
    passes = traced(completion)
    text = Text()
    for one in passes:
        text.append("▏", "dim")
        for stretch in one.stretches:
            text.append(_printable(stretch.text), _STYLES[stretch.kind])
    text.append("\n\n")
    counts = _counts(passes)
    for kind, what in LEGEND.items():
        text.append(f"{counts[kind]:6} ")
        text.append(what, _STYLES[kind])
        text.append("\n")
    text.append(f"     ▏ a pass begins\n{totals(completion)}\n")
    return text


def _printable(text: str) -> str:
    """`text` whose control characters cannot reach the terminal's interpreter."""
    return "".join(
        chr(0x2400 + ord(char)) if ord(char) < 32 and char not in "\t\n" else char for char in text
    )


_STYLE_SHEET: Final = """\
:root { color-scheme: light dark; --paper: #fff; --ink: #1f2328; --dim: #59636e; --line: #d1d9e0;
  --copied: #dafbe1; --learned: #b6e3ff; --elsewhere: #fff8c5; --fresh: #ffcecb; }
@media (prefers-color-scheme: dark) { :root { --paper: #0d1117; --ink: #e6edf3; --dim: #9198a1;
  --line: #3d444d; --copied: #12361f; --learned: #0c3b66; --elsewhere: #4a3a05; --fresh: #6e1d1a; }}
body { margin: 2rem auto; padding: 0 1rem; max-width: 60rem; background: var(--paper);
  color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.1rem; margin: 0; overflow-wrap: anywhere; }
.ask, .totals { color: var(--dim); margin: .2rem 0 1rem; overflow-wrap: anywhere; }
.legend { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; }
.legend i { font-style: normal; padding: 0 .4rem; border-radius: 3px; }
pre { padding: 1rem; border: 1px solid var(--line); border-radius: 6px; white-space: pre-wrap;
  overflow-wrap: anywhere; tab-size: 4; font: 13px/1.6 ui-monospace, Menlo, Consolas, monospace; }
pre b { font-weight: normal; border-left: 2px solid var(--ink); padding-left: 1px; }
.copied { background: var(--copied); } .learned { background: var(--learned); }
.elsewhere { background: var(--elsewhere); } .fresh { background: var(--fresh); }
"""


def page(completion: Completion, *, title: str, instruction: str) -> str:
    """A self-contained page: legend, totals, and the answer with a bar where each pass begins.

    Hovering over a pass shows what it drafted, what of it was right, and how long it took.
    """
    passes = traced(completion)
    counts = _counts(passes)
    legend = "\n".join(
        f'<li><i class="{kind}">{counts[kind]}</i> {what}</li>' for kind, what in LEGEND.items()
    )
    name = html.escape(title)
    return f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{name} - redraft trace</title>
<style>
{_STYLE_SHEET}</style>
<h1>{name}</h1>
<p class="ask">{html.escape(instruction)}</p>
<ul class="legend">
{legend}
<li><i>|</i> a pass begins</li>
</ul>
<p class="totals">{html.escape(totals(completion))}</p>
<pre>{"".join(_html(passes))}</pre>
</html>
"""


def _html(passes: Sequence[PassTrace]) -> Iterator[str]:
    # The first line feed after <pre> is not shown: one more, so that the answer's own stays.
    yield "\n"
    for number, one in enumerate(passes, 1):
        hint = (
            f"pass {number}: {one.drafted} drafted, {one.accepted} right, {1000 * one.seconds:.0f}"
            " ms"
        )
        spans = (
            f'<span class="{stretch.kind}">{html.escape(stretch.text)}</span>'
            for stretch in one.stretches
        )
        yield f'<b title="{hint}">{"".join(spans)}</b>'
