"""A draft model made of the small model: it loads, is smaller, and may draft for the original."""

from pathlib import Path

import pytest

from redraft.engine import Engine
from redraft.engine.quantize import requantise
from redraft.errors import ModelError
from redraft.records import DecodeOptions, Piece, Prompt

PROMPT = Prompt(file=(), request=(Piece("one two three four five six seven"),), source="", stop=())


def test_the_command_makes_a_draft_model_once_that_fits_the_one_it_was_made_of(
    small_model_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_cli
):
    monkeypatch.setenv("REDRAFT_MODELS_DIR", str(tmp_path / "models"))
    ran = run_cli("models", "draft", small_model_path, "--kind", "Q3_K_S")
    assert ran.code == 0, ran.err
    draft = Path(ran.out.removesuffix("\n"))
    assert list((tmp_path / "models").iterdir()) == [draft]
    assert draft.stat().st_size < small_model_path.stat().st_size
    made = draft.stat().st_mtime_ns
    assert run_cli("models", "draft", small_model_path, "--kind", "Q3_K_S").out == ran.out
    assert draft.stat().st_mtime_ns == made
    with Engine.open(small_model_path, n_ctx=512, draft=draft) as engine:
        completion = engine.complete(PROMPT, DecodeOptions(strategy="draft"), max_tokens=8)
    assert completion.text.startswith(" eight nine ten")


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        pytest.param("Q9", "no kind 'Q9': it is one of Q2_K", id="an unknown kind"),
        pytest.param("Q2_K", "could not make a Q2_K copy", id="a file that is no model"),
    ],
)
def test_what_cannot_be_made_leaves_nothing_behind(tmp_path: Path, kind: str, said: str):
    source = tmp_path / "no-model.gguf"
    source.write_bytes(b"GGUF, or so it says")
    with pytest.raises(ModelError, match=said):
        requantise(source, tmp_path / "draft.gguf", kind)
    assert list(tmp_path.iterdir()) == [source]
