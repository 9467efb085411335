"""Loading, quantising, tokenising and single passes, and what llama.cpp's errors become."""

import gc
import os
import weakref
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.redraft.engine.tiny import CHAT_END

from redraft.engine import Engine, llama
from redraft.engine.llama import Context, LlamaModel, backend, requantize, versions
from redraft.engine.request import Request, tokenize_pieces
from redraft.errors import EngineError, ModelError
from redraft.records import DecodeOptions, Piece, Prompt


def test_the_build_names_itself():
    assert backend() in ("cpu", "metal", "cuda", "vulkan", "rocm", "sycl", "gpu")
    assert set(versions()) == {"llama-cpp-python", "llama.cpp"}
    assert os.environ["OMP_WAIT_POLICY"]


class TestDamage:
    @pytest.mark.parametrize(
        "make",
        [
            pytest.param(lambda path, good: None, id="missing"),
            pytest.param(lambda path, good: path.mkdir(), id="a directory"),
            pytest.param(lambda path, good: path.touch(), id="empty"),
            pytest.param(
                lambda path, good: path.write_text("Dear model,\n" * 99), id="a text file"
            ),
            pytest.param(lambda path, good: path.write_bytes(good[:40]), id="cut in the header"),
            pytest.param(
                lambda path, good: path.write_bytes(good[:5000]), id="cut in the metadata"
            ),
            pytest.param(
                lambda path, good: path.write_bytes(good[:-9000]), id="cut in the weights"
            ),
        ],
    )
    def test_a_file_that_cannot_be_loaded(self, make, tmp_path: Path, tiny_path: Path):
        path = tmp_path / "model.gguf"
        make(path, tiny_path.read_bytes())
        with pytest.raises(ModelError, match=r"(?s)cannot load .*model\.gguf.*fetch it again"):
            LlamaModel(path)

    def test_a_name_that_is_no_utf_8_loads(self, tmp_path: Path, tiny_path: Path):
        path = os.fsencode(tmp_path) + b"/\xff.gguf"
        try:
            Path(os.fsdecode(path)).write_bytes(tiny_path.read_bytes())
        except OSError:
            pytest.skip("this file system has no such names")
        LlamaModel(Path(os.fsdecode(path))).close()


def test_closing_twice_is_harmless_and_frees_the_pieces(tiny_path: Path):
    model = LlamaModel(tiny_path)
    model.piece(65)
    model.close()
    model.close()
    alive = weakref.ref(model)
    del model
    gc.collect()
    assert alive() is None


class TestTokens:
    def test_pieces_are_the_text(self, tiny_model: LlamaModel):
        text = "def f(x): → 😀\r\n\treturn x\n"
        ids = tiny_model.tokenize(text)
        assert b"".join(map(tiny_model.piece, ids)).decode() == text
        assert len(ids) < len(text.encode()), "merges are used"

    def test_special_tokens_in_a_text_are_text(self, tiny_model: LlamaModel):
        text = f"print('{CHAT_END}')"
        assert not set(tiny_model.tokenize(text)) & tiny_model.control_ids
        [end] = tiny_model.tokenize(CHAT_END, control=True)
        assert end in tiny_model.control_ids
        assert tiny_model.end_ids == {end}
        assert tiny_model.piece(end).decode() == CHAT_END

    def test_the_real_model_too(self, small_model_path: Path):
        model = LlamaModel(small_model_path)
        plain = model.tokenize("a<|im_end|>b<|im_start|>")
        assert not set(plain) & (model.control_ids | model.end_ids)
        assert b"".join(map(model.piece, plain)) == b"a<|im_end|>b<|im_start|>"
        assert set(model.tokenize("<|im_end|>", control=True)) <= model.end_ids
        assert model.can_roll_back
        model.close()

    def test_no_text_is_no_tokens(self, tiny_model: LlamaModel):
        assert tiny_model.tokenize("") == []


TEXTS = {
    "code": "return x\n",
    "an indented line": "    return int(x)\n        pass\n",
    "one blank": " x",
    "blanks alone": "    ",
    "a line ending": "\n",
    "nothing": "",
    "characters that are bytes only": "→ 😀\n",
    "control characters": "\x01\x01 x",
    "a token that the vocabulary's makers defined": "x\n<repo>return",
    "such a token, blanks behind it": "<repo>    x\n<repo><repo> x",
}


