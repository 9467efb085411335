"""Render a run as one HTML page that needs nothing else: diffs, reasons, figures and a plot."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

from redraft.codemod.plan import Plan
from redraft.codemod.results import FileResult, TargetResult
from redraft.records import Refused
from redraft.text.diff import unified_diff

__all__ = ["render_html"]

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
_WIDTH, _HEIGHT, _MARGIN = 640, 220, 46  # of the plot, in pixels


def render_html(
    instruction: str, plan: Plan, results: Sequence[FileResult], summary: Iterable[tuple[str, str]]
) -> str:
    """Return the page. `summary`: (label, text) as from `redraft.codemod.output.summary`."""
    figures = "".join(f"<tr><th>{escape(label)}<td>{escape(text)}" for label, text in summary)
    body = "".join(
        [
            f"<h1>redraft codemod</h1><blockquote>{escape(instruction)}</blockquote>",
            f"<p class=dim>{escape(str(plan.root))}</p><table>{figures}</table>",
            _render_plot([t for file in results for t in file.targets if not t.is_cached]),
            "<h2>Files</h2>" if results else "",
            *map(_render_file, results),
            _render_list("Could not be edited", ((b.path, b.message) for b in plan.inaccessible)),
            _render_list("Passed over", ((s.path, s.reason) for s in plan.skipped)),
        ]
    )
    return (
        "<!doctype html><html lang=en><meta charset=utf-8><title>redraft codemod</title>"
        f"<meta name=viewport content='width=device-width'><style>{_STYLE}</style>{body}</html>\n"
    )


def _render_file(file: FileResult) -> str:
    kinds = ", ".join(f"{n} {kind}" for kind, n in file.kinds.items())
    state = f"<span class=bad>{file.state}</span>" if file.message else file.state
    is_open = " open" if file.new_text is not None else ""
    head = f"<b>{escape(file.path)}</b> {state} <span class=dim>{escape(kinds)}</span>"
    parts = [
        f"<details{is_open}><summary>{head}</summary>",
        f"<p class=bad>{escape(file.message)}</p>" if file.message else "",
        *(
            f"<p class=bad>{escape(_label(target))}: {escape(target.outcome.message)}</p>"
            for target in file.targets
            if isinstance(target.outcome, Refused)
        ),
    ]
    if file.document is not None and file.new_text is not None:
        classes = {"+": "add", "-": "del", "@": "at"}
        diff = unified_diff(file.document.text, file.new_text, file.path)
        lines = (
            f"<span class={css}>{escape(line)}</span>" if css else escape(line)
            for line in diff.split("\n")
            for css in [classes.get(line[:1])]
        )
        parts.append(f"<pre>{chr(10).join(lines)}</pre>")
    return "".join([*parts, "</details>"])


def _label(result: TargetResult) -> str:
    return f"line {result.line} {result.target.name}".rstrip()


def _render_list(title: str, lines: Iterable[tuple[str, str]]) -> str:
    rows = "".join(f"<tr><td>{escape(path)}<td>{escape(reason)}" for path, reason in lines)
    return f"<h2>{title}</h2><table>{rows}</table>" if rows else ""


def _render_plot(targets: Sequence[TargetResult]) -> str:
    """Plot seconds over tokens written, one dot for each target that the model was asked for."""
    written = [target for target in targets if target.outcome.stats.output_tokens]
    if not written:
        return ""
    max_tokens = max(target.outcome.stats.output_tokens for target in written)
    max_s = max(target.outcome.stats.decode_s for target in written) or 1.0
    left, bottom, right = _MARGIN, _HEIGHT - _MARGIN, _WIDTH - 8
    parts = [
        "<h2>Tokens and seconds</h2>",
        f"<svg viewBox='0 0 {_WIDTH} {_HEIGHT}' width=100% role=img",
        " aria-label='Seconds to write each reply, over its tokens'>",
        f"<path d='M{left} 8V{bottom}H{right}' fill=none stroke='var(--line)'/>",
        f"<text x={left} y={bottom + 16}>0</text>",
        f"<text x={right} y={bottom + 16} text-anchor=end>{max_tokens:,} tokens written</text>",
        f"<text x={left + 6} y=16>{max_s:.1f} s</text>",
    ]
    for target in written:
        tokens, seconds = target.outcome.stats.output_tokens, target.outcome.stats.decode_s
        x = left + tokens / max_tokens * (_WIDTH - _MARGIN - 16)
        y = bottom - seconds / max_s * (_HEIGHT - _MARGIN - 24)
        colour = _COLOURS.get(target.kind, "var(--bad)")
        hint = escape(f"{_label(target)}: {tokens} tokens, {seconds:.2f} s, {target.kind}")
        parts.append(
            f"<circle cx={x:.1f} cy={y:.1f} r=4 fill='{colour}'><title>{hint}</title></circle>"
        )
    return "".join([*parts, "</svg>"])
