"""Writes the pages of docs/ that hold measured figures, and their plots.

    make bench-report

Words are in templates/ (X.md.jinja becomes docs/X.md), figures in docs/results/*.json as the
benchmarks wrote them with `--json`. No figure is made up: what has no file
is said to be not measured. Knows files and templates; what a figure means, the templates know.
"""

import json
import re
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, TypeAlias

import jinja2

from redraft.bench.results import load_warning
from redraft.cli import options
from redraft.models import MODELS
from redraft_bench.simulate import FEW_ROWS

Record: TypeAlias = dict[str, Any]

TEMPLATES: Final = Path(__file__).with_name("templates")
DOCS: Final = Path(__file__).parents[2] / "docs"


def add_parser(verbs: options.Subparsers) -> None:
    """Add the command `report`."""
    what = "write the pages of docs/ that hold measured figures, and their plots, from docs/results"
    parser = verbs.add_parser("report", help=what, description=f"{what}.")
    parser.set_defaults(handler=lambda _: write())


def write(docs: Path = DOCS) -> int:
    """Draw what can be drawn of docs/results, then write the pages. Returns exit code 0."""
    from redraft.bench import plots

    results = load(docs / "results")
    folder = docs / "plots"
    folder.mkdir(exist_ok=True)
    for record in (one for own in results.values() for one in own if one["plot"]):
        plots.draw(record, docs / record["plot"])
    for name, text in pages(results).items():
        (docs / name).write_text(text, "utf-8")
    return 0


def load(folder: Path) -> dict[str, list[Record]]:
    """The results by benchmark, in the order of their files' names.

    Each one knows its `file`, its `plot` (None where there is nothing to draw) and a `warning`
    (None where the machine was idle). Exits with a message where a file is no result.
    """
    from redraft.bench import plots  # brings matplotlib

    found: dict[str, list[Record]] = {}
    for path in sorted(folder.glob("*.json")):
        try:
            record = json.loads(path.read_text("utf-8"))
            known = record["conditions"]
            record["warning"] = load_warning(known)
            bench = known["bench"]
        except (ValueError, KeyError, TypeError) as error:
            sys.exit(f"{path} was not written by a benchmark with --json: {error!r}")
        record["file"] = f"results/{path.name}"
        record["plot"] = f"plots/{path.stem}.svg" if bench in plots.DRAWN else None
        found.setdefault(bench, []).append(record)
    return found


def pages(results: Mapping[str, Sequence[Record]]) -> dict[str, str]:
    """The text of each page. Exits with a message where a result lacks what a template shows."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - Markdown from our own files, not HTML from anybody's
    )
    environment.filters |= {
        "n": number,
        "gb": gigabytes,
        "by_rows": by_rows,
        "lead_over": lead_over,
    }
    known = [record["conditions"] for own in results.values() for record in own]
    environment.globals |= {
        "results": defaultdict(list, results),
        "backends": sorted({one["backend"] for one in known if one["model"]}),
        "models": MODELS,
        "few_rows": FEW_ROWS,
    }
    written = {}
    for name in environment.list_templates(extensions=["jinja"]):
        if name.startswith("_"):
            continue
        try:
            text = environment.get_template(name).render()
        except jinja2.UndefinedError as error:
            sys.exit(f"{TEMPLATES.name}/{name} shows what a result does not hold: {error}")
        written[name.removesuffix(".jinja")] = re.sub(r"\n{3,}", "\n\n", text).lstrip("\n")
    return written


def number(value: float | None, digits: int = 2) -> str:
    """A figure as tables show it: so many decimals, thousands with commas, a dash for nothing."""
    return "-" if value is None else f"{value:,.{digits}f}"


def gigabytes(n_bytes: float, digits: int = 1) -> str:
    """Bytes in units of 10^9, as the sizes of files are told."""
    return f"{n_bytes / 1e9:.{digits}f}"


def by_rows(passes: Sequence[Record]) -> list[tuple[int, list[Record | None]]]:
    """For each row count the pass of each depth, in the order of the depths; None where none is."""
    depths = list(dict.fromkeys(one["depth"] for one in passes))
    lines = groupby(sorted(passes, key=itemgetter("rows")), key=itemgetter("rows"))
    table = []
    for rows, own in lines:
        of = {one["depth"]: one for one in own}
        table.append((rows, [of.get(depth) for depth in depths]))
    return table


def lead_over(summary: Mapping[str, Record], names: str) -> float | None:
    """How much faster copying is than the fastest peer whose name begins so; None without one."""
    leads = [one["copy_to_it"] for name, one in summary.items() if name.startswith(names)]
    return min(filter(None, leads), default=None)
