"""A codemod with a real model, end to end. It edits badly: what counts is that laws hold."""

import json
from pathlib import Path
from typing import Any

import pytest

from redraft.engine import Engine
from redraft.syntax import parse_errors

FILES = {
    "prices.py": "def total(price, qty):\n    return price * qty\n\n\n"
    "def net(price, tax):\n    return price - tax\n\n\ndef free():\n    return 0\n",
    "names.py": "def initials(name):\n    return [part[0] for part in name.split()]\n",
    "web.js": "function twice(n) {\n  return n * 2;\n}\n",
}


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read_results(out: str) -> list[dict[str, Any]]:
    """Return the results of a run, its times and sums left out."""
    files = [json.loads(line) for line in out.splitlines()[:-1]]
    for target in (target for file in files for target in file["targets"]):
        del target["stats"], target["cached"]
    return files


def test_the_same_bytes_whatever_jobs_and_strategy_are(
    tree: Path, codemod, small_model: Engine, monkeypatch: pytest.MonkeyPatch, tmp_path_factory
):
    runs = []
    for args in (["--jobs", "1"], ["--jobs", "4"], ["--jobs", "3", "--strategy", "plain"]):
        # Nothing may come from the cache.
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        ran = codemod(
            *("Add a docstring.", ".", "--jsonl", "--max-tokens", "60", *args), model=small_model
        )
        runs.append(read_results(ran.out))
    assert [file["path"] for file in runs[0]] == ["names.py", "prices.py", "web.js"]
    assert [len(file["targets"]) for file in runs[0]] == [1, 3, 1]
    assert runs[0] == runs[1] == runs[2]


def test_write_and_undo(tree: Path, codemod, small_model: Engine):
    ran = codemod(
        *("Add a docstring.", ".", "--write", "--jsonl", "--max-tokens", "60"), model=small_model
    )
    totals = json.loads(ran.out.splitlines()[-1])
    for name, before in FILES.items():
        language = "javascript" if name.endswith("js") else "python"
        assert parse_errors((tree / name).read_text(), language) <= parse_errors(before, language)
    assert codemod("undo", totals["run"]).code == 0
    assert {path.name: path.read_text() for path in tree.iterdir()} == FILES


FUNCTION = """\
def {verb}_{noun}(connection, {noun}_id, limit={n}):
    row = connection.execute("select * from {noun} where id = ?", ({noun}_id,))
    if row is None:
        raise LookupError(f"there is no {noun} {{{noun}_id}}")
    values = [value for value in row if value is not None]
    return {verb}(values[:limit], kind="{noun}")


"""
NOUNS = ("order", "customer", "invoice", "parcel", "payment", "refund")
THIRTY = "import log\n\n\n" + "".join(
    FUNCTION.format(verb=verb, noun=noun, n=n)
    for n, verb in enumerate(("load", "store", "check", "merge", "print"), 3)
    for noun in NOUNS
)


def test_thirty_targets_of_a_file_cost_little_more_prefill_than_one(
    tmp_path: Path, codemod, small_model: Engine, monkeypatch: pytest.MonkeyPatch
):
    """Each target costs a few tokens beside the file, which is read once."""
    (tmp_path / "store.py").write_text(THIRTY)
    monkeypatch.chdir(tmp_path)
    args = ("--max-tokens", "1", "--jobs", "4", "--exactness", "fast", "--jsonl")
    ran = codemod("Add type hints.", "store.py", *args, model=small_model)
    (file, _) = map(json.loads, ran.out.splitlines())
    stats = [target["stats"] for target in file["targets"]]
    prefilled = [target["prompt_tokens"] - target["reused_tokens"] for target in stats]
    assert len(prefilled) == 30
    assert sum(prefilled) <= 1.25 * max(prefilled)