class TestSentencePiece:
    """A vocabulary that puts a space before each text it is given."""

    def join(self, model: LlamaModel, ids: list[int]) -> str:
        return b"".join(map(model.piece, ids)).decode()

    @pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
    def test_pieces_are_the_text_without_a_space_before_it(
        self, sentencepiece_model: LlamaModel, text: str
    ):
        ids = sentencepiece_model.tokenize(text)
        assert self.join(sentencepiece_model, ids) == text
        longest = "        return def int"  # joined, as any text is
        assert len(sentencepiece_model.tokenize(longest)) < len(longest) // 2

    def test_a_prompt_in_pieces_has_the_tokens_of_the_whole(self, sentencepiece_model: LlamaModel):
        pieces = (
            Piece("<|im_start|>user\n", control=True),
            Piece("    def x(ab):\n"),
            Piece("        return ab\n"),
            Piece("<|im_end|>\n<|im_start|>", control=True),
            Piece("return it\n"),
        )
        whole = "".join(piece.text for piece in pieces).encode()
        ids = (llama.llama.llama_token * 256)()
        vocab = sentencepiece_model.vocab
        n = llama.llama.llama_tokenize(vocab, whole, len(whole), ids, 256, True, True)
        tokens = tokenize_pieces(sentencepiece_model, pieces)
        assert tokens == list(ids[:n])
        assert tokenize_pieces(
            sentencepiece_model, pieces[2:], after=tokenize_pieces(sentencepiece_model, pieces[:2])
        ) == list(ids[:n])

    def test_what_a_reply_copies_has_the_tokens_it_had_in_the_prompt(
        self, sentencepiece_model: LlamaModel
    ):
        source = "    def x(ab):\n        return ab\n"
        prompt = Prompt(
            file=(Piece("x.py\n"), Piece(source)),
            request=(Piece("Go on\n"),),
            source=source,
            stop=(),
        )
        request = Request.of(sentencepiece_model, prompt, DecodeOptions(), 9)
        head = len(tokenize_pieces(sentencepiece_model, prompt.file[:1]))
        assert request.source == request.file[head:]
        assert self.join(sentencepiece_model, request.source) == source


class TestContext:
    def test_too_many_rows_are_refused_before_they_reach_the_library(
        self, make_context: Callable[..., Context]
    ):
        context = make_context()
        for n in (0, 129):
            with pytest.raises(EngineError, match=f"a pass has 1 to 128 rows, not {n}"):
                context.run([1] * n, list(range(n)), [(0,)] * n, n_outputs=0)
        assert context.n_past() == 0

    def test_a_context_that_memory_cannot_hold(self, tiny_model: LlamaModel, monkeypatch):
        monkeypatch.setattr(llama.llama, "llama_init_from_model", lambda *_: None)
        with pytest.raises(EngineError, match=r"cannot make a context of .*set a smaller n_ctx"):
            Context(tiny_model, n_ctx=2**20, n_batch=8, n_seq=1, n_threads=1, flash_attention=True)

    def test_logits_are_of_the_first_rows(self, make_context: Callable[..., Context]):
        context = make_context()
        both = context.run([1, 2], [0, 1], [(0,)] * 2, n_outputs=2).copy()
        context.clear()
        first = context.run([1, 2], [0, 1], [(0,)] * 2, n_outputs=1)
        assert first.shape == (1, context.model.n_vocab)
        assert np.allclose(first[0], both[0], atol=1e-3)

    def test_restored_cells_give_the_same_logits(self, make_context: Callable[..., Context]):
        saved, restored = make_context(), make_context(n_ctx=1024)
        saved.run([1, 2, 3], [0, 1, 2], [(0,)] * 3, n_outputs=0)
        assert restored.load(0, saved.save(0))
        assert saved.n_past() == restored.n_past() == 3
        answers = [c.run([4, 5], [3, 4], [(0,)] * 2, n_outputs=2).copy() for c in (saved, restored)]
        assert np.array_equal(*answers)

    def test_damaged_cells_are_refused(self, make_context: Callable[..., Context]):
        context = make_context()
        context.run([1, 2, 3], [0, 1, 2], [(0,)] * 3, n_outputs=0)
        cells = context.save(0)
        context.clear()
        assert not context.load(0, cells[: len(cells) // 2])


def test_half_a_surrogate_pair_is_named(tiny_model: LlamaModel):
    with pytest.raises(EngineError, match=r"half of a surrogate pair.*\\ud83d"):
        tiny_model.tokenize("smile \ud83d")


QUANTIZE_PROMPT = Prompt(
    file=(), request=(Piece("one two three four five six seven"),), source="", stop=()
)


def test_the_command_makes_a_draft_model_once_and_it_fits_its_original(
    small_model_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_cli
):
    monkeypatch.setenv("REDRAFT_MODELS_DIR", str(tmp_path / "models"))
    result = run_cli("models", "draft", small_model_path, "--kind", "Q3_K_S")
    assert result.code == 0, result.err
    draft = Path(result.out.removesuffix("\n"))
    assert list((tmp_path / "models").iterdir()) == [draft]
    assert draft.stat().st_size < small_model_path.stat().st_size
    mtime_ns = draft.stat().st_mtime_ns
    assert run_cli("models", "draft", small_model_path, "--kind", "Q3_K_S").out == result.out
    assert draft.stat().st_mtime_ns == mtime_ns
    with Engine.open(small_model_path, n_ctx=512, draft=draft) as engine:
        completion = engine.complete(QUANTIZE_PROMPT, DecodeOptions(strategy="draft"), max_tokens=8)
    assert completion.text.startswith(" eight nine ten")


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        pytest.param("Q9", "no kind 'Q9': it is one of Q2_K", id="an unknown kind"),
        pytest.param("Q2_K", "could not make a Q2_K copy", id="a file that is no model"),
    ],
)
def test_a_failed_copy_leaves_nothing_behind(tmp_path: Path, kind: str, message: str):
    source = tmp_path / "no-model.gguf"
    source.write_bytes(b"GGUF, or so it says")
    with pytest.raises(ModelError, match=message):
        requantize(source, tmp_path / "draft.gguf", kind)
    assert list(tmp_path.iterdir()) == [source]
