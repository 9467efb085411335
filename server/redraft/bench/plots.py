"""Pictures of what the benchmarks recorded, drawn with matplotlib; the same record, the same bytes.

Knows records as `--json` writes them. Only this module knows matplotlib, which is optional: whoever
calls `draw` has seen to it that it is there.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, NamedTuple

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

__all__ = ["DRAWN", "draw"]

# A salt instead of random ids and no date, so that drawing again gives no difference.
_STYLE: Final[Any] = {  # which keys there are, each release of matplotlib types in its own way
    "svg.hashsalt": "redraft",
    "svg.fonttype": "none",
    "font.size": 9,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": "#d0d7de",
    "legend.frameon": False,
}
_UNDATED: Final = {"svg": {"Date": None, "Creator": None}, "png": {"Software": None}}
_COLOURS: Final = ("#0969da", "#bf8700", "#1a7f37", "#8250df", "#cf222e", "#57606a", "#1b7c83")
_KNOWN: Final = {"plain": "#8c959f", "copy": _COLOURS[0], "lookup": _COLOURS[1]}
_LINE: Final = "#24292f"


class Bar(NamedTuple):
    """A value, and how far it spreads."""

    value: float
    low: float
    high: float


def draw(record: Mapping[str, Any], path: Path) -> None:
    """Draw a record of one of the benchmarks in `DRAWN`; `path` ends in .svg or .png."""
    known = record["conditions"]
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(7.2, 4.2), layout="constrained")
        axes = figure.add_subplot()
        chip = known["cpu"].partition(" (")[0]
        axes.set_title(", ".join(filter(None, (known["model"], chip))), fontsize=8)
        DRAWN[known["bench"]](record, axes)
        figure.savefig(path, metadata=_UNDATED[path.suffix.lstrip(".")], dpi=150)


def _cost(record: Mapping[str, Any], axes: Axes) -> None:
    """T(k) / T(1) over k, a line for each depth."""
    most = 1
    for depth, passes in groupby(record["passes"], key=itemgetter("depth")):
        points = [(one["rows"], one["relative"]) for one in passes]
        axes.plot(*zip(*points, strict=True), marker="o", markersize=4, label=f"{depth:,} deep")
        most = max(most, points[-1][0])
    axes.plot([1, most], [1, most], color="#8c959f", linestyle=":", label="a pass for each row")
    for axis, scale in ((axes.xaxis, axes.set_xscale), (axes.yaxis, axes.set_yscale)):
        scale("log", base=2)
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_xlabel("rows in a pass")
    axes.set_ylabel("times the cost of one row")
    axes.legend()


def _edits(record: Mapping[str, Any], axes: Axes) -> None:
    """Speed-up over plain decoding by how much of the answer stands in the source."""
    plain = {one["id"]: one for one in record["results"] if one["strategy"] == "plain"}
    for name, colour in _coloured(one["strategy"] for one in record["results"]):
        own = [one for one in record["results"] if one["strategy"] == name != "plain"]
        if own:
            axes.scatter(
                [100 * plain[one["id"]]["copied_share"] for one in own],
                [plain[one["id"]]["decode_s"] / one["decode_s"] for one in own],
                s=16,
                color=colour,
                label=name,
            )
    axes.axhline(1, color=_KNOWN["plain"], linewidth=1)
    axes.set_xlabel("% of the plain answer that could be copied")
    axes.set_ylabel("times plain decoding")
    axes.set_ylim(bottom=0)
    axes.legend()


def _workloads(record: Mapping[str, Any], axes: Axes) -> None:
    groups = {
        workload: {
            name: Bar(one["speedup"], one["least_speedup"], one["most_speedup"])
            for name, one in own.items()
            if name != "plain"
        }
        for workload, own in record["summary"].items()
    }
    _bars(groups, axes)
    axes.axhline(1, color=_KNOWN["plain"], linewidth=1)
    axes.set_ylabel("times plain decoding; lines: single questions")


def _peers(record: Mapping[str, Any], axes: Axes) -> None:
    """Each program's speed against redraft's plain decoding, the fastest on top."""
    speeds: dict[str, dict[str, float]] = {}
    for one in (one for one in record["results"] if one["decode_s"]):
        speeds.setdefault(one["peer"], {})[one["id"]] = one["timed_tokens"] / one["decode_s"]
    plain = speeds["redraft/plain"]
    ranked = sorted(record["summary"].items(), key=lambda pair: pair[1]["to_plain"] or 0.0)
    for place, (name, own) in enumerate(ranked):
        ratios = [speed / plain[task] for task, speed in speeds[name].items() if task in plain]
        colour = _KNOWN["copy" if name.startswith("redraft/") else "plain"]
        axes.barh(place, own["to_plain"] or 0.0, 0.7, color=colour)
        axes.hlines(place, min(ratios, default=0), max(ratios, default=0), color=_LINE, linewidth=1)
    axes.set_yticks(range(len(ranked)), [name for name, _ in ranked])
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("times redraft's plain decoding; lines: single tasks")


def _quality(record: Mapping[str, Any], axes: Axes) -> None:
    own = {
        name: Bar(*(100 * share for share in (one["pass_at_1"], *one["interval_95"])))
        for name, one in record["summary"]["prompts"].items()
    }
    _bars({f"{record['set']}": own}, axes)
    axes.set_ylim(0, 100)
    axes.set_ylabel("% of the problems solved; lines: 95 % intervals")


def _simulate(record: Mapping[str, Any], axes: Axes) -> None:
    groups = {
        workload: {name: Bar(speedup, speedup, speedup) for name, speedup in own.items()}
        for workload, own in record["speedup"].items()
    }
    _bars(groups, axes)
    axes.set_title("SIMULATED, nothing was measured", fontsize=8)
    axes.axhline(1, color=_KNOWN["plain"], linewidth=1)
    axes.set_ylabel("times plain decoding")


def _bars(groups: Mapping[str, Mapping[str, Bar]], axes: Axes) -> None:
    """Bars side by side for each group, one of each name, with lines from low to high."""
    names = [name for own in groups.values() for name in own]
    coloured = list(_coloured(names))
    width = 0.8 / len(coloured)
    for i, (name, colour) in enumerate(coloured):
        places = [
            n - 0.4 + (i + 0.5) * width for n, own in enumerate(groups.values()) if name in own
        ]
        bars = [own[name] for own in groups.values() if name in own]
        axes.bar(places, [bar.value for bar in bars], width * 0.92, color=colour, label=name)
        lows, highs = [bar.low for bar in bars], [bar.high for bar in bars]
        axes.vlines(places, lows, highs, color=_LINE, linewidth=1)
    axes.set_xticks(range(len(groups)), list(groups))
    axes.grid(visible=False, axis="x")
    axes.legend(ncols=2)


def _coloured(names: Iterable[str]) -> list[tuple[str, str]]:
    """Each name once with a colour, which is always the same for those of `_KNOWN`."""
    free = iter(colour for colour in _COLOURS * 3 if colour not in _KNOWN.values())
    return [(name, _KNOWN.get(name) or next(free)) for name in dict.fromkeys(names)]


DRAWN: Final[Mapping[str, Callable[[Mapping[str, Any], Axes], None]]] = {
    "cost": _cost,
    "edits": _edits,
    "workloads": _workloads,
    "peers": _peers,
    "quality": _quality,
    "simulate": _simulate,
}
