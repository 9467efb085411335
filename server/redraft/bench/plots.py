"""Plots of benchmark records, drawn with matplotlib; the same record gives the same bytes.

Knows records as `--json` writes them, those of redraft_bench included, and none of the code that
makes them. Only this module knows matplotlib, which is optional: callers check that it is there.
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
_STYLE: Final[Any] = {  # matplotlib's releases type the keys of this in different ways
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
_FIXED_COLOURS: Final = {"plain": "#8c959f", "copy": _COLOURS[0], "lookup": _COLOURS[1]}
_LINE: Final = "#24292f"


class Bar(NamedTuple):
    """A value with its spread."""

    value: float
    low: float
    high: float


def draw(record: Mapping[str, Any], path: Path) -> None:
    """Draw the record of a benchmark in `DRAWN`; `path` ends in .svg or .png."""
    conditions = record["conditions"]
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(7.2, 4.2), layout="constrained")
        axes = figure.add_subplot()
        chip = conditions["cpu"].partition(" (")[0]
        axes.set_title(", ".join(filter(None, (conditions["model"], chip))), fontsize=8)
        DRAWN[conditions["bench"]](record, axes)
        figure.savefig(path, metadata=_UNDATED[path.suffix.lstrip(".")], dpi=150)


def draw_cost(record: Mapping[str, Any], axes: Axes) -> None:
    """Draw T(k) / T(1) over k, a line for each depth."""
    most = 1
    for depth, passes in groupby(record["passes"], key=itemgetter("depth")):
        points = [(pass_["rows"], pass_["relative"]) for pass_ in passes]
        axes.plot(*zip(*points, strict=True), marker="o", markersize=4, label=f"{depth:,} deep")
        most = max(most, points[-1][0])
    axes.plot([1, most], [1, most], color="#8c959f", linestyle=":", label="a pass for each row")
    for axis, scale in ((axes.xaxis, axes.set_xscale), (axes.yaxis, axes.set_yscale)):
        scale("log", base=2)
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_xlabel("rows in a pass")
    axes.set_ylabel("times the cost of one row")
    axes.legend()


def draw_edits(record: Mapping[str, Any], axes: Axes) -> None:
    """Draw speed-up over plain decoding by the share of the answer that the source has."""
    results = record["results"]
    plain = {result["id"]: result for result in results if result["strategy"] == "plain"}
    for name, colour in _assign_colours(result["strategy"] for result in results):
        if name == "plain":
            continue
        of_strategy = [result for result in results if result["strategy"] == name]
        axes.scatter(
            [100 * plain[result["id"]]["copied_share"] for result in of_strategy],
            [plain[result["id"]]["decode_s"] / result["decode_s"] for result in of_strategy],
            s=16,
            color=colour,
            label=name,
        )
    axes.axhline(1, color=_FIXED_COLOURS["plain"], linewidth=1)
    axes.set_xlabel("% of the plain answer that could be copied")
    axes.set_ylabel("times plain decoding")
    axes.set_ylim(bottom=0)
    axes.legend()


def draw_workloads(record: Mapping[str, Any], axes: Axes) -> None:
    """Draw speed-up over plain decoding for each workload, a bar for each strategy."""
    groups = {
        workload: {
            name: Bar(figures["speedup"], figures["least_speedup"], figures["most_speedup"])
            for name, figures in strategies.items()
            if name != "plain"
        }
        for workload, strategies in record["summary"].items()
    }
    _draw_bars(groups, axes)
    axes.axhline(1, color=_FIXED_COLOURS["plain"], linewidth=1)
    axes.set_ylabel("times plain decoding; lines: single questions")


def draw_peers(record: Mapping[str, Any], axes: Axes) -> None:
    """Draw each program's speed against redraft's plain decoding, the fastest on top."""
    speeds: dict[str, dict[str, float]] = {}
    for result in record["results"]:
        if result["decode_s"]:
            speed = result["timed_tokens"] / result["decode_s"]
            speeds.setdefault(result["peer"], {})[result["id"]] = speed
    plain = speeds["redraft/plain"]
    ranked = sorted(record["summary"].items(), key=lambda pair: pair[1]["to_plain"] or 0.0)
    for place, (name, figures) in enumerate(ranked):
        ratios = [speed / plain[task] for task, speed in speeds[name].items() if task in plain]
        colour = _FIXED_COLOURS["copy" if name.startswith("redraft/") else "plain"]
        axes.barh(place, figures["to_plain"] or 0.0, 0.7, color=colour)
        axes.hlines(place, min(ratios, default=0), max(ratios, default=0), color=_LINE, linewidth=1)
    axes.set_yticks(range(len(ranked)), [name for name, _ in ranked])
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("times redraft's plain decoding; lines: single tasks")


def draw_quality(record: Mapping[str, Any], axes: Axes) -> None:
    """Draw the share of the problems that each prompt solved, with 95 % intervals."""
    bars = {
        name: Bar(*(100 * share for share in (figures["pass_at_1"], *figures["interval_95"])))
        for name, figures in record["summary"]["prompts"].items()
    }
    _draw_bars({f"{record['set']}": bars}, axes)
    axes.set_ylim(0, 100)
    axes.set_ylabel("% of the problems solved; lines: 95 % intervals")


def draw_simulation(record: Mapping[str, Any], axes: Axes) -> None:
    """Draw the simulated speed-up for each workload, a bar for each drafter."""
    groups = {
        workload: {name: Bar(speedup, speedup, speedup) for name, speedup in speedups.items()}
        for workload, speedups in record["speedup"].items()
    }
    _draw_bars(groups, axes)
    axes.set_title("SIMULATED, nothing was measured", fontsize=8)
    axes.axhline(1, color=_FIXED_COLOURS["plain"], linewidth=1)
    axes.set_ylabel("times plain decoding")


def _draw_bars(groups: Mapping[str, Mapping[str, Bar]], axes: Axes) -> None:
    """Draw the bars of each group side by side, each with a line from low to high."""
    coloured = _assign_colours(name for bars in groups.values() for name in bars)
    width = 0.8 / len(coloured)  # of all bars of a group together; groups are 1 apart
    for i, (name, colour) in enumerate(coloured):
        offset = (i + 0.5) * width - 0.4
        places = [n + offset for n, bars in enumerate(groups.values()) if name in bars]
        bars = [group[name] for group in groups.values() if name in group]
        axes.bar(places, [bar.value for bar in bars], width * 0.92, color=colour, label=name)
        lows, highs = [bar.low for bar in bars], [bar.high for bar in bars]
        axes.vlines(places, lows, highs, color=_LINE, linewidth=1)
    axes.set_xticks(range(len(groups)), list(groups))
    axes.grid(visible=False, axis="x")
    axes.legend(ncols=2)


def _assign_colours(names: Iterable[str]) -> list[tuple[str, str]]:
    """Return each name once with a colour, which never changes for those of `_FIXED_COLOURS`."""
    fixed = _FIXED_COLOURS.values()
    free = iter(colour for colour in _COLOURS * 3 if colour not in fixed)
    return [(name, _FIXED_COLOURS.get(name) or next(free)) for name in dict.fromkeys(names)]


# The benchmarks that have a plot, by the name in their records' conditions.
DRAWN: Final[Mapping[str, Callable[[Mapping[str, Any], Axes], None]]] = {
    "cost": draw_cost,
    "edits": draw_edits,
    "workloads": draw_workloads,
    "peers": draw_peers,
    "quality": draw_quality,
    "simulate": draw_simulation,
}
