"""What the pages say can be done: commands that parse, links that lead somewhere."""

import contextlib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from redraft import cli

ROOT = Path(__file__).parent.parent
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted(ROOT.glob("docs/**/*.md")),
    *sorted(ROOT.glob("editors/*.md")),
    *sorted(ROOT.glob("editors/*/README.md")),
    *sorted(ROOT.glob("editors/vscode/walkthrough/*.md")),
]
COMMAND = re.compile(r"^(?:\.venv/bin/)?redraft (?!serve\b.*[<|])")
LINK = re.compile(r"\[[^\]\[]*\]\(([^)\s]+)\)")


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def commands(page: Path) -> Iterator[str]:
    """Yield the redraft commands in the code blocks of a page, without comments and redirections."""
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    fenced = False
    for line in text.split("\n"):
        if line.startswith("```"):
            fenced = not fenced
        elif (fenced or line.startswith("    ")) and COMMAND.match(line.strip()):
            yield re.split(r"\s(?:[|>&]|#\s)", line.strip())[0]


EXAMPLES = [(name_of(page), command) for page in PAGES for command in commands(page)]


def test_the_pages_show_commands() -> None:
    assert len(EXAMPLES) > 30


@pytest.mark.parametrize(("page", "command"), EXAMPLES)
def test_a_command_that_is_shown_is_one_that_is_understood(
    page: str, command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[str] = []

    def parse_only(parser, argv):
        args = parser.parse_args(argv)
        ran.append(args.handler.__name__)
        return 0

    monkeypatch.setattr(cli, "run", parse_only)
    words = shlex.split(command)[1:]
    with contextlib.suppress(SystemExit):  # what --help and --version end with, and a wrong command
        ran += [str(cli.main(words))]
    shown = capsys.readouterr()
    assert ran or shown.out, f"{page}: {shown.err}"


def anchors(page: Path) -> set[str]:
    """Return the anchors that the headings of a page get on GitHub."""
    heads = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    words = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", head).lower() for head in heads]
    return {re.sub(r"[^\w\- ]", "", head).replace(" ", "-") for head in words}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_within_the_project_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for link in LINK.findall(text):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), f"{link} leads nowhere"
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), f"{link}: no such heading"
