"""A run as one HTML page that needs nothing else: every diff, every reason, the figures, a plot."""

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Final

from redraft.codemod.plan import Plan
from redraft.codemod.results import FileResult, TargetResult, kind_of
from redraft.records import Refused
from redraft.text.diff import unified_diff

__all__ = ["html"]

_STYLE: Final = """
:root{color-scheme:light dark;--good:#1a7f37;--bad:#cf222e;--dim:#6e7781;--line:#8884}
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
pre{overflow-x:auto;border:1px solid var(--line);border-radius:6px;padding:.6rem;font-size:13px}
pre .add{color:var(--good)}pre .del{color:var(--bad)}pre .at{color:var(--dim)}
table{border-collapse:collapse}td,th{padding:.15rem .8rem .15rem 0;text-align:left}
td.n{text-align:right}summary{cursor:pointer}.bad{color:var(--bad)}.dim{color:var(--dim)}
svg text{font:11px system-ui,sans-serif;fill:var(--dim)}
"""

_COLOURS: Final = {"rewritten": "var(--good)", "unchanged": "var(--dim)", "declined": "var(--dim)"}
_WIDTH, _HEIGHT, _MARGIN = 640, 220, 46


def html(
    instruction: str, plan: Plan, results: Sequence[FileResult], rows: Iterable[tuple[str, str]]
) -> str:
    """The page. `rows` are the lines of the summary as they are shown on a terminal."""
    figures = "".join(f"<tr><th>{escape(a)}<td>{escape(b)}" for a, b in rows)
    body = "".join(
        [
            f"<h1>redraft codemod</h1><blockquote>{escape(instruction)}</blockquote>",
            f"<p class=dim>{escape(str(plan.root))}</p><table>{figures}</table>",
            _plot([one for file in results for one in file.targets if not one.cached]),
            "<h2>Files</h2>" if results else "",
            *map(_file, results),
            _left_out("Could not be edited", ((one.path, one.message) for one in plan.broken)),
            _left_out("Passed over", ((one.path, one.reason) for one in plan.skipped)),
        ]
    )
    return (
        "<!doctype html><html lang=en><meta charset=utf-8><title>redraft codemod</title>"
        f"<meta name=viewport content='width=device-width'><style>{_STYLE}</style>{body}</html>\n"
    )


def _file(file: FileResult) -> str:
    kinds = ", ".join(f"{n} {kind}" for kind, n in file.kinds.items())
    state = f"<span class=bad>{file.state}</span>" if file.message else file.state
    is_open = " open" if file.new_text is not None else ""
    head = f"<b>{escape(file.path)}</b> {state} <span class=dim>{escape(kinds)}</span>"
    parts = [
        f"<details{is_open}><summary>{head}</summary>",
        f"<p class=bad>{escape(file.message)}</p>" if file.message else "",
        *(
            f"<p class=bad>{escape(_name(one))}: {escape(one.ending.message)}</p>"
            for one in file.targets
            if isinstance(one.ending, Refused)
        ),
    ]
    if file.document is not None and file.new_text is not None:
        parts.append(_diff(unified_diff(file.document.text, file.new_text, file.path)))
    return "".join([*parts, "</details>"])


def _name(result: TargetResult) -> str:
    return f"line {result.line} {result.target.name}".rstrip()


def _diff(diff: str) -> str:
    kinds = {"+": "add", "-": "del", "@": "at"}
    lines = (
        f"<span class={kind}>{escape(line)}</span>" if kind else escape(line)
        for line in diff.split("\n")
        for kind in [kinds.get(line[:1])]
    )
    return f"<pre>{chr(10).join(lines)}</pre>"


def _left_out(title: str, lines: Iterable[tuple[str, str]]) -> str:
    rows = "".join(f"<tr><td>{escape(path)}<td>{escape(why)}" for path, why in lines)
    return f"<h2>{title}</h2><table>{rows}</table>" if rows else ""


def _plot(targets: Sequence[TargetResult]) -> str:
    """Tokens written against seconds, one dot for each target that the model was asked for."""
    dots = [
        (one.ending.stats.output_tokens, one.ending.stats.decode_s, kind_of(one.ending), _name(one))
        for one in targets
        if one.ending.stats.output_tokens
    ]
    if not dots:
        return ""
    most_tokens = max(tokens for tokens, *_ in dots)
    most_s = max(seconds for _, seconds, *_ in dots) or 1.0
    return (
        f"<h2>Tokens and seconds</h2><svg viewBox='0 0 {_WIDTH} {_HEIGHT}' width=100% role=img "
        "aria-label='Seconds to write each reply, over its tokens'>"
        f"{''.join(_axes(most_tokens, most_s))}"
        f"{''.join(_dots(dots, most_tokens, most_s))}</svg>"
    )


def _axes(most_tokens: int, most_s: float) -> Iterator[str]:
    left, low = _MARGIN, _HEIGHT - _MARGIN
    yield f"<path d='M{left} 8V{low}H{_WIDTH - 8}' fill=none stroke='var(--line)'/>"
    yield f"<text x={left} y={low + 16}>0</text>"
    yield f"<text x={_WIDTH - 8} y={low + 16} text-anchor=end>{most_tokens:,} tokens written</text>"
    yield f"<text x={left + 6} y=16>{most_s:.1f} s</text>"


def _dots(
    dots: Sequence[tuple[int, float, str, str]], most_tokens: int, most_s: float
) -> Iterator[str]:
    for tokens, seconds, kind, name in dots:
        x = _MARGIN + tokens / most_tokens * (_WIDTH - _MARGIN - 16)
        y = _HEIGHT - _MARGIN - seconds / most_s * (_HEIGHT - _MARGIN - 24)
        colour = _COLOURS.get(kind, "var(--bad)")
        told = escape(f"{name}: {tokens} tokens, {seconds:.2f} s, {kind}")
        yield f"<circle cx={x:.1f} cy={y:.1f} r=4 fill='{colour}'><title>{told}</title></circle>"
