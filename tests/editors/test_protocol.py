"""What is generated from lsp/contract.py is up to date, and says all that the contract says."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


def load_generator() -> ModuleType:
    script = ROOT / "editors" / "generate_protocol.py"
    spec = importlib.util.spec_from_file_location("generate_protocol", script)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


generator = load_generator()
SOURCE = generator.CONTRACT.read_text(encoding="utf-8")
PAGE = generator.DOCS.read_text(encoding="utf-8")
LANGUAGES = ("TYPESCRIPT", "LUA", "DOCS")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_generated_file_is_up_to_date(language: str) -> None:
    path = getattr(generator, language)
    if generator.generate(SOURCE, PAGE)[path] != path.read_text(encoding="utf-8"):
        name = path.relative_to(ROOT)
        pytest.fail(f"{name} is not what lsp/contract.py says: run make protocol", pytrace=False)


def test_every_shape_has_its_table_in_the_docs() -> None:
    marked = set(re.findall(r"<!-- generated: (\w+) -->", PAGE))
    assert marked >= generator.read_contract(SOURCE).shapes.keys()
    assert marked >= {"commands", "notifications", "ErrorCode", "Reason"}


def test_every_link_in_the_docs_leads_to_a_heading() -> None:
    headings = {line.lstrip("# ").lower() for line in PAGE.splitlines() if line.startswith("#")}
    assert headings >= set(re.findall(r"\]\(#(\w+)\)", PAGE))


def test_what_is_written_by_hand_in_the_docs_is_kept() -> None:
    page = "One.\n<!-- generated: Cancelled -->\nold\n<!-- end -->\nTwo.\n"
    text = generator.generate(SOURCE, page)[generator.DOCS]
    assert text.startswith("One.\n<!-- generated: Cancelled -->\n| key |")
    assert text.endswith("|\n<!-- end -->\nTwo.\n")


CHANGES = {
    "a key is added": ("class CancelParams(TypedDict, total=False):\n", "    novel: int\n"),
    "a value is added": ('Literal["unloaded", ', '"novel", '),
    "a code is another": ("STALE = ", "1000000 + "),
    "a command is renamed": ('= "redraft.st', "novel"),
    "a description is another": ('"""Tokens in all;', " novel"),
}
# What then is in each of the files that was not there before.
NOVEL = {
    "a key is added": (
        "novel?: number;",
        "---@field novel? integer",
        "| `novel` | integer, optional |",
    ),
    "a value is added": ('"novel" | "loading"', '"novel"|"loading"', "`novel`, `loading`"),
    "a code is another": ("STALE: 967199", "STALE = 967199", "| 967199 |"),
    "a command is renamed": ('"redraft.stnovelatus"',) * 2 + ("`redraft.stnovelatus`",),
    "a description is another": ("Tokens in all; novel",) * 3,
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_the_contract_changes_every_file(change: str) -> None:
    place, new = CHANGES[change]
    assert place in SOURCE
    texts = generator.generate(SOURCE.replace(place, place + new, 1), PAGE)
    for language, novel in zip(LANGUAGES, NOVEL[change], strict=True):
        path = getattr(generator, language)
        assert novel in texts[path]
        assert novel not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("python", "typescript", "lua", "markdown"),
    [
        ("float", "number", "number", "number"),
        ("str | None", "string | null", "string", "string or null"),
        ("list[types.TextEdit]", "readonly TextEdit[]", "lsp.TextEdit[]", "list of TextEdits"),
        ("types.WorkspaceEdit", "unknown", "lsp.WorkspaceEdit", "WorkspaceEdit"),
        ("dict[str, Any]", "Readonly<Record<string, unknown>>", "table<string, any>", "object"),
        (
            "dict[str, int]",
            "Readonly<Record<string, number>>",
            "table<string, integer>",
            "object of integers",
        ),
        (
            'Literal["a"] | Status',
            '"a" | Status',
            '"a"|redraft.Status',
            "`a` or [`Status`](#status)",
        ),
        ("Phase", "Phase", "redraft.Phase", "`waiting`, `prefill` or `decode`"),
    ],
)
def test_a_type_is(python: str, typescript: str, lua: str, markdown: str) -> None:
    source = f'{SOURCE}\n\nclass Novel(TypedDict):\n    """Novel."""\n\n    key: {python}\n'
    page = "<!-- generated: Novel -->\n<!-- end -->\n"
    texts = generator.generate(source, page)
    assert f"  readonly key: {typescript};\n" in texts[generator.TYPESCRIPT]
    optional = "?" if "None" in python else ""
    assert f"---@field key{optional} {lua}\n" in texts[generator.LUA]
    assert f"| `key` | {markdown} |" in texts[generator.DOCS]
