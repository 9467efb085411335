"""`python -m redraft_bench report`: write the pages of docs/ that hold measured figures, and plots.

Words are in templates/ (X.md.jinja becomes docs/X.md), figures in docs/results/*.json as the
benchmarks wrote them with `--json`. No figure is made up: a benchmark without a file is said to be
not measured. Knows files and templates; only the templates know what a figure means.
"""

import argparse
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

__all__ = ["DOCS", "add_parser", "load_results", "render_pages"]

Record: TypeAlias = dict[str, Any]

TEMPLATES: Final = Path(__file__).with_name("templates")
DOCS: Final = Path(__file__).parents[2] / "docs"


USER_BENCHMARKS = ("cost", "edits", "exact", "latency", "replies")  # those in the wheel


def add_parser(commands: options.Subparsers) -> None:
    """Add the command `report`."""
    what = "write the pages of docs/ that hold measured figures, and their plots, from docs/results"
    parser = commands.add_parser("report", help=what, description=f"{what}.")
    parser.set_defaults(handler=run)


def run(_: argparse.Namespace) -> int:
    """Draw the plots and write the pages. Returns exit code 0."""
    from redraft.bench import plots  # brings matplotlib

    results = load_results(DOCS / "results")
    (DOCS / "plots").mkdir(exist_ok=True)
    for records in results.values():
        for record in records:
            if record["plot"]:
                plots.draw(record, DOCS / record["plot"])
    for name, text in render_pages(results).items():
        (DOCS / name).parent.mkdir(exist_ok=True)
        (DOCS / name).write_text(text, "utf-8")
    return 0


def load_results(folder: Path) -> dict[str, list[Record]]:
    """Read the results by benchmark, in the order of their files' names.

    Adds to each its `file`, its `plot` (None where there is nothing to draw) and a `warning` (None
    where the machine was idle). Exits with a message where a file is no result.
    """
    from redraft.bench import plots  # brings matplotlib

    results: dict[str, list[Record]] = {}
    for path in sorted(folder.glob("*.json")):
        try:
            record = json.loads(path.read_text("utf-8"))
            record["warning"] = load_warning(record["conditions"])
            bench = record["conditions"]["bench"]
            command = record["conditions"]["command"]
            record["conditions"]["command"] = current_command(command, bench)
        except (ValueError, KeyError, TypeError) as error:
            sys.exit(f"{path} was not written by a benchmark with --json: {error!r}")
        record["file"] = f"results/{path.name}"
        record["plot"] = f"plots/{path.stem}.svg" if bench in plots.DRAWN else None
        results.setdefault(bench, []).append(record)
    return results


def render_pages(results: Mapping[str, Sequence[Record]]) -> dict[str, str]:
    """Return each page's text by its name in docs/.

    Exits with a message where a result lacks what a template shows.
    """
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - Markdown from our own files, not HTML from anybody's
    )
    environment.filters |= {
        "n": format_number,
        "gb": format_gigabytes,
        "by_rows": group_by_rows,
        "lead_over": least_lead_over,
    }
    conditions = [record["conditions"] for records in results.values() for record in records]
    environment.globals |= {
        "results": defaultdict(list, results),
        "named": {Path(run["file"]).stem: run for runs in results.values() for run in runs},
        "backends": sorted({run["backend"] for run in conditions if run["model"]}),
        "models": MODELS,
        "few_rows": FEW_ROWS,
    }
    pages = {}
    for template in environment.list_templates(extensions=["jinja"]):
        if template.startswith("_"):  # parts that the pages include
            continue
        try:
            text = environment.get_template(template).render(up="../" * template.count("/"))
        except jinja2.UndefinedError as error:
            sys.exit(f"{TEMPLATES.name}/{template} shows what a result does not hold: {error}")
        # Blocks leave runs of empty lines behind.
        pages[template.removesuffix(".jinja")] = re.sub(r"\n{3,}", "\n\n", text).lstrip("\n")
    return pages


def current_command(command: str, bench: str) -> str:
    """Return how a benchmark is run today; those of developers were in `redraft bench` once."""
    if bench in USER_BENCHMARKS:
        return command
    return command.replace(f"redraft bench {bench}", f"python -m redraft_bench {bench}", 1)


def format_number(value: float | None, digits: int = 2) -> str:
    """Return a figure as tables show it: so many decimals, commas in thousands, a dash for None."""
    return "-" if value is None else f"{value:,.{digits}f}"


def format_gigabytes(n_bytes: float, digits: int = 1) -> str:
    """Return bytes in units of 10^9, as sizes of files are usually given."""
    return f"{n_bytes / 1e9:.{digits}f}"


def group_by_rows(passes: Sequence[Record]) -> list[tuple[int, list[Record | None]]]:
    """Return each row count with its pass at each depth, None where it was not measured."""
    depths = list(dict.fromkeys(pass_["depth"] for pass_ in passes))
    table = []
    for rows, of_rows in groupby(sorted(passes, key=itemgetter("rows")), key=itemgetter("rows")):
        by_depth = {pass_["depth"]: pass_ for pass_ in of_rows}
        table.append((rows, [by_depth.get(depth) for depth in depths]))
    return table


def least_lead_over(summary: Mapping[str, Record], prefix: str) -> float | None:
    """Return copying's speed over the fastest peer whose name has the prefix; None without one."""
    leads = [figures["copy_to_it"] for name, figures in summary.items() if name.startswith(prefix)]
    return min(filter(None, leads), default=None)
