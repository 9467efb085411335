"""Show how an answer came about: each token coloured by where it came from, pass by pass.

Pure: a `Completion` in, a page of HTML or a text for the terminal out. The page is one file that
loads nothing else.
"""

import codecs
import html
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from rich.text import Text

from redraft.records import Completion

__all__ = ["PassTrace", "Stretch", "format_totals", "render_page", "render_text", "trace_passes"]

TokenKind: TypeAlias = Literal["copied", "learned", "elsewhere", "fresh"]

_KINDS: Final[dict[str | None, TokenKind]] = {
    "copied": "copied",
    "learned": "learned",
    None: "fresh",
}

LEGEND: Final[dict[TokenKind, str]] = {
    "copied": "copied from the text being edited",
    "learned": "copied with an edit learned further up",
    "elsewhere": "drafted from elsewhere: a lookup, a guess or a second model",
    "fresh": "decoded afresh",
}

_STYLES: Final[dict[TokenKind, str]] = {
    "copied": "green",
    "learned": "bold cyan",
    "elsewhere": "yellow",
    "fresh": "bold red",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Text of neighbouring tokens of one kind; `tokens` counts them."""

    kind: TokenKind
    text: str
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PassTrace:
    """The text that one pass added to the answer.

    Without stretches where the pass only decided a near-tie's row again.
    """

    stretches: tuple[Stretch, ...]
    drafted: int
    accepted: int
    seconds: float


def trace_passes(completion: Completion) -> tuple[PassTrace, ...]:
    """Return the passes of `completion`, cut where its text ends: before the stop string.

    A character that two tokens share goes to the one that completes it.
    """
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    n_left = len(completion.text)
    traces: list[PassTrace] = []
    for decoded in completion.passes:
        stretches: list[Stretch] = []
        for piece, origin in zip(decoded.pieces, decoded.origins, strict=True):
            text = decoder.decode(piece)[:n_left]
            if not n_left:
                break
            n_left -= len(text)
            kind, tokens = _KINDS.get(origin, "elsewhere"), 1
            if stretches and stretches[-1].kind == kind:
                previous = stretches.pop()
                text, tokens = previous.text + text, previous.tokens + 1
            stretches.append(Stretch(kind=kind, text=text, tokens=tokens))
        trace = PassTrace(
            stretches=tuple(stretches),
            drafted=decoded.drafted,
            accepted=sum(origin is not None for origin in decoded.origins),
            seconds=decoded.seconds,
        )
        traces.append(trace)
    if n_left and traces:  # the answer ends inside a character, which is shown as U+FFFD
        text = decoder.decode(b"", final=True)[:n_left]
        end = Stretch(kind="fresh", text=text, tokens=0)
        traces[-1] = replace(traces[-1], stretches=(*traces[-1].stretches, end))
    return tuple(traces)


def _count_tokens(passes: Sequence[PassTrace]) -> Counter[TokenKind]:
    """Return how many tokens there are of each kind."""
    counts: Counter[TokenKind] = Counter()
    for stretch in (stretch for trace in passes for stretch in trace.stretches):
        counts[stretch.kind] += stretch.tokens
    return counts


def format_totals(completion: Completion) -> str:
    """Return one line: tokens, passes, tokens per pass, the share that was copied, time."""
    stats = completion.stats
    counts = _count_tokens(trace_passes(completion))
    n_copied, n_tokens = counts["copied"] + counts["learned"], counts.total()
    return (
        f"{stats.output_tokens} tokens in {stats.passes} passes,"
        f" {stats.tokens_per_pass:.1f} tokens/pass,"
        f" {n_copied / n_tokens if n_tokens else 0:.0%} copied,"
        f" {stats.decode_s:.1f} s, {stats.tokens_per_s:.1f} tokens/s"
    )


def render_text(completion: Completion) -> Text:
    """Return the answer in colours, a bar where each pass begins, then legend and totals."""
    passes = trace_passes(completion)
    text = Text()
    for trace in passes:
        text.append("▏", "dim")
        for stretch in trace.stretches:
            # Control characters must not reach the terminal's interpreter: U+2400 on are pictures.
            printable = "".join(
                chr(0x2400 + ord(char)) if ord(char) < 32 and char not in "\t\n" else char
                for char in stretch.text
            )
            text.append(printable, _STYLES[stretch.kind])
    text.append("\n\n")
    counts = _count_tokens(passes)
    for kind, meaning in LEGEND.items():
        text.append(f"{counts[kind]:6} ")
        text.append(meaning, _STYLES[kind])
        text.append("\n")
    text.append(f"     ▏ a pass begins\n{format_totals(completion)}\n")
    return text


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


def render_page(completion: Completion, *, title: str, instruction: str) -> str:
    """Return a self-contained page: legend, totals, and the answer with a bar before each pass.

    Hovering over a pass shows what it drafted, what of it was right, and how long it took.
    """
    passes = trace_passes(completion)
    counts = _count_tokens(passes)
    legend = "\n".join(
        f'<li><i class="{kind}">{counts[kind]}</i> {meaning}</li>'
        for kind, meaning in LEGEND.items()
    )
    answer: list[str] = []
    for number, trace in enumerate(passes, 1):
        ms = f"{1000 * trace.seconds:.0f} ms"
        hint = f"pass {number}: {trace.drafted} drafted, {trace.accepted} right, {ms}"
        spans = (
            f'<span class="{stretch.kind}">{html.escape(stretch.text)}</span>'
            for stretch in trace.stretches
        )
        answer.append(f'<b title="{hint}">{"".join(spans)}</b>')
    name = html.escape(title)
    # The first line feed after <pre> is not shown: it is written so that the answer's own stays.
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
<p class="totals">{html.escape(format_totals(completion))}</p>
<pre>
{"".join(answer)}</pre>
</html>
"""
